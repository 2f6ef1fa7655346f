package order

import "slices"

// place is the group and the stage of a device; group is -1 if the device does not change.
type place struct{ group, stage int }

// class identifies links whose ends have equal states and change in the same places.
type class struct {
	chains [2]int
	places [2]place
}

// price is the cost of a sequence of groups. turned counts the pairs of groups that are
// not in the order of their ranks; it decides between equal costs.
type price struct {
	Cost
	turned int
}

func (p price) less(q price) bool {
	return p.Less(q.Cost) || !q.Less(p.Cost) && p.turned < q.turned
}

// search returns the stages of the cheapest sequence of groups. It finds the cheapest path
// from the empty set of changed groups to the full set; a set is a bit mask.
func (f *fabric) search(groups []*group) ([]Stage, Cost) {
	s := newSearcher(f, groups)
	best, from := make([]price, 1<<len(groups)), make([]int, 1<<len(groups))
	// Each step makes the mask larger, so the price of a set is final when the loop gets
	// to it.
	for moved := range best {
		if moved > 0 && from[moved] == 0 {
			continue // no allowed sequence leads to this set
		}
		for g := range groups {
			next := moved | 1<<g
			if next == moved || !s.allowed(moved, g) {
				continue
			}
			p := best[moved]
			p.Cost = p.Plus(s.cost(moved, g))
			for other := range groups {
				if groups[other].rank < groups[g].rank && next>>other&1 == 0 {
					p.turned++
				}
			}
			if from[next] == 0 || p.less(best[next]) {
				best[next], from[next] = p, g+1
			}
		}
	}
	var sequence []int
	for moved := len(best) - 1; moved > 0; moved &^= 1 << (from[moved] - 1) {
		sequence = append(sequence, from[moved]-1)
	}
	var out []Stage
	for _, g := range slices.Backward(sequence) {
		out = append(out, groups[g].stages...)
	}
	return out, best[len(best)-1].Cost
}

type searcher struct {
	f      *fabric
	groups []*group
	links  []counted
	// hosts holds the senders of each group, others the hosts that do not change.
	hosts  []senders
	others moment
}

type counted struct {
	class
	route
	n     int
	known faults
}

// senders is the traffic of the hosts of a group: before the group changes (was), after it
// (will), during each of its stages, and after each stage (between).
type senders struct {
	was, will       moment
	during, between []moment
}

func newSearcher(f *fabric, groups []*group) *searcher {
	s := &searcher{f: f, groups: groups, hosts: make([]senders, len(groups))}
	at := make([]place, len(f.list))
	for i := range at {
		at[i].group = -1
	}
	for g, group := range groups {
		for n, stage := range group.stages {
			for _, name := range stage.Devices {
				at[f.index[name]] = place{g, n}
			}
		}
	}
	for i, d := range f.list {
		if at[i].group < 0 {
			s.others.add(d, span{})
		}
	}
	for g := range groups {
		s.hosts[g] = f.senders(groups[g])
	}
	before, after := f.outerMoments()
	links := map[class]int{}
	for _, c := range f.links {
		k := class{c.chains, [2]place{at[c.a.device], at[c.b.device]}}
		if i, ok := links[k]; ok {
			s.links[i].n++
			continue
		}
		links[k] = len(s.links)
		r := f.route(c.chains, before)
		s.links = append(s.links, counted{k, r, 1, f.outerFaults(r, before, after)})
	}
	return s
}

// senders returns the traffic of the hosts of a group.
func (f *fabric) senders(g *group) (out senders) {
	k := len(g.stages)
	was, will, mixed := make([]moment, k), make([]moment, k), make([]moment, k)
	for n, stage := range g.stages {
		for _, name := range stage.Devices {
			d := f.list[f.index[name]]
			was[n].add(d, span{})
			will[n].add(d, span{1, 1})
			mixed[n].add(d, span{0, 1})
		}
	}
	later := make([]moment, k+1) // hosts of stage n and later, before their change
	for n := k - 1; n >= 0; n-- {
		later[n] = later[n+1].union(was[n])
	}
	out.was = later[0]
	for n := range k {
		out.during = append(out.during, out.will.union(mixed[n]).union(later[n+1]))
		out.will = out.will.union(will[n])
		out.between = append(out.between, out.will.union(later[n+1]))
	}
	return out
}

// allowed reports whether group next may follow the groups in moved, a bit mask: groups
// marked first must come before all others.
func (s *searcher) allowed(moved, next int) bool {
	for g, group := range s.groups {
		if group.first && !s.groups[next].first && moved>>g&1 == 0 {
			return false
		}
	}
	return true
}

// linkView is the situation of a link at one time: the possible states of its ends, and the
// senders.
type linkView struct {
	a, b span
	m    moment
}

// cost returns the cost of the stages of group next after the groups in moved have
// changed.
func (s *searcher) cost(moved, next int) (out Cost) {
	rest := s.others
	for g, h := range s.hosts {
		switch {
		case g == next:
		case moved>>g&1 == 1:
			rest = rest.union(h.will)
		default:
			rest = rest.union(h.was)
		}
	}
	stages := s.groups[next].stages
	during, between := make([]moment, len(stages)), make([]moment, len(stages))
	for n := range stages {
		during[n], between[n] = rest.union(s.hosts[next].during[n]), rest.union(s.hosts[next].between[n])
	}
	// at returns the possible states of a link end during a stage of the group, or after
	// it if ended is true.
	at := func(p place, stage int, ended bool) span {
		switch {
		case p.group < 0 || p.group != next && moved>>p.group&1 == 0:
			return span{}
		case p.group != next || p.stage < stage || p.stage == stage && ended:
			return span{1, 1}
		case p.stage == stage:
			return span{0, 1}
		}
		return span{}
	}
	exposed := make([]exposure, len(stages))
	for _, l := range s.links {
		// Reuse the previous result: most stages change nothing at a link.
		var last linkView
		all, _, _ := s.f.faultsOver(l.route, last.a, last.b, last.m)
		found := all &^ l.known
		seen := func(now linkView) faults {
			if now != last {
				all, _, _ := s.f.faultsOver(l.route, now.a, now.b, now.m)
				last, found = now, all&^l.known
			}
			return found
		}
		for n := range stages {
			exposed[n].add(l.n,
				seen(linkView{at(l.places[0], n, false), at(l.places[1], n, false), during[n]}),
				seen(linkView{at(l.places[0], n, true), at(l.places[1], n, true), between[n]}))
		}
	}
	for n, e := range exposed {
		out = out.Plus(e.cost(stages[n]))
	}
	return out
}

// exposure counts the faults of links during a stage, and those left after it.
type exposure struct{ during, after int }

func (e *exposure) add(links int, during, after faults) {
	e.during += links * during.count()
	e.after += links * after.count()
}

func (e exposure) cost(s Stage) (c Cost) {
	if e.during > 0 {
		c = Cost{s.Writes, float64(e.during) * s.Writes}
	}
	if e.after > 0 {
		c = c.Plus(Cost{s.Gate, float64(e.after) * s.Gate})
	}
	return c
}

// union combines the senders of two disjoint sets of hosts.
func (m moment) union(n moment) moment {
	return moment{m.sends | n.sends, m.twice | n.twice | m.sends&n.sends, max(m.mtu, n.mtu)}
}
