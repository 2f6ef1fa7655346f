package validate

import (
	"context"
	"runtime"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// likeness holds everything that the checks of an intended switch depend on, except its ports.
type likeness struct {
	pos            intent.Pos
	os, role       string
	model, release intent.Value[string]
	dynamic        intent.Value[*bool]
	globals        intent.Value[intent.Globals]
	trimming       *intent.Trimming
	balancing      *intent.LoadBalancing
	settings       *intent.Settings
	ports          int
}

// maxKinds is the most switches of the same likeness but with different ports that a switch is
// compared with.
const maxKinds = 8

// alike returns, by switch, the first switch for which the checks of the intent give the same
// findings.
func alike(f *intent.Fabric) map[*intent.Switch]*intent.Switch {
	if len(f.Routing.Tunnels) > 0 || len(f.Traffic) > 0 {
		return nil // tunnels and traffic name switches
	}
	kinds := map[likeness][]*intent.Switch{}
	out := make(map[*intent.Switch]*intent.Switch, len(f.Switches))
	for _, s := range f.Switches {
		k := likeness{s.Pos, s.OS, s.Role, s.Model, s.Release, s.Dynamic, s.Globals, s.Trimming, s.LoadBalancing, s.Settings, len(s.Ports)}
		i := slices.IndexFunc(kinds[k], func(o *intent.Switch) bool {
			return slices.EqualFunc(s.Ports, o.Ports, func(a, b *intent.Port) bool { return samePort(f, a, b) })
		})
		switch {
		case i >= 0:
			out[s] = kinds[k][i]
		case len(kinds[k]) < maxKinds:
			kinds[k] = append(kinds[k], s)
		}
	}
	return out
}

// samePort reports whether two ports are the same except for the positions of their links in
// the intent and the devices at the other ends.
func samePort(f *intent.Fabric, a, b *intent.Port) bool {
	if a.Name != b.Name || a.Settings != b.Settings || !a.Same(b.PortLine) {
		return false
	}
	x, linked := a.Peer()
	y, other := b.Peer()
	if !linked || !other {
		return linked == other
	}
	if a.Uplink() {
		p, q := checks.PortAt(f, x), checks.PortAt(f, y)
		return b.Uplink() && p != nil && q != nil && p.Settings == q.Settings
	}
	h, g := f.Host(x.Device), f.Host(y.Device)
	return !b.Uplink() && h != nil && g != nil && h.PauseResponse == g.PauseResponse && topology.RDMAAt(f, x) == topology.RDMAAt(f, y)
}

// intendedOf checks the compiled configuration of each switch and passes the results on in
// order. Of switches that are alike, only one is checked.
func intendedOf(ctx context.Context, c *render.Compiler, rendered func(*render.Device) []checks.Finding, take func(*Result) error) error {
	check := func(_ context.Context, sw *intent.Switch) *Result {
		d := c.Device(sw)
		r := Switch(d, d.Desired, checks.Intended, nil)
		if rendered != nil {
			r.outcome.Findings.List = append(r.outcome.Findings.List, rendered(d)...)
		}
		return r
	}
	first := alike(c.Fabric())
	var shared []*intent.Switch
	results := map[*intent.Switch]*Result{}
	for _, s := range c.Fabric().Switches {
		if o := first[s]; o != nil && results[o] == nil {
			results[o] = &Result{}
			shared = append(shared, o)
		}
	}
	clear(results)
	err := pool.Ordered(ctx, runtime.GOMAXPROCS(0), shared, check, func(r *Result) error {
		if r.holdsForAlike() {
			results[r.sw] = r
			first[r.sw] = r.sw
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return pool.Ordered(ctx, runtime.GOMAXPROCS(0), c.Fabric().Switches, func(ctx context.Context, sw *intent.Switch) *Result {
		if r := results[first[sw]]; r != nil {
			return r.copyFor(sw)
		}
		return check(ctx, sw)
	}, take)
}

// holdsForAlike reports whether a result holds for every switch that is alike: nothing in it names
// a neighbour, or the position of a port or link in the intent.
func (s *Result) holdsForAlike() bool {
	if len(s.outcome.Findings.List) == 0 && len(s.outcome.Traits) == 0 {
		return true
	}
	places := map[string]bool{}
	var last intent.Pos
	for _, p := range s.sw.Ports {
		at := append(p.Places(), p.Pos)
		if p.Link != nil {
			at = append(at, p.Link.Pos)
		}
		for _, pos := range at {
			if pos != last && pos != (intent.Pos{}) {
				places[pos.String()], last = true, pos
			}
		}
	}
	return !slices.ContainsFunc(s.outcome.Findings.List, func(f checks.Finding) bool { return len(f.Peers) > 0 || places[f.Where] }) &&
		!slices.ContainsFunc(s.outcome.Traits, func(t checks.Trait) bool { return places[t.Where] })
}

// copyFor returns the result for another switch that is alike.
func (s *Result) copyFor(sw *intent.Switch) *Result {
	c, o := *s, *s.outcome
	c.sw, c.outcome = sw, &o
	c.outcome.Findings.List = slices.Clone(s.outcome.Findings.List)
	for i := range c.outcome.Findings.List {
		f := &c.outcome.Findings.List[i]
		f.Device, f.Ports, f.NotMade = sw.Name, slices.Clone(f.Ports), slices.Clone(f.NotMade)
	}
	return &c
}
