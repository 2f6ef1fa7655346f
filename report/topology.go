package report

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Topology is a fabric as it is drawn: which device stands in which tier, which
// of them are shown as one, and what is joined to what.
type Topology struct {
	Nodes  []Node // switches, then hosts, each in the order of the intent
	Links  []Edge // in the order of the intent
	Groups []Group
}

// hostTier is the tier of hosts; that of the switches next to them is 0.
const hostTier = -1

// Node is a device of a drawing.
type Node struct {
	Name  string
	Kind  DeviceKind
	Role  string // of a switch
	OS    string // of a switch
	Model string // of a switch; "" where not stated
	Tier  int
	Ports []NodePort // in natural order
}

// NodePort is a port of a switch or a NIC of a host.
type NodePort struct {
	Name  string
	Speed units.Rate // bits per second; 0 where not known
	Link  int        // index in Topology.Links, or -1
}

// Edge is a link of a drawing.
type Edge struct {
	A, B  EdgeEnd
	Speed units.Rate   // bits per second; 0 where not known
	Cable units.Length // 0 where not known
	Where string       // place in the intent
}

// EdgeEnd is one end of a link: indices in Topology.Nodes and in Node.Ports.
type EdgeEnd struct{ Node, Port int }

// Group is devices of one tier that are drawn as one until someone looks
// closer: those of one role in one pod.
type Group struct {
	Name  string
	Tier  int
	Pod   int   // from 0, in the order of the intent; -1 for none
	Nodes []int // indices in Topology.Nodes, ascending
}

// maxPods is how many pods a drawing is divided into at most: more of them are
// no help to a reader.
const maxPods = 64

// maxGroupName is the longest list of names that a group is called by.
const maxGroupName = 28

// topologyOf returns the drawing of a fabric; that of nil is empty.
func topologyOf(f *intent.Fabric) Topology {
	var t Topology
	if f == nil {
		return t
	}
	index := make(map[string]int, len(f.Switches)+len(f.Hosts))
	add := func(n Node) {
		index[n.Name] = len(t.Nodes)
		t.Nodes = append(t.Nodes, n)
	}
	graph := topology.New(f)
	for _, s := range graph.Switches {
		sw := s.Switch
		n := Node{Name: sw.Name, Kind: SwitchDevice, Role: sw.Role, OS: sw.OS, Model: sw.Model.V, Tier: s.Tier}
		for _, p := range sw.Ports {
			n.Ports = append(n.Ports, NodePort{Name: p.Name, Speed: p.Speed.V, Link: -1})
		}
		add(n)
	}
	for _, h := range f.Hosts {
		n := Node{Name: h.Name, Kind: HostDevice, Tier: hostTier}
		for _, nic := range h.NICs {
			n.Ports = append(n.Ports, NodePort{Name: nic.Name, Link: -1})
		}
		add(n)
	}
	ports := make([]map[string]int, len(t.Nodes))
	for i := range t.Nodes {
		ports[i] = make(map[string]int, len(t.Nodes[i].Ports))
		for j, p := range t.Nodes[i].Ports {
			ports[i][p.Name] = j
		}
	}
	end := func(e intent.Endpoint) (EdgeEnd, bool) {
		n, known := index[e.Device]
		if !known {
			return EdgeEnd{}, false
		}
		p, known := ports[n][e.Port]
		return EdgeEnd{n, p}, known
	}
	for _, l := range f.Links {
		a, okA := end(l.A)
		b, okB := end(l.B)
		if !okA || !okB {
			continue
		}
		for _, e := range []EdgeEnd{a, b} {
			p := &t.Nodes[e.Node].Ports[e.Port]
			p.Link, p.Speed = len(t.Links), cmp.Or(p.Speed, l.Speed.V)
		}
		t.Links = append(t.Links, Edge{A: a, B: b, Speed: l.Speed.V, Cable: l.Cable.V, Where: l.Pos.String()})
	}
	t.group(graph.Tiers - 1)
	return t
}

// group gathers the nodes into groups; top is the highest tier.
func (t *Topology) group(top int) {
	type key struct {
		tier, pod int
		role      string
	}
	pods := t.pods(top)
	at := map[key]int{}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		k := key{n.Tier, pods[i], n.Role}
		g, known := at[k]
		if !known {
			g = len(t.Groups)
			at[k] = g
			t.Groups = append(t.Groups, Group{Tier: n.Tier, Pod: k.pod})
		}
		t.Groups[g].Nodes = append(t.Groups[g].Nodes, i)
	}
	for i := range t.Groups {
		g := &t.Groups[i]
		names := make([]string, len(g.Nodes))
		for j, n := range g.Nodes {
			names[j] = t.Nodes[n].Name
		}
		g.Name = groupName(names)
	}
	slices.SortStableFunc(t.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Nodes[0], b.Nodes[0]))
	})
}

// groupName calls a group by its members, in natural order.
func groupName(names []string) string {
	if name := natural.Fold(names); utf8.RuneCountInString(name) <= maxGroupName {
		return name
	}
	return names[0] + " .. " + names[len(names)-1]
}

// pods numbers the parts that the fabric falls into without its highest tier;
// a node that belongs to no pod has -1. A part with one switch is no pod, and
// where there is only one pod, or more than a reader can take in, there are
// none: a leaf with hosts of its own is not worth a group.
func (t *Topology) pods(top int) []int {
	parent := make([]int, len(t.Nodes))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, l := range t.Links {
		if t.Nodes[l.A.Node].Tier < top && t.Nodes[l.B.Node].Tier < top {
			parent[root(l.A.Node)] = root(l.B.Node)
		}
	}
	switches := map[int]int{}
	for i := range t.Nodes {
		if t.Nodes[i].Kind == SwitchDevice && t.Nodes[i].Tier < top {
			switches[root(i)]++
		}
	}
	number := map[int]int{}
	out := make([]int, len(t.Nodes))
	for i := range out {
		out[i] = -1
		r := root(i)
		if switches[r] < 2 {
			continue
		}
		if _, known := number[r]; !known {
			number[r] = len(number)
		}
		out[i] = number[r]
	}
	if len(number) < 2 || len(number) > maxPods {
		for i := range out {
			out[i] = -1
		}
	}
	return out
}

// PortCounters are the counters of one port, by name: "pfc rx 3". One that the
// device does not show is left out: it never stands for zero.
type PortCounters struct {
	Device, Port string
	Values       map[string]uint64
}
