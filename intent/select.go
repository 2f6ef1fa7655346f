package intent

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Select returns the switches that match any of the patterns, in the order of Switches and
// without duplicates; without patterns, it returns all. A pattern is a name ("leaf1"), a name
// with ranges ("leaf[1-32]"), a glob ("leaf*"), "role:leaf" or "os:sonic". A leading "!" excludes
// the matching switches from those selected by the other patterns or, if all patterns begin with
// "!", from all switches. A pattern without a match, and patterns that leave no switch, return an
// [*Error] without a position.
func (f *Fabric) Select(patterns []string) ([]*Switch, error) {
	chosen, err := f.choose(patterns, f.candidates(), "switch")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(f.Switches), func(s *Switch) bool { return !chosen[s.Name] }), nil
}

// SelectDevices is like [Fabric.Select], but for switches and hosts. A host matches by name, by
// ranges, by glob, or by "role:host", which matches all hosts.
func (f *Fabric) SelectDevices(patterns []string) ([]*Switch, []*Host, error) {
	chosen, err := f.choose(patterns, f.devices(), "switch or host")
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(slices.Clone(f.Switches), func(s *Switch) bool { return !chosen[s.Name] }), f.hostsOf(chosen), nil
}

// SelectHosts is like [Fabric.SelectDevices], but for hosts only: a pattern that matches no host
// is an error even if it matches a switch.
func (f *Fabric) SelectHosts(patterns []string) ([]*Host, error) {
	chosen, err := f.choose(patterns, f.hostCandidates(), "host")
	if err != nil {
		return nil, err
	}
	return f.hostsOf(chosen), nil
}

func (f *Fabric) hostsOf(chosen map[string]bool) []*Host {
	return slices.DeleteFunc(slices.Clone(f.Hosts), func(h *Host) bool { return !chosen[h.Name] })
}

// candidate is a device that a pattern may match. The role of every host is "host".
type candidate struct{ name, role, os string }

func nameOf(c candidate) string { return c.name }

func (f *Fabric) candidates() []candidate {
	return each(f.Switches, func(s *Switch) candidate { return candidate{s.Name, s.Role, s.OS} })
}

func (f *Fabric) hostCandidates() []candidate {
	return each(f.Hosts, func(h *Host) candidate { return candidate{name: h.Name, role: "host"} })
}

// each returns the results of calling of with each item.
func each[T, U any](items []T, of func(T) U) []U {
	out := slices.Grow([]U(nil), len(items))
	for _, item := range items {
		out = append(out, of(item))
	}
	return out
}

// devices returns the switches, then the hosts.
func (f *Fabric) devices() []candidate { return append(f.candidates(), f.hostCandidates()...) }

// choose returns the set of names that the patterns match, or all names without patterns. what is
// the kind of device in error messages.
func (f *Fabric) choose(patterns []string, all []candidate, what string) (map[string]bool, error) {
	out := func(p string) bool { return strings.HasPrefix(p, "!") }
	chosen, left := map[string]bool{}, map[string]bool{}
	if !slices.ContainsFunc(patterns, func(p string) bool { return !out(p) }) {
		for _, c := range all {
			chosen[c.name] = true
		}
	}
	for _, p := range patterns {
		names := chosen
		if out(p) {
			p, names = p[1:], left
		}
		match, err := matching(p, all, what)
		if err != nil {
			return nil, err
		}
		found := false
		for _, c := range all {
			if match(c) {
				names[c.name], found = true, true
			}
		}
		if !found {
			return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("no %s matches %q", what, p), Hint: nearestPattern(p, all)}
		}
	}
	maps.DeleteFunc(chosen, func(name string, _ bool) bool { return left[name] })
	if len(left) > 0 && len(chosen) == 0 {
		return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("%q leaves no %s", strings.Join(patterns, ","), what)}
	}
	return chosen, nil
}

func matching(p string, all []candidate, what string) (func(candidate) bool, error) {
	bad := func(err error) error {
		return &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("%q: %v", p, err), Hint: "write a name, a glob such as leaf*, role:leaf or os:sonic"}
	}
	if kind, value, ok := strings.Cut(p, ":"); ok && !strings.Contains(kind, "[") {
		switch kind {
		case "role":
			return func(c candidate) bool { return c.role == value && value != "" }, nil
		case "os":
			return func(c candidate) bool { return c.os == value && value != "" }, nil
		}
		return nil, bad(fmt.Errorf("unknown kind of selection %q", kind))
	}
	pat, err := parsePattern(p)
	if err != nil {
		return nil, bad(err)
	}
	if pat.ranged {
		for _, n := range pat.expand() {
			if !slices.ContainsFunc(all, func(c candidate) bool { return c.name == n }) {
				return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("no %s %q, which %q names", what, n, p), Hint: nearestPattern(n, all)}
			}
		}
		names := pat.set()
		return func(c candidate) bool { return names[c.name] }, nil
	}
	if _, err := path.Match(p, ""); err != nil {
		return nil, bad(err)
	}
	return func(c candidate) bool {
		ok, _ := path.Match(p, c.name) // the pattern is already validated
		return ok
	}, nil
}

// nearestPattern returns a hint with the closest known pattern.
func nearestPattern(p string, all []candidate) string {
	var known []string
	for _, c := range all {
		known = append(known, c.name)
		if c.os != "" {
			known = append(known, "os:"+c.os)
		}
		if c.role != "" {
			known = append(known, "role:"+c.role)
		}
	}
	ordered.Sort(known, natural.Compare)
	return didYouMean(p, slices.Compact(known))
}
