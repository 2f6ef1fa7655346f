// Package topology derives the structure of a fabric from its links and roles: the tier of a
// switch, the direction of a link, and which links are alike.
//
// [New] builds the graph for package deadlock, with indices instead of names and memory that
// grows with the links. The readers of foreign topologies ([ReadCables]) and their comparison
// with the intent ([Compare]) are also here. Do not add routes, buffers or findings to this
// package.
package topology

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Direction is the direction of a link, seen from one end.
type Direction uint8

// The directions. A link between two switches of one tier is Level.
const (
	Up Direction = iota
	Down
	Level
)

// Graph is the fabric as switches and bundles of links. It does not change after New.
type Graph struct {
	Fabric   *intent.Fabric
	Switches []Switch // in the order of Fabric.Switches
	Bundles  []Bundle // between two switches, in the order of their first link
	// Tiers is the number of tiers; each switch's tier is less than that.
	Tiers int
	// Sent are the classes that hosts send losslessly, or would if their ports were lossless.
	Sent qos.PrioritySet
	// Disputes are switches whose position contradicts their role.
	Disputes []Dispute

	pauses func(*intent.Port) qos.PrioritySet

	start []int32 // arcs of switch i are Arcs[start[i]:start[i+1]]
	Arcs  []Arc
	index map[*intent.Switch]int32
}

// Switch is one switch of the graph.
type Switch struct {
	Switch *intent.Switch
	Tier   int // 0 is next to the hosts
	// Hosts are the ports with a host at the other end, in natural order.
	Hosts []HostPort
}

// HostPort is a switch port and the NIC at the other end of its link.
type HostPort struct {
	Port *intent.Port
	NIC  *intent.NIC
	// Sends are the classes that the NIC sends and receives, and expects to be lossless. Classes
	// that are lossless at no host are among them.
	Sends qos.PrioritySet
}

// Bundle is the set of parallel links between two switches that pause the same priorities at
// each end: routes and pauses treat them as one.
type Bundle struct {
	A, B  int32 // switches, A before B
	Links []*intent.Link
	// Lossless are the priorities that both ends of the links pause.
	Lossless qos.PrioritySet
	// At holds the priorities that the ports of A and of B pause.
	At [2]qos.PrioritySet
}

// Arc is one direction of a bundle, as it leaves a switch.
type Arc struct {
	To     int32
	Bundle int32
	Back   int32 // index of the opposite arc in Graph.Arcs
	Dir    Direction
}

// New builds the graph of a fabric as the intent describes it.
func New(f *intent.Fabric) *Graph {
	return Running(f, func(p *intent.Port) qos.PrioritySet { return p.Settings.Lossless() })
}

// Running builds the graph of a fabric whose ports pause the priorities that pauses returns.
func Running(f *intent.Fabric, pauses func(*intent.Port) qos.PrioritySet) *Graph {
	g := &Graph{Fabric: f, pauses: pauses, Switches: make([]Switch, len(f.Switches)), index: make(map[*intent.Switch]int32, len(f.Switches))}
	for i, s := range f.Switches {
		g.Switches[i].Switch = s
		g.index[s] = int32(i)
		for _, p := range s.Ports {
			if p.Link == nil || p.Uplink() {
				continue
			}
			e, _ := p.Peer()
			if h := f.Host(e.Device); h != nil {
				if n := h.NIC(e.Port); n != nil {
					g.Switches[i].Hosts = append(g.Switches[i].Hosts, HostPort{Port: p, NIC: n})
				}
			}
		}
	}
	g.send()
	g.bundle()
	g.arcs()
	g.rank()
	return g
}

// Pauses returns the priorities that a port pauses.
func (g *Graph) Pauses(p *intent.Port) qos.PrioritySet { return g.pauses(p) }

// Index returns the index of a switch in Switches.
func (g *Graph) Index(s *intent.Switch) int32 { return g.index[s] }

// Name returns the name of switch i.
func (g *Graph) Name(i int32) string { return g.Switches[i].Switch.Name }

// Out returns the arcs that leave switch i.
func (g *Graph) Out(i int32) []Arc { return g.Arcs[g.start[i]:g.start[i+1]] }

// First returns the index of the first arc that leaves switch i.
func (g *Graph) First(i int32) int32 { return g.start[i] }

// From returns the switch that an arc leaves.
func (g *Graph) From(arc int32) int32 { return g.Arcs[g.Arcs[arc].Back].To }

// Local returns the index of an arc among the arcs of its switch.
func (g *Graph) Local(arc int32) int32 { return arc - g.start[g.From(arc)] }

// Ports returns the ports at the two ends of link n of an arc's bundle: the port on the switch
// that the arc leaves, then the port on the switch that it reaches.
func (g *Graph) Ports(arc int32, n int) (from, to *intent.Port) {
	a := &g.Arcs[arc]
	l := g.Bundles[a.Bundle].Links[n]
	x, y := g.Switches[g.From(arc)].Switch, g.Switches[a.To].Switch
	if l.A.Device == x.Name {
		return x.Port(l.A.Port), y.Port(l.B.Port)
	}
	return x.Port(l.B.Port), y.Port(l.A.Port)
}

// bundle groups parallel links. Links between the same switches that pause different priorities
// stay separate.
func (g *Graph) bundle() {
	type key struct {
		a, b int32
		at   [2]qos.PrioritySet
	}
	at := map[key]int32{}
	for _, l := range g.Fabric.Links {
		x, y := g.Fabric.Switch(l.A.Device), g.Fabric.Switch(l.B.Device)
		if x == nil || y == nil {
			continue
		}
		px, py := x.Port(l.A.Port), y.Port(l.B.Port)
		k := key{g.index[x], g.index[y], [2]qos.PrioritySet{g.Pauses(px), g.Pauses(py)}}
		if k.a > k.b {
			k = key{k.b, k.a, [2]qos.PrioritySet{k.at[1], k.at[0]}}
		}
		i, ok := at[k]
		if !ok {
			i = int32(len(g.Bundles))
			at[k] = i
			g.Bundles = append(g.Bundles, Bundle{A: k.a, B: k.b, Lossless: k.at[0] & k.at[1], At: k.at})
		}
		g.Bundles[i].Links = append(g.Bundles[i].Links, l)
	}
}

func (g *Graph) arcs() {
	n := len(g.Switches)
	g.start = make([]int32, n+1)
	for i := range g.Bundles {
		g.start[g.Bundles[i].A+1]++
		g.start[g.Bundles[i].B+1]++
	}
	for i := range n {
		g.start[i+1] += g.start[i]
	}
	g.Arcs = make([]Arc, 2*len(g.Bundles))
	next := slices.Clone(g.start[:n])
	for i := range g.Bundles {
		b := &g.Bundles[i]
		x, y := next[b.A], next[b.B]
		next[b.A]++
		next[b.B]++
		g.Arcs[x] = Arc{To: b.B, Bundle: int32(i), Back: y}
		g.Arcs[y] = Arc{To: b.A, Bundle: int32(i), Back: x}
	}
}

// direct sets the directions of the arcs once the tiers are known.
func (g *Graph) direct() {
	for i := range g.Arcs {
		a := &g.Arcs[i]
		switch cmp.Compare(g.Switches[a.To].Tier, g.Switches[g.From(int32(i))].Tier) {
		case 1:
			a.Dir = Up
		case -1:
			a.Dir = Down
		default:
			a.Dir = Level
		}
	}
}
