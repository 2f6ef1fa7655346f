package deadlock

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// network is a graph with its routing: what the walks need, in arrays.
type network struct {
	g        *topology.Graph
	shortest bool
	// upAgain and defaultUp are exceptions by switch; defaulters lists the
	// second.
	upAgain, defaultUp []bool
	defaulters         []int32
	level              []bool // by bundle: a link within a tier that carries traffic
	// remap is by switch: the class of what came from above and goes up
	// again; nil where it stays.
	remap   []*[qos.NumPriorities]uint8
	tunnels []tunnel

	// dests are the switches with hosts, one destination group each: all its
	// hosts are reached the same way; and the ends of tunnels. Traffic begins
	// there, too. destOf is the opposite, -1 for none.
	dests  []int32
	destOf []int32
	// seeds are, by switch, the tags its hosts send.
	seeds []uint8
	// lossless are the priorities that any port pauses.
	lossless qos.PrioritySet

	// A tag is what distinguishes packets on their way. Without remaps all
	// classes take the same paths, and there is one tag, 0; with them a tag is
	// a priority.
	tagged bool
	// planes maps a change of tag to its plane of the matrix, -1 for a change
	// that never happens.
	planes    [qos.NumPriorities][qos.NumPriorities]int8
	numPlanes int
	layers    []layer
	// layerOf is the layer of a tag, -1 for a class that is lossless nowhere.
	// It means something only where tagged.
	layerOf [qos.NumPriorities]int8

	shape shape
	// pauses is by layer: the arcs of each switch that carry pauses of the
	// layer, as a row of the matrix.
	pauses [][]uint64
}

type tunnel struct {
	from, to int32
	remap    [qos.NumPriorities]uint8
}

// layer is one lossless class, or several that are alike on every port.
type layer struct {
	tag        uint8
	priorities []int
}

// remapOf returns the class that each becomes: itself where no remap says another.
func remapOf(l []intent.Remap) (m [qos.NumPriorities]uint8) {
	for i := range m {
		m[i] = uint8(i)
	}
	for _, r := range l {
		m[r.From.Priority.V] = uint8(r.To.Priority.V)
	}
	return m
}

// apply maps each tag of a set.
func apply(m *[qos.NumPriorities]uint8, set uint8) uint8 {
	var out uint8
	for t := range m {
		if set&(1<<t) != 0 {
			out |= 1 << m[t]
		}
	}
	return out
}

func compile(g *topology.Graph, model string) (*network, error) {
	n := &network{g: g, shortest: model == intent.Shortest}
	s := len(g.Switches)
	if s > maxSwitches || len(g.Arcs) > maxArcs {
		return nil, fmt.Errorf("a fabric of %d switches and %d link bundles is larger than the analysis supports (%d and %d)", s, len(g.Bundles), maxSwitches, maxArcs/2)
	}
	n.upAgain, n.defaultUp, n.level = make([]bool, s), make([]bool, s), make([]bool, len(g.Bundles))
	n.remap = make([]*[qos.NumPriorities]uint8, s)
	var targets qos.PrioritySet
	for _, x := range g.Fabric.Routing.Exceptions {
		m := remapOf(x.Remap)
		for _, r := range x.Remap {
			n.tagged = true
			targets |= qos.Priorities(r.To.Priority.V)
		}
		n.except(x, &m)
	}
	for _, t := range g.Fabric.Routing.Tunnels {
		n.tunnels = append(n.tunnels, tunnel{g.Index(t.From), g.Index(t.To), remapOf(t.Remap)})
		for _, r := range t.Remap {
			n.tagged = true
			targets |= qos.Priorities(r.To.Priority.V)
		}
	}
	for i := range n.defaultUp {
		if n.defaultUp[i] {
			n.defaulters = append(n.defaulters, int32(i))
		}
	}
	for i := range g.Bundles {
		n.lossless |= g.Bundles[i].At[0] | g.Bundles[i].At[1]
	}
	for i := range g.Switches {
		for _, h := range g.Switches[i].Hosts {
			n.lossless |= n.g.Pauses(h.Port)
		}
	}
	n.destinations(targets)
	n.numberPlanes(n.lossless | targets)
	n.layer()
	n.shape = shapeOf(g)
	n.mask()
	return n, nil
}

// The bounds of the analysis: what fits the indices below.
const (
	maxSwitches = 1 << 20
	maxArcs     = 1 << 24
)

func (n *network) except(x *intent.Exception, m *[qos.NumPriorities]uint8) {
	in := map[int32]bool{}
	for _, sw := range x.Switches {
		i := n.g.Index(sw)
		in[i] = true
		n.upAgain[i] = n.upAgain[i] || x.Kind == intent.UpAgain
		n.defaultUp[i] = n.defaultUp[i] || x.Kind == intent.DefaultUp
		if len(x.Remap) > 0 {
			n.remap[i] = m
		}
	}
	if x.Kind != intent.PeerLinks {
		return
	}
	for i := range n.g.Bundles {
		b := &n.g.Bundles[i]
		if in[b.A] && in[b.B] && n.g.Switches[b.A].Tier == n.g.Switches[b.B].Tier {
			n.level[i] = true
		}
	}
}

// destinations finds the groups of hosts: those of one switch. A fabric whose
// hosts are not in the intent has them at its lowest tier.
func (n *network) destinations(targets qos.PrioritySet) {
	g := n.g
	n.destOf, n.seeds = make([]int32, len(g.Switches)), make([]uint8, len(g.Switches))
	bare := !slices.ContainsFunc(g.Switches, func(s topology.Switch) bool { return len(s.Hosts) > 0 })
	for i := range g.Switches {
		s := &g.Switches[i]
		n.destOf[i] = -1
		if len(s.Hosts) == 0 && !(bare && s.Tier == 0) &&
			!slices.ContainsFunc(n.tunnels, func(t tunnel) bool { return t.from == int32(i) || t.to == int32(i) }) {
			continue
		}
		n.destOf[i] = int32(len(n.dests))
		n.dests = append(n.dests, int32(i))
		if len(s.Hosts) == 0 && !bare {
			continue // only a tunnel ends here
		}
		if !n.tagged {
			n.seeds[i] = 1
			continue
		}
		// The class of a remap is kept for it, unless hosts may send it too.
		own := n.lossless &^ targets
		for _, h := range s.Hosts {
			own |= n.g.Pauses(h.Port)
		}
		n.seeds[i] = uint8(own)
	}
}

// plane numbers the change of tag from one layer to another; -1 where it never happens.
func (n *network) plane(from, to int) int8 { return n.planes[n.layers[from].tag][n.layers[to].tag] }

// numberPlanes numbers the changes of tag that can happen.
func (n *network) numberPlanes(used qos.PrioritySet) {
	for i := range n.planes {
		for j := range n.planes[i] {
			n.planes[i][j] = -1
		}
	}
	add := func(a, b uint8) {
		if n.planes[a][b] < 0 {
			n.planes[a][b] = int8(n.numPlanes)
			n.numPlanes++
		}
	}
	if !n.tagged {
		add(0, 0)
		return
	}
	for _, t := range used.List() {
		add(uint8(t), uint8(t))
		for _, m := range n.remap {
			if m != nil {
				add(uint8(t), m[t])
			}
		}
		for i := range n.tunnels {
			add(uint8(t), n.tunnels[i].remap[t])
		}
	}
}

// layer gathers the lossless classes. Without remaps, classes that the same
// ports pause have the same dependencies.
func (n *network) layer() {
	for i := range n.layerOf {
		n.layerOf[i] = -1
	}
	same := func(a, b int) bool {
		for i := range n.g.Bundles {
			if l := n.g.Bundles[i].Lossless; l.Has(a) != l.Has(b) {
				return false
			}
		}
		for i := range n.g.Switches {
			for _, h := range n.g.Switches[i].Hosts {
				if l := n.g.Pauses(h.Port); l.Has(a) != l.Has(b) {
					return false
				}
			}
		}
		return true
	}
next:
	for _, p := range n.lossless.List() {
		if n.tagged {
			n.layerOf[p] = int8(len(n.layers))
			n.layers = append(n.layers, layer{uint8(p), []int{p}})
			continue
		}
		for i := range n.layers {
			if same(n.layers[i].priorities[0], p) {
				n.layers[i].priorities = append(n.layers[i].priorities, p)
				continue next
			}
		}
		n.layers = append(n.layers, layer{0, []int{p}})
	}
}

// mask fills pauses.
func (n *network) mask() {
	n.pauses = make([][]uint64, len(n.layers))
	for l := range n.layers {
		n.pauses[l] = make([]uint64, n.shape.maskWords)
		for s := range n.g.Switches {
			row := n.shape.mask(n.pauses[l], int32(s))
			for i, a := range n.g.Out(int32(s)) {
				if n.g.Bundles[a.Bundle].Lossless.Has(n.layers[l].priorities[0]) {
					set(row, int32(i))
				}
			}
		}
	}
}

// failure is what is down: a bundle of one link, a switch, or the link to a host of
// the switch host. -1 is none.
type failure struct{ bundle, sw, host int32 }

var nothing = failure{-1, -1, -1}

func lostLink(bundle int32) failure { return failure{bundle, -1, -1} }
func lostSwitch(sw int32) failure   { return failure{-1, sw, -1} }
func lostHost(sw int32) failure     { return failure{-1, -1, sw} }

// down reports whether an arc that leaves switch s is.
func (f failure) down(s int32, a *topology.Arc) bool {
	return a.Bundle == f.bundle || f.sw >= 0 && (a.To == f.sw || s == f.sw)
}

// bundle returns the bundle of an arc.
func (n *network) bundle(arc int32) *topology.Bundle { return &n.g.Bundles[n.g.Arcs[arc].Bundle] }

// isUpAgain reports whether packets that come by one arc and leave by the
// other came from above and go up again.
func (n *network) isUpAgain(in, out int32) bool {
	return n.g.Arcs[in].Dir == topology.Down && n.g.Arcs[out].Dir == topology.Up
}
