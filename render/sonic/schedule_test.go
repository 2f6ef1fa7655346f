package sonic

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func cost(gs []group) int {
	n := 0
	for _, g := range gs {
		if g.direct {
			n++
		} else {
			n += 3
		}
	}
	return n
}

// fewest finds the minimum cost by trying every partition of the ports.
func fewest(ports []flapper, size int, uplinks []string) int {
	best := 1 << 30
	var groups [][]flapper
	var try func(i int)
	try = func(i int) {
		if i == len(ports) {
			n := 0
			for _, g := range groups {
				all := len(uplinks) >= 2
				for _, u := range uplinks {
					if !slices.ContainsFunc(g, func(p flapper) bool { return p.name == u }) {
						all = false
					}
				}
				if all {
					return
				}
				if slices.ContainsFunc(g, func(p flapper) bool { return p.entries > 1 }) {
					n += 3
				} else {
					n++
				}
			}
			best = min(best, n)
			return
		}
		for k := range groups {
			if len(groups[k]) < size {
				groups[k] = append(groups[k], ports[i])
				try(i + 1)
				groups[k] = groups[k][:len(groups[k])-1]
			}
		}
		groups = append(groups, []flapper{ports[i]})
		try(i + 1)
		groups = groups[:len(groups)-1]
	}
	try(0)
	return best
}

func TestScheduleIsSafeAndSendsTheFewestRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 7).Draw(t, "ports")
		size := rapid.IntRange(1, 4).Draw(t, "size")
		var ports []flapper
		var uplinks []string
		for i := range n {
			p := flapper{fmt.Sprintf("Ethernet%d", i*4), rapid.IntRange(1, 2).Draw(t, "entries")}
			ports = append(ports, p)
			if rapid.Bool().Draw(t, "uplink") {
				uplinks = append(uplinks, p.name)
			}
		}
		if rapid.Bool().Draw(t, "idle uplink") {
			uplinks = append(uplinks, "Ethernet1000")
		}
		got := schedule(ports, size, uplinks)
		seen := map[string]int{}
		for _, g := range got {
			if len(g.ports) == 0 || len(g.ports) > size {
				t.Fatalf("group of %d ports, at most %d: %v", len(g.ports), size, got)
			}
			ups := 0
			for _, p := range g.ports {
				seen[p]++
				if slices.Contains(uplinks, p) {
					ups++
				}
				i := slices.IndexFunc(ports, func(f flapper) bool { return f.name == p })
				if g.direct && ports[i].entries > 1 {
					t.Fatalf("%s would flap %d times: %v", p, ports[i].entries, got)
				}
			}
			if len(uplinks) >= 2 && ups == len(uplinks) {
				t.Fatalf("all uplinks %v down at once: %v", uplinks, got)
			}
		}
		for _, p := range ports {
			if seen[p.name] != 1 {
				t.Fatalf("%s goes down %d times: %v", p.name, seen[p.name], got)
			}
		}
		if want := fewest(ports, size, uplinks); cost(got) != want {
			t.Fatalf("%d requests, %d would do: ports %v size %d uplinks %v groups %v", cost(got), want, ports, size, uplinks, got)
		}
	})
}
