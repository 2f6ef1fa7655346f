package rollout

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Interim describes what a run leaves to later runs. RDMA traffic moves to another code point
// in up to three runs: first all devices accept both code points while hosts still send the
// old one; then the hosts send the new one; then all devices drop the old one. In a single
// run, a host that changes before its switch would send in a lossy class.
type Interim struct {
	// Keeps maps the code points that stay in addition to those of the intent to their
	// traffic classes.
	Keeps map[int]int8 `json:"keeps"`
	// Moves is set if hosts send the new code points from this run on.
	Moves bool `json:"moves"`
	// Run is the number of this run, from 1, out of Runs.
	Run  int `json:"run"`
	Runs int `json:"runs"`
}

// Interim returns what the next run must leave to a later one; nil if one run can do all.
func (m *Maker) Interim() *Interim {
	if m.cost == (order.Cost{}) {
		return nil
	}
	both := &Interim{Keeps: m.stillSent(), Run: 1, Runs: 2}
	if len(both.Keeps) == 0 {
		return nil
	}
	moved := &Interim{Keeps: both.Keeps, Moves: true, Run: 2, Runs: 3}
	toBoth, fromBoth := m.leg(nil, both), m.leg(both, nil)
	toMoved, fromMoved := m.leg(both, moved), m.leg(moved, nil)
	// Make the last two runs one if that costs no more.
	if three := toMoved.cost.Plus(fromMoved.cost); three.Less(fromBoth.cost) {
		both.Runs, fromBoth.cost = 3, three
	}
	switch {
	case !toBoth.cost.Plus(fromBoth.cost).Less(m.cost):
		return nil
	case toBoth.changes:
		return both
	}
	return moved
}

// leg is the result for a run from one state of the fabric to another.
type leg struct {
	cost    order.Cost
	changes bool // some code points, or their classes, change
}

// leg evaluates a run from one interim state to another. A nil from is the current state, a
// nil to the state of the intent.
func (m *Maker) leg(from, to *Interim) (out leg) {
	var devices []*order.Device
	for _, d := range m.devices {
		one := *d
		a, b := d.States[0], d.States[len(d.States)-1]
		if from != nil {
			a = m.pool.State(from.state(d))
		}
		if to != nil {
			b = m.pool.State(to.state(d))
		}
		one.States = []order.State{a, b}
		if a.Sends == b.Sends && maps.Equal(a.Ports, b.Ports) {
			one.States = one.States[:1]
		}
		out.changes = out.changes || a.Sends != b.Sends || !maps.EqualFunc(a.Ports, b.Ports, func(p, q order.Port) bool { return p.Classes == q.Classes })
		devices = append(devices, &one)
	}
	found, _ := m.findOrder(devices, m.Fabric.Rollout.Together)
	out.cost = found.Cost
	return out
}

// state returns the settings of a device that neighbours depend on after an interim run.
func (i *Interim) state(d *order.Device) order.State {
	was, will := d.States[0], d.States[len(d.States)-1]
	out := order.State{Ports: map[string]order.Port{}, Sends: was.Sends}
	if i.Moves {
		out.Sends = will.Sends
	}
	for name, p := range will.Ports {
		if p.Classes != nil {
			both := *p.Classes
			i.put(&both)
			p.Classes = &both
		}
		out.Ports[name] = p
	}
	return out
}

// stillSent returns the code points that hosts send before the rollout, that have one
// lossless class on all switch ports, and that lose it in the rollout.
func (m *Maker) stillSent() map[int]int8 {
	var sent uint64
	for _, d := range m.devices {
		if d.Host {
			sent |= d.States[0].Sends
		}
	}
	out := map[int]int8{}
	for ; sent != 0; sent &= sent - 1 {
		dscp := bits.TrailingZeros64(sent)
		if tc, ok := m.classOf(dscp); ok {
			out[dscp] = tc
		}
	}
	return out
}

// classOf returns the lossless class that a code point has on all switch ports before the
// rollout. ok is false if the code point has more than one class, or keeps its class.
func (m *Maker) classOf(dscp int) (tc int8, ok bool) {
	tc = qos.Unmapped
	loses := false
	for _, d := range m.devices {
		if d.Host {
			continue
		}
		will := d.States[len(d.States)-1]
		for name, p := range d.States[0].Ports {
			if p.Classes == nil {
				return 0, false
			}
			of, after := p.Classes[dscp], will.Ports[name]
			if of < 0 || tc >= 0 && of != tc || !p.PFC.Has(int(of)) || !after.PFC.Has(int(of)) {
				return 0, false
			}
			tc = of
			loses = loses || after.Classes == nil || after.Classes[dscp] != of
		}
	}
	return tc, loses
}

// put adds the kept code points to a map.
func (i *Interim) put(classes *[qos.NumDSCP]int8) {
	for dscp, tc := range i.Keeps {
		if classes[dscp] != qos.Unmanaged {
			classes[dscp] = tc
		}
	}
}

// Lossless reports whether all code points are kept in lossless classes of the intent. A plan
// from a file may claim others.
func (i *Interim) Lossless(f *intent.Fabric) bool {
	if i == nil {
		return true
	}
	for dscp, tc := range i.Keeps {
		ok := slices.ContainsFunc(f.Settings.Classes, func(c *intent.Class) bool { return c.Lossless.V && c.Priority.V == int(tc) })
		if !ok || dscp < 0 || dscp >= qos.NumDSCP {
			return false
		}
	}
	return true
}

// OfSwitch adds the kept code points to the desired state of a switch, in place.
func (i *Interim) OfSwitch(d *qos.Device) *qos.Device {
	seen := map[*qos.Maps]bool{nil: true}
	put := func(m *qos.Maps) {
		if !seen[m] {
			seen[m] = true
			i.put(&m.DSCPToTC)
		}
	}
	put(d.GlobalMaps.V)
	for _, p := range d.Ports {
		put(p.Maps.V)
	}
	return d
}

// OfHost returns the desired state of a host with the kept code points added. Unless i.Moves
// is set, it leaves the code points that the host sends unmanaged.
func (i *Interim) OfHost(h *nic.Host) *nic.Host {
	out := *h
	out.Ports = maps.Clone(h.Ports)
	for name, p := range out.Ports {
		one := *p
		if !i.Moves {
			one.ToS, one.TrafficClass = qos.Opt[int]{}, qos.Opt[int]{}
		}
		if one.DSCP.Set {
			i.put(&one.DSCP.V)
		}
		out.Ports[name] = &one
	}
	return &out
}

// PriorityMove is RDMA traffic that changes from one lossless priority to another.
type PriorityMove struct {
	DSCP int `json:"dscp"`
	From int `json:"from"`
	To   int `json:"to"`
}

// priorityMoves returns the code points that hosts send and that all switch ports put into one
// lossless class before the rollout and into another one after it. Neighbours then disagree about
// the class until both have changed, even if both pause both: each end maps the code point itself,
// and a pause stops the queue that the other end of the link does not use.
func (m *Maker) priorityMoves() (out []PriorityMove) {
	var sent uint64
	for _, d := range m.devices {
		if d.Host {
			sent |= d.States[0].Sends
		}
	}
	for ; sent != 0; sent &= sent - 1 {
		dscp := bits.TrailingZeros64(sent)
		from, was := m.losslessClass(dscp, 0)
		to, will := m.losslessClass(dscp, -1)
		if was && will && from != to {
			out = append(out, PriorityMove{dscp, from, to})
		}
	}
	return out
}

// losslessClass returns the lossless class that a code point has on all switch ports, in the first
// state of the devices, or in the last one for state -1; ok is false if there is no such class.
func (m *Maker) losslessClass(dscp, state int) (class int, ok bool) {
	class = qos.Unmapped
	for _, d := range m.devices {
		if d.Host {
			continue
		}
		at := d.States[0]
		if state < 0 {
			at = d.States[len(d.States)-1]
		}
		for _, p := range at.Ports {
			if p.Classes == nil {
				return 0, false
			}
			of := int(p.Classes[dscp])
			if of < 0 || class >= 0 && of != class || !p.PFC.Has(of) {
				return 0, false
			}
			class = of
		}
	}
	return class, class >= 0
}
