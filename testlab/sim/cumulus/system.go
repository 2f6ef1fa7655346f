package cumulus

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// System is the record of Cumulus Linux for the labs. containerlab has no free image of it.
var System = sim.System{
	Name: "cumulus", Start: startForLab, Refuses: Refuses,
	Faults: map[string]string{
		"classify":    "nv set qos mapping roce-fabric dscp {dscp} switch-priority 0",
		"ecn-late":    "nv set qos congestion-control roce-fabric traffic-class {queue} min-threshold 20000000; nv set qos congestion-control roce-fabric traffic-class {queue} max-threshold 40000000",
		"ecn-off":     "nv set qos congestion-control roce-fabric traffic-class {queue} ecn disable",
		"lldp":        "neighbor {port} - -",
		"mtu":         "nv set interface {port} link mtu {value}",
		"pfc-off":     "nv unset interface {port} qos pfc profile; nv unset interface {port} qos pfc-watchdog",
		"pfc-other":   "nv set qos pfc roce-fabric switch-priority {other}",
		"share":       "nv set qos egress-scheduler roce-fabric traffic-class {queue} bw-percent 5",
		"shut":        "nv set interface {port} link state down",
		"trust":       "nv unset interface {port} qos mapping profile",
		"unconfirmed": "unconfirmed {port}; unsaved",
		"unsaved":     "nv set interface {port} description new; unsaved",
		"watchdog":    "nv unset interface {port} qos pfc-watchdog",
	},
	Statements: map[string]sim.Statement{
		"asks":        {Do: func(s sim.Switch, _ []string) { s.(*Switch).Faults().Asks("The link may flap.") }},
		"unconfirmed": {Args: 1, Do: func(s sim.Switch, args []string) { s.(*Switch).Unconfirmed(args[0]) }},
	},
}

const (
	// labRelease is the release of a lab's switch if the intent does not state one, newestRelease
	// that of a switch that starts with a configuration, and lastOldRelease that of one whose
	// configuration has the words of releases before 5.15.
	labRelease     = "5.15.0"
	newestRelease  = "5.17.0"
	lastOldRelease = "5.14.0"
	// labPorts is the minimum number of front ports of a lab's switch.
	labPorts = 64
)

// startForLab starts a switch with its ports in factory state.
func startForLab(s sim.Setup) (sim.Switch, error) {
	o := Options{
		Hostname: s.Name, Model: cmp.Or(s.Model, "SN5600"), Version: threeNumbers(s.Release),
		Username: s.Username, Password: s.Password, TLS: s.TLS, HostKey: s.HostKey, Listen: s.Listen, TimeScale: s.TimeScale,
		Shuffle: s.Shuffle, Running: s.Running, Speeds: s.Speeds,
	}
	ports := map[string]bool{}
	for i := range labPorts {
		ports[fmt.Sprintf("swp%d", i+1)] = true
	}
	for _, p := range s.Ports {
		ports[p] = true
	}
	o.Interfaces = natural.Keys(ports)
	if o.Running != nil {
		// The keywords in the configuration depend on its release, which it need not state.
		o.AnyWords, o.Version = true, threeNumbers(cmp.Or(s.Release, releaseOf(o.Running)))
	}
	return sim.Started(New(o))
}

// threeNumbers returns the stated release, or the default, with three numbers.
func threeNumbers(stated string) string {
	switch v := cmp.Or(stated, labRelease); len(v) {
	case len("5.9"), len("5.15"):
		return v + ".0"
	default:
		return v
	}
}

// RefuseConnections makes the switch reject all connections, or accept them again.
func (s *Switch) RefuseConnections(on bool) { s.Faults().RefuseConnections(on) }
