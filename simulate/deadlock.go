package simulate

import (
	"cmp"
	"maps"
	"slices"
)

// Deadlock is a cycle of pauses that nothing can end: each of these ports is paused, and the packets
// that would have to leave before its pause ends wait at the next one.
type Deadlock struct {
	Class int
	Ports []int // in the order of waiting
	Since Time  // when the last of the pauses began
}

// place is a class on a port.
type place struct {
	port  int32
	class int
}

// deadlock finds a cycle among the ports that can never send again; nil if there is none.
func (s *sim) deadlock() *Deadlock {
	stuck := s.waits()
	// A port is not stuck if something that it waits for can still move.
	for again := true; again; {
		again = false
		for a, next := range stuck {
			moves := slices.ContainsFunc(next, func(b place) bool { _, ok := stuck[b]; return !ok })
			if moves || len(next) == 0 {
				delete(stuck, a)
				again = true
			}
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	// Each that is left waits for others that are left, so that following them leads into a cycle.
	order := func(x, y place) int { return cmp.Or(cmp.Compare(x.port, y.port), cmp.Compare(x.class, y.class)) }
	a := slices.MinFunc(slices.Collect(maps.Keys(stuck)), order)
	var seen []place
	for !slices.Contains(seen, a) {
		seen = append(seen, a)
		a = slices.MinFunc(stuck[a], order)
	}
	d := &Deadlock{Class: a.class}
	for _, b := range seen[slices.Index(seen, a):] {
		d.Ports = append(d.Ports, int(b.port))
		d.Since = max(d.Since, s.ports[b.port].queues[b.class].pause.since)
	}
	return d
}

// waits returns the ports that a switch pauses, and for each the ports of that switch at which the
// packets wait that fill its group.
func (s *sim) waits() map[place][]place {
	stuck := map[place][]place{}
	for i := range s.ports {
		for c := range MaxClasses {
			if s.ports[i].paused>>c&1 == 1 && !s.nodes[s.ports[s.ports[i].peer].node].host {
				stuck[place{int32(i), c}] = nil
			}
		}
	}
	for i := range s.ports {
		if s.nodes[s.ports[i].node].host {
			continue
		}
		for c := range MaxClasses {
			s.addWaits(stuck, place{int32(i), c})
		}
	}
	return stuck
}

// addWaits notes who waits for a queue of a switch: the ports that sent what is in it.
func (s *sim) addWaits(stuck map[place][]place, at place) {
	for k := s.ports[at.port].queues[at.class].head; k >= 0; k = s.packets[k].next {
		in := s.packets[k].in
		if in == at.port { // a lossy packet, which holds up nobody
			continue
		}
		up := place{s.ports[in].peer, at.class}
		if l, ok := stuck[up]; ok && !slices.Contains(l, at) {
			stuck[up] = append(l, at)
		}
	}
}
