package deadlock

import (
	"context"
	"sync/atomic"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// A route is what a switch knows about one destination, in 16 bits: the distance in links, and
// the flags below.
const (
	distance = 1<<13 - 1
	none     = distance // no route
	// announced is set for routes that came from below or are the switch's own: the switch
	// announces them upward.
	announced = 1 << 13
	// reached is set for switches that carry traffic to the destination.
	reached = 1 << 14
	// held is set if the switch lost its route, to a switch below it or to its own host, but
	// keeps announcing it and sends the traffic up.
	held = 1 << 15
)

// maxHops is the longest path; destinations beyond it have no route.
const maxHops = none - 1

// routes holds the routes to each destination without failures. A row is computed when it is
// first needed, and kept.
type routes struct {
	n    *network
	rows []atomic.Pointer[[]uint16] // by destination, then by switch
}

func newRoutes(n *network) *routes {
	return &routes{n, make([]atomic.Pointer[[]uint16], len(n.dests))}
}

func (r *routes) to(d int32) []uint16 {
	if row := r.rows[r.n.destOf[d]].Load(); row != nil {
		return *row
	}
	return r.compute(d, newWorker(r.n, r))
}

// compute computes the routes to d, and leaves the traffic to d in w.
func (r *routes) compute(d int32, w *worker) []uint16 {
	row := make([]uint16, len(r.n.g.Switches))
	r.n.route(d, nothing, nil, row, w)
	w.fromHosts(d, row, nothing)
	for _, x := range w.carriers {
		row[x] |= reached
	}
	r.rows[r.n.destOf[d]].Store(&row)
	return row
}

// all computes the routes to every destination.
func (r *routes) all(ctx context.Context) error {
	return parallel(ctx, len(r.rows), func() func(int) {
		w := newWorker(r.n, r)
		return func(i int) {
			if i >= 0 && r.rows[i].Load() == nil {
				r.compute(r.n.dests[i], w)
			}
		}
	})
}

// announces reports whether the switch at the end of arc a announces its route to the switch
// that a leaves, and whether the route counts as one from below.
func (n *network) announces(st []uint16, a *topology.Arc) (announces, good bool) {
	r := st[a.To]
	if r&distance == none {
		return false, false
	}
	if n.shortest {
		return true, a.Dir == topology.Down
	}
	switch a.Dir {
	case topology.Up: // everything is announced downward
		return true, false
	case topology.Down:
		ok := r&announced != 0 || n.upAgain[a.To]
		return ok, ok
	default:
		return n.level[a.Bundle], r&announced != 0
	}
}

// uses reports whether switch s sends traffic for the destination over its arc a. The caller
// must exclude failed arcs.
func (n *network) uses(st []uint16, s int32, a *topology.Arc) bool {
	own, next := st[s], st[a.To]
	if own&held != 0 {
		return a.Dir == topology.Up
	}
	if own&distance == none || next&distance+1 != own&distance {
		return false
	}
	announces, good := n.announces(st, a)
	return announces && (n.shortest || good || own&announced == 0)
}

// route fills st with the routes to switch d: all shortest paths that are announced, preferring
// paths from below. before are the routes without the failure; nil if nothing fails.
func (n *network) route(d int32, f failure, before, st []uint16, w *worker) {
	for i := range st {
		st[i] = none
	}
	if d == f.sw {
		return
	}
	st[d] = announced
	if d == f.host {
		st[d] |= held
	}
	level, last := append(w.level[:0], d), uint16(0)
	if before != nil {
		last = n.farthestHeld(before)
	}
	next := w.next[:0]
	for k := uint16(1); k <= maxHops && (len(level) > 0 || k <= last); k++ {
		next = next[:0]
		for _, x := range level {
			arcs := n.g.Out(x)
			for i := range arcs {
				a := &arcs[i]
				y := a.To
				if f.down(x, a) || st[y]&distance < k {
					continue
				}
				announces, good := n.announces(st, &n.g.Arcs[a.Back])
				if !announces {
					continue
				}
				if st[y]&distance == none {
					st[y] = k
					next = append(next, y)
				}
				if good {
					st[y] |= announced
				}
			}
		}
		if k <= last {
			for _, x := range n.defaulters {
				if x != f.sw && n.holds(before, x) && before[x]&distance == k && (st[x]&distance == none || !n.shortest && st[x]&distance == k && st[x]&announced == 0) {
					if st[x]&distance == none {
						next = append(next, x)
					}
					st[x] = k | announced | held
				}
			}
		}
		level, next = next, level
	}
	w.level, w.next = level, next
}

// holds reports whether a switch with a default route keeps announcing a destination that it
// loses: one that it knew from below.
func (n *network) holds(before []uint16, x int32) bool {
	r := before[x]
	return n.defaultUp[x] && r&announced != 0 && r&distance != none && r&distance != 0
}

func (n *network) farthestHeld(before []uint16) uint16 {
	var last uint16
	for _, x := range n.defaulters {
		if n.holds(before, x) {
			last = max(last, before[x]&distance)
		}
	}
	return last
}

// repair fills st with the routes to destination d under a failure, and reports whether a
// switch that carries traffic may use a new path. It recomputes only switches that lost all
// their paths; if there are none, st is not filled.
func (w *worker) repair(d int32, f failure, st []uint16) (newWay bool) {
	n := w.n
	before := w.before(d)
	w.lost = w.lost[:0]
	if f.host >= 0 {
		// The leaf announces its hosts as a whole, so no other switch learns of the failure.
		if d != f.host {
			return false
		}
		copy(st, before)
		st[d] |= held
		return true
	}
	if f.sw >= 0 {
		for _, a := range n.g.Out(f.sw) {
			w.lose(before, f, a.To, &n.g.Arcs[a.Back])
		}
	} else {
		b := &n.g.Bundles[f.bundle]
		for _, s := range [2]int32{b.A, b.B} {
			arcs := n.g.Out(s)
			for i := range arcs {
				if a := &arcs[i]; a.Bundle == f.bundle {
					w.lose(before, f, s, a)
				}
			}
		}
	}
	if len(w.lost) == 0 {
		return false
	}
	defer func() {
		for _, x := range w.lost {
			w.gone[x] = false
		}
	}()
	copy(st, before)
	// A switch that lost all its paths takes the last path from others that relied on it alone.
	// Paths grow by one link at each step, so one pass is enough.
	for i := 0; i < len(w.lost); i++ {
		x := w.lost[i]
		if n.holds(before, x) {
			continue
		}
		for _, a := range n.g.Out(x) {
			if a.To != f.sw && a.Bundle != f.bundle {
				w.lose(before, f, a.To, &n.g.Arcs[a.Back])
			}
		}
	}
	return w.settle(d, f, before, st)
}

// lose marks switch s as lost if it used arc a and has no other arc to the destination left.
func (w *worker) lose(before []uint16, f failure, s int32, a *topology.Arc) {
	n := w.n
	if w.gone[s] || s == f.sw || !n.uses(before, s, a) {
		return
	}
	arcs := n.g.Out(s)
	for i := range arcs {
		if b := &arcs[i]; !f.down(s, b) && (!w.gone[b.To] || n.holds(before, b.To)) && n.uses(before, s, b) {
			return
		}
	}
	w.gone[s] = true
	w.lost = append(w.lost, s)
}

// settle gives the lost switches new routes from their neighbours, nearest first.
func (w *worker) settle(d int32, f failure, before, st []uint16) (newWay bool) {
	n := w.n
	if f.sw >= 0 {
		st[f.sw] = none
	}
	newWay = w.offers(f, before, st)
	// Newly settled switches announce routes one hop longer than their own, so a queue merged
	// with the sorted offers of the others keeps the order.
	w.later = w.later[:0]
	for i, j := 0, 0; i < len(w.near) || j < len(w.later); {
		var o offer
		if j == len(w.later) || i < len(w.near) && w.near[i].length <= w.later[j].length {
			o = w.near[i]
			i++
		} else {
			o = w.later[j]
			j++
		}
		x := o.to
		if st[x]&distance != none {
			continue
		}
		least, good := w.nearest(st, f, x)
		st[x] = least
		if good {
			st[x] |= announced
		}
		if !n.shortest && good && before[x]&announced == 0 && !n.upAgain[x] {
			// x now announces upward a route that it did not announce before: routes of other
			// switches may become shorter, which a repair does not cover.
			n.route(d, f, before, st, w)
			return true
		}
		newWay = newWay || n.destOf[x] >= 0 || least == before[x]&distance
		arcs := n.g.Out(x)
		for i := range arcs {
			a := &arcs[i]
			if y := a.To; w.gone[y] && st[y]&distance == none && !f.down(x, a) {
				if tells, _ := n.announces(st, &n.g.Arcs[a.Back]); tells && least < maxHops {
					w.later = append(w.later, offer{least + 1, y})
				}
			}
		}
	}
	return newWay
}

// offers clears the routes of the lost switches, except of those that keep announcing them, and
// fills near with the offers of their neighbours, shortest first.
func (w *worker) offers(f failure, before, st []uint16) (newWay bool) {
	for _, x := range w.lost {
		if w.n.holds(before, x) {
			st[x] = before[x]&distance | announced | held
			newWay = true
			continue
		}
		st[x] = none
	}
	w.near = w.near[:0]
	for _, x := range w.lost {
		if st[x]&distance != none {
			continue
		}
		if k, _ := w.nearest(st, f, x); k != none {
			w.near = append(w.near, offer{k, x})
		}
	}
	ordered.Sort(w.near, func(a, b offer) int { return int(a.length) - int(b.length) })
	return newWay
}

// offer is a route of some length that a switch may take.
type offer struct {
	length uint16
	to     int32
}

// nearest returns the length of the shortest route announced to x, and whether a route of that
// length counts as one from below.
func (w *worker) nearest(st []uint16, f failure, x int32) (least uint16, good bool) {
	least = none
	arcs := w.n.g.Out(x)
	for i := range arcs {
		a := &arcs[i]
		if f.down(x, a) {
			continue
		}
		tells, g := w.n.announces(st, a)
		if !tells {
			continue
		}
		switch k := st[a.To]&distance + 1; {
		case k < least:
			least, good = k, g
		case k == least:
			good = good || g
		}
	}
	return least, good
}
