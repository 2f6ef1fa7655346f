package sonic

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

var (
	//go:embed startup/sonic-vm.sh
	machineScript []byte
	//go:embed startup/sonic-vs.sh
	containerScript []byte
)

// System is the record of SONiC for the labs.
var System = sim.System{
	Name: "sonic", Start: startForLab, Refuses: Refuses,
	Faults: map[string]string{
		"classify":  "DSCP_TO_TC_MAP|* {dscp}=0",
		"ecn-late":  "WRED_PROFILE|* green_min_threshold=20000000 green_max_threshold=40000000",
		"ecn-off":   "QUEUE|{port}|{queue} -wred_profile",
		"fec":       "PORT|{port} fec=none",
		"lldp":      "neighbor {port} - -",
		"mtu":       "PORT|{port} mtu={value}",
		"orchagent": "kill orchagent",
		"pfc-off":   "PORT_QOS_MAP|{port} -pfc_enable",
		"pfc-other": "PORT_QOS_MAP|{port} pfc_enable={priority},{other}",
		"share":     "SCHEDULER|roce.{name} weight=10",
		"shut":      "PORT|{port} admin_status=down",
		"stopped":   "storm {port} {queue}",
		// A port without a map of its own has that of the switch.
		"trust":        "PORT_QOS_MAP|{port} -dscp_to_tc_map; PORT_QOS_MAP|global -dscp_to_tc_map",
		"unsaved":      "PORT|{port} description=new; unsaved",
		"warm-restart": "STATE WARM_RESTART_ENABLE_TABLE system enable=true; STATE WARM_RESTART_TABLE orchagent state=initialized restore_count=1",
		"watchdog":     "-PFC_WD|{port}",
	},
	Nodes: []sim.Node{
		// The script runs in the container around the virtual machine, and logs in to the machine
		// over SSH.
		node("sonic-vm", "vrnetlab/sonic_sonic-vs:", machineScript),
		containerNode(),
	},
}

// labRelease is the release of a lab's switch if the intent does not state one.
const labRelease = "202511"

// startForLab starts a switch in factory state.
func startForLab(s sim.Setup) (sim.Switch, error) {
	m, ok := catalog.Lookup(s.Model)
	if !ok && s.Running == nil {
		return nil, fmt.Errorf("unknown model %q: the lab needs one from the catalog", s.Model)
	}
	o := Options{Name: s.Name, HWSKU: s.Model}
	if ok {
		o = ForModel(s.Name, m)
	}
	if s.DynamicBuffers != nil {
		o.Dynamic = *s.DynamicBuffers
	}
	o.Release = cmp.Or(s.Release, labRelease)
	o.Models = Models(o.Release)
	o.Username, o.Password = s.Username, s.Password
	o.TLS, o.HostKey, o.Listen, o.TimeScale = s.TLS, s.HostKey, s.Listen, s.TimeScale
	o.Shuffle = s.Shuffle
	if o.Running = s.Running; o.Running != nil {
		return sim.Started(New(o))
	}
	o.Config = FactoryConfig(m, WithHostname(s.Name), WithDynamicBuffers(o.Dynamic))
	// Speed and breakout are set when a switch is installed, before its QoS.
	for _, p := range s.Ports {
		row := o.Config["PORT"][p]
		if row == nil {
			return nil, fmt.Errorf("%s has no port %s; the lab does not simulate breakouts", m.Name, p)
		}
		if speed := s.Speeds[p]; speed > 0 {
			row["speed"] = strconv.FormatInt(speed/1e6, 10)
		}
	}
	return sim.Started(New(o))
}

// RefuseConnections makes the switch reject all connections, or accept them again.
func (s *Switch) RefuseConnections(on bool) { s.Faults().RefuseConnections(on) }

// virtualModel is the model that SONiC's virtual switch reports.
const virtualModel = "Force10-S6000"

var releaseTag = lazyre.New(`^20\d{4}`)

// node returns a kind of containerlab node that runs the virtual switch.
func node(kind, image string, script []byte) sim.Node {
	// Read the catalogue only when a command needs the ports: it takes milliseconds.
	ports := sync.OnceValue(func() (names []string) {
		m, _ := catalog.Lookup(virtualModel)
		for _, p := range m.Ports {
			names = append(names, p.Name)
		}
		return names
	})
	return sim.Node{
		Kind: kind, StartupName: kind + ".sh", Startup: script,
		Image:   func(release string) string { return image + cmp.Or(release, labRelease) },
		Release: sim.TagMatch(releaseTag),
		Interface: func(port string) string {
			if i := slices.Index(ports(), port); i >= 0 {
				return fmt.Sprintf("eth%d", i+1)
			}
			return ""
		},
		Ports: "Ethernet0, Ethernet4 and so on to Ethernet124", Fixed: ports, PortSpeed: "40G",
		Intent: func(entry *yaml.Node, _ string) {
			entry.Set("model", yaml.NewText(virtualModel))
			entry.Delete("bufferModel") // the virtual switch uses the table of headroom
		},
	}
}

// containerNode returns the kind of the container image that SONiC itself builds.
func containerNode() sim.Node {
	n := node("sonic-vs", "docker-sonic-vs:", containerScript)
	n.ImageName = "docker-sonic-vs"
	asVirtual := n.Intent
	n.Intent = func(entry *yaml.Node, lab string) {
		asVirtual(entry, lab)
		entry.Set("write", yaml.NewText("direct")) // the image has no gNMI server
	}
	return n
}
