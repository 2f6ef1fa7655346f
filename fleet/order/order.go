// Package order finds the order in which to change the devices of a fabric so that, if
// possible, no intermediate state is worse than the states before and after.
//
// Each device has a state before and a state after its change. Only the settings that
// neighbours must agree on count: the priorities with PFC, the MTU, and the class of each
// code point. A state of the fabric has a [Fault] for each check that fails in it. The
// cost of an order is how long those faults last that exist neither before nor after the
// change. A link that carries no lossless class yet has nothing to lose, so PFC at only
// one end of it, or RDMA traffic in a lossy class, costs nothing. Sources: the catalogue
// of checks for the settings that must agree; docs/rollout.md for the order of code points
// and MTUs.
//
// All functions here are pure: they do no I/O and do not wait. Do not add limits on how
// many devices change at once here; they belong to the rollout, see [Cut].
package order

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Port holds the settings of a port that its neighbour or passing traffic depends on.
// Values are compared with ==, so equal maps must share one pointer: see [Pool].
type Port struct {
	PFC qos.PrioritySet
	MTU int // maximum size of an IP packet in bytes; 0 if unknown
	// Classes maps the code point of a frame that enters the port, or that a host sends,
	// to its priority; nil if unknown.
	Classes *[qos.NumDSCP]int8
}

// State is one state of a device.
type State struct {
	Ports map[string]Port // the ports that have a link
	// Sends is the set of code points of a host's RDMA traffic; bit n is code point n.
	Sends uint64
}

// Device is a device with its state before and, if it changes, its state after the change.
type Device struct {
	Name string
	Host bool
	// Kind groups devices that change together if possible, such as those of one role.
	// Kinds change in the order of Rank.
	Kind string
	Rank int
	// First makes the device change before all devices without First, whatever the cost.
	First bool
	// Joins allows the device to change in parallel with devices of other kinds.
	Joins  bool
	States []State // one (the device does not change) or two
}

func (d *Device) changes() bool { return len(d.States) > 1 }

// Fault is a failed check in intermediate states of the fabric, with all ports at which it
// begins in the same stage.
type Fault struct {
	Check string `json:"check"`           // ID in the catalogue of checks
	Class string `json:"class,omitempty"` // such as "priority 3"; "" for a fault of the whole port
	// Ports lists the first of the affected ports, such as leaf1/Ethernet0; Count counts
	// all of them.
	Ports []string `json:"ports"`
	Count int      `json:"count"`
	// Until is the number of the stage, counted from 1, in which the fault ends at the
	// last port.
	Until int `json:"until"`
	// Seconds is the longest time for which a port has the fault.
	Seconds float64 `json:"seconds"`
}

// mostPorts limits how many ports a Fault lists.
const mostPorts = 64

// CheckSummary summarizes what one check examined and found in a stage.
type CheckSummary struct {
	Check  string `json:"check"` // ID in the catalogue of checks
	Links  int    `json:"links"`
	States int    `json:"states"` // combinations of states of the two ends of those links
	// Known counts faults that also exist before or after the whole change, Unused those
	// in a class that the link does not carry yet, Worse all others.
	Known  int `json:"known"`
	Unused int `json:"unused"`
	Worse  int `json:"worse"`
}

// Pool stores equal states only once, because most devices of a fabric are alike. The zero
// value is ready to use.
type Pool struct {
	maps  map[[qos.NumDSCP]int8]*[qos.NumDSCP]int8
	ports map[string]map[string]Port
}

// State returns the stored state that equals s. It may modify s.Ports.
func (p *Pool) State(s State) State {
	if p.maps == nil {
		p.maps, p.ports = map[[qos.NumDSCP]int8]*[qos.NumDSCP]int8{}, map[string]map[string]Port{}
	}
	key := make([]byte, 0, 64*len(s.Ports))
	for _, name := range natural.Keys(s.Ports) {
		port := s.Ports[name]
		if port.Classes != nil {
			one := p.maps[*port.Classes]
			if one == nil {
				one = port.Classes
				p.maps[*one] = one
			}
			port.Classes = one
			s.Ports[name] = port
		}
		key = fmt.Appendf(key, "%q %d %d %p ", name, port.PFC, port.MTU, port.Classes)
	}
	one := p.ports[string(key)]
	if one == nil {
		one = s.Ports
		p.ports[string(key)] = one
	}
	return State{one, s.Sends}
}

// Stage is a set of devices that change in parallel, so that any combination of changed
// and unchanged devices may occur.
type Stage struct {
	Devices []string
	// Writes is how long the changes take, in seconds; Gate is how long the fabric then
	// stays unchanged before the next stage begins.
	Writes, Gate float64
}

// Order is the order that [Find] found, with its proof.
type Order struct {
	Stages []Stage
	Proof
}

// Cost is the cost of an order. Costs are compared by Seconds, and by Weight if the
// seconds are equal.
type Cost struct {
	// Seconds is how long the fabric is in a worse state, from the first write of the
	// stage that makes it worse to the last write of the stage that ends it, including the
	// gates in between.
	Seconds float64
	// Weight is the sum of the seconds of all faults at all ports.
	Weight float64
}

// Less reports whether c is smaller than d by more than rounding errors.
func (c Cost) Less(d Cost) bool {
	switch {
	case differ(c.Seconds, d.Seconds):
		return c.Seconds < d.Seconds
	case differ(c.Weight, d.Weight):
		return c.Weight < d.Weight
	}
	return false
}

func differ(a, b float64) bool { return math.Abs(a-b) > 1e-9*(a+b) }

// Plus returns the sum of c and d.
func (c Cost) Plus(d Cost) Cost { return Cost{c.Seconds + d.Seconds, c.Weight + d.Weight} }

// Proof describes the faults that occur during and between the stages of an order.
type Proof struct {
	// Links is the number of links examined, States the number of combinations of states
	// of their two ends over all stages.
	Links, States int
	// Unclassed is the number of links with an end whose classes are never known. Check
	// CLS-02 skips these links.
	Unclassed int
	// Cost is 0 if no intermediate state is worse.
	Cost Cost
	// Worse holds, for each stage, the faults that begin in it and that exist neither
	// before nor after the whole change.
	Worse [][]Fault
	// Looked holds, for each stage, what each check examined and found.
	Looked [][]CheckSummary
	// Unproven explains why a deadlock during the change cannot be excluded; "" if it can.
	Unproven string
}

// mostGroups limits how many groups the search orders, because it visits every subset of
// them.
const mostGroups = 9

// Cut splits devices that may change in any order into stages. The result must depend on
// the devices alone.
type Cut func(devices []*Device) []Stage

// Find returns the order with the smallest cost among those in which the devices of one
// kind with equal changes change one after another. If that order costs anything, Find
// also tries orders of whole kinds, and orders in which all devices with Joins count as one
// kind. Among equal costs it prefers the earlier of these groupings, and within a grouping
// the order by rank.
func Find(devices []*Device, links []*intent.Link, cut Cut) *Order {
	f := newFabric(devices, links)
	keys := []func(*Device) string{
		func(d *Device) string { return d.Kind + "\x00" + f.change(d) },
		func(d *Device) string { return d.Kind },
	}
	joined := func(d *Device) string { return map[bool]string{false: d.Kind}[d.Joins] }
	if slices.ContainsFunc(devices, func(d *Device) bool { return d.Joins }) {
		keys = append(keys, joined)
	}
	// If there are too many kinds to search, order only hosts against switches.
	keys = append(keys, func(d *Device) string { return map[bool]string{true: "hosts", false: "switches"}[d.Host] })
	var best *Order
	for i, key := range keys {
		if best != nil && (best.Cost == Cost{} || i == len(keys)-1) {
			break
		}
		groups := f.groups(key)
		if len(groups) > mostGroups {
			continue
		}
		for _, g := range groups {
			g.stages = cut(g.devices)
		}
		if stages, cost := f.search(groups); best == nil || cost.Less(best.Cost) {
			best = &Order{stages, Proof{Cost: cost}}
		}
	}
	best.Proof = f.prove(best.Stages)
	return best
}

// Prove describes the faults that occur during and between the given stages. Each device
// that changes must be in one of the stages.
func Prove(devices []*Device, links []*intent.Link, stages []Stage) Proof {
	return newFabric(devices, links).prove(stages)
}

// group is a set of devices that change one after another, in stages.
type group struct {
	devices []*Device
	stages  []Stage
	rank    int
	first   bool
}

func (f *fabric) groups(key func(*Device) string) []*group {
	type of struct {
		key   string
		first bool
	}
	at := map[of]*group{}
	var out []*group
	for _, d := range f.list {
		if !d.changes() {
			continue
		}
		k := of{key(d), d.First}
		g := at[k]
		if g == nil {
			g = &group{rank: d.Rank, first: d.First}
			at[k] = g
			out = append(out, g)
		}
		g.devices = append(g.devices, d)
		g.rank = min(g.rank, d.Rank)
	}
	ordered.Sort(out, func(a, b *group) int { return cmp.Compare(a.rank, b.rank) })
	return out
}
