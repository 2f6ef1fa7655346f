package eos

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

//go:embed startup/eos.cfg
var startupConfig []byte

// System is the record of EOS for the labs.
var System = sim.System{
	Name: "eos", Start: startForLab, Refuses: Refuses,
	Statements: map[string]sim.Statement{"fec": cli.FEC, "unconfirmed": {Args: 1, Do: func(s sim.Switch, args []string) { s.(*EOS).Unconfirmed(args[0]) }}},
	Faults: map[string]string{
		"classify":    "qos map dscp {dscp} to traffic-class 0",
		"ecn-late":    "interface {port}; uc-tx-queue {queue}; random-detect ecn minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes max-mark-probability 10",
		"ecn-off":     "qos profile ROCE-FABRIC; uc-tx-queue {queue}; no random-detect ecn",
		"fec":         "interface {port}; no error-correction encoding",
		"lldp":        "interface {port}; no lldp receive",
		"mtu":         "interface {port}; mtu {value}",
		"pause":       "interface {port}; flowcontrol receive on",
		"pfc-off":     "priority-flow-control all off",
		"pfc-other":   "interface {port}; priority-flow-control priority {other} no-drop",
		"share":       "interface {port}; uc-tx-queue {queue}; bandwidth percent 5",
		"shut":        "interface {port}; shutdown",
		"trust":       "interface {port}; no qos trust",
		"unconfirmed": "unconfirmed {port}; unsaved",
		"unsaved":     "interface {port}; description new; unsaved",
		"watchdog":    "interface {port}; no priority-flow-control pause watchdog",
	},
	Nodes: []sim.Node{{
		Kind: "arista_ceos", StartupName: "eos.cfg", Startup: startupConfig,
		Image:   func(release string) string { return "ceos:" + cmp.Or(release, "4.34.2F") },
		Release: sim.TagMatch(releaseTag), Interface: nodeInterface, Ports: "Ethernet1, Ethernet1/1, Ethernet1/1/1 and so on",
		Intent: func(entry *yaml.Node, lab string) {
			settings, access := &yaml.Node{Kind: yaml.Map}, &yaml.Node{Kind: yaml.Map}
			settings.Set("ca", yaml.NewText("clab-"+lab+"/.tls/ca/ca.pem"))
			access.Set("tls", settings)
			entry.Set("access", access)
		},
	}},
}

// startForLab starts a switch whose ports are routed, as in a leaf-spine fabric, and otherwise not
// configured.
func startForLab(s sim.Setup) (sim.Switch, error) {
	return sim.Started(New(Options{
		Hostname: s.Name, Model: s.Model, Version: s.Release,
		Username: s.Username, Password: s.Password, TLS: s.TLS, HostKey: s.HostKey, Listen: s.Listen, TimeScale: s.TimeScale, Routed: true,
		Shuffle: s.Shuffle, Running: s.Running, Interfaces: s.Ports, Speeds: s.Speeds,
	}))
}

// RefuseConnections makes the switch reject all connections, or accept them again.
func (e *EOS) RefuseConnections(on bool) { e.Faults().RefuseConnections(on) }

var (
	releaseTag = lazyre.New(`^4\.\d+\.\d+[A-Z.0-9]*$`)
	portName   = lazyre.New(`^Ethernet([1-9][0-9]{0,3}(/[1-9][0-9]{0,2}){0,2})$`)
)

// nodeInterface returns the name of a port in cEOS, which uses eth1_1 for Ethernet1/1.
func nodeInterface(port string) string {
	m := portName.FindStringSubmatch(port)
	if m == nil {
		return ""
	}
	return "eth" + strings.ReplaceAll(m[1], "/", "_")
}
