package deadlock

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// A swap exchanges pairs of switches, with their arcs, without changing the network: each arc
// of one becomes an arc of the other, to the same switch or to that switch's partner. The
// routes to one of a pair, with both exchanged, are the routes to the other. So the routes of
// one destination stand for those of every destination that swaps map it to.
type swap []exchange

// exchange turns the rows and columns of switch s into those of t and the reverse. Places of
// arcs that are not listed stay the same. If s is t, the switch stays and only its arcs to
// exchanged switches change places.
type exchange struct {
	s, t   int32
	places [][2]int32
}

// family is a set of destinations that swaps map the first one to.
type family struct {
	first int32
	size  int
}

// symmetry looks for swaps.
type symmetry struct {
	n      *network
	label  []int32   // by switch: the same number for switches whose properties allow an exchange
	parent []int32   // by switch: the first switch above it; children of one parent are paired together
	sorted [][]int32 // by switch: its arcs, sorted by the switch that they lead to
	mate   []int32   // by switch: its partner, -1 for none
	moved  []int32
	budget int // arcs that failed attempts may still visit
}

// families divides the destinations into families, and returns the swaps that lead from the
// first of each to the others. A destination without a match becomes its own family, which
// costs time but is still correct.
func (n *network) families() ([]family, []swap) {
	type member struct {
		d      int32
		family int
	}
	y := newSymmetry(n)
	kind := n.kinds()
	var fams []family
	var swaps []swap
	first := map[int32]member{} // by kind
	alike := map[int32][]int{}  // families to compare with, by label
	for _, d := range n.dests {
		with := make([]member, 0, maxFamilies+1)
		if m, ok := first[kind[d]]; ok {
			with = append(with, m)
		}
		for _, i := range alike[y.label[d]] {
			with = append(with, member{fams[i].first, i})
		}
		home := len(fams)
		for _, m := range with {
			if s, ok := y.swap(m.d, d); ok {
				home, swaps = m.family, append(swaps, s)
				break
			}
		}
		if home == len(fams) {
			fams = append(fams, family{first: d})
			if like := alike[y.label[d]]; len(like) < maxFamilies {
				alike[y.label[d]] = append(like, home)
			}
		}
		fams[home].size++
		if _, ok := first[kind[d]]; !ok {
			first[kind[d]] = member{d, home}
		}
	}
	return fams, swaps
}

// maxFamilies is the most families that a destination is compared with.
const maxFamilies = 4

func newSymmetry(n *network) *symmetry {
	g := n.g
	s := len(g.Switches)
	y := &symmetry{n: n, label: make([]int32, s), parent: make([]int32, s), sorted: make([][]int32, s), mate: make([]int32, s), budget: 4*len(g.Arcs) + 1024}
	type label struct {
		tier, up, all int
		sender        int32
		dest, again   bool
		remap         *[qos.NumPriorities]uint8
		tunnel        int32 // keeps the ends of tunnels in place
	}
	ends := n.tunnelEnds()
	labels := map[label]int32{}
	for i := range int32(s) {
		y.mate[i], y.parent[i] = -1, int32(s)
		l := label{tier: g.Switches[i].Tier, sender: n.sender[i], dest: n.destOf[i] >= 0, again: n.upAgain[i], remap: n.remap[i], tunnel: -1}
		if ends[i] {
			l.tunnel = i
		}
		for k, a := range g.Out(i) {
			l.all++
			if a.Dir == topology.Up {
				l.up++
				y.parent[i] = min(y.parent[i], a.To)
			}
			y.sorted[i] = append(y.sorted[i], g.First(i)+int32(k))
		}
		ordered.Sort(y.sorted[i], func(a, b int32) int { return cmp.Or(cmp.Compare(g.Arcs[a].To, g.Arcs[b].To), cmp.Compare(a, b)) })
		number, ok := labels[l]
		if !ok {
			number = int32(len(labels))
			labels[l] = number
		}
		y.label[i] = number
	}
	return y
}

// swap looks for a swap that exchanges two switches. It also exchanges switches that are next
// to only one of them, and so on.
func (y *symmetry) swap(a, b int32) (swap, bool) {
	if y.budget <= 0 {
		return swap{}, false
	}
	looked := 0
	defer func() {
		for _, s := range y.moved {
			y.mate[s] = -1
		}
		y.moved = y.moved[:0]
	}()
	ok := y.pair(a, b)
	for i := 0; ok && i < len(y.moved); i += 2 {
		s, t := y.moved[i], y.moved[i+1]
		looked += len(y.sorted[s]) + len(y.sorted[t])
		ok = looked < y.budget && y.pairNeighbors(s, t)
	}
	var out swap
	if ok {
		out, ok = y.exchanges()
	}
	if !ok {
		y.budget -= looked + 1
	}
	return out, ok
}

// pair records that two switches change places, and reports whether they can.
func (y *symmetry) pair(a, b int32) bool {
	if a == b || y.label[a] != y.label[b] || y.mate[a] >= 0 || y.mate[b] >= 0 {
		return a != b && y.mate[a] == b
	}
	y.mate[a], y.mate[b] = b, a
	y.moved = append(y.moved, a, b)
	return true
}

// pairNeighbors pairs the switches next to s but not t with those next to t but not s. Of several
// possible partners it takes the one below the same parent, then the next in order; exchanges
// detects a wrong guess.
func (y *symmetry) pairNeighbors(s, t int32) bool {
	own, theirs := y.exclusiveNeighbors(s, t), y.exclusiveNeighbors(t, s)
	if len(own) != len(theirs) {
		return false
	}
	for i := range own {
		if !y.pair(own[i], theirs[i]) {
			return false
		}
	}
	return true
}

// exclusiveNeighbors returns the switches without a partner that are next to s but not t.
func (y *symmetry) exclusiveNeighbors(s, t int32) []int32 {
	arcs := y.n.g.Arcs
	var out []int32
	j, other := 0, y.sorted[t]
	for _, a := range y.sorted[s] {
		to := arcs[a].To
		for j < len(other) && arcs[other[j]].To < to {
			j++
		}
		common := j < len(other) && arcs[other[j]].To == to
		if !common && to != t && y.mate[to] < 0 && (len(out) == 0 || out[len(out)-1] != to) {
			out = append(out, to)
		}
	}
	ordered.Sort(out, func(a, b int32) int {
		return cmp.Or(cmp.Compare(y.label[a], y.label[b]), cmp.Compare(y.parent[a], y.parent[b]), cmp.Compare(a, b))
	})
	return out
}

// exchanges returns how the pairs change arcs. It fails if an arc has no counterpart.
func (y *symmetry) exchanges() (swap, bool) {
	var out swap
	n := y.n
	g := n.g
	var fixed ordered.Groups[int32, [2]int32]
	for i := 0; i < len(y.moved); i += 2 {
		e := exchange{s: y.moved[i], t: y.moved[i+1]}
		last, parallel := int32(-1), 0
		for _, a := range y.sorted[e.s] {
			to := g.Arcs[a].To
			if to != last {
				last, parallel = to, 0
			}
			image := to
			if y.mate[to] >= 0 {
				image = y.mate[to]
			}
			b := y.arc(e.t, image, parallel)
			if b < 0 || n.level[g.Arcs[a].Bundle] != n.level[g.Arcs[b].Bundle] {
				return out, false
			}
			parallel++
			if x := [2]int32{g.Local(a), g.Local(b)}; x[0] != x[1] {
				e.places = append(e.places, x)
			}
			if y.mate[to] < 0 {
				x, z := g.Local(g.Arcs[a].Back), g.Local(g.Arcs[b].Back)
				fixed.Add(to, [2]int32{x, z})
				fixed.Add(to, [2]int32{z, x})
			}
		}
		out = append(out, e)
	}
	for s, places := range fixed.All() {
		out = append(out, exchange{s, s, places})
	}
	return out, true
}

// arc returns the arc from s to another switch, or -1; number selects one of several.
func (y *symmetry) arc(s, to int32, number int) int32 {
	arcs := y.n.g.Arcs
	i, _ := slices.BinarySearchFunc(y.sorted[s], to, func(a, to int32) int { return cmp.Compare(arcs[a].To, to) })
	if i += number; i < len(y.sorted[s]) && arcs[y.sorted[s][i]].To == to {
		return y.sorted[s][i]
	}
	return -1
}

// spread adds to m every turn that swaps map its turns to.
func (m *matrix) spread(n *network, swaps []swap) {
	widest := m.shape.widest()
	x := exchanger{m: m, room: make([]uint64, widest), place: make([]int32, 64*widest)}
	for i := range x.place {
		x.place[i] = int32(i)
	}
	for more := true; more; {
		more = false
		for _, s := range swaps {
			for i := range s {
				for p := range n.numPlanes {
					more = x.exchange(int8(p), &s[i], int32(len(n.g.Out(s[i].s)))) || more
				}
			}
		}
	}
}

// spread adds the tags on each arc to every arc that swaps map it to.
func (n *network) spread(arcs []uint8, swaps []swap) {
	more := false
	same := func(a, b int32) {
		if arcs[a] != arcs[b] {
			arcs[a], arcs[b], more = arcs[a]|arcs[b], arcs[a]|arcs[b], true
		}
	}
	place := make([]int32, 64*n.shape.widest())
	for i := range place {
		place[i] = int32(i)
	}
	for more = true; more; {
		more = false
		for _, s := range swaps {
			for _, e := range s {
				first, other := n.g.First(e.s), n.g.First(e.t)
				if e.s == e.t {
					for _, p := range e.places {
						same(first+p[0], first+p[1])
					}
					continue
				}
				for _, p := range e.places {
					place[p[0]] = p[1]
				}
				for i := range n.g.Out(e.s) {
					same(first+int32(i), other+place[i])
				}
				for _, p := range e.places {
					place[p[0]] = p[0]
				}
			}
		}
	}
}

// exchanger applies exchanges to a matrix.
type exchanger struct {
	m     *matrix
	room  []uint64
	place []int32 // where each place goes; identity between two exchanges
}

// exchange adds to the rows of each switch the exchanged rows of the other, and reports whether
// that added anything. A row has one place per arc, and one for hosts.
func (x *exchanger) exchange(plane int8, e *exchange, arcs int32) (more bool) {
	for _, p := range e.places {
		x.place[p[0]] = p[1]
	}
	for in := range arcs + 1 {
		a, b := x.m.at(plane, e.s, in), x.m.at(plane, e.t, x.place[in])
		more = x.add(b, a, e.places, 0, 1) || more
		if e.s != e.t {
			more = x.add(a, b, e.places, 1, 0) || more
		}
	}
	for _, p := range e.places {
		x.place[p[0]] = p[0]
	}
	return more
}

// add adds a row to another, moving each place from one end of its pair to the other.
func (x *exchanger) add(to, row []uint64, places [][2]int32, from, into int) (more bool) {
	room := x.room[:len(row)]
	copy(room, row)
	for _, p := range places {
		room[p[from]/64] &^= 1 << (p[from] % 64)
	}
	for _, p := range places {
		if has(row, p[from]) {
			set(room, p[into])
		}
	}
	for i, w := range room {
		more = more || w&^to[i] != 0
		to[i] |= w
	}
	return more
}
