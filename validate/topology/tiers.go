package topology

import (
	"math"
	"slices"
	"strings"
)

// Dispute is a switch whose role does not fit its position.
type Dispute struct {
	Switch int32
	Role   string
	// Declared is the tier of the role, Found the distance to the nearest switch with hosts.
	Declared, Found int
}

// ladder maps words in roles to tiers, the most specific first.
var ladder = []struct {
	word string
	tier int
}{
	{"superspine", 2}, {"super-spine", 2}, {"super_spine", 2},
	{"core", 3},
	{"spine", 1}, {"agg", 1}, {"distribution", 1},
	{"leaf", 0}, {"tor", 0}, {"access", 0}, {"rack", 0}, {"edge", 0},
}

// tierOf returns the tier of the first word of ladder that a role contains, or -1.
func tierOf(role string) int {
	role = strings.ToLower(role)
	for _, l := range ladder {
		if strings.Contains(role, l.word) {
			return l.tier
		}
	}
	return -1
}

const far = math.MaxInt

// rank sets the tier of each switch: from the tiers in the intent, otherwise from the words of
// its role, otherwise from its distance to hosts.
func (g *Graph) rank() {
	stated := g.Fabric.Routing.Tiers.V
	declared := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		if declared[i] = tierOf(s.Switch.Role); len(stated) > 0 {
			declared[i] = slices.Index(stated, s.Switch.Role)
		}
	}
	if len(stated) == 0 && !slices.Contains(declared, 2) {
		// Without a superspine, cores are the tier above the spines, or above the leaves if
		// there are no spines.
		above := 1
		if slices.Contains(declared, 1) {
			above = 2
		}
		for i, d := range declared {
			if d == 3 {
				declared[i] = above
			}
		}
	}
	dist := g.distances(declared)
	g.raise(declared, dist)
	for i := range g.Switches {
		s := &g.Switches[i]
		switch {
		case declared[i] >= 0:
			s.Tier = declared[i]
			// A leaf without hosts, such as a border leaf, is as far from hosts as a
			// superspine.
			if dist[i] != far && dist[i] != s.Tier && (len(s.Hosts) > 0 || dist[i] < s.Tier) {
				g.Disputes = append(g.Disputes, Dispute{int32(i), s.Switch.Role, s.Tier, dist[i]})
			}
		case dist[i] != far:
			s.Tier = dist[i]
		}
		g.Tiers = max(g.Tiers, s.Tier+1)
	}
	g.direct()
}

// raise gives a role the tier above another one if the words give both the same tier, its switches
// are linked to those of the other, and they are farther from hosts: a leaf above ToRs, and a spine
// above such leaves or above fabric switches.
func (g *Graph) raise(declared, dist []int) {
	if len(g.Fabric.Routing.Tiers.V) > 0 {
		return
	}
	tier := func(i int32) int {
		if declared[i] < 0 && dist[i] != far {
			return dist[i]
		}
		return declared[i]
	}
	nearest, of := map[string]int{}, map[string][]int32{}
	for i := range g.Switches {
		role := g.Switches[i].Switch.Role
		if d, ok := nearest[role]; !ok || dist[i] < d {
			nearest[role] = dist[i]
		}
		of[role] = append(of[role], int32(i))
	}
	for range len(of) { // each round raises one role; a fabric has no more tiers than roles
		i := slices.IndexFunc(g.Switches, func(s Switch) bool {
			i := g.index[s.Switch]
			return declared[i] >= 0 && dist[i] != far && nearest[s.Switch.Role] > declared[i] && slices.ContainsFunc(g.Out(i), func(a Arc) bool {
				return tier(a.To) == tier(i) && dist[a.To] < dist[i] && g.Switches[a.To].Switch.Role != s.Switch.Role
			})
		})
		if i < 0 {
			return
		}
		up := declared[i] + 1
		for _, k := range of[g.Switches[i].Switch.Role] {
			declared[k] = up
		}
	}
}

// distances counts the links from each switch to the nearest switch with hosts or, in a fabric
// without hosts, to the nearest leaf by role. Switches with hosts whose role puts them above
// the lowest tier are counted from only if there are no others: a host on a spine does not make
// it a leaf.
func (g *Graph) distances(declared []int) []int {
	dist := slices.Repeat([]int{far}, len(g.Switches))
	var queue []int32
	hosts := func(i int) bool { return len(g.Switches[i].Hosts) > 0 }
	for _, first := range []func(i int) bool{
		func(i int) bool { return hosts(i) && declared[i] <= 0 },
		hosts,
		func(i int) bool { return declared[i] == 0 },
	} {
		for i := range g.Switches {
			if first(i) {
				dist[i] = 0
				queue = append(queue, int32(i))
			}
		}
		if len(queue) > 0 {
			break
		}
	}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		for _, a := range g.Out(x) {
			if dist[a.To] == far {
				dist[a.To] = dist[x] + 1
				queue = append(queue, a.To)
			}
		}
	}
	return dist
}
