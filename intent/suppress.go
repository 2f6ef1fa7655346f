package intent

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// Suppression is a finding that the operator accepts. It does not hide the
// finding: reports show it with its reason, and it does not count.
type Suppression struct {
	Pos   Pos
	Check string // id of the check
	// On is what it holds for, as it is written: "leaf1", "leaf*", "role:leaf",
	// "leaf[1-2]/Ethernet[0-8:8]"; "" for everything. A * in the name of a port
	// stands for slashes as well: "leaf*/Ethernet*" covers Ethernet1/1.
	On string
	// Unchecked says that it accepts only that the check could not be made.
	Unchecked bool
	Reason    string
	// Until is the last day that it holds; zero for no end.
	Until time.Time

	devices map[string]bool        // nil for all
	port    func(name string) bool // nil for all
}

// Covers reports whether the suppression holds for a port of a device, "" for
// what is about the device as a whole.
func (s *Suppression) Covers(device, port string) bool {
	return (s.devices == nil || s.devices[device]) && (s.port == nil || port != "" && s.port(port))
}

// Over reports whether the suppression has ended at a time: its last day, in
// the time's own zone, is past.
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

// scope reads what a suppression holds for. One that names no device is a fault:
// it would silently accept nothing.
func (r *resolver) scope(s *Suppression, pos Pos) {
	device, port, ported := strings.Cut(s.On, "/")
	if all := r.out.devices(); device != "*" && !r.incomplete && r.spend(len(all), pos) {
		var err error
		// Devices come and go: what is accepted of those that stay holds.
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

// ranged returns which of all a name with ranges names; none for another pattern.
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

// portMatcher understands a name, a name with ranges, and a glob; nil is for all.
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
		return nil, fmt.Errorf("%q is no name", p)
	}
	return func(n string) bool {
		ok, _ := path.Match(glob, unslashed(n)) // the pattern is checked
		return ok
	}, nil
}

// unslashed gives a name of a port without the slashes at which a glob stops.
func unslashed(name string) string { return strings.ReplaceAll(name, "/", "\x1f") }
