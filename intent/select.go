package intent

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Select returns the switches that any of the patterns names, in the order of
// Switches and each once; all of them where there is no pattern. A pattern is
// a name ("leaf1"), a name with ranges ("leaf[1-32]"), a glob ("leaf*"),
// "role:leaf" or "os:sonic". A pattern that names no switch is an [*Error]
// without a place.
func (f *Fabric) Select(patterns []string) ([]*Switch, error) {
	if len(patterns) == 0 {
		return slices.Clone(f.Switches), nil
	}
	chosen := map[*Switch]bool{}
	for _, p := range patterns {
		n := len(chosen)
		match, err := f.matcher(p)
		if err != nil {
			return nil, err
		}
		found := false
		for _, s := range f.Switches {
			if match(s) {
				chosen[s], found = true, true
			}
		}
		if !found && n == len(chosen) {
			return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("no switch matches %q", p), Hint: f.nearPattern(p)}
		}
	}
	return slices.DeleteFunc(slices.Clone(f.Switches), func(s *Switch) bool { return !chosen[s] }), nil
}

func (f *Fabric) matcher(p string) (func(*Switch) bool, error) {
	bad := func(err error) error {
		return &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("%q: %v", p, err), Hint: "write a name, a glob such as leaf*, role:leaf or os:sonic"}
	}
	if kind, value, ok := strings.Cut(p, ":"); ok && !strings.Contains(kind, "[") {
		switch kind {
		case "role":
			return func(s *Switch) bool { return s.Role == value && value != "" }, nil
		case "os":
			return func(s *Switch) bool { return s.OS == value }, nil
		}
		return nil, bad(fmt.Errorf("unknown kind of selection %q", kind))
	}
	pat, err := parsePattern(p)
	if err != nil {
		return nil, bad(err)
	}
	if pat.ranged {
		names := map[string]bool{}
		for _, n := range pat.expand() {
			if f.Switch(n) == nil {
				return nil, &Error{Pos: Pos{File: "selection"}, Msg: fmt.Sprintf("no switch %q, which %q names", n, p), Hint: f.nearPattern(n)}
			}
			names[n] = true
		}
		return func(s *Switch) bool { return names[s.Name] }, nil
	}
	if _, err := path.Match(p, ""); err != nil {
		return nil, bad(err)
	}
	return func(s *Switch) bool {
		ok, _ := path.Match(p, s.Name) // the pattern is checked
		return ok
	}, nil
}

// nearPattern suggests what was probably meant.
func (f *Fabric) nearPattern(p string) string {
	var known []string
	for _, s := range f.Switches {
		known = append(known, s.Name, "os:"+s.OS)
		if s.Role != "" {
			known = append(known, "role:"+s.Role)
		}
	}
	slices.SortFunc(known, natural.Compare)
	return didYouMean(p, slices.Compact(known))
}
