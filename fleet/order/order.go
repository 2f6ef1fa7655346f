// Package order finds the order in which the devices of a fabric change, so that no
// state in between is worse than the states before and after.
//
// A device goes through a chain of states, of which only what neighbours must agree on
// is looked at: the priorities with PFC, the MTU, and the class of each code point. A
// state of the fabric has a [Fault] for each check that fails in it. Those that fail
// neither before nor after are what an order costs, at each port times the seconds that
// they last. Sources: the catalogue of checks for what must agree; for the order of code
// points and MTUs see docs/rollout.md.
//
// Everything here is a function of values: nothing is read, nothing waits. Do not put
// limits on how many devices change at once here: those are the rollout's.
package order

import (
	"cmp"
	"fmt"

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

// Device is a device and the states that it goes through, at least one. One with a
// single state does not change.
type Device struct {
	Name string
	Host bool
	// Kind gathers devices that go together where nothing forbids it, such as a role;
	// kinds go in the order of Rank.
	Kind string
	Rank int
	// Seconds is how long one step of the chain takes.
	Seconds float64
	States  []State
}

func (d *Device) changes() bool { return len(d.States) > 1 }

// Fault is a fault of a state of the fabric, at all ports that have it.
type Fault struct {
	Check string `json:"check"`           // id in the catalogue of checks
	Class string `json:"class,omitempty"` // of a priority: "priority 3"; "" where it is of the port
	// Ports are the first of those that have it, such as leaf1/Ethernet0, Count is how many
	// have it.
	Ports []string `json:"ports"`
	Count int      `json:"count"`
}

// mostPorts bounds the ports of a fault that are named.
const mostPorts = 64

// Looked is what one check saw in a stage.
type Looked struct {
	Check  string `json:"check"` // id in the catalogue of checks
	Links  int    `json:"links"`
	States int    `json:"states"` // mixtures of the two ends of those links
	// Known are the faults that an end state has as well, Worse those that none has.
	Known int `json:"known"`
	Worse int `json:"worse"`
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

// Move is one step of the chain of each of some devices.
type Move struct {
	Devices []string // in natural order
	// Step is which step of the chain it is, from 0.
	Step int
}

// Stage is moves that are made side by side: any mixture of them may be seen.
type Stage []Move

// Order is what was found.
type Order struct {
	Stages []Stage
	Proof
}

// Proof says what is seen between the stages of an order and in them.
type Proof struct {
	// Links is how many links were looked at, States in how many mixtures of the two
	// ends and the senders.
	Links, States int
	// Unclassed is how many links have an end that never shows which class a code point
	// has: CLS-02 is not made on them.
	Unclassed int
	// Cost is the sum of the faults, at each port times their seconds; 0 says that no
	// state in between is worse.
	Cost float64
	// Worse has, for each stage, the faults that neither end state has.
	Worse [][]Fault
	// Looked has, for each stage, what each check saw in it.
	Looked [][]Looked
	// Unproven says why a deadlock in between cannot be excluded; "" where it can.
	Unproven string
}

// most bounds the states that the search looks at.
const most = 512

// Find finds the order with the smallest cost among those that move devices of one
// kind and with equal changes together, and where that costs anything, and they are
// few, among all; of those with equal costs the one with the most stages, and then by
// rank.
func Find(devices []*Device, links []*intent.Link) *Order {
	f := newFabric(devices, links)
	coarse := []func(*Device) string{
		func(d *Device) string { return d.Kind + "\x00" + f.change(d) },
		func(d *Device) string { return d.Kind },
		func(d *Device) string { return map[bool]string{true: "hosts", false: "switches"}[d.Host] },
	}
	out := &Order{}
	for _, key := range coarse {
		if groups := f.groups(key); size(groups) <= most {
			out = f.find(groups)
			break
		}
	}
	if out.Cost > 0 {
		if groups := f.groups(func(d *Device) string { return d.Name }); size(groups) <= most {
			if fine := f.find(groups); fine.Cost < out.Cost {
				out = fine
			}
		}
	}
	return out
}

func (f *fabric) find(groups []*group) *Order {
	var stages []Stage
	for _, moved := range f.search(groups) {
		var s Stage
		for _, m := range moved {
			s = append(s, Move{groups[m.group].names(), m.step})
		}
		stages = append(stages, s)
	}
	return &Order{stages, f.prove(stages)}
}

// Prove says what is seen between stages and in them. Each device must go through its
// chain in them, a step a stage.
func Prove(devices []*Device, links []*intent.Link, stages []Stage) Proof {
	return newFabric(devices, links).prove(stages)
}

// group is devices that move together.
type group struct {
	devices []*Device
	seconds float64
	rank    int
	steps   int // of the chain
}

func (g *group) names() []string {
	var out []string
	for _, d := range g.devices {
		out = append(out, d.Name)
	}
	return natural.Sorted(out)
}

func size(groups []*group) int {
	n := 1
	for _, g := range groups {
		if n *= g.steps + 1; n > most {
			return n
		}
	}
	return n
}

func (f *fabric) groups(key func(*Device) string) []*group {
	at := map[string]*group{}
	var out []*group
	for _, d := range f.list {
		if !d.changes() {
			continue
		}
		// A group has one chain.
		k := key(d) + string(rune(len(d.States)))
		g := at[k]
		if g == nil {
			g = &group{rank: d.Rank, steps: len(d.States) - 1}
			at[k] = g
			out = append(out, g)
		}
		g.devices = append(g.devices, d)
		g.seconds = max(g.seconds, d.Seconds)
	}
	ordered.Sort(out, func(a, b *group) int { return cmp.Compare(a.rank, b.rank) })
	return out
}
