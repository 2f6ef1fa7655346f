package deadlock

import (
	"context"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Leak is a set of ports of one switch that carry lossless traffic of an island where they
// should not.
type Leak struct {
	Island string
	// Other is the island that shares the ports; "" for the hosts that are in no island.
	Other   string
	Pos     intent.Pos // of the island
	Switch  string
	Ports   []string // ingress, in natural order
	Classes string
}

// Islands lists where islands leak.
type Islands struct {
	// Crossings are leaks at switches outside the island's list of switches, if it has one.
	Crossings []Leak
	// Sharings carry traffic of two islands in the same class: a storm in one stops the other.
	Sharings []Leak
}

// traffic is the traffic of one island, or of the hosts in no island.
type traffic struct {
	island  *intent.Island
	classes qos.PrioritySet
	group   int // in network.sent
	carried []uint8
}

// Islands follows the lossless traffic of each island, and of the hosts in no island, without
// failures. It stops early if ctx ends.
func (a *Analysis) Islands(ctx context.Context) (Islands, error) {
	var out Islands
	f := a.Graph.Fabric
	if len(f.Islands) == 0 {
		return out, nil
	}
	all := make([]*traffic, 0, len(f.Islands)+1)
	for i, is := range f.Islands {
		all = append(all, &traffic{island: is, group: i, classes: is.Classes & a.n.lossless})
	}
	all = append(all, &traffic{group: len(f.Islands), classes: a.n.lossless})
	for _, t := range all {
		t.carried = make([]uint8, len(a.Graph.Arcs))
	}
	w := a.worker()
	for _, t := range all {
		if err := w.island(ctx, t); err != nil {
			return out, err
		}
	}
	for i, t := range all[:len(all)-1] {
		out.Crossings = append(out.Crossings, a.crossings(t)...)
		for _, other := range all[i+1:] {
			out.Sharings = append(out.Sharings, a.sharings(t, other)...)
		}
	}
	return out, nil
}

// island follows the traffic between hosts of one island.
func (w *worker) island(ctx context.Context, t *traffic) error {
	n := w.n
	for _, d := range n.dests {
		own := n.sent[d][t.group]
		if own == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("search for islands that leak: %w", err)
		}
		st := w.before(d)
		w.start()
		for _, s := range n.dests {
			if st[s]&distance != none {
				w.arrive(s, n.sent[s][t.group]&own, false)
			}
		}
		w.spread(st, nothing)
		for _, s := range w.carriers {
			for i, arc := range n.g.Out(s) {
				if n.uses(st, s, &arc) {
					t.carried[n.g.First(s)+int32(i)] |= w.departing(s, arc.Dir)
				}
			}
		}
	}
	return nil
}

// on returns the classes of traffic on an arc that its link pauses.
func (t *traffic) on(n *network, arc int) qos.PrioritySet {
	if t.carried[arc] == 0 {
		return 0
	}
	set := t.classes
	if n.tagged {
		set = qos.PrioritySet(t.carried[arc])
	}
	return set & n.bundle(int32(arc)).Lossless
}

// leaks collects, by switch and classes, the ingress ports that carry an island's traffic; on
// returns what an arc carries.
func (a *Analysis) leaks(leak Leak, on func(arc int) qos.PrioritySet) []Leak {
	var out []Leak
	for s := range a.Graph.Switches {
		var ports ordered.Groups[qos.PrioritySet, string]
		for _, arc := range a.Graph.Out(int32(s)) {
			set := on(int(arc.Back))
			if set == 0 {
				continue
			}
			for k := range a.n.bundle(arc.Back).Links {
				_, p := a.Graph.Ports(arc.Back, k)
				ports.Add(set, p.Name)
			}
		}
		for set, names := range ports.All() {
			leak.Switch, leak.Ports, leak.Classes = a.Graph.Name(int32(s)), natural.Sorted(names), a.classes(set.List())
			out = append(out, leak)
		}
	}
	return out
}

func (a *Analysis) crossings(t *traffic) []Leak {
	if t.island.Switches == nil {
		return nil
	}
	return a.leaks(Leak{Island: t.island.Name, Pos: t.island.Pos}, func(arc int) qos.PrioritySet {
		if slices.Contains(t.island.Switches, a.Graph.Switches[a.Graph.Arcs[arc].To].Switch) {
			return 0
		}
		return t.on(a.n, arc)
	})
}

func (a *Analysis) sharings(t, other *traffic) []Leak {
	leak := Leak{Island: t.island.Name, Pos: t.island.Pos}
	if other.island != nil {
		leak.Other = other.island.Name
	}
	return a.leaks(leak, func(arc int) qos.PrioritySet { return t.on(a.n, arc) & other.on(a.n, arc) })
}
