package prove

import (
	"iter"
	"slices"
)

// Pattern is who sends to whom.
type Pattern string

// The patterns. Within and across are tournaments: each NIC is in one pair at a time, both ways, and
// all rounds together have each pair once. Incast and outcast have K NICs at one, once a leaf.
const (
	Within   Pattern = "within leaves"
	Across   Pattern = "across leaves"
	Incast   Pattern = "incast"
	Outcast  Pattern = "outcast"
	AllToAll Pattern = "all to all"
)

// mostTogether is how many NICs send to each other at a time in all to all: each runs two programs
// for each of the others, and each program keeps a core of its host busy.
const mostTogether = 8

// pair is two ends that are loaded together; one way only if oneWay is set.
type pair struct {
	from, to *End
	oneWay   bool
}

// rounds returns how many rounds a pattern has in all.
func (n *network) rounds(p Pattern, k int) (most int) {
	for _, r := range n.rails {
		most = max(most, r.rounds(p, k))
	}
	return most
}

// pairs yields the pairs of a round, rails side by side.
func (n *network) pairs(p Pattern, k, round int) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for _, r := range n.rails {
			for x := range r.pairs(p, k, round) {
				if !yield(x) {
					return
				}
			}
		}
	}
}

func (r *rail) rounds(p Pattern, k int) int {
	switch p {
	case Within:
		most := 0
		for _, l := range r.leaves {
			if len(l) > 1 {
				most = max(most, even(len(l))-1)
			}
		}
		return most
	case Across:
		if len(r.leaves) < 2 {
			return 0
		}
		return (even(len(r.leaves)) - 1) * r.largest()
	case Incast, Outcast:
		if k >= len(r.ends) {
			return 0
		}
		at := r.atOnce(k)
		return (len(r.leaves) + at - 1) / at
	}
	return 1
}

func (r *rail) pairs(p Pattern, k, round int) iter.Seq[pair] {
	switch {
	case round >= r.rounds(p, k):
		return func(func(pair) bool) {}
	case p == Within:
		return r.within(round)
	case p == Across:
		return r.across(round)
	case p == AllToAll:
		return r.allToAll()
	}
	return r.fans(k, round, p == Outcast)
}

func even(n int) int { return n + n%2 }

// largest is the number of NICs at the leaf that has most.
func (r *rail) largest() (most int) {
	for _, l := range r.leaves {
		most = max(most, len(l))
	}
	return most
}

// tournament yields the pairs of one round among n players by the circle method: one stays, the
// others turn. With an odd n one rests.
func tournament(n, round int) iter.Seq2[int, int] {
	m := even(n) - 1
	return func(yield func(a, b int) bool) {
		for i := range even(n) / 2 {
			a, b := (round+i)%m, (round-i+m)%m
			if i == 0 {
				b = m
			}
			if max(a, b) < n && !yield(min(a, b), max(a, b)) {
				return
			}
		}
	}
}

func (r *rail) within(round int) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for _, l := range r.leaves {
			if len(l) < 2 || round >= even(len(l))-1 {
				continue
			}
			for a, b := range tournament(len(l), round) {
				if !yield(pair{l[a], l[b], false}) {
					return
				}
			}
		}
	}
}

// across yields a round between leaves: the leaves play a tournament, and in each further turn of
// it the NICs of a leaf meet the next ones of the other. The first rounds have every two leaves once.
func (r *rail) across(round int) iter.Seq[pair] {
	turns := even(len(r.leaves)) - 1
	shift := round / turns
	return func(yield func(pair) bool) {
		for x, y := range tournament(len(r.leaves), round%turns) {
			a, b := r.leaves[x], r.leaves[y]
			most := max(len(a), len(b))
			if shift >= most {
				continue
			}
			for i := range a {
				if j := (i + shift) % most; j < len(b) && !yield(pair{a[i], b[j], false}) {
					return
				}
			}
		}
	}
}

// atOnce is how many receivers have k senders of their own at the same time.
func (r *rail) atOnce(k int) int { return max(1, min(len(r.leaves), len(r.ends)/(k+1))) }

// fans yields k senders for one NIC of each of some leaves, or one sender for k NICs. The k are
// those that follow it, so that as many as possible are at its own leaf.
func (r *rail) fans(k, round int, out bool) iter.Seq[pair] {
	at := r.atOnce(k)
	first := round * at
	return func(yield func(pair) bool) {
		used := map[*End]bool{}
		leaves := r.leaves[first:min(first+at, len(r.leaves))]
		for _, l := range leaves {
			used[l[0]] = true
		}
		for _, l := range leaves {
			start := slices.Index(r.ends, l[0])
			for i, left := 1, k; i < len(r.ends) && left > 0; i++ {
				e := r.ends[(start+i)%len(r.ends)]
				if used[e] {
					continue
				}
				used[e] = true
				left--
				x := pair{e, l[0], true}
				if out {
					x = pair{l[0], e, true}
				}
				if !yield(x) {
					return
				}
			}
		}
	}
}

// allToAll yields all pairs of groups of NICs, each group spread over a pod.
func (r *rail) allToAll() iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for _, pod := range r.pods {
			groups := (len(pod) + mostTogether - 1) / mostTogether
			for g := range groups {
				for i := g; i < len(pod); i += groups {
					for j := i + groups; j < len(pod); j += groups {
						if !yield(pair{pod[i], pod[j], false}) {
							return
						}
					}
				}
			}
		}
	}
}
