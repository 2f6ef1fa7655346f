package deadlock

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Hole is a set of ports of one switch that treat a lossless class differently from the rest of
// its paths.
type Hole struct {
	Class    string
	Priority int
	Switch   string
	Ports    []string // in natural order
	// From is what decided the value; if no file states it, what decided the value of the other
	// ports.
	From intent.Origin
	// Others counts the ports on paths of the class that treat it correctly.
	Others int
}

// Kept is a tunnel that sends traffic up again in the same lossless class that it came in.
type Kept struct {
	Class      string
	Switch, To string // the ends of the tunnel
	Pos        intent.Pos
}

// Paths says where the paths of lossless traffic have gaps.
type Paths struct {
	// Lossy are ports on a lossless path that do not pause: they drop the packets that the rest
	// of the path protects.
	Lossy []Hole
	// Unmarked are ports on a lossless path that do not mark although others do.
	Unmarked []Hole
	// Idle are ports that pause a class carried only by tunnels, where no tunnel carries it.
	Idle []Hole
	Kept []Kept
}

// holes groups ports by class, switch and origin.
type holes struct{ ordered.Map[holeKey, Hole] }

type holeKey struct {
	priority int
	sw       string
	from     intent.Origin
}

func (h *holes) add(k *intent.Class, p *intent.Port, from intent.Origin) {
	at := h.At(holeKey{k.Priority.V, p.Switch.Name, from})
	at.Class, at.Priority, at.Switch, at.From = k.Name, k.Priority.V, p.Switch.Name, from
	if !slices.Contains(at.Ports, p.Name) {
		at.Ports = append(at.Ports, p.Name)
	}
}

// list returns the holes with sorted ports. others is the number of correct ports.
func (h *holes) list(others int) []Hole {
	var out []Hole
	for _, x := range h.All() {
		x.Ports, x.Others = natural.Sorted(x.Ports), others
		out = append(out, x)
	}
	return out
}

// Paths checks every port that traffic of a lossless class takes without failures.
func (a *Analysis) Paths() Paths {
	var out Paths
	carried := a.carried()
	for _, k := range a.Graph.Fabric.Settings.Classes {
		if a.n.lossless.Has(k.Priority.V) {
			a.classPaths(k, carried, &out)
		}
	}
	out.Kept = a.kept()
	return out
}

// carried returns, by arc, the tags of the packets on it.
func (a *Analysis) carried() []uint8 {
	if a.proven {
		return a.carries
	}
	n := a.n
	out := make([]uint8, len(n.g.Arcs))
	for s := range n.g.Switches {
		for i, arc := range n.g.Out(int32(s)) {
			for t := range n.planes {
				for _, plane := range n.planes[t] {
					if plane >= 0 && slices.ContainsFunc(a.nominal.at(plane, int32(s), int32(i)), func(w uint64) bool { return w != 0 }) {
						out[arc.Back] |= 1 << t
					}
				}
			}
		}
	}
	return out
}

// carries reports whether a set of tags contains a class.
func (n *network) carries(tags uint8, priority int) bool {
	if !n.tagged {
		return tags != 0
	}
	return tags&(1<<priority) != 0
}

// onPath is one end of a link on a path: a port that sends or receives.
type onPath struct {
	port  *intent.Port
	sends bool
}

// senders returns the ports of NICs that send a class.
func (n *network) senders(p int) (out []onPath) {
	for i := range n.g.Switches {
		for _, h := range n.g.Switches[i].Hosts {
			if h.Sends.Has(p) {
				out = append(out, onPath{h.Port, true})
			}
		}
	}
	return out
}

func (a *Analysis) classPaths(k *intent.Class, carried []uint8, out *Paths) {
	n := a.n
	p := k.Priority.V
	var path []onPath
	var idle []*intent.Port
	for arc := range carried {
		for i := range n.bundle(int32(arc)).Links {
			x, y := n.g.Ports(int32(arc), i)
			switch back := n.g.Arcs[arc].Back; {
			case n.carries(carried[arc], p):
				path = append(path, onPath{x, true}, onPath{y, false})
			case !n.carries(carried[back], p) && n.g.Pauses(x).Has(p):
				idle = append(idle, x)
			}
		}
	}
	if n.g.Sent.Has(p) {
		path = append(path, n.senders(p)...)
	} else if !n.bare() && !a.isTarget(p) {
		return // no host sends the class losslessly
	}
	out.Lossy = append(out.Lossy, a.gaps(k, path, false, func(c *intent.Class) (bool, intent.Origin) { return c.Lossless.V, c.Lossless.From })...)
	out.Unmarked = append(out.Unmarked, a.gaps(k, path, true, func(c *intent.Class) (bool, intent.Origin) {
		return c.ECN.Mode.V != intent.ECNOff, c.ECN.Mode.From
	})...)
	if a.tunnelOnly().Has(p) {
		var h holes
		for _, x := range idle {
			if c := x.Settings.Class(k.Name); c != nil {
				h.add(c, x, c.Lossless.From)
			}
		}
		out.Idle = append(out.Idle, h.list(0)...)
	}
}

// gaps returns the ports of a path whose class does not satisfy is, if other ports do.
func (a *Analysis) gaps(k *intent.Class, path []onPath, sendersOnly bool, is func(*intent.Class) (bool, intent.Origin)) []Hole {
	var h holes
	good := map[*intent.Port]bool{}
	var stated intent.Origin
	for _, x := range path {
		if sendersOnly && !x.sends {
			continue
		}
		c := x.port.Settings.Class(k.Name)
		if c == nil {
			continue
		}
		if ok, from := is(c); ok {
			good[x.port] = true
			if from.Rule == "" && stated == (intent.Origin{}) {
				stated = from
			}
		} else {
			h.add(c, x.port, from)
		}
	}
	if len(good) == 0 {
		return nil
	}
	out := h.list(len(good))
	for i := range out {
		if out[i].From.Rule != "" && stated != (intent.Origin{}) {
			out[i].From = stated
		}
	}
	return out
}

// tunnelOnly returns the classes that only the remap of a tunnel leads to. A class that an
// exception leads to is carried under failures, which Paths does not check.
func (a *Analysis) tunnelOnly() qos.PrioritySet {
	var in, not qos.PrioritySet
	for _, t := range a.Graph.Fabric.Routing.Tunnels {
		for _, r := range t.Remap {
			in |= qos.Priorities(r.To.Priority.V)
		}
	}
	for _, x := range a.Graph.Fabric.Routing.Exceptions {
		for _, r := range x.Remap {
			not |= qos.Priorities(r.To.Priority.V)
		}
	}
	return in &^ not
}

func (a *Analysis) kept() []Kept {
	var out []Kept
	r := &a.Graph.Fabric.Routing
	for _, k := range a.Graph.Fabric.Settings.Classes {
		p := k.Priority.V
		for _, t := range r.Tunnels {
			if m := remapOf(t.Remap); a.n.lossless.Has(p) && int(m[p]) == p && !a.isTarget(p) {
				out = append(out, Kept{Class: k.Name, Switch: t.From.Name, To: t.To.Name, Pos: t.Pos})
			}
		}
	}
	return out
}

// isTarget reports whether a remap leads to the class: traffic that bounced once is not
// remapped again.
func (a *Analysis) isTarget(p int) bool {
	r := &a.Graph.Fabric.Routing
	to := func(l []intent.Remap) bool {
		return slices.ContainsFunc(l, func(m intent.Remap) bool { return m.To.Priority.V == p && m.From.Priority.V != p })
	}
	return slices.ContainsFunc(r.Tunnels, func(t *intent.Tunnel) bool { return to(t.Remap) }) ||
		slices.ContainsFunc(r.Exceptions, func(x *intent.Exception) bool { return to(x.Remap) })
}
