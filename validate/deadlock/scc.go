package deadlock

import "math/bits"

// A node is a buffer: the priority group of a layer at the receiving end of an arc. Nodes are
// numbered by layer, then by arc.
type node = int32

// edge says that u cannot drain while v is paused.
type edge struct{ u, v node }

func (n *network) numNodes() int { return len(n.layers) * len(n.g.Arcs) }

func (n *network) split(v node) (layer int, arc int32) {
	return int(v) / len(n.g.Arcs), v % int32(len(n.g.Arcs))
}

// graph walks the dependencies of a matrix, combined with those of a second one, without the
// parts that a failure removes.
type graph struct {
	n      *network
	m, and *matrix // and may be nil
	f      failure
	absent map[edge]bool
}

// cursor is a position among the successors of a node.
type cursor struct {
	plane int8 // next change of tag to visit
	layer int8 // layer of the successors in word
	i     int32
	word  uint64
}

// has reports whether a node is a lossless buffer that is not down.
func (g *graph) has(v node) bool {
	l, arc := g.n.split(v)
	a := &g.n.g.Arcs[arc]
	return g.n.g.Bundles[a.Bundle].Lossless.Has(g.n.layers[l].priorities[0]) && a.Bundle != g.f.bundle &&
		(g.f.sw < 0 || a.To != g.f.sw && g.n.g.From(arc) != g.f.sw)
}

// next returns the next successor of a node, or -1 after the last one.
func (g *graph) next(v node, c *cursor) node {
	n := g.n
	l, arc := n.split(v)
	a := &n.g.Arcs[arc]
	s := a.To
	first := n.g.First(s)
	arcs := int32(len(n.g.Arcs))
	for {
		for c.word != 0 {
			out := first + c.i*64 - 64 + int32(bits.TrailingZeros64(c.word))
			c.word &= c.word - 1
			b := &n.g.Arcs[out]
			if b.Bundle == g.f.bundle || g.f.sw >= 0 && b.To == g.f.sw {
				continue
			}
			to := int32(c.layer)*arcs + out
			if g.absent != nil && g.absent[edge{v, to}] {
				continue
			}
			return to
		}
		if c.plane > 0 && c.i < n.shape.width[s] {
			g.load(c, l, s, a.Back-first)
			continue
		}
		if !g.turnPlane(c, l) {
			return -1
		}
		c.i = 0
	}
}

// turnPlane moves to the next change of tag that ends in a lossless class.
func (g *graph) turnPlane(c *cursor, l int) bool {
	n := g.n
	if !n.tagged {
		if c.plane > 0 {
			return false
		}
		c.plane, c.layer = 1, int8(l)
		return true
	}
	tag := n.layers[l].tag
	for int(c.plane) < len(n.planes[tag]) {
		t := c.plane
		c.plane++
		if n.planes[tag][t] >= 0 && n.layerOf[t] >= 0 {
			c.layer = n.layerOf[t]
			return true
		}
	}
	return false
}

func (g *graph) load(c *cursor, l int, s, in int32) {
	n := g.n
	plane := n.plane(l, int(c.layer))
	c.word = g.m.at(plane, s, in)[c.i]
	if g.and != nil {
		c.word |= g.and.at(plane, s, in)[c.i]
	}
	c.word &= n.shape.mask(n.pauses[c.layer], s)[c.i]
	c.i++
}

// frame is one node on the search path.
type frame struct {
	v node
	c cursor
}

// tarjan finds strongly connected components by Tarjan's algorithm (SIAM J. Comput. 1(2),
// 1972), without recursion. A component has a higher number than the components that it leads
// to.
type tarjan struct {
	index, low []int32
	stamp      []int32 // the search that index belongs to
	now        int32
	onStack    []bool
	stack      []node
	path       []frame
	of         []int32
	ofStamp    []int32
	count      int32
}

func newTarjan(nodes int) *tarjan {
	return &tarjan{index: make([]int32, nodes), low: make([]int32, nodes), stamp: make([]int32, nodes),
		onStack: make([]bool, nodes), of: make([]int32, nodes), ofStamp: make([]int32, nodes)}
}

// begin starts a new search.
func (t *tarjan) begin() {
	t.now++
	t.count = 0
}

// component returns the component of a node in this search, or -1.
func (t *tarjan) component(v node) int32 {
	if t.ofStamp[v] != t.now {
		return -1
	}
	return t.of[v]
}

// from searches from a root. It skips nodes that within rejects; a nil within rejects none.
// found is called with the nodes of each component, which are valid only during the call.
func (t *tarjan) from(g *graph, root node, within func(node) bool, found func(nodes []node)) {
	if t.stamp[root] == t.now {
		return
	}
	visited := int32(len(t.stack))
	push := func(v node) {
		t.stamp[v], t.index[v], t.low[v] = t.now, visited, visited
		visited++
		t.onStack[v] = true
		t.stack = append(t.stack, v)
		t.path = append(t.path, frame{v: v})
	}
	push(root)
	for len(t.path) > 0 {
		top := &t.path[len(t.path)-1]
		to := g.next(top.v, &top.c)
		if to >= 0 {
			switch {
			case within != nil && !within(to):
			case t.stamp[to] != t.now:
				push(to)
			case t.onStack[to]:
				t.low[top.v] = min(t.low[top.v], t.index[to])
			}
			continue
		}
		v := top.v
		t.path = t.path[:len(t.path)-1]
		if len(t.path) > 0 {
			p := t.path[len(t.path)-1].v
			t.low[p] = min(t.low[p], t.low[v])
		}
		if t.low[v] != t.index[v] {
			continue
		}
		i := len(t.stack) - 1
		for t.stack[i] != v {
			i--
		}
		for _, x := range t.stack[i:] {
			t.onStack[x], t.of[x], t.ofStamp[x] = false, t.count, t.now
		}
		t.count++
		if found != nil {
			found(t.stack[i:])
		}
		t.stack = t.stack[:i]
	}
}
