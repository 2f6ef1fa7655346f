package deadlock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Result is the result of a search for deadlocks.
type Result struct {
	// Cycles are the shortest cycles without a failure, one for each set of buffers that can
	// wait for each other.
	Cycles []Cycle
	// Failures are the single failures that create a cycle.
	Failures []FailureGroup
	// Turns are the switches where traffic from above goes up again.
	Turns []UpTurn
	// Searched is the number of failures computed; every other failure is like one of them, or
	// removes no route.
	Searched int
}

// Hop is one buffer of a cycle, with the egress port that it waits for.
type Hop struct {
	Switch string
	In     string // ingress port: the buffer is its priority group
	Class  string // classes of the packets in the buffer
	Out    string // egress port, which the next hop's buffer pauses
	// Next is the device at the other end of Out.
	Next string
	// Destination is a leaf whose traffic goes from In to Out; Hosts are its hosts.
	Destination string
	Hosts       []string
	// Link is the position of In's link in the intent.
	Link intent.Pos
}

// Cycle is a cycle of buffers that wait for each other.
type Cycle struct {
	Hops []Hop
	// Buffers is the number of buffers that share some cycle with these.
	Buffers int
}

// Class returns the class of all buffers of the cycle; "" if they differ.
func (c Cycle) Class() string {
	if len(c.Hops) == 0 || slices.ContainsFunc(c.Hops, func(h Hop) bool { return h.Class != c.Hops[0].Class }) {
		return ""
	}
	return c.Hops[0].Class
}

// String formats the cycle as one line, with the class of each buffer if the classes differ.
func (c Cycle) String() string {
	var parts []string
	one := c.Class() != ""
	for _, h := range c.Hops {
		class := ""
		if !one && h.Class != "" {
			class = " (class " + h.Class + ")"
		}
		parts = append(parts, fmt.Sprintf("%s %s%s waits for %s, which traffic to %s leaves by %s", h.Switch, h.In, class, h.Next, h.Destination, h.Out))
	}
	return strings.Join(parts, "; ")
}

// FailureGroup is a group of single failures of one kind, each of which creates a cycle.
type FailureGroup struct {
	// What describes the group: "any of 64 links between leaf[1-16] and spine[1-4]".
	What     string
	Links    []*intent.Link // set for a group of links
	Switches []string       // set for a group of switches
	Leaves   []string       // for a group of links to hosts: the switches that lose a host
	// Cycle is the cycle that the first failure creates.
	Cycle Cycle
}

// UpTurn is a switch where traffic from above goes up again.
type UpTurn struct {
	Switch, In, Out string // an example
	Destination     string
	// Failure is the failure that causes the turn; "" if it needs none.
	Failure string
	// Declared is the position of the exception that allows the turn; empty if the model allows
	// it.
	Declared intent.Pos
}

// Run searches for cycles: without failures, then under each failure of one link, of one
// switch, or of a host link on a leaf that follows a default route. It stops early if ctx ends.
func (a *Analysis) Run(ctx context.Context) (*Result, error) { return a.run(ctx, !a.proven, false) }

// run searches failures only if failures is set: one of each group of equal failures, or every
// failure if all is set.
func (a *Analysis) run(ctx context.Context, failures, all bool) (*Result, error) {
	n := a.n
	r := &Result{}
	if a.proven && !failures {
		return r, nil
	}
	if err := a.follow(ctx); err != nil {
		return nil, err
	}
	w := a.worker()
	w.prepare(a)
	for _, nodes := range a.cyclic {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("search for deadlocks: %w", err)
		}
		c := w.search.shortestCycle(&graph{n: n, m: a.nominal, f: nothing}, nodes)
		r.Cycles = append(r.Cycles, a.explain(w, nothing, c, len(nodes)))
	}
	ordered.Sort(r.Cycles, func(x, y Cycle) int { return cmp.Compare(len(x.Hops), len(y.Hops)) })
	turns := a.nominalTurns()
	if failures {
		orbits := n.orbits(all)
		fs := make([]failure, len(orbits))
		for i := range orbits {
			fs[i] = orbits[i].f
		}
		out, err := a.eachFailure(ctx, fs)
		if err != nil {
			return nil, err
		}
		r.Searched = len(fs)
		r.Failures = a.group(w, orbits, out)
		turns = a.moreTurns(turns, orbits, out)
	}
	r.Turns = a.upTurns(w, turns)
	return r, nil
}

// group groups the failures that create a cycle by the kind and tier of the failed part.
func (a *Analysis) group(w *worker, orbits []orbit, out []outcome) []FailureGroup {
	type key struct {
		kind   byte
		lo, hi int // tiers
	}
	type collected struct {
		orbit
		cycle []node
	}
	var groups ordered.Map[key, collected]
	for i := range orbits {
		if out[i].cycle == nil {
			continue
		}
		add := func(k key) *collected {
			c := groups.At(k)
			if c.cycle == nil {
				c.f, c.cycle = orbits[i].f, out[i].cycle
			}
			return c
		}
		for _, b := range orbits[i].bundles {
			x, y := a.Graph.Bundles[b].A, a.Graph.Bundles[b].B
			if a.tier(x) > a.tier(y) {
				x, y = y, x
			}
			c := add(key{'l', a.tier(x), a.tier(y)})
			c.bundles = append(c.bundles, b)
		}
		for _, s := range orbits[i].sws {
			c := add(key{'s', a.tier(s), a.tier(s)})
			c.sws = append(c.sws, s)
		}
		for _, s := range orbits[i].leaves {
			c := add(key{'h', a.tier(s), a.tier(s)})
			c.leaves = append(c.leaves, s)
		}
	}
	var fs []FailureGroup
	for _, c := range groups.All() {
		g := FailureGroup{Cycle: a.explain(w, c.f, c.cycle, len(c.cycle))}
		slices.Sort(c.bundles)
		slices.Sort(c.sws)
		slices.Sort(c.leaves)
		for _, s := range c.leaves {
			g.Leaves = append(g.Leaves, a.Graph.Name(s))
		}
		for _, s := range c.sws {
			g.Switches = append(g.Switches, a.Graph.Name(s))
		}
		for _, b := range c.bundles {
			g.Links = append(g.Links, a.Graph.Bundles[b].Links...)
		}
		g.What = a.describeGroup(&g)
		if len(c.leaves) > 0 {
			g.What = a.hostLinks(c.leaves)
		}
		fs = append(fs, g)
	}
	return fs
}

func (a *Analysis) tier(s int32) int { return a.Graph.Switches[s].Tier }

func (a *Analysis) describeGroup(g *FailureGroup) string {
	if len(g.Switches) == 1 {
		return "switch " + g.Switches[0]
	}
	if len(g.Switches) > 1 {
		return fmt.Sprintf("any of %d switches %s", len(g.Switches), natural.Fold(g.Switches))
	}
	if len(g.Links) == 1 {
		return fmt.Sprintf("the link %s - %s", g.Links[0].A, g.Links[0].B)
	}
	low, high := map[string]bool{}, map[string]bool{}
	for _, l := range g.Links {
		x, y := a.Graph.Fabric.Switch(l.A.Device), a.Graph.Fabric.Switch(l.B.Device)
		i, j := a.Graph.Index(x), a.Graph.Index(y)
		if a.tier(i) > a.tier(j) || a.tier(i) == a.tier(j) && i > j {
			i, j = j, i
		}
		low[a.Graph.Name(i)], high[a.Graph.Name(j)] = true, true
	}
	return fmt.Sprintf("any of %d links between %s and %s", len(g.Links), natural.Fold(natural.Keys(low)), natural.Fold(natural.Keys(high)))
}

// hostLinks describes the links to hosts of leaves, each of which may fail.
func (a *Analysis) hostLinks(leaves []int32) string {
	var names []string
	var ports []topology.HostPort
	for _, s := range leaves {
		names = append(names, a.Graph.Name(s))
		ports = append(ports, a.Graph.Switches[s].Hosts...)
	}
	switch len(ports) {
	case 0: // the intent has no hosts
		return "any link to a host of " + natural.Fold(names)
	case 1:
		l := ports[0].Port.Link
		return "the link " + l.A.String() + " - " + l.B.String()
	}
	return fmt.Sprintf("any of %d links to hosts of %s", len(ports), natural.Fold(names))
}

// explain names the hops of a cycle, with a destination that causes each dependency.
func (a *Analysis) explain(w *worker, f failure, cycle []node, buffers int) Cycle {
	n := a.n
	out := Cycle{Buffers: buffers, Hops: make([]Hop, len(cycle))}
	to := w.makers(f, edgesAround(cycle))
	for i, u := range cycle {
		lu, in := n.split(u)
		_, next := n.split(cycle[(i+1)%len(cycle)])
		_, ps := n.g.Ports(in, 0)
		po, pn := n.g.Ports(next, 0)
		h := &out.Hops[i]
		*h = Hop{Switch: ps.Switch.Name, In: ps.Name, Class: a.classes(n.layers[lu].priorities),
			Out: po.Name, Next: pn.Switch.Name, Link: ps.Link.Pos}
		if d := to[i]; d >= 0 {
			h.Destination = n.g.Name(d)
			for _, p := range n.g.Switches[d].Hosts {
				if !slices.Contains(h.Hosts, p.NIC.Host.Name) {
					h.Hosts = append(h.Hosts, p.NIC.Host.Name)
				}
			}
		}
	}
	return out
}

// classes returns the class names of priorities.
func (a *Analysis) classes(priorities []int) string {
	var names []string
	for _, c := range a.Graph.Fabric.Settings.Classes {
		if slices.Contains(priorities, c.Priority.V) {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, ", ")
}

// edgesAround returns the dependencies of a cycle.
func edgesAround(cycle []node) []edge {
	out := make([]edge, len(cycle))
	for i, u := range cycle {
		out[i] = edge{u, cycle[(i+1)%len(cycle)]}
	}
	return out
}

// makers returns, for each dependency, a destination whose traffic causes it under a failure,
// or -1.
func (w *worker) makers(f failure, edges []edge) []int32 {
	out := slices.Repeat([]int32{-1}, len(edges))
	note := func(d int32) {
		for i, e := range edges {
			if out[i] < 0 && w.sees(e) {
				out[i] = d
			}
		}
	}
	for i, d := range w.n.dests {
		if !slices.Contains(out, -1) {
			return out
		}
		if d == f.sw || !w.mayMake(d, f, edges, out) {
			continue
		}
		w.reset()
		w.routesUnder(d, f, w.st)
		w.follow(i, w.st, f)
		note(d)
	}
	for i := range w.n.tunnels {
		w.reset()
		w.followTunnel(i, f)
		note(w.n.tunnels[i].from)
	}
	return out
}

// mayMake reports whether traffic to d can cause a dependency that has no maker yet: it causes
// it without the failure, or takes new paths under it.
func (w *worker) mayMake(d int32, f failure, edges []edge, out []int32) bool {
	for i, e := range edges {
		if out[i] < 0 && w.takesTurnNominally(d, e) {
			return true
		}
	}
	return f != nothing && w.repair(d, f, w.st)
}
