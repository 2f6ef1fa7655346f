package deadlock

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// brute is a plain implementation of the search. It works with single links and names, learns
// routes by exchanging announcements until nothing changes, walks every packet, and searches
// all waiting buffers for cycles. It shares only the tiers with the code under test.
type brute struct {
	f     *intent.Fabric
	tier  map[string]int
	model string
	down  map[*intent.Link]bool
	dead  string
	lost  string // a switch that lost one of its own hosts and keeps announcing it

	nominal map[string]map[string]bruteRoute
}

type bruteRoute struct {
	length int
	below  bool // known from below, from a peer that knows it so, or its own
	held   bool
	ok     bool
}

// buffer is the priority group at the receiving end of a link.
type buffer struct {
	at    string
	link  *intent.Link
	class int
}

type wait struct{ u, v buffer }

func newBrute(a *Analysis) *brute {
	b := &brute{f: a.Graph.Fabric, tier: map[string]int{}, model: a.Model, down: map[*intent.Link]bool{}}
	for i := range a.Graph.Switches {
		b.tier[a.Graph.Name(int32(i))] = a.Graph.Switches[i].Tier
	}
	b.nominal = map[string]map[string]bruteRoute{}
	for _, s := range b.f.Switches {
		b.nominal[s.Name] = b.routes(s.Name)
	}
	return b
}

func (b *brute) excepted(kind intent.ExceptionKind, s string) *intent.Exception {
	var last *intent.Exception
	for _, x := range b.f.Routing.Exceptions {
		if x.Kind == kind && slices.ContainsFunc(x.Switches, func(y *intent.Switch) bool { return y.Name == s }) {
			last = x
		}
	}
	return last
}

type bruteArc struct {
	link *intent.Link
	to   string
}

func (b *brute) arcs(s string) []bruteArc {
	var out []bruteArc
	for _, l := range b.f.Links {
		if b.down[l] || b.f.Switch(l.A.Device) == nil || b.f.Switch(l.B.Device) == nil {
			continue
		}
		to := ""
		switch s {
		case l.A.Device:
			to = l.B.Device
		case l.B.Device:
			to = l.A.Device
		}
		if to != "" && to != b.dead && s != b.dead {
			out = append(out, bruteArc{l, to})
		}
	}
	return out
}

// peers reports whether the link between two switches of one tier carries traffic.
func (b *brute) peers(s, t string) bool {
	for _, x := range b.f.Routing.Exceptions {
		has := func(n string) bool {
			return slices.ContainsFunc(x.Switches, func(y *intent.Switch) bool { return y.Name == n })
		}
		if x.Kind == intent.PeerLinks && has(s) && has(t) {
			return true
		}
	}
	return false
}

// hears reports whether s learns a route from t, and whether the route counts as one from
// below.
func (b *brute) hears(r map[string]bruteRoute, s, t string) (ok, below bool) {
	x := r[t]
	if !x.ok {
		return false, false
	}
	switch {
	case b.model == intent.Shortest:
		return true, b.tier[t] < b.tier[s]
	case b.tier[t] > b.tier[s]:
		return true, false
	case b.tier[t] < b.tier[s]:
		ok := x.below || b.excepted(intent.UpAgain, t) != nil
		return ok, ok
	}
	return b.peers(s, t), x.below
}

func (b *brute) routes(d string) map[string]bruteRoute {
	r := map[string]bruteRoute{}
	if d == b.dead {
		return r
	}
	r[d] = bruteRoute{0, true, d == b.lost, true}
	limit := 3 * len(b.f.Switches)
	for range limit {
		next := map[string]bruteRoute{d: r[d]}
		for _, s := range b.f.Switches {
			if s.Name == d || s.Name == b.dead {
				continue
			}
			var best bruteRoute
			for _, a := range b.arcs(s.Name) {
				ok, below := b.hears(r, s.Name, a.to)
				if !ok {
					continue
				}
				n := r[a.to].length + 1
				if !best.ok || n < best.length {
					best = bruteRoute{n, below, false, true}
				} else if n == best.length {
					best.below = best.below || below
				}
			}
			if was, ok := b.nominal[d][s.Name]; ok && was.ok && was.below && b.excepted(intent.DefaultUp, s.Name) != nil {
				worse := !best.ok || best.length > was.length || best.length == was.length && !best.below && b.model == intent.UpDown
				if worse {
					best = bruteRoute{was.length, true, true, true}
				}
			}
			if best.ok && best.length <= limit/2 {
				next[s.Name] = best
			}
		}
		r = next
	}
	return r
}

// ways returns the arcs over which s sends to the destination of r.
func (b *brute) ways(r map[string]bruteRoute, s string) []bruteArc {
	own := r[s]
	var out []bruteArc
	if !own.ok || own.length == 0 && !own.held {
		return nil
	}
	for _, a := range b.arcs(s) {
		if own.held {
			if b.tier[a.to] > b.tier[s] {
				out = append(out, a)
			}
			continue
		}
		ok, below := b.hears(r, s, a.to)
		if ok && r[a.to].length+1 == own.length && (b.model == intent.Shortest || below || !own.below) {
			out = append(out, a)
		}
	}
	return out
}

func (b *brute) lossless(l *intent.Link, class int) bool {
	x := b.f.Switch(l.A.Device).Port(l.A.Port).Settings.Lossless()
	y := b.f.Switch(l.B.Device).Port(l.B.Port).Settings.Lossless()
	return x.Has(class) && y.Has(class)
}

func mapped(l []intent.Remap, class int) int {
	for _, r := range l {
		if r.From.Priority.V == class {
			return r.To.Priority.V
		}
	}
	return class
}

// sends returns the classes that hosts of switch s send to those of switch d. Hosts of the random
// fabrics have one port and state no RDMA device, or state that of another port.
func (b *brute) sends(s, d string) qos.PrioritySet {
	var out qos.PrioritySet
	from, to := b.sent(s), b.sent(d)
	for island, set := range from {
		out |= set & to[island]
	}
	return out
}

// sent returns what hosts of a switch send, by island.
func (b *brute) sent(s string) map[string]qos.PrioritySet {
	var anywhere, atHosts, targets qos.PrioritySet
	for _, sw := range b.f.Switches {
		for _, p := range sw.Ports {
			if p.Link == nil {
				continue
			}
			anywhere |= p.Settings.Lossless()
			if !p.Uplink() {
				atHosts |= p.Settings.Lossless()
			}
		}
	}
	for _, x := range b.f.Routing.Exceptions {
		for _, r := range x.Remap {
			targets |= qos.Priorities(r.To.Priority.V)
		}
	}
	for _, x := range b.f.Routing.Tunnels {
		for _, r := range x.Remap {
			targets |= qos.Priorities(r.To.Priority.V)
		}
	}
	out := map[string]qos.PrioritySet{}
	for _, p := range b.f.Switch(s).Ports {
		if p.Link == nil || p.Uplink() {
			continue
		}
		peer, _ := p.Peer()
		set := anywhere &^ atHosts &^ targets
		if h := b.f.Host(peer.Device); len(h.NICs) == 1 {
			set |= p.Settings.Lossless()
		}
		island := ""
		for _, is := range b.f.Islands {
			if slices.Contains(is.Hosts, b.f.Host(peer.Device)) {
				island = is.Name
			}
		}
		out[island] |= set
	}
	return out
}

// packet is the position of a packet: the switch, the link that it came by, and its class.
type packet struct {
	at    string
	link  *intent.Link // nil where the packet starts
	class int
}

// waits returns all dependencies.
func (b *brute) waits() map[wait]bool {
	out := map[wait]bool{}
	for _, d := range b.f.Switches {
		if d.Name == b.dead {
			continue
		}
		r := b.routes(d.Name)
		var begin []packet
		for _, s := range b.f.Switches {
			if s.Name != b.dead {
				for _, c := range b.sends(s.Name, d.Name).List() {
					begin = append(begin, packet{s.Name, nil, c})
				}
			}
		}
		seen := b.walk(r, begin, out)
		for _, t := range b.f.Routing.Tunnels {
			if t.From == d && t.To.Name != b.dead {
				b.tunnel(t, seen, out)
			}
		}
	}
	return out
}

func (b *brute) walk(r map[string]bruteRoute, todo []packet, out map[wait]bool) map[packet]bool {
	seen := map[packet]bool{}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[p] {
			continue
		}
		seen[p] = true
		for _, a := range b.ways(r, p.at) {
			class := p.class
			if p.link != nil && b.tier[b.other(p.link, p.at)] > b.tier[p.at] && b.tier[a.to] > b.tier[p.at] {
				class = b.again(p.at, class)
			}
			b.wait(p, a, class, out)
			todo = append(todo, packet{a.to, a.link, class})
		}
	}
	return seen
}

// again returns the class of a packet that goes up again: the last exception with a remap
// decides.
func (b *brute) again(s string, class int) int {
	out := class
	for _, x := range b.f.Routing.Exceptions {
		if len(x.Remap) > 0 && slices.ContainsFunc(x.Switches, func(y *intent.Switch) bool { return y.Name == s }) {
			out = mapped(x.Remap, class)
		}
	}
	return out
}

func (b *brute) wait(p packet, a bruteArc, class int, out map[wait]bool) {
	if p.link != nil && b.lossless(p.link, p.class) && b.lossless(a.link, class) {
		out[wait{buffer(p), buffer{a.to, a.link, class}}] = true
	}
}

func (b *brute) tunnel(t *intent.Tunnel, seen map[packet]bool, out map[wait]bool) {
	if t.To.Name == b.dead {
		return
	}
	r := b.routes(t.To.Name)
	var begin []packet
	for p := range seen {
		if p.at != t.From.Name {
			continue
		}
		class := mapped(t.Remap, p.class)
		for _, a := range b.ways(r, p.at) {
			b.wait(p, a, class, out)
			begin = append(begin, packet{a.to, a.link, class})
		}
	}
	b.walk(r, begin, out)
}

func (b *brute) other(l *intent.Link, s string) string {
	if l.A.Device == s {
		return l.B.Device
	}
	return l.A.Device
}

// circles returns the dependencies that are part of a cycle, and the length of the shortest
// cycle, 0 if there is none.
func circles(ws map[wait]bool) (in map[wait]bool, shortest int) {
	next := map[buffer][]buffer{}
	for w := range ws {
		next[w.u] = append(next[w.u], w.v)
	}
	in = map[wait]bool{}
	for w := range ws {
		dist := map[buffer]int{w.v: 1}
		queue := []buffer{w.v}
		for i := 0; i < len(queue); i++ {
			for _, y := range next[queue[i]] {
				if _, ok := dist[y]; !ok {
					dist[y] = dist[queue[i]] + 1
					queue = append(queue, y)
				}
			}
		}
		if n, ok := dist[w.u]; ok {
			in[w] = true
			if shortest == 0 || n < shortest {
				shortest = n
			}
		}
	}
	return in, shortest
}

// found is the result of a search, in comparable form.
type found struct {
	Shortest int
	Failing  []string
}

func (b *brute) search() found {
	base := b.waits()
	_, n := circles(base)
	out := found{Shortest: n}
	makes := func() bool {
		in, _ := circles(b.waits())
		for w := range in {
			if !base[w] {
				return true
			}
		}
		return false
	}
	for _, l := range b.f.Links {
		if b.f.Switch(l.A.Device) == nil || b.f.Switch(l.B.Device) == nil {
			continue
		}
		b.down[l] = true
		if makes() {
			out.Failing = append(out.Failing, linkName(l))
		}
		delete(b.down, l)
	}
	for _, s := range b.f.Switches {
		b.dead = s.Name
		if makes() {
			out.Failing = append(out.Failing, s.Name)
		}
		b.dead = ""
	}
	for _, s := range b.f.Switches {
		if b.sends(s.Name, s.Name) != 0 && b.excepted(intent.DefaultUp, s.Name) != nil {
			b.lost = s.Name
			if makes() {
				out.Failing = append(out.Failing, "host of "+s.Name)
			}
			b.lost = ""
		}
	}
	slices.Sort(out.Failing)
	return out
}

func linkName(l *intent.Link) string { return fmt.Sprintf("%s - %s", l.A, l.B) }

func foundBy(r *Result) found {
	out := found{}
	for _, c := range r.Cycles {
		if out.Shortest == 0 || len(c.Hops) < out.Shortest {
			out.Shortest = len(c.Hops)
		}
	}
	for _, g := range r.Failures {
		for _, l := range g.Links {
			out.Failing = append(out.Failing, linkName(l))
		}
		out.Failing = append(out.Failing, g.Switches...)
		for _, s := range g.Leaves {
			out.Failing = append(out.Failing, "host of "+s)
		}
	}
	slices.Sort(out.Failing)
	return out
}
