package nxos

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

//go:embed startup/nxos.cfg
var startupConfig []byte

// System is the record of NX-OS for the labs.
var System = sim.System{
	Name: "nxos", Start: startForLab, Refuses: Refuses,
	Statements: map[string]sim.Statement{"fec": cli.FEC, "unconfirmed": {Args: 1, Do: func(s sim.Switch, args []string) { s.(*NXOS).Unconfirmed(args[0]) }}},
	Faults: map[string]string{
		"classify":    "policy-map type qos ROCE-FABRIC-IN; class ROCE-FABRIC-{class}; set qos-group {other}",
		"ecn-late":    "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q{queue}; random-detect minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes drop-probability 10 weight 0 ecn",
		"ecn-off":     "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q{queue}; no random-detect",
		"fec":         "interface {port}; fec off",
		"lldp":        "interface {port}; no lldp receive",
		"mtu":         "interface {port}; mtu {value}",
		"pause":       "interface {port}; flowcontrol receive on",
		"pfc-off":     "interface {port}; priority-flow-control mode off",
		"share":       "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q{queue}; bandwidth remaining percent 10",
		"shut":        "interface {port}; shutdown",
		"trust":       "interface {port}; no service-policy type qos input ROCE-FABRIC-IN",
		"unconfirmed": "unconfirmed {port}; unsaved",
		"unsaved":     "interface {port}; description new; unsaved",
		"watchdog":    "interface {port}; no priority-flow-control watch-dog-interval on",
	},
	Nodes: []sim.Node{{
		Kind: "cisco_n9kv", StartupName: "nxos.cfg", Startup: startupConfig,
		Image: func(release string) string {
			return "vrnetlab/cisco_n9kv:9300-" + cmp.Or(strings.TrimSuffix(strings.NewReplacer("(", ".", ")", ".").Replace(release), "."), "10.5.2")
		},
		Release: releaseOfTag, Interface: nodeInterface, Ports: "Ethernet1/1 to Ethernet1/128",
	}},
}

// labPorts is the minimum number of front ports of a lab's switch.
const labPorts = 32

// startForLab starts a switch whose ports are routed, as in a leaf-spine fabric, and otherwise not
// configured.
func startForLab(s sim.Setup) (sim.Switch, error) {
	ports := map[string]bool{}
	for i := range labPorts {
		ports[fmt.Sprintf("Ethernet1/%d", i+1)] = true
	}
	for _, p := range s.Ports {
		ports[p] = true
	}
	return sim.Started(New(Options{
		Hostname: s.Name, Model: s.Model, Version: s.Release,
		Username: s.Username, Password: s.Password, TLS: s.TLS, HostKey: s.HostKey, Listen: s.Listen, TimeScale: s.TimeScale, Routed: true,
		Shuffle: s.Shuffle, Running: s.Running, Interfaces: natural.Keys(ports), Speeds: s.Speeds,
	}))
}

// RefuseConnections makes the switch reject all connections, or accept them again.
func (n *NXOS) RefuseConnections(on bool) { n.Faults().RefuseConnections(on) }

// nodeInterface returns the name of a port in NX-OS, whose virtual machine has a single module.
func nodeInterface(port string) string {
	s, ok := strings.CutPrefix(port, "Ethernet1/")
	if n, err := strconv.Atoi(s); !ok || err != nil || n < 1 || n > 128 || s != strconv.Itoa(n) {
		return ""
	}
	return "eth" + s
}

var releaseTag = lazyre.New(`^(?:9[35]00v?-)?(\d+\.\d+)\.(\d+)(?:\.([A-Z]))?(?:-lite)?$`)

// releaseOfTag returns the release for a tag: 9300-10.5.2 means 10.5(2).
func releaseOfTag(tag string) string {
	m := releaseTag.FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return m[1] + "(" + m[2] + ")" + m[3]
}
