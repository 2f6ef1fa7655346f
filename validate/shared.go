package validate

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// shared deduplicates data that thousands of switches have in common: port names, the drift of
// switches that are not configured yet, and the settings of link ends.
type shared struct {
	seed   maphash.Seed
	ends   map[checks.End]*checks.End
	texts  map[string]string
	names  map[string]*identity.Names
	lists  map[uint64][]string
	drifts map[uint64]*checks.Drift
}

func newShared() shared {
	return shared{maphash.MakeSeed(), map[checks.End]*checks.End{}, map[string]string{}, map[string]*identity.Names{}, map[uint64][]string{}, map[uint64]*checks.Drift{}}
}

func (s *shared) end(e checks.End) *checks.End {
	one := s.ends[e]
	if one == nil {
		own := e // e itself would be allocated for every port
		one = &own
		s.ends[e] = one
	}
	return one
}

// text returns a copy that does not keep the device's whole answer in memory.
func (s *shared) text(t string) string {
	one, ok := s.texts[t]
	if !ok {
		one = strings.Clone(t)
		s.texts[one] = one
	}
	return one
}

func (s *shared) portNames(n *identity.Names) *identity.Names {
	return checks.Cached(&s.names, n.Key(), func() *identity.Names { return n })
}

func (s *shared) list(l []string) []string {
	if len(l) == 0 {
		return l
	}
	return same(s.seed, s.lists, l, func(l []string) []string { return l })
}

func (s *shared) drift(d *checks.Drift) *checks.Drift {
	return same(s.seed, s.drifts, d, func(d *checks.Drift) []qos.Change { return d.Changes })
}

// same returns the value of all with the same parts as one; if there is none, it adds one.
func same[T any, P comparable](seed maphash.Seed, all map[uint64]T, one T, parts func(T) []P) T {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, p := range parts(one) {
		maphash.WriteComparable(&h, p)
	}
	first, ok := all[h.Sum64()]
	if !ok {
		all[h.Sum64()] = one
		return one
	}
	if slices.Equal(parts(first), parts(one)) {
		return first
	}
	return one
}

// compact makes findings share equal lists of ports.
func (s *shared) compact(fs []checks.Finding) {
	for i := range fs {
		fs[i].Ports, fs[i].Peers = s.list(slices.Clip(fs[i].Ports)), s.list(slices.Clip(fs[i].Peers))
	}
}
