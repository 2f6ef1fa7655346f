package forwarding

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

var hashChecks = []checks.Check{
	{
		ID: "LB-02", Title: "switches of two tiers choose among equal paths with the same hash seed",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsRunning,
		Why:     "the upper tier gets flows whose hashes are alike, and uses a part of its links (hash polarization)",
		Fix:     "give each tier a seed of its own{how}",
		Sources: []string{"Arista EOS User Manual, ECMP", "sonic-buildimage dockers/docker-orchagent/switch.json.j2"},
		Link:    polarized,
	},
}

// hashMemo keeps the graph of the fabric.
type hashMemo struct{ graph *topology.Graph }

// polarized finds links between two switches that choose among paths for the same flows with the same
// hash. Hashes of different systems are not comparable.
func polarized(r *checks.Link) {
	a, b := r.Intent.Switch(r.Stated.A.Device), r.Intent.Switch(r.Stated.B.Device)
	if r.A.HashSeed == "" || r.A.HashSeed != r.B.HashSeed || a.OS != b.OS || !byHash(a) || !byHash(b) {
		return
	}
	m := checks.Kept[hashMemo](r.Memo)
	if m.graph == nil {
		m.graph = topology.New(r.Intent)
	}
	g := m.graph
	lower, upper := g.Index(a), g.Index(b)
	if g.Switches[lower].Tier > g.Switches[upper].Tier {
		lower, upper, r.Second = upper, lower, true
	}
	if g.Switches[lower].Tier == g.Switches[upper].Tier || waysUp(g, lower) < 2 || waysUp(g, upper) < 2 && !choosesDown(g, upper, lower) {
		return
	}
	r.Found(checks.Warning, r.Check.Fix, "its hash seed for ECMP is %[1]v, as that of %[2]v: flows that it sends there may all leave by the same part of the links", r.A.HashSeed, r.B.HashSeed)
}

// byHash reports whether the intent lets a switch choose paths by a hash, or does not say.
func byHash(s *intent.Switch) bool {
	return s.LoadBalancing == nil || s.LoadBalancing.Mode.V == intent.BalanceFlow
}

// waysUp counts the ports to the tiers above, and an aggregate as one.
func waysUp(g *topology.Graph, i int32) int {
	ways := map[string]bool{}
	for n, arc := range g.Out(i) {
		if arc.Dir == topology.Up {
			addWays(g, g.First(i)+int32(n), ways)
		}
	}
	return len(ways)
}

// choosesDown reports whether a switch has several ports, not of one aggregate, to a switch of a tier
// below other than one.
func choosesDown(g *topology.Graph, i, other int32) bool {
	to := map[int32]map[string]bool{}
	for n, arc := range g.Out(i) {
		if arc.Dir != topology.Down || arc.To == other {
			continue
		}
		if to[arc.To] == nil {
			to[arc.To] = map[string]bool{}
		}
		addWays(g, g.First(i)+int32(n), to[arc.To])
		if len(to[arc.To]) > 1 {
			return true
		}
	}
	return false
}

func addWays(g *topology.Graph, arc int32, ways map[string]bool) {
	for n := range g.Bundles[g.Arcs[arc].Bundle].Links {
		from, _ := g.Ports(arc, n)
		ways[cmp.Or(from.LAG.V, from.Name)] = true
	}
}
