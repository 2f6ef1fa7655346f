package deadlock

import (
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// worker is the working memory of one walk; only one goroutine may use it.
type worker struct {
	n      *network
	routes *routes // routes without failures

	// scratch space for computing routes
	level, next []int32
	lost        []int32
	gone        []bool
	near, later []offer
	st, other   []uint16

	// For spread: the tags that come to a switch from above, and from anywhere else.
	above, below []uint8
	carriers     []int32 // switches that any tag came to
	queue        []int32
	queued       []bool
	up, rest     []uint64

	// scratch space for one failure
	seen      *matrix
	touched   []int32
	isTouched []bool
	exact     []bool // by destination: whether seen has its turns
	exactT    []bool // by tunnel
	rerouted  []bool // by destination: the failure may give a switch a new path to it
	search    search
}

func (a *Analysis) worker() *worker { return newWorker(a.n, a.routes) }

func newWorker(n *network, routes *routes) *worker {
	s := len(n.g.Switches)
	widest := n.shape.widest()
	return &worker{
		n: n, routes: routes,
		gone: make([]bool, s), st: make([]uint16, s), other: make([]uint16, s),
		above: make([]uint8, s), below: make([]uint8, s), queued: make([]bool, s),
		up: make([]uint64, widest), rest: make([]uint64, widest),
	}
}

// before returns the routes to switch d without failures.
func (w *worker) before(d int32) []uint16 { return w.routes.to(d) }

// start clears the last walk.
func (w *worker) start() {
	for _, s := range w.carriers {
		w.above[s], w.below[s] = 0, 0
	}
	w.carriers = w.carriers[:0]
}

// arrive records that packets with these tags come to a switch.
func (w *worker) arrive(s int32, tags uint8, above bool) {
	if w.above[s]|w.below[s] == 0 && tags != 0 {
		w.carriers = append(w.carriers, s)
	}
	into := &w.below[s]
	if above {
		into = &w.above[s]
	}
	if tags&^*into == 0 {
		return
	}
	*into |= tags
	if !w.queued[s] {
		w.queued[s] = true
		w.queue = append(w.queue, s)
	}
}

// departing returns the tags of the packets that switch s sends in a direction.
func (w *worker) departing(s int32, dir topology.Direction) uint8 {
	above := w.above[s]
	if m := w.n.remap[s]; m != nil && dir == topology.Up {
		above = apply(m, above)
	}
	return w.below[s] | above
}

// spread follows packets along the routes until nothing new is reached.
func (w *worker) spread(st []uint16, f failure) {
	for len(w.queue) > 0 {
		s := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.queued[s] = false
		arcs := w.n.g.Out(s)
		for i := range arcs {
			if a := &arcs[i]; !f.down(s, a) && w.n.uses(st, s, a) {
				w.arrive(a.To, w.departing(s, a.Dir), a.Dir == topology.Down)
			}
		}
	}
}

// fromHosts follows the traffic of all hosts to those of switch d, whose routes are st.
func (w *worker) fromHosts(d int32, st []uint16, f failure) {
	w.start()
	for _, s := range w.n.dests {
		if s != f.sw && st[s]&distance != none {
			w.arrive(s, w.n.sends(s, d), false)
		}
	}
	w.spread(st, f)
}

// ways fills up and rest with the arcs that switch s sends over: the arcs upward, and the
// others.
func (w *worker) ways(st []uint16, f failure, s int32) (up, rest []uint64) {
	width := w.n.shape.width[s]
	up, rest = w.up[:width], w.rest[:width]
	clear(up)
	clear(rest)
	arcs := w.n.g.Out(s)
	for i := range arcs {
		a := &arcs[i]
		switch {
		case f.down(s, a) || !w.n.uses(st, s, a):
		case a.Dir == topology.Up:
			set(up, int32(i))
		default:
			set(rest, int32(i))
		}
	}
	return up, rest
}

// carry adds to each arc the tags of the packets of the last spread that take it.
func (w *worker) carry(arcs []uint8, st []uint16) {
	for _, s := range w.carriers {
		for i, a := range w.n.g.Out(s) {
			if w.n.uses(st, s, &a) {
				arcs[w.n.g.First(s)+int32(i)] |= w.departing(s, a.Dir)
			}
		}
	}
}

// turns adds the turns of the last spread's packets to m. hosts says that the packets started
// at hosts; d is the switch that delivers them.
func (w *worker) turns(m *matrix, st []uint16, f failure, d int32, hosts bool) {
	n := w.n
	for _, s := range w.carriers {
		w.touch(m, s)
		arcs := n.g.Out(s)
		k := int32(len(arcs))
		up, rest := w.ways(st, f, s)
		if s == d {
			set(rest, k)
		}
		for i := range arcs {
			a := &arcs[i]
			y := a.To
			if w.above[y]|w.below[y] == 0 || f.down(s, a) || !n.uses(st, y, &n.g.Arcs[a.Back]) {
				continue
			}
			remap := n.remap[s]
			if a.Dir != topology.Up {
				remap = nil
			}
			tags := w.departing(y, n.g.Arcs[a.Back].Dir)
			each(uint64(tags), 0, func(t int32) {
				same := m.at(n.planes[t][t], s, int32(i))
				or(same, rest)
				if remap == nil || remap[t] == uint8(t) {
					or(same, up)
					return
				}
				or(m.at(n.planes[t][remap[t]], s, int32(i)), up)
			})
		}
		if hosts {
			each(uint64(n.sends(s, d)), 0, func(t int32) {
				same := m.at(n.planes[t][t], s, k)
				or(same, rest)
				or(same, up)
			})
		}
	}
}

// touch records that the failure's matrix has rows of s, if m is that matrix.
func (w *worker) touch(m *matrix, s int32) {
	if m == w.seen && !w.isTouched[s] {
		w.isTouched[s] = true
		w.touched = append(w.touched, s)
	}
}

// entry is an arc or a host by which packets reach the start of a tunnel.
type entry struct {
	in   int32 // local index of the arc; the number of arcs for hosts
	tags uint8
}

// entries returns how the packets of the last spread come to switch s.
func (w *worker) entries(st []uint16, f failure, s int32) []entry {
	var out []entry
	arcs := w.n.g.Out(s)
	for i := range arcs {
		a := &arcs[i]
		if back := &w.n.g.Arcs[a.Back]; w.above[a.To]|w.below[a.To] != 0 && !f.down(s, a) && w.n.uses(st, a.To, back) {
			out = append(out, entry{int32(i), w.departing(a.To, back.Dir)})
		}
	}
	if own := w.n.sends(s, s); own != 0 {
		out = append(out, entry{int32(len(arcs)), own})
	}
	return out
}

// tunnel adds the turns of a tunnel's traffic: packets for the hosts of its start go to its end
// instead. to and at are the routes to the start and to the end.
func (w *worker) tunnel(m *matrix, t *tunnel, to, at []uint16, f failure) {
	if t.from == f.sw || t.to == f.sw || at[t.from]&distance == none {
		return
	}
	w.fromHosts(t.from, to, f)
	in := w.entries(to, f, t.from)
	var tags uint8
	for _, e := range in {
		tags |= e.tags
	}
	w.start()
	w.arrive(t.from, apply(&t.remap, tags), false)
	w.spread(at, f)
	w.turns(m, at, f, t.to, false)
	up, rest := w.ways(at, f, t.from)
	w.touch(m, t.from)
	for _, e := range in {
		each(uint64(e.tags), 0, func(tag int32) {
			row := m.at(w.n.planes[tag][t.remap[tag]], t.from, e.in)
			or(row, up)
			or(row, rest)
		})
	}
}
