package deadlock

import (
	"context"
	"slices"
)

// search is the working memory for the search of one failure.
type search struct {
	tarjan *tarjan
	parent []node
	depth  []int32
	stamp  []int32
	now    int32
	queue  []node
}

type outcome struct {
	cycle []node // nil if there is none
	turns []turn // new turns of traffic that came from above and goes up again
}

// turn is a turn at a switch, from one arc to another.
type turn struct{ sw, in, out int32 }

// eachFailure evaluates failures in parallel.
func (a *Analysis) eachFailure(ctx context.Context, fs []failure) ([]outcome, error) {
	if err := a.routes.all(ctx); err != nil {
		return nil, err
	}
	out := make([]outcome, len(fs))
	err := parallel(ctx, len(fs), func() func(int) {
		w := a.worker()
		w.prepare(a)
		return func(i int) {
			if i >= 0 {
				out[i] = w.evaluate(a, fs[i])
			}
		}
	})
	return out, err
}

func (w *worker) prepare(a *Analysis) {
	nodes := a.n.numNodes()
	w.seen = newMatrix(a.n)
	w.isTouched = make([]bool, len(a.n.g.Switches))
	w.exact, w.exactT = make([]bool, len(a.n.dests)), make([]bool, len(a.n.tunnels))
	w.rerouted = make([]bool, len(a.n.dests))
	w.search = search{tarjan: newTarjan(nodes), parent: make([]node, nodes), depth: make([]int32, nodes), stamp: make([]int32, nodes)}
}

// evaluate looks for a cycle that a failure creates: one with a dependency that does not exist
// without the failure.
//
// Most failures only remove paths, and removing paths creates no cycle. If a switch gets a new
// path, the turns of that destination are computed, and only dependencies against the order of
// the components can close a cycle.
func (w *worker) evaluate(a *Analysis, f failure) outcome {
	w.reset()
	any := false
	for i, d := range w.n.dests {
		if w.rerouted[i] = d != f.sw && w.repair(d, f, w.st); !w.rerouted[i] {
			continue
		}
		w.fromHosts(d, w.st, f)
		if w.newWays(w.before(d), w.st, f) {
			w.turns(w.seen, w.st, f, d, true)
			w.exact[i] = true
			any = true
		}
	}
	for i := range w.n.tunnels {
		// No host needs to send to the end of a tunnel, so that its traffic alone may take a new path.
		t := &w.n.tunnels[i]
		if w.exact[w.n.destOf[t.from]] || w.rerouted[w.n.destOf[t.to]] {
			w.followTunnel(i, f)
			any = true
		}
	}
	if !any {
		return outcome{}
	}
	var out outcome
	added := w.added(a, &out)
	if slices.ContainsFunc(added, func(e edge) bool { return a.component[e.u] <= a.component[e.v] }) {
		out.cycle = w.closedCycle(a, f, added)
	}
	return out
}

// newWays reports whether the traffic of the last spread, with routes st, takes a path that no
// traffic took before.
func (w *worker) newWays(before, st []uint16, f failure) bool {
	for _, s := range w.carriers {
		if before[s]&reached == 0 {
			return true
		}
		arcs := w.n.g.Out(s)
		for i := range arcs {
			if a := &arcs[i]; !f.down(s, a) && w.n.uses(st, s, a) && !w.n.uses(before, s, a) {
				return true
			}
		}
	}
	return false
}

// reset clears the results of the last failure.
func (w *worker) reset() {
	for _, s := range w.touched {
		w.seen.clear(w.n, s)
		w.isTouched[s] = false
	}
	w.touched = w.touched[:0]
	clear(w.exact)
	clear(w.exactT)
}

// follow adds the turns of all traffic to destination i to the failure's turns.
func (w *worker) follow(i int, st []uint16, f failure) {
	d := w.n.dests[i]
	w.fromHosts(d, st, f)
	w.turns(w.seen, st, f, d, true)
	w.exact[i] = true
}

func (w *worker) followTunnel(i int, f failure) {
	t := &w.n.tunnels[i]
	w.exactT[i] = true
	if t.from == f.sw || t.to == f.sw {
		return
	}
	w.routesUnder(t.from, f, w.st)
	w.routesUnder(t.to, f, w.other)
	w.tunnel(w.seen, t, w.st, w.other, f)
}

// routesUnder fills st with the routes to d under a failure.
func (w *worker) routesUnder(d int32, f failure, st []uint16) {
	if d == f.sw {
		for i := range st {
			st[i] = none
		}
		return
	}
	copy(st, w.before(d))
	if f != nothing {
		w.repair(d, f, st)
	}
	if f.sw >= 0 {
		st[f.sw] = none
	}
}

// added returns the new dependencies of the failure, and adds their turns from above upward to
// out.
func (w *worker) added(a *Analysis, out *outcome) []edge {
	n := w.n
	var added []edge
	for _, s := range w.touched {
		list := n.g.Out(s)
		for from, tags := range n.planes {
			for to, plane := range tags {
				if plane < 0 {
					continue
				}
				for in := range list {
					seen, before := w.seen.at(plane, s, int32(in)), a.nominal.at(plane, s, int32(in))
					for i := range seen {
						if fresh := seen[i] &^ before[i]; fresh != 0 {
							added = w.newEdges(added, out, s, int32(in), int32(i), fresh, uint8(from), uint8(to))
						}
					}
				}
			}
		}
	}
	return added
}

// newEdges adds the dependencies of the new turns in word i of a row of switch s, for each layer
// that has them.
func (w *worker) newEdges(added []edge, out *outcome, s, in, i int32, word uint64, from, to uint8) []edge {
	n := w.n
	arcs := int32(len(n.g.Arcs))
	arcIn := n.g.Out(s)[in].Back // the arc that arrives at place in
	for lu := range n.layers {
		lv := lu
		if n.tagged {
			lv = int(n.layerOf[to])
		}
		if n.layers[lu].tag != from || lv < 0 || !n.bundle(arcIn).Lossless.Has(n.layers[lu].priorities[0]) {
			continue
		}
		each(word&n.shape.mask(n.pauses[lv], s)[i], n.g.First(s)+i*64, func(arc int32) {
			added = append(added, edge{int32(lu)*arcs + arcIn, int32(lv)*arcs + arc})
			if n.isUpAgain(arcIn, arc) && len(out.turns) < maxTurns {
				out.turns = append(out.turns, turn{s, arcIn, arc})
			}
		})
	}
	return added
}

// maxTurns is the most turns kept for one failure.
const maxTurns = 8

// rounds is how many cycles are checked against the routes of one failure before all its
// dependencies are computed.
const rounds = 16

// closedCycle returns a cycle with one of the added dependencies, as short as could be found, or
// nil.
//
// It first uses the dependencies without the failure, which include all under the failure
// except the added ones. A cycle counts only once each of its dependencies was seen under the
// failure.
func (w *worker) closedCycle(a *Analysis, f failure, added []edge) []node {
	g := &graph{n: w.n, m: w.seen, and: a.nominal, f: f, absent: map[edge]bool{}}
	for round := 0; ; round++ {
		if round == rounds {
			for i := range w.n.dests {
				w.followExactly(i, f)
			}
			for i := range w.n.tunnels {
				if !w.exactT[i] {
					w.followTunnel(i, f)
				}
			}
			g = &graph{n: w.n, m: w.seen, f: f}
		}
		cycle := w.cycleThrough(g, a.component, added)
		if cycle == nil || round >= rounds || w.verify(g, f, cycle) {
			return cycle
		}
	}
}

func (w *worker) followExactly(i int, f failure) {
	if d := w.n.dests[i]; !w.exact[i] && d != f.sw {
		w.routesUnder(d, f, w.st)
		w.follow(i, w.st, f)
	}
	w.exact[i] = true
}

// verify reports whether every dependency of a cycle exists under the failure; it records the
// others in g.absent.
func (w *worker) verify(g *graph, f failure, cycle []node) bool {
	ok := true
	for _, e := range edgesAround(cycle) {
		if !w.verifyEdge(f, e) {
			g.absent[e] = true
			ok = false
		}
	}
	return ok
}

func (w *worker) verifyEdge(f failure, e edge) bool {
	n := w.n
	if w.sees(e) {
		return true
	}
	for i, d := range n.dests {
		if w.exact[i] || !w.takesTurnNominally(d, e) {
			continue
		}
		w.followExactly(i, f)
		if w.sees(e) {
			return true
		}
	}
	for i := range n.tunnels {
		if !w.exactT[i] {
			w.followTunnel(i, f)
			if w.sees(e) {
				return true
			}
		}
	}
	return false
}

// takesTurnNominally reports whether traffic to d takes the turn of a dependency if nothing fails,
// whatever its class.
func (w *worker) takesTurnNominally(d int32, e edge) bool {
	n := w.n
	_, in := n.split(e.u)
	_, out := n.split(e.v)
	st, x := w.before(d), n.g.From(in)
	return st[x]&reached != 0 && n.uses(st, x, &n.g.Arcs[in]) && n.uses(st, n.g.Arcs[in].To, &n.g.Arcs[out])
}

// sees reports whether the dependencies computed so far for the failure include e.
func (w *worker) sees(e edge) bool {
	n := w.n
	lu, in := n.split(e.u)
	lv, out := n.split(e.v)
	a, plane := n.g.Arcs[in], n.plane(lu, lv)
	return plane >= 0 && has(w.seen.at(plane, a.To, n.g.Local(a.Back)), n.g.Local(out))
}

// tries is how many added dependencies are tried for the shortest cycle through them.
const tries = 64

// cycleThrough returns a cycle of g with an added dependency, or nil. A cycle stays within the
// range of components that added dependencies against the order span.
func (w *worker) cycleThrough(g *graph, component []int32, added []edge) []node {
	lo, hi := int32(1)<<30, int32(-1)
	for _, e := range added {
		if component[e.u] <= component[e.v] && !g.absent[e] {
			lo, hi = min(lo, component[e.u]), max(hi, component[e.v])
		}
	}
	within := func(v node) bool { return component[v] >= lo && component[v] <= hi }
	t := w.search.tarjan
	t.begin()
	for _, e := range added {
		if component[e.u] <= component[e.v] && within(e.v) && g.has(e.v) {
			t.from(g, e.v, within, nil)
		}
	}
	var best []node
	tried := 0
	for _, e := range added {
		c := t.component(e.u)
		if c < 0 || c != t.component(e.v) || g.absent[e] || !g.has(e.u) {
			continue
		}
		same := func(v node) bool { return t.component(v) == c }
		if path := w.search.shortest(g, e.v, e.u, same, len(best)); path != nil {
			best = path
		}
		if tried++; tried == tries {
			break
		}
	}
	return best
}

// shortest returns the shortest path between two nodes, both included, with fewer than limit
// nodes (0 for any number), or nil.
func (s *search) shortest(g *graph, from, to node, within func(node) bool, limit int) []node {
	s.now++
	s.queue = append(s.queue[:0], from)
	s.stamp[from], s.depth[from], s.parent[from] = s.now, 1, -1
	for i := 0; i < len(s.queue); i++ {
		v := s.queue[i]
		if v == to {
			path := make([]node, s.depth[v])
			for j := len(path) - 1; j >= 0; j-- {
				path[j], v = v, s.parent[v]
			}
			return path
		}
		if limit > 0 && int(s.depth[v])+1 >= limit {
			continue
		}
		var c cursor
		for x := g.next(v, &c); x >= 0; x = g.next(v, &c) {
			if s.stamp[x] != s.now && within(x) {
				s.stamp[x], s.depth[x], s.parent[x] = s.now, s.depth[v]+1, v
				s.queue = append(s.queue, x)
			}
		}
	}
	return nil
}

func (s *search) shortestCycle(g *graph, nodes []node) []node {
	in := make(map[node]bool, len(nodes))
	for _, v := range nodes {
		in[v] = true
	}
	within := func(v node) bool { return in[v] }
	var best []node
	for _, v := range nodes {
		var c cursor
		for x := g.next(v, &c); x >= 0; x = g.next(v, &c) {
			if !in[x] {
				continue
			}
			if path := s.shortest(g, x, v, within, len(best)); path != nil {
				best = path
			}
		}
		if len(best) == 2 {
			break
		}
	}
	return best
}
