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

// Select returns the switches that any of the patterns names, in the order of
// Switches and each once; all of them where there is no pattern. A pattern is
// a name ("leaf1"), a name with ranges ("leaf[1-32]"), a glob ("leaf*"),
// "role:leaf" or "os:sonic". With "!" before it, it leaves out what it names, of the
// others or, where there are no others, of all switches. A pattern that names no
// switch, and patterns that leave none, are an [*Error] without a place.
func (f *Fabric) Select(patterns []string) ([]*Switch, error) {
	chosen, err := f.choose(patterns, f.candidates(), "switch")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(f.Switches), func(s *Switch) bool { return !chosen[s.Name] }), nil
}

// SelectDevices is [Fabric.Select] among switches and hosts. A host is named by
// its name, by ranges, by a glob, or by "role:host", which names all of them.
func (f *Fabric) SelectDevices(patterns []string) ([]*Switch, []*Host, error) {
	chosen, err := f.choose(patterns, f.devices(), "switch or host")
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(slices.Clone(f.Switches), func(s *Switch) bool { return !chosen[s.Name] }), f.hostsOf(chosen), nil
}

// SelectHosts is [Fabric.SelectDevices] among hosts alone: a pattern that names
// no host is an error also where it names a switch.
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

// candidate is a device that a pattern may name. The role of each host is "host".
type candidate struct{ name, role, os string }

func nameOf(c candidate) string { return c.name }

func (f *Fabric) candidates() []candidate {
	return each(f.Switches, func(s *Switch) candidate { return candidate{s.Name, s.Role, s.OS} })
}

func (f *Fabric) hostCandidates() []candidate {
	return each(f.Hosts, func(h *Host) candidate { return candidate{name: h.Name, role: "host"} })
}

// each returns what of gives for each item of a list.
func each[T, U any](items []T, of func(T) U) []U {
	out := slices.Grow([]U(nil), len(items))
	for _, item := range items {
		out = append(out, of(item))
	}
	return out
}

// devices are the switches, then the hosts.
func (f *Fabric) devices() []candidate { return append(f.candidates(), f.hostCandidates()...) }

// choose returns the names of what the patterns name, of all where there are
// none. what is what they are to name.
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
			return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("no %s matches %q", what, p), Hint: near(p, all)}
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
				return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("no %s %q, which %q names", what, n, p), Hint: near(n, all)}
			}
		}
		names := pat.set()
		return func(c candidate) bool { return names[c.name] }, nil
	}
	if _, err := path.Match(p, ""); err != nil {
		return nil, bad(err)
	}
	return func(c candidate) bool {
		ok, _ := path.Match(p, c.name) // the pattern is checked
		return ok
	}, nil
}

// near suggests what was probably meant.
func near(p string, all []candidate) string {
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
