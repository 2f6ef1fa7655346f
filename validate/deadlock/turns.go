package deadlock

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// foundTurn is a turn of traffic from above upward, and the failure that it needs.
type foundTurn struct {
	turn
	f failure
}

// nominalTurns returns the first turn of a lossless class for each switch where traffic from
// above goes up again without failures.
func (a *Analysis) nominalTurns() []foundTurn {
	n := a.n
	arcsAll := int32(len(n.g.Arcs))
	g := &graph{n: n, m: a.nominal, f: nothing}
	var out []foundTurn
	for s := range n.g.Switches {
	next:
		for _, a := range n.g.Out(int32(s)) {
			for l := range n.layers {
				v := int32(l)*arcsAll + a.Back
				if !g.has(v) {
					continue
				}
				var c cursor
				for to := g.next(v, &c); to >= 0; to = g.next(v, &c) {
					if _, arc := n.split(to); n.isUpAgain(a.Back, arc) {
						out = append(out, foundTurn{turn{int32(s), a.Back, arc}, nothing})
						break next
					}
				}
			}
		}
	}
	return out
}

// moreTurns adds one turn for each switch that turns traffic up again only under a failure.
func (a *Analysis) moreTurns(have []foundTurn, orbits []orbit, out []outcome) []foundTurn {
	known := map[int32]bool{}
	for _, t := range have {
		known[t.sw] = true
	}
	add := func(t turn, f failure) {
		if !known[t.sw] {
			known[t.sw] = true
			have = append(have, foundTurn{t, f})
		}
	}
	for i := range out {
		for _, t := range out[i].turns {
			add(t, orbits[i].f)
			if t.sw != orbits[i].f.host {
				continue
			}
			for _, s := range orbits[i].leaves { // each leaf turns packets that it cannot deliver itself
				add(turn{s, a.n.correspondingArc(t.in, s), a.n.correspondingArc(t.out, s)}, lostHost(s))
			}
		}
	}
	return have
}

// correspondingArc returns the arc of switch s that corresponds to an arc of another switch of
// its kind: it joins the same neighbour in the same direction.
func (n *network) correspondingArc(arc, s int32) int32 {
	out := n.g.From(arc)
	to := n.g.Arcs[arc].To
	inward := n.g.Arcs[arc].Dir == topology.Down
	for i := range n.g.Out(s) {
		x := n.g.First(s) + int32(i)
		a := &n.g.Arcs[x]
		switch {
		case n.bundle(x).Lossless != n.bundle(arc).Lossless:
		case inward && a.To == out:
			return a.Back
		case !inward && a.To == to:
			return x
		}
	}
	return arc
}

// upTurns describes turns, those without a failure first.
func (a *Analysis) upTurns(w *worker, found []foundTurn) []UpTurn {
	n := a.n
	declared := map[string]intent.Pos{}
	for _, x := range a.Graph.Fabric.Routing.Exceptions {
		for _, s := range x.Switches {
			if _, ok := declared[s.Name]; !ok && x.Kind != intent.PeerLinks {
				declared[s.Name] = x.Pos
			}
		}
	}
	ordered.Sort(found, func(x, y foundTurn) int {
		return cmp.Or(cmp.Compare(bit(x.f != nothing), bit(y.f != nothing)), cmp.Compare(x.sw, y.sw))
	})
	out := make([]UpTurn, 0, len(found))
	for i, t := range found {
		_, in := n.g.Ports(t.in, 0)
		o, _ := n.g.Ports(t.out, 0)
		u := UpTurn{Switch: n.g.Name(t.sw), In: in.Name, Out: o.Name, Declared: declared[n.g.Name(t.sw)], Failure: a.failed(t.f)}
		if i < maxExamples {
			if d := w.makers(t.f, a.edgesOf(t.in, t.out))[0]; d >= 0 {
				u.Destination = n.g.Name(d)
			}
		}
		out = append(out, u)
	}
	return out
}

// edgesOf returns the dependency of a turn, in the first layer that can have it.
func (a *Analysis) edgesOf(in, out int32) []edge {
	n := a.n
	arcs := int32(len(n.g.Arcs))
	for lu := range n.layers {
		for lv := range n.layers {
			if !n.tagged && lu != lv || n.plane(lu, lv) < 0 {
				continue
			}
			if n.bundle(in).Lossless.Has(n.layers[lu].priorities[0]) && n.bundle(out).Lossless.Has(n.layers[lv].priorities[0]) {
				return []edge{{int32(lu)*arcs + in, int32(lv)*arcs + out}}
			}
		}
	}
	return []edge{{in, out}}
}

// maxExamples is the most turns for which a destination is looked up.
const maxExamples = 64

func (a *Analysis) failed(f failure) string {
	switch {
	case f.sw >= 0:
		return "switch " + a.Graph.Name(f.sw)
	case f.host >= 0:
		return a.hostLinks([]int32{f.host})
	case f.bundle >= 0:
		l := a.Graph.Bundles[f.bundle].Links[0]
		return "the link " + l.A.String() + " - " + l.B.String()
	}
	return ""
}
