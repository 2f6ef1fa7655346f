package order

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// step is one step of the chain of a group.
type step struct{ group, step int }

// class is links whose ends go through equal states in equal groups.
type class struct {
	chains [2]int
	groups [2]int // -1 for an end that does not change
}

// price is what a way costs. Of ways with equal costs the one that moves fewer groups
// side by side is taken, then the one in the order of ranks.
type price struct {
	cost           float64
	merged, turned int
}

func (p price) less(q price) bool {
	if math.Abs(p.cost-q.cost) > 1e-9*(p.cost+q.cost) {
		return p.cost < q.cost
	}
	return cmp.Or(cmp.Compare(p.merged, q.merged), cmp.Compare(p.turned, q.turned)) < 0
}

// search finds the cheapest way from all groups in their first states to all in their
// last ones. A state is one number: the positions of the groups, in mixed radix.
func (f *fabric) search(groups []*group) [][]step {
	at := map[string]int{}
	radix, states := make([]int, len(groups)), 1
	for i, g := range groups {
		radix[i] = states
		states *= g.steps + 1
		for _, d := range g.devices {
			at[d.Name] = i
		}
	}
	s := searcher{f: f, groups: groups, radix: radix}
	s.before, s.after = f.outer()
	links := map[class]int{}
	of := func(device int) int {
		if g, ok := at[f.list[device].Name]; ok {
			return g
		}
		return -1
	}
	for _, c := range f.links {
		links[class{c.chains, [2]int{of(c.a.device), of(c.b.device)}}]++
	}
	for k, n := range links {
		s.links = append(s.links, counted{k, n, f.ends(k.chains, s.before, s.after)})
	}
	for _, d := range f.list {
		if d.Host {
			s.hosts = append(s.hosts, hosts{d, of(f.index[d.Name])})
		}
	}
	s.foldHosts()
	return s.cheapest(states)
}

type counted struct {
	class
	n       int
	allowed faults
}

// hosts are hosts of one group that are alike to others.
type hosts struct {
	*Device
	group int
}

type searcher struct {
	f             *fabric
	groups        []*group
	radix         []int
	links         []counted
	hosts         []hosts
	before, after moment
}

// foldHosts keeps two of the hosts of a group that send alike: one may be the receiver.
func (s *searcher) foldHosts() {
	type key struct{ group, sends int }
	var alike trie[moment]
	seen := map[key]int{}
	s.hosts = slices.DeleteFunc(s.hosts, func(h hosts) bool {
		k := key{group: h.group}
		for i := range h.States {
			var m moment
			m.add(h.Device, span{i, i})
			k.sends, _ = alike.add(k.sends, m)
		}
		seen[k]++
		return seen[k] > 2
	})
}

func (s *searcher) position(state, group int) int {
	return state / s.radix[group] % (s.groups[group].steps + 1)
}

// cost is that of a move of the groups of a set out of a state.
func (s *searcher) cost(state int, set uint) float64 {
	at := func(group int) span {
		if group < 0 {
			return span{}
		}
		p := s.position(state, group)
		return span{p, p + int(set>>group&1)}
	}
	var m moment
	for _, h := range s.hosts {
		m.add(h.Device, at(h.group))
	}
	n := 0
	for _, l := range s.links {
		all, _ := s.f.seen(l.chains, at(l.groups[0]), at(l.groups[1]), m)
		n += l.n * bits.OnesCount16(uint16(all&^l.allowed))
	}
	seconds := 0.0
	for g := range s.groups {
		if set>>g&1 == 1 {
			seconds = max(seconds, s.groups[g].seconds)
		}
	}
	return float64(n) * seconds
}

func (s *searcher) cheapest(states int) [][]step {
	best := make([]price, states)
	from := make([]uint, states) // the set that was moved to get there
	// Each move makes the number larger, so that a state is final when it is reached.
	for state := range states {
		var free uint
		for g := range s.groups {
			if s.position(state, g) < s.groups[g].steps {
				free |= 1 << g
			}
		}
		for set := free; set != 0; set = (set - 1) & free {
			p := best[state]
			p.cost += s.cost(state, set)
			p.merged += bits.OnesCount(set) - 1
			next := state
			for g := range s.groups {
				if set>>g&1 == 0 {
					continue
				}
				next += s.radix[g]
				for other := range s.groups {
					if s.groups[other].rank < s.groups[g].rank && set>>other&1 == 0 && s.position(state, other) < s.groups[other].steps {
						p.turned++
					}
				}
			}
			if from[next] == 0 || p.less(best[next]) {
				best[next], from[next] = p, set
			}
		}
	}
	var out [][]step
	for state := states - 1; state > 0; {
		var moved []step
		prev := state
		for g := range s.groups {
			if from[state]>>g&1 == 1 {
				prev -= s.radix[g]
				moved = append(moved, step{g, s.position(state, g) - 1})
			}
		}
		out = append(out, moved)
		state = prev
	}
	slices.Reverse(out)
	return out
}
