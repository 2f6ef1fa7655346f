// Package order finds the order in which the devices of a fabric change, so that no
// state in between is worse than the states before and after.
//
// A device has a state before its change and one after it, of which only what neighbours
// must agree on is looked at: the priorities with PFC, the MTU, and the class of each code
// point. A state of the fabric has a [Fault] for each check that fails in it. Those that fail
// neither before nor after are what an order costs, for as long as they last. A link that
// carries no lossless class yet has nothing to lose: PFC at one end of it, and RDMA traffic
// in a lossy class, are as it was. Sources: the catalogue of checks for what must agree; for
// the order of code points and MTUs see docs/rollout.md.
//
// Everything here is a function of values: nothing is read, nothing waits. Do not put
// limits on how many devices change at once here: those are the rollout's, see [Cut].
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

// Port is what a neighbour, or traffic that passes, depends on. Values are compared
// with ==, so that equal maps must be one pointer: see [Pool].
type Port struct {
	PFC qos.PrioritySet
	MTU int // bytes of an IP packet; 0 where it is not known
	// Classes has the priority that a code point gets, of a frame that enters or that
	// a host sends; nil where it is not known.
	Classes *[qos.NumDSCP]int8
}

// State is one state of a device.
type State struct {
	Ports map[string]Port // those with a link
	// Sends are the code points of the RDMA traffic that a host sends, bit n for n.
	Sends uint64
}

// Device is a device with its state, and with the state after its change; one with a single
// state does not change.
type Device struct {
	Name string
	Host bool
	// Kind gathers devices that go together where nothing forbids it, such as a role;
	// kinds go in the order of Rank.
	Kind string
	Rank int
	// First has the device changed before all devices without it, whatever that costs.
	First bool
	// Joins says that the device may go side by side with devices of other kinds.
	Joins  bool
	States []State // one or two
}

func (d *Device) changes() bool { return len(d.States) > 1 }

// Fault is a fault of a state of the fabric, at all ports that have it, from the stage in
// which it begins.
type Fault struct {
	Check string `json:"check"`           // id in the catalogue of checks
	Class string `json:"class,omitempty"` // of a priority: "priority 3"; "" where it is of the port
	// Ports are the first of those that have it, such as leaf1/Ethernet0, Count is how many
	// have it.
	Ports []string `json:"ports"`
	Count int      `json:"count"`
	// Until is the number of the stage, from 1, in which the last of them loses it.
	Until int `json:"until"`
	// Seconds is how long the last of them has it.
	Seconds float64 `json:"seconds"`
}

// mostPorts bounds the ports of a fault that are named.
const mostPorts = 64

// Looked is what one check saw in a stage.
type Looked struct {
	Check  string `json:"check"` // id in the catalogue of checks
	Links  int    `json:"links"`
	States int    `json:"states"` // mixtures of the two ends of those links
	// Known are the faults that an end state has as well, Unused those of a class that
	// the link does not carry yet, Worse all others.
	Known  int `json:"known"`
	Unused int `json:"unused"`
	Worse  int `json:"worse"`
}

// Pool keeps equal states once: most devices of a fabric are alike. The zero value is
// ready.
type Pool struct {
	maps  map[[qos.NumDSCP]int8]*[qos.NumDSCP]int8
	ports map[string]map[string]Port
}

// State returns the state that stands for all equal ones.
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

// Stage is devices that change side by side: any mixture of them may be seen.
type Stage struct {
	Devices []string
	// Writes is how long they change, in seconds, and Gate how long the fabric then stays
	// as it is, before the next stage begins.
	Writes, Gate float64
}

// Order is what was found.
type Order struct {
	Stages []Stage
	Proof
}

// Cost is what an order costs. Orders are compared by Seconds, and by Weight where these are
// equal.
type Cost struct {
	// Seconds is how long a state in between is worse, from the first write that makes it
	// worse to the last one that ends it, the gates between these included.
	Seconds float64
	// Weight is the sum of the seconds of each fault at each port.
	Weight float64
}

// Less compares costs, as exactly as sums of seconds are.
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

// Plus adds costs.
func (c Cost) Plus(d Cost) Cost { return Cost{c.Seconds + d.Seconds, c.Weight + d.Weight} }

// Proof says what is seen in the stages of an order and between them.
type Proof struct {
	// Links is how many links were looked at, States in how many mixtures of the two
	// ends and the senders.
	Links, States int
	// Unclassed is how many links have an end that never shows which class a code point
	// has: CLS-02 is not made on them.
	Unclassed int
	// Cost is 0 where no state in between is worse.
	Cost Cost
	// Worse has, for each stage, the faults that begin in it and that neither end state
	// has.
	Worse [][]Fault
	// Looked has, for each stage, what each check saw in it.
	Looked [][]Looked
	// Unproven says why a deadlock in between cannot be excluded; "" where it can.
	Unproven string
}

// mostGroups bounds the groups that the search orders: it looks at each subset of them.
const mostGroups = 9

// Cut says how devices that may follow one another in any order are cut into stages. It
// depends on nothing but the devices.
type Cut func(devices []*Device) []Stage

// Find finds the order with the smallest cost among those that move devices of one kind and
// with equal changes one after another. Where that costs anything, it looks as well at orders
// of whole kinds, and at those in which all devices that join others are one kind. Of orders
// with equal costs it takes the first of these, and in it the one by rank.
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
	// Of more kinds than can be searched, hosts and switches go one after the other.
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

// Prove says what is seen in stages and between them. Each device that changes must be in
// one of them.
func Prove(devices []*Device, links []*intent.Link, stages []Stage) Proof {
	return newFabric(devices, links).prove(stages)
}

// group is devices that move one after another, in stages.
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
