package lab

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/systems"
)

// hostSystem is the name of the hosts' system.
const hostSystem = "linux"

// Fault is a named fault that [Lab.Do] can inject into a device.
type Fault struct {
	Name, What string
	// Finds lists the checks that report the fault. If validate has no reason to run one of them,
	// another reports it.
	Finds []string
	// Value is the default of {value}; "" if the fault takes none. takes is the form of the value,
	// as a list of [valueWords].
	Value, takes string
	// between is set for a fault that a check only finds by comparing both ends of a link; its
	// default port is one towards another switch.
	between bool
	// onHost holds the statements of [Lab.Inject] for a host, everywhere those for a switch of any
	// system. The record of a system has the others, see [sim.System]. Their
	// placeholders are {port}; {rdma}, the RDMA device of the port; {name}, {class}, which is the
	// name in capitals, {priority}, {queue} and {dscp}, of the first lossless class of the intent;
	// {other}, a priority that no class uses; and {value}.
	onHost, everywhere string
}

// statements returns the statements for a device of a system; "" if it cannot have the fault.
func (f Fault) statements(system string) string {
	if system == hostSystem {
		return f.onHost
	}
	s, _ := systems.Of(system)
	return cmp.Or(s.Faults[f.Name], f.everywhere)
}

// faults is sorted by name.
var faults = []Fault{
	{Name: "away", What: "a pod has the interface", Finds: []string{"NIC-04"}, onHost: "away {port}"},
	{Name: "classify", What: "RDMA's DSCP is in the class of other traffic", Finds: []string{"CLS-02", "NIC-02"}, onHost: "dscp {port} {dscp}=0"},
	{Name: "cnp", What: "congestion notifications have another DSCP", Finds: []string{"CLS-08"}, Value: "8", takes: "DSCP", onHost: "cnp {port} {value} 6"},
	{Name: "count", What: "it counted 'QUEUE COUNTER N'", Finds: []string{"PFC-14"}, Value: "1 pfc-tx 1000", takes: "QUEUE COUNTER N", everywhere: "count {port} {value}"},
	{Name: "count-nic", What: "ethtool -S counted 'COUNTER N'", Value: "rx_discards_phy 1000", takes: "NAME N", onHost: "stat {port} {value}"},
	{Name: "count-rdma", What: "hw_counters counted 'COUNTER N'", Value: "np_cnp_sent 1000", takes: "NAME N", onHost: "hw {rdma} {value}"},
	{Name: "cron", What: "a cron table pauses another priority", Finds: []string{"NIC-12"}, onHost: "cron * * * * * root mlnx_qos -i {port} --pfc 0,0,0,0,1,0,0,0"},
	{Name: "dcbx", What: "the firmware of the card owns DCBX", Finds: []string{"DCB-03"}, onHost: "dcbx {port} firmware"},
	{Name: "ecn-late", What: "marking begins at 20 MB", Finds: []string{"ECN-03", "ECN-06"}},
	{Name: "ecn-off", What: "the lossless queue marks nothing", Finds: []string{"ECN-01"}},
	{Name: "fec", between: true, What: "the port has no FEC", Finds: []string{"PRT-04", "PRT-05", "PRT-06"}},
	{Name: "gid", What: "RoCE v2 is off: no GID is of its type", Finds: []string{"NIC-14"}, onHost: "file class/infiniband/{rdma}/ports/1/gid_attrs/types/1 IB/RoCE v1; file class/infiniband/{rdma}/ports/1/gid_attrs/types/3 IB/RoCE v1"},
	{Name: "ignore", What: "writes are answered with success and change nothing", onHost: "ignore"},
	{Name: "iwarp", What: "the card speaks iWARP", Finds: []string{"NIC-13"}, onHost: "file class/infiniband/{rdma}/node_type 4: RNIC"},
	{Name: "lldp", between: true, What: "the neighbour does not show", Finds: []string{"TOP-10"}},
	{Name: "lldpad", What: "an agent negotiates DCBX", Finds: []string{"DCB-02"}, onHost: "process lldpad"},
	{Name: "miscabled", between: true, What: "the cable is in another device", Finds: []string{"TOP-07"}, Value: "elsewhere eth9", takes: "NAME NAME", everywhere: "neighbor {port} {value}"},
	{Name: "mtu", What: "the MTU is another", Finds: []string{"MTU-02", "MTU-03", "MTU-04"}, Value: "1500", takes: "BYTES", onHost: "file class/net/{port}/mtu {value}"},
	{Name: "no-dcb", What: "the driver shows no DCB", Finds: []string{"NIC-10"}, onHost: "nodcb"},
	{Name: "no-rdma", What: "the port has no RDMA device", Finds: []string{"NIC-13"}, onHost: "nordma {port}"},
	{Name: "no-root", What: "the login may not become root", Finds: []string{"READ"}, onHost: "noroot"},
	{Name: "orchagent", What: "orchagent has died, and nothing that is written comes into force"},
	{Name: "pause", What: "802.3x is on", Finds: []string{"PFC-05"}, onHost: "pause {port}"},
	{Name: "pair", What: "a program's queue pair has another DSCP", Finds: []string{"NIC-16"}, Value: "0", takes: "DSCP", onHost: "pair {rdma} python3 {value}"},
	{Name: "pair-gid", What: "a program's queue pair uses RoCE v1", Finds: []string{"NIC-21"}, onHost: "pair {rdma} python3 {dscp} slot=2"},
	{Name: "pair-udp", What: "a program's queue pairs have one UDP port (see NIC-22)", onHost: "pair {rdma} python3 {dscp} udp=-1 pairs=4"},
	{Name: "pcie", What: "the card is in a slot of four lanes", Finds: []string{"NIC-15"}, onHost: "file class/net/{port}/device/current_link_width 4"},
	{Name: "pfc-off", What: "no priority is paused", Finds: []string{"PFC-01", "PFC-02", "PFC-10"}, onHost: "pfc {port} -"},
	{Name: "pfc-other", What: "another priority is paused as well", Finds: []string{"PFC-01", "PFC-02"}, onHost: "pfc {port} {priority},{other}"},
	{Name: "rdma-down", What: "the RDMA port is down", Finds: []string{"NIC-13"}, onHost: "file class/infiniband/{rdma}/ports/1/state 1: DOWN"},
	{Name: "refuse", What: "the device answers nobody", Finds: []string{"READ"}, everywhere: "refuse", onHost: "refuse"},
	{Name: "replaced", What: "another device with the same configuration answers", Value: "1", takes: "N", everywhere: "chassis spare{value}", onHost: "file class/dmi/id/product_serial SPARE{value}"},
	{Name: "rival", What: "another program clears PFC after each write of an apply", onHost: "rival {port}"},
	{Name: "roce-v1", What: "RDMA-CM uses RoCE v1", Finds: []string{"DRIFT"}, onHost: "mode {rdma} IB/RoCE v1"},
	{Name: "share", What: "RDMA gets a small share of the link", Finds: []string{"SCH-03", "SCH-04"}, onHost: "ets {port} {priority}=10,0=90"},
	{Name: "shut", What: "the port is shut", Finds: []string{"PRT-05"}},
	{Name: "speed", What: "the link has another speed in Mbit/s", Finds: []string{"PRT-04"}, Value: "25000", takes: "MBITS", onHost: "file class/net/{port}/speed {value}"},
	{Name: "stays-down", What: "the host does not come back from the next reset", onHost: "staysdown"},
	{Name: "stopped", What: "the PFC watchdog has stopped the lossless queue", Finds: []string{"OPS-06"}, everywhere: "counted {port} {queue} wd-stuck 1"},
	{Name: "storm", What: "the NIC at the port pauses it all the time, uncounted", everywhere: stormed},
	{Name: "tos", What: "RDMA-CM sends with another ToS", Finds: []string{"NIC-03"}, Value: "0", takes: "TOS", onHost: "tos {rdma} {value}"},
	{Name: "trust", What: "the port does not classify by DSCP", Finds: []string{"CLS-02", "CLS-04", "NIC-01"}, onHost: "trust {port} pcp"},
	{Name: "unconfirmed", What: "another MTU is applied, and undone if nobody confirms it", Finds: []string{"OPS-06"}},
	{Name: "unplug", What: "the cable is out", Finds: []string{"NIC-11", "PRT-05"}, everywhere: "unplug {port}", onHost: "unplug {port}"},
	{Name: "unsaved", What: "a change was not saved", Finds: []string{"OPS-01"}},
	{Name: "warm-restart", What: "a warm restart has not ended", Finds: []string{"OPS-06"}},
	{Name: "watchdog", What: "no PFC watchdog", Finds: []string{"WD-01", "WD-02"}},
}

// CounterNames returns the counters of switches that a fault can count.
func CounterNames() []string { return sim.CounterNames() }

// valueWords checks the words of a value.
var valueWords = map[string]func(string) error{
	"QUEUE":   between(0, sim.NumQueues-1),
	"COUNTER": func(s string) error { return sim.CheckCounter(0, s) },
	"N":       between(0, math.MaxInt64),
	"DSCP":    between(0, 63),
	"TOS":     between(0, 255),
	"BYTES":   between(68, 65535),
	"MBITS":   between(10, 1_600_000),
	"NAME": func(s string) error {
		if !deviceOrCounter.MatchString(s) {
			return fmt.Errorf("%q is not a name of letters, digits and . _ : / -", s)
		}
		return nil
	},
}

// deviceOrCounter matches names of devices, ports and counters. A name cannot lead out of a
// folder, because no part of it begins with a dot.
var deviceOrCounter = regexp.MustCompile(`^[A-Za-z0-9][\w.:-]*(/[A-Za-z0-9][\w.:-]*)*$`)

// between returns a check that a word is an integer from least to most.
func between(least, most int64) func(string) error {
	return func(s string) error {
		if n, err := strconv.ParseInt(s, 10, 64); err != nil || n < least || n > most {
			return fmt.Errorf("%q is not a number from %d to %d", s, least, most)
		}
		return nil
	}
}

// check returns an error if the value is not valid for the fault.
func (f Fault) check(value string) error {
	names, words := strings.Fields(f.takes), strings.Fields(value)
	if len(words) != len(names) {
		return fmt.Errorf("value %q of fault %s is not of the form '%s'", value, f.Name, f.takes)
	}
	for i, w := range words {
		if err := valueWords[names[i]](w); err != nil {
			return fmt.Errorf("value %q of fault %s: %s: %w", value, f.Name, names[i], err)
		}
	}
	return nil
}

// stormed makes a port receive, at each reading of its counters, as many PFC frames as hold a
// pause for minutes at any speed, while the port sends almost nothing.
const stormed = "grow {port} {priority} pfc-rx 100000000; grow {port} {queue} tx-octets 1000"

// Faults returns all named faults.
func Faults() []Fault { return faults }

// On returns the systems that can have the fault.
func (f Fault) On() (out []string) {
	if f.OfHosts() {
		out = append(out, hostSystem)
	}
	for _, s := range systems.All {
		if f.statements(s.Name) != "" {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return out
}

// OfHosts reports whether a host can have the fault.
func (f Fault) OfHosts() bool { return f.onHost != "" }

// OfSwitches reports whether a switch can have the fault.
func (f Fault) OfSwitches() bool { return len(f.On()) > 1 || !f.OfHosts() }

// place is the target of a fault, and its value.
type place struct{ fault, device, port, value string }

// placeholder matches a word that [Lab.resolve] replaces.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// resolve completes a request with defaults and returns the statements for its fault.
func (l *Lab) resolve(r Request) (p place, do string, err error) {
	i := slices.IndexFunc(faults, func(f Fault) bool { return f.Name == r.Fault })
	if i < 0 {
		return p, "", fmt.Errorf("there is no fault %q", r.Fault)
	}
	f := faults[i]
	ports, system := map[string]string{}, hostSystem // RDMA device of each port
	var chosen map[string]string                     // interface of each NIC that has a selector
	var names []string
	uplinks := 0
	switch h, sw := l.fabric.Host(r.Device), l.fabric.Switch(r.Device); {
	case h != nil:
		var cards []host.NIC
		cards, chosen = cardsOf(h, "") // the names do not depend on the kind
		for _, n := range h.NICs {
			i := slices.IndexFunc(cards, func(c host.NIC) bool { return c.Name == cmp.Or(chosen[n.Name], n.Name) })
			ports[n.Name], names = cards[i].RDMA, append(names, n.Name)
		}
	case sw != nil:
		system = sw.OS
		for _, port := range sw.Ports {
			if port.Link == nil {
				continue
			}
			ports[port.Name] = ""
			if f.between && port.Uplink() {
				names = slices.Insert(names, uplinks, port.Name)
				uplinks++
			} else {
				names = append(names, port.Name)
			}
		}
	default:
		return p, "", fmt.Errorf("the lab of %s has no device %q", l.Fabric, r.Device)
	}
	if do = f.statements(system); do == "" {
		return p, "", fmt.Errorf("fault %s is for %s; %s is %s", f.Name, strings.Join(f.On(), ", "), r.Device, system)
	}
	p = place{f.Name, r.Device, r.Port, r.Value}
	ofPort := strings.Contains(do, "{port}") || strings.Contains(do, "{rdma}")
	switch _, known := ports[r.Port]; {
	case r.Port != "" && !ofPort:
		return p, "", fmt.Errorf("on %s, fault %s affects the whole device and takes no port", r.Device, f.Name)
	case r.Port != "" && !known:
		return p, "", fmt.Errorf("%s has no port %q with a link in the intent; it has %s", r.Device, r.Port, natural.Fold(names))
	case ofPort && r.Port == "" && len(names) == 0:
		return p, "", fmt.Errorf("the intent has no port of %s with a link", r.Device)
	case ofPort:
		p.port = cmp.Or(r.Port, names[0])
	}
	switch {
	case r.Value != "" && !strings.Contains(do, "{value}"):
		return p, "", fmt.Errorf("on %s, fault %s takes no value", r.Device, f.Name)
	case strings.Contains(do, "{rdma}") && ports[p.port] == "":
		return p, "", fmt.Errorf("%s %s has no RDMA device in the intent", r.Device, p.port)
	case strings.Contains(do, "{value}"):
		p.value = cmp.Or(r.Value, f.Value)
		if err := f.check(p.value); err != nil {
			return p, "", err
		}
	}
	with := map[string]string{"{port}": cmp.Or(chosen[p.port], p.port), "{rdma}": ports[p.port], "{value}": p.value, "{other}": fmt.Sprint(l.unused())}
	for _, c := range l.fabric.Settings.Classes {
		if c.Lossless.V && with["{class}"] == "" && len(c.DSCP.V) > 0 {
			with["{name}"], with["{class}"], with["{priority}"], with["{queue}"] = c.Name, strings.ToUpper(c.Name), fmt.Sprint(c.Priority.V), fmt.Sprint(c.Queue.V)
			with["{dscp}"] = fmt.Sprint(c.DSCP.V[0])
		}
	}
	do = placeholder.ReplaceAllStringFunc(do, func(word string) string {
		if with[word] == "" {
			err = cmp.Or(err, fmt.Errorf("fault %s needs a lossless class, but the intent has none", f.Name))
		}
		return with[word]
	})
	return p, do, err
}

// unused returns the lowest priority other than 0 that no class of the intent uses.
func (l *Lab) unused() int {
	for p := 1; p < 8; p++ {
		if !slices.ContainsFunc(l.fabric.Settings.Classes, func(c *intent.Class) bool { return c.Priority.V == p }) {
			return p
		}
	}
	return 7
}
