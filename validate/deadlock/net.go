package deadlock

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// network is a graph and its routing as arrays for the walks.
type network struct {
	g        *topology.Graph
	shortest bool
	// upAgain and defaultUp mark the switches with those exceptions; defaulters lists the
	// switches of defaultUp.
	upAgain, defaultUp []bool
	defaulters         []int32
	level              []bool // by bundle: whether it is a link within a tier that carries traffic
	// remap is, by switch, the class of a packet that came from above and goes up again; nil if
	// the class does not change.
	remap   []*[qos.NumPriorities]uint8
	tunnels []tunnel

	// dests are the destinations: the switches whose hosts send lossless traffic, one for all
	// hosts of a switch, and the ends of tunnels. Traffic also starts there. destOf is the index
	// of a switch in dests, -1 for none.
	dests  []int32
	destOf []int32
	// sent are, by switch and group, the tags that the hosts of the group send. A group is an
	// island or, as the last one, the hosts in no island: hosts send to their own group only.
	sent [][]uint8
	// sender numbers the switches by what their hosts send: those of one number send the same.
	sender []int32
	// lossless are the priorities that any port pauses and any packet has.
	lossless qos.PrioritySet

	// A tag tells packets apart on their way. Without remaps all classes take the same paths,
	// and 0 is the only tag; with remaps a tag is a priority.
	tagged bool
	// planes maps a change of tag to its plane of the matrix, -1 if the change never happens.
	planes    [qos.NumPriorities][qos.NumPriorities]int8
	numPlanes int
	layers    []layer
	// layerOf is the layer of a tag, -1 for a class that is lossless nowhere. It is valid only
	// if tagged is set.
	layerOf [qos.NumPriorities]int8

	shape shape
	// pauses holds, by layer, the arcs of each switch that carry pauses of the layer, as a row
	// of the matrix.
	pauses [][]uint64
}

type tunnel struct {
	from, to int32
	remap    [qos.NumPriorities]uint8
}

// layer is one lossless class, or several that every port treats alike.
type layer struct {
	tag        uint8
	priorities []int
}

// remapOf returns the class that each class becomes: itself unless a remap says otherwise.
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
	for _, x := range g.Fabric.Routing.Exceptions {
		m := remapOf(x.Remap)
		n.applyException(x, &m)
	}
	for _, t := range g.Fabric.Routing.Tunnels {
		n.tunnels = append(n.tunnels, tunnel{g.Index(t.From), g.Index(t.To), remapOf(t.Remap)})
	}
	targets := topology.Bounced(g.Fabric)
	n.tagged = targets != 0
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

// Limits of the analysis, given by the size of the indices.
const (
	maxSwitches = 1 << 20
	maxArcs     = 1 << 24
)

func (n *network) applyException(x *intent.Exception, m *[qos.NumPriorities]uint8) {
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

// destinations finds the destinations of traffic, and what is sent to them.
func (n *network) destinations(targets qos.PrioritySet) {
	g := n.g
	n.destOf, n.sent, n.sender = make([]int32, len(g.Switches)), n.sending(targets), make([]int32, len(g.Switches))
	n.tag(targets)
	ends := n.tunnelEnds()
	numbers := map[string]int32{}
	for i := range g.Switches {
		number, ok := numbers[string(n.sent[i])]
		if !ok {
			number = int32(len(numbers))
			numbers[string(n.sent[i])] = number
		}
		n.destOf[i], n.sender[i] = -1, number
		if n.sends(int32(i), int32(i)) != 0 || ends[int32(i)] {
			n.destOf[i] = int32(len(n.dests))
			n.dests = append(n.dests, int32(i))
		}
	}
}

// sending returns, by switch and group, the lossless classes that hosts send. If the intent has no
// hosts, the switches of the lowest tier count as having some.
func (n *network) sending(targets qos.PrioritySet) [][]uint8 {
	g := n.g
	islands := map[*intent.Host]int{}
	for i, is := range g.Fabric.Islands {
		for _, h := range is.Hosts {
			islands[h] = i
		}
	}
	none, bare := len(g.Fabric.Islands), n.bare()
	out := make([][]uint8, len(g.Switches))
	for i := range g.Switches {
		s := &g.Switches[i]
		out[i] = make([]uint8, none+1)
		if bare && s.Tier == 0 {
			out[i][none] = uint8(n.lossless &^ targets)
		}
		for _, h := range s.Hosts {
			group, ok := islands[h.NIC.Host]
			if !ok {
				group = none
			}
			out[i][group] |= uint8(h.Sends & n.lossless)
		}
	}
	return out
}

// bare reports whether the intent has no hosts.
func (n *network) bare() bool {
	return !slices.ContainsFunc(n.g.Switches, func(s topology.Switch) bool { return len(s.Hosts) > 0 })
}

// tag leaves out classes that no packet has, and decides whether packets need tags. If there is no
// remap and all hosts send the same classes, these take the same paths, and 0 is the only tag.
func (n *network) tag(targets qos.PrioritySet) {
	var all uint8
	differ := false
	for _, groups := range n.sent {
		for _, set := range groups {
			differ = differ || all != 0 && set != 0 && all != set
			all |= set
		}
	}
	n.lossless &= qos.PrioritySet(all) | targets
	n.tagged = n.tagged || differ
	if n.tagged {
		return
	}
	for _, groups := range n.sent {
		for g := range groups {
			groups[g] = min(groups[g], 1)
		}
	}
}

// sends returns the tags of the packets that the hosts of one switch send to those of another.
func (n *network) sends(from, to int32) (tags uint8) {
	for g, set := range n.sent[from] {
		tags |= set & n.sent[to][g]
	}
	return tags
}

// plane returns the plane of the change of tag from one layer to another; -1 if it never
// happens.
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

// layer groups the lossless classes into layers. Without remaps, classes that the same ports
// pause have the same dependencies.
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

// failure says what is down: a bundle of one link, a switch, or the link to a host of switch
// host. -1 means none.
type failure struct{ bundle, sw, host int32 }

var nothing = failure{-1, -1, -1}

func lostLink(bundle int32) failure { return failure{bundle, -1, -1} }
func lostSwitch(sw int32) failure   { return failure{-1, sw, -1} }
func lostHost(sw int32) failure     { return failure{-1, -1, sw} }

// down reports whether arc a, which leaves switch s, is down.
func (f failure) down(s int32, a *topology.Arc) bool {
	return a.Bundle == f.bundle || f.sw >= 0 && (a.To == f.sw || s == f.sw)
}

// bundle returns the bundle of an arc.
func (n *network) bundle(arc int32) *topology.Bundle { return &n.g.Bundles[n.g.Arcs[arc].Bundle] }

// isUpAgain reports whether packets that come in by one arc and leave by the other came from
// above and go up again.
func (n *network) isUpAgain(in, out int32) bool {
	return n.g.Arcs[in].Dir == topology.Down && n.g.Arcs[out].Dir == topology.Up
}
