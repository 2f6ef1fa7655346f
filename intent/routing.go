package intent

import (
	"cmp"
	"errors"
	"path"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

type rawRouting struct {
	Model      opt[string]        `key:"model" enum:"up-down,shortest" doc:"Paths that traffic takes: up-down goes up, then down, and never up again; shortest takes every shortest path. Default: up-down where it joins every two leaves."`
	Tiers      list[opt[string]]  `key:"tiers" rule:"name" doc:"Roles from the hosts upward. Default: by the words in roles (leaf, spine, superspine) and the distance from hosts."`
	Exceptions list[rawException] `key:"exceptions" doc:"Switches that break the model."`
	Tunnels    list[rawTunnel]    `key:"tunnels" doc:"Tunnels that carry lossless traffic from one switch to another, such as those of a dual ToR."`
}

type rawException struct {
	Pos      Pos
	Kind     opt[string]       `key:"kind" req:"true" enum:"up-again,default-up,peer" doc:"up-again: announces upward what it learned from above (allowas-in). default-up: announces its part of the fabric as a whole and follows a default route, static or learned, upward for what it has lost of it: a leaf, or a host of its own. peer: uses the links to others of the list in its own tier."`
	Switches list[opt[string]] `key:"switches" rule:"selection" doc:"Names, ranges, globs, role:ROLE or os:OS."`
	Remap    list[rawRemap]    `key:"remap" doc:"Classes of what came from above and goes up again. Default: they stay."`
}

type rawTunnel struct {
	Pos   Pos
	From  opt[string]    `key:"from" req:"true" rule:"devices" doc:"Switch whose hosts' traffic enters the tunnel; a range runs in step with that of to."`
	To    opt[string]    `key:"to" req:"true" rule:"devices" doc:"Switch that delivers it."`
	Remap list[rawRemap] `key:"remap" doc:"Classes inside the tunnel. Default: they stay."`
}

type rawRemap struct {
	Pos   Pos
	Class opt[string] `key:"class" req:"true" rule:"class" doc:"Class before."`
	As    opt[string] `key:"as" req:"true" rule:"class" doc:"Class after."`
}

type rawIsland struct {
	Hosts    list[opt[string]] `key:"hosts" rule:"selection" doc:"Hosts of the island: names, ranges or globs. They send lossless traffic to one another only."`
	Switches list[opt[string]] `key:"switches" rule:"selection" doc:"Switches that the traffic stays on: names, ranges, globs, role:ROLE or os:OS. Default: any, but no port is shared with another island."`
	Classes  list[opt[string]] `key:"classes" rule:"class" doc:"Lossless classes of the island. Default: all."`
}

// Routing describes which paths traffic takes, as far as the files state it.
type Routing struct {
	// Model is [UpDown], [Shortest], or "" if it is to be derived from the topology.
	Model Value[string]
	// Tiers lists roles from the hosts upward; empty if not stated.
	Tiers      Value[[]string]
	Exceptions []*Exception // in file order
	Tunnels    []*Tunnel    // in file order
}

// Routing models.
const (
	UpDown   = "up-down"  // valley-free: up, then down, never up again
	Shortest = "shortest" // every shortest path, in any direction
)

// ExceptionKind says how a switch deviates from the model.
type ExceptionKind string

// Kinds of exceptions.
const (
	UpAgain   ExceptionKind = "up-again"   // announces upward the routes that it learned from above
	DefaultUp ExceptionKind = "default-up" // keeps announcing a leaf or host that it lost, and sends its traffic up
	PeerLinks ExceptionKind = "peer"       // uses links within its tier
)

// Exception is a set of switches that deviate from the model.
type Exception struct {
	Pos      Pos
	Kind     ExceptionKind
	Switches []*Switch // in the order of Fabric.Switches
	Remap    []Remap
}

// Tunnel carries traffic for the hosts of switch To from switch From, and To delivers it.
type Tunnel struct {
	Pos      Pos
	From, To *Switch
	Remap    []Remap
}

// Remap changes the class of a packet in transit.
type Remap struct {
	From, To *Class // classes of Fabric.Settings
}

// Island is a group of hosts whose lossless traffic stays within the group.
type Island struct {
	Name  string
	Pos   Pos
	Hosts []*Host // in the order of Fabric.Hosts
	// Switches limits the traffic to these switches; nil allows any.
	Switches []*Switch
	// Classes holds the priorities of the island's classes; all lossless ones if none is stated.
	Classes qos.PrioritySet
}

func (r *resolver) routing() {
	out := &r.out.Routing
	raw := cmp.Or(r.raw.Routing, &rawRouting{})
	out.Model, out.Tiers.From = from(raw.Model, ""), byDefault
	r.tiers(&raw.Tiers)
	for i := range raw.Exceptions.Items {
		e := &raw.Exceptions.Items[i]
		x := &Exception{Pos: e.Pos, Kind: ExceptionKind(e.Kind.V), Remap: r.remap(&e.Remap),
			Switches: r.chosen(&e.Switches, e.Pos, "an exception")}
		if x.Kind == PeerLinks && len(x.Remap) > 0 {
			r.problems.addf(e.Remap.Pos, "", "traffic over peer links keeps its class")
		}
		out.Exceptions = append(out.Exceptions, x)
	}
	for i := range raw.Tunnels.Items {
		r.tunnels(&raw.Tunnels.Items[i])
	}
	r.islands()
}

func (r *resolver) tiers(raw *list[opt[string]]) {
	if !raw.Stated || raw.Bad {
		return
	}
	roles := map[string]bool{}
	var known []string
	for _, s := range r.out.Switches {
		if s.Role != "" && !roles[s.Role] {
			roles[s.Role] = true
			known = append(known, s.Role)
		}
	}
	first := map[string]Pos{}
	for _, o := range raw.Items {
		switch pos, taken := first[o.V]; {
		case taken:
			r.problems.addf(o.Pos, "", "role %q is already a tier at %s", o.V, pos)
		case !roles[o.V] && !r.incomplete:
			r.problems.addf(o.Pos, didYouMean(o.V, known), "no switch has the role %q", o.V)
		}
		first[o.V] = o.Pos
	}
	r.out.Routing.Tiers = Value[[]string]{V: each(raw.Items, opt[string].value), From: Origin{Pos: raw.Pos}}
}

// chosen returns the switches that the patterns match.
func (r *resolver) chosen(raw *list[opt[string]], pos Pos, what string) []*Switch {
	if len(raw.Items) == 0 {
		if !raw.Bad {
			r.problems.addf(pos, "", "%s names no switches", what)
		}
		return nil
	}
	in := map[*Switch]bool{}
	for _, o := range raw.Items {
		if !o.Set || r.incomplete || !r.spendNames(len(r.out.Switches), o.Pos) {
			continue
		}
		l, err := r.out.Select([]string{o.V})
		if err != nil {
			r.selectionFault(o.Pos, err)
		}
		for _, s := range l {
			in[s] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.out.Switches), func(s *Switch) bool { return !in[s] })
}

func (r *resolver) selectionFault(pos Pos, err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		r.problems.addf(pos, e.Hint, "%s", e.Msg)
		return
	}
	r.problems.addf(pos, "", "%s", err)
}

func (r *resolver) remap(raw *list[rawRemap]) []Remap {
	var out []Remap
	first := map[string]Pos{}
	for _, m := range raw.Items {
		if !m.Class.Set || !m.As.Set {
			continue
		}
		if pos, taken := first[m.Class.V]; taken {
			r.problems.addf(m.Pos, "", "class %q is already remapped at %s", m.Class.V, pos)
			continue
		}
		first[m.Class.V] = m.Pos
		a, b := r.classAt(m.Class), r.classAt(m.As)
		if a != nil && b != nil {
			out = append(out, Remap{From: a, To: b})
		}
	}
	return out
}

func (r *resolver) classAt(o opt[string]) *Class {
	if c := r.out.Settings.Class(o.V); c != nil {
		return c
	}
	r.problems.addf(o.Pos, didYouMean(o.V, r.classNames()), "no class %q in the fabric", o.V)
	return nil
}

func (r *resolver) tunnels(raw *rawTunnel) {
	if !raw.From.Set || !raw.To.Set {
		return
	}
	a, okA := r.names(raw.From.V, raw.From.Pos, isDeviceName, nameWant)
	b, okB := r.names(raw.To.V, raw.To.Pos, isDeviceName, nameWant)
	if !okA || !okB {
		return
	}
	if len(a) != len(b) {
		r.problems.addf(raw.Pos, "", "from has %d switches and to has %d", len(a), len(b))
		return
	}
	remap := r.remap(&raw.Remap)
	for i := range a {
		x, y := r.switchAt(a[i], raw.From.Pos), r.switchAt(b[i], raw.To.Pos)
		switch {
		case x == nil || y == nil:
		case x == y:
			r.problems.addf(raw.Pos, "", "a tunnel joins %q with itself", x.Name)
		default:
			r.out.Routing.Tunnels = append(r.out.Routing.Tunnels, &Tunnel{Pos: raw.Pos, From: x, To: y, Remap: remap})
		}
	}
}

func (r *resolver) switchAt(name string, pos Pos) *Switch {
	s := r.out.switches[name]
	if s == nil && !r.incomplete {
		r.problems.addf(pos, nearestPattern(name, r.out.candidates()), "no switch %q", brief(name))
	}
	return s
}

func (r *resolver) islands() {
	taken := map[*Host]*Island{}
	for _, e := range r.raw.Islands.Entries {
		is := &Island{Name: e.Key, Pos: e.Pos}
		if len(e.V.Hosts.Items) == 0 && !e.V.Hosts.Bad {
			r.problems.addf(e.Pos, "", "island %q has no hosts", e.Key)
		}
		for _, o := range e.V.Hosts.Items {
			if o.Set {
				r.islandHosts(is, o, taken)
			}
		}
		is.Hosts = slices.DeleteFunc(slices.Clone(r.out.Hosts), func(h *Host) bool { return taken[h] != is })
		if e.V.Switches.Stated {
			is.Switches = r.chosen(&e.V.Switches, e.Pos, "the island")
		}
		for _, o := range e.V.Classes.Items {
			if !o.Set {
				continue
			}
			if c := r.classAt(o); c != nil {
				is.Classes |= qos.Priorities(c.Priority.V)
			}
		}
		if !e.V.Classes.Stated {
			is.Classes = ^qos.PrioritySet(0)
		}
		r.out.Islands = append(r.out.Islands, is)
	}
}

// islandHosts adds the hosts that a pattern matches. Each host belongs to at most one island.
func (r *resolver) islandHosts(is *Island, o opt[string], taken map[*Host]*Island) {
	add := func(h *Host) {
		if first := taken[h]; first != nil && first != is {
			r.problems.addf(o.Pos, "", "host %q is in island %q at %s", h.Name, first.Name, first.Pos)
			return
		}
		taken[h] = is
	}
	p, err := parsePattern(o.V)
	if err == nil && p.ranged {
		names, ok := r.ranges(o.V, o.Pos)
		for _, n := range names {
			h := r.out.hosts[n]
			if h == nil {
				if ok && !r.incomplete {
					r.problems.addf(o.Pos, "", "no host %q, which %q names", n, brief(o.V))
				}
				return
			}
			add(h)
		}
		return
	}
	if err == nil {
		_, err = path.Match(o.V, "")
	}
	if err != nil {
		r.problems.addf(o.Pos, "write a name, a range such as gpu[1-8] or a glob such as gpu*", "%q: %v", brief(o.V), err)
		return
	}
	found := false
	if !r.spendNames(len(r.out.Hosts), o.Pos) {
		return
	}
	for _, h := range r.out.Hosts {
		if ok, _ := path.Match(o.V, h.Name); ok { // the pattern is already validated
			add(h)
			found = true
		}
	}
	if !found && !r.incomplete {
		r.problems.addf(o.Pos, "", "no host matches %q", brief(o.V))
	}
}
