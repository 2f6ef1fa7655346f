package intent

import (
	"slices"
	"strconv"
	"strings"
)

// System describes a switch operating system as far as it is known without a driver. The record
// in package drivers embeds it and adds the rest.
type System struct {
	// Name is the name used in the intent, Title the one that its vendor uses.
	Name, Title string
	// Port is the port of the management API, for addresses without a port.
	Port string
	// BufferModel is true if the system offers a choice of buffer model: computing headroom or
	// looking it up.
	BufferModel bool
	// StrictFirst is true if the system serves every strict queue before every weighted one. On
	// other systems this is known only for strict queues with a higher number.
	StrictFirst bool
	// TimeThresholds reports whether switches of a model take ECN thresholds in units of time. Others
	// get the bytes that a port sends in that time. It is nil if none does.
	TimeThresholds func(model string) bool

	// Platforms lists the words with which an inventory names the system as a platform, in lower
	// case and without punctuation.
	Platforms []string
	// PortName returns the system's spelling of a port name of an inventory: Ethernet1/1 for Et1/1.
	// It returns "" for names that no port of the system has.
	PortName func(name string) string
	// PortAlias returns the alias under which the system may know a port that an inventory names
	// like Linux; "" if there is none. It may be nil.
	PortAlias func(name string) string
	// PanelNumber returns the bytes of a port name that count the ports on the front panel. It is
	// nil if these are the last digits.
	PanelNumber func(name string) (from, to int)
	// Nodes lists the kinds of containerlab nodes that run the system; NodePort returns the port
	// of an interface of such a node.
	Nodes    []string
	NodePort func(iface string) string

	// UsualModel is the model that a first intent suggests.
	UsualModel string
	// Fixes says how to carry out the fix of a check on the system, by the check's ID. A fix mentions
	// it where it has the placeholder {how}.
	Fixes map[string]string
	// LoginNote explains in a first intent what the login of the switches is for; "" for nothing.
	LoginNote string
}

// Supported switch operating systems.
var (
	SONiC = System{
		Name: "sonic", Title: "SONiC", Port: "8080", BufferModel: true, StrictFirst: true,
		Platforms: []string{"sonic"}, PortName: withoutSlots(ethernet), PortAlias: panelAlias,
		// The virtual switch has 32 ports of four lanes.
		Nodes: []string{"sonic-vs", "sonic-vm"}, NodePort: nodePort(func(n int) string { return "Ethernet" + strconv.Itoa(4*(n-1)) }),
		UsualModel: "DellEMC-Z9332f-O32", LoginNote: "SONiC takes rows over SSH that its gNMI refuses.",
		Fixes: map[string]string{
			"BUF-09": "with 'config qos reload'",
			"BUF-17": "in small_packet_percentage of LOSSLESS_TRAFFIC_PATTERN",
			"CAT-01": "the hwsku",
			"ECN-09": "with wred_green_enable",
			"LB-02":  "with type, or on recent images ecmp_hash_seed, in DEVICE_METADATA",
			"WD-06":  "a PFC_WD row and pfcwd_sw_enable",
		},
	}
	EOS = System{
		Name: "eos", Title: "EOS", Port: "6030",
		// Jericho marks by latency. Trident and Tomahawk do not (EOS User Manual, ECN).
		TimeThresholds: func(model string) bool {
			return !slices.ContainsFunc([]string{"7050", "7060", "7260", "7300", "7320", "7358", "7368", "7388"}, func(s string) bool { return strings.Contains(model, s) })
		},
		// The number after a slash counts the lanes of a port.
		Platforms: []string{"eos"}, PortName: ethernet, PanelNumber: beforeSlash,
		Nodes: []string{"arista_ceos", "ceos", "arista_veos", "vr-veos"}, NodePort: nodePort(func(n int) string { return "Ethernet" + strconv.Itoa(n) }),
		UsualModel: "DCS-7060DX5-64S", LoginNote: "EOS takes a change back by itself, over SSH, unless it is confirmed.",
		Fixes: map[string]string{
			"CLS-17": "with 'qos map dscp ... to traffic-class'",
			"LB-02":  "with 'ip load-sharing'",
			"TUN-02": "with 'vxlan qos ecn propagation'",
		},
	}
	NXOS = System{
		Name: "nxos", Title: "NX-OS", Port: "50051", StrictFirst: true,
		Platforms: []string{"nxos"}, PortName: ethernet,
		Nodes: []string{"cisco_n9kv", "vr-n9kv"}, NodePort: nodePort(func(n int) string { return "Ethernet1/" + strconv.Itoa(n) }),
		UsualModel: "N9K-C9332D-GX2B", LoginNote: "NX-OS is written over SSH; gNMI only shows state.",
		Fixes: map[string]string{
			"LB-02":  "with universal-id and rotate of 'ip load-sharing address'",
			"PFC-15": "with a network-qos policy in system qos",
			"WD-06":  "the line of the port and that of the switch",
		},
	}
	Cumulus = System{
		Name: "cumulus", Title: "Cumulus Linux", Port: "8765",
		Platforms: []string{"cumulus", "nvue"}, PortName: frontPanel,
		UsualModel: "SN5400",
		Fixes:      map[string]string{"LB-02": "with 'nv set system forwarding hash-seed'"},
	}

	systems = []System{SONiC, EOS, NXOS, Cumulus}
)

// Systems returns the names of all systems.
func Systems() (names []string) {
	for _, s := range systems {
		names = append(names, s.Name)
	}
	return names
}

// SystemOf returns the system with this name; the zero System for an unknown name.
func SystemOf(name string) System {
	if i := slices.IndexFunc(systems, func(s System) bool { return s.Name == name }); i >= 0 {
		return systems[i]
	}
	return System{}
}

// Fix returns the fix of a check with the placeholder {how} replaced by how each system carries it
// out.
func Fix(check, fix string) string {
	how := ""
	for _, s := range systems {
		if s.Fixes[check] != "" {
			how += ", on " + s.Title + " " + s.Fixes[check]
		}
	}
	return strings.ReplaceAll(fix, "{how}", how)
}

// ofSystems replaces the placeholders {systems} and {ports} in the tags of raw types by the
// systems' names and ports.
var ofSystems = func() *strings.Replacer {
	var names, ports []string
	for _, s := range systems {
		names, ports = append(names, s.Name), append(ports, s.Port+" for "+s.Name)
	}
	return strings.NewReplacer("{systems}", strings.Join(names, ","), "{ports}", strings.Join(ports, ", "))
}()
