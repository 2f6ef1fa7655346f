package topology

import (
	"math"
	"slices"
	"strings"
)

// Dispute is a switch whose role and place do not fit.
type Dispute struct {
	Switch int32
	Role   string
	// Declared is the tier of the role, Found the distance from the nearest
	// switch with hosts.
	Declared, Found int
}

// ladder are words that roles hold, most telling first, and the tier they
// stand for.
var ladder = []struct {
	word string
	tier int
}{
	{"superspine", 2}, {"super-spine", 2}, {"super_spine", 2},
	{"core", 3},
	{"spine", 1}, {"agg", 1}, {"distribution", 1},
	{"leaf", 0}, {"tor", 0}, {"access", 0}, {"rack", 0}, {"edge", 0},
}

// tierOf returns the tier that the words of a role stand for, or -1.
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

// rank gives each switch its tier: by the tiers that the intent states, else
// by the words of its role, else by its distance from hosts.
func (g *Graph) rank() {
	stated := g.Fabric.Routing.Tiers.V
	declared := make([]int, len(g.Switches))
	for i, s := range g.Switches {
		if declared[i] = tierOf(s.Switch.Role); len(stated) > 0 {
			declared[i] = slices.Index(stated, s.Switch.Role)
		}
	}
	if len(stated) == 0 && !slices.Contains(declared, 2) {
		// Without a superspine, a core is what comes above the spines, or
		// above the leaves.
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
	for i := range g.Switches {
		s := &g.Switches[i]
		switch {
		case declared[i] >= 0:
			s.Tier = declared[i]
			// A leaf without hosts, such as one at the border, is as far
			// away as a spine's spine.
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

// distances counts the links from each switch to the nearest one with hosts;
// in a fabric without hosts, to the nearest of the lowest tier that a role
// declares. A switch with hosts whose role is above the lowest one of its kind
// does not count as a beginning while others do: hosts at a spine make no leaf
// of it.
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
