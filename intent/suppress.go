package intent

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// Suppression is a finding that the operator accepts. The finding stays visible: reports show it
// with the reason, but do not count it.
type Suppression struct {
	Pos   Pos
	Check string // check ID
	// On is the scope as written in the intent: "leaf1", "leaf*", "role:leaf",
	// "leaf[1-2]/Ethernet[0-8:8]"; "" for everything. A * in a port name also matches slashes:
	// "leaf*/Ethernet*" covers Ethernet1/1.
	On string
	// Unchecked limits the suppression to results that say the check could not be made.
	Unchecked bool
	Reason    string
	// Until is the last day on which the suppression applies; zero for no end.
	Until time.Time

	devices map[string]bool        // nil covers all
	port    func(name string) bool // nil covers all
}

// Covers reports whether the suppression applies to a port of a device; port is "" for findings
// about the device as a whole.
func (s *Suppression) Covers(device, port string) bool {
	return (s.devices == nil || s.devices[device]) && (s.port == nil || port != "" && s.port(port))
}

// Over reports whether the suppression has expired: its last day, in the time zone of now, has
// passed.
func (s *Suppression) Over(now time.Time) bool {
	if s.Until.IsZero() {
		return false
	}
	y, m, d := s.Until.Date()
	return !now.Before(time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()))
}

func (r *resolver) suppressions() {
	for i := range r.raw.Suppress.Items {
		raw := &r.raw.Suppress.Items[i]
		s := &Suppression{Pos: raw.Pos, Check: raw.Check.V, On: raw.On.V, Unchecked: raw.Unchecked.V, Reason: strings.TrimSpace(raw.Reason.V)}
		if raw.Reason.Set && s.Reason == "" {
			r.problems.addf(raw.Reason.Pos, "say why the finding is accepted", "reason is empty")
		}
		if raw.Until.Set {
			var err error
			if s.Until, err = time.Parse(time.DateOnly, raw.Until.V); err != nil {
				r.problems.addf(raw.Until.Pos, "", "until: there is no day %s", raw.Until.V)
			}
		}
		if raw.On.Set {
			r.scope(s, raw.On.Pos)
		}
		r.out.Suppressions = append(r.out.Suppressions, s)
	}
}

// scope resolves On. A scope that matches no device is a problem: it would silently have no
// effect.
func (r *resolver) scope(s *Suppression, pos Pos) {
	device, port, ported := strings.Cut(s.On, "/")
	if all := r.out.devices(); device != "*" && !r.incomplete && r.spendNames(len(all), pos) {
		var err error
		// A range may include devices that do not exist, because devices are added and removed.
		if s.devices = ranged(device, all); len(s.devices) == 0 {
			s.devices, err = r.out.choose([]string{device}, all, "switch or host")
		}
		if err != nil {
			r.selectionFault(pos, err)
		}
	}
	if ported {
		var err error
		if s.port, err = portMatcher(port); err != nil {
			r.problems.addf(pos, "write a device or device/port, with ranges or globs: leaf*/Ethernet[0-8:8]", "on: %v", err)
		}
	}
}

// ranged returns the candidates that a name with ranges matches; nil for other patterns.
func ranged(p string, all []candidate) map[string]bool {
	pat, err := parsePattern(p)
	if err != nil || !pat.ranged {
		return nil
	}
	names, there := pat.set(), map[string]bool{}
	for _, c := range all {
		if names[c.name] {
			there[c.name] = true
		}
	}
	return there
}

// portMatcher parses a name, a name with ranges, or a glob. It returns nil for "*", which matches
// all ports.
func portMatcher(p string) (func(name string) bool, error) {
	if p == "*" {
		return nil, nil
	}
	if pat, err := parsePattern(p); err == nil && pat.ranged {
		names := pat.set()
		return func(n string) bool { return names[n] }, nil
	}
	glob := unslashed(p)
	if _, err := path.Match(glob, ""); err != nil || p == "" {
		return nil, fmt.Errorf("%q is not a valid pattern", p)
	}
	return func(n string) bool {
		ok, _ := path.Match(glob, unslashed(n)) // the pattern is already validated
		return ok
	}, nil
}

// unslashed replaces the slashes in a port name, because * does not match a slash in path.Match.
func unslashed(name string) string { return strings.ReplaceAll(name, "/", "\x1f") }
