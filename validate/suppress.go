package validate

import (
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Accept marks the findings that the intent accepts. A finding of which it accepts only some
// ports becomes two. A suppression that has ended, or that names no existing check, is a
// separate finding.
func Accept(f *intent.Fabric, fs []checks.Finding, now time.Time) []checks.Finding {
	for _, s := range f.Suppressions {
		if s.Over(now) {
			fs = append(fs, checks.Finding{ID: "SUPPRESS", Severity: checks.Warning, Where: s.Pos.String(), Fix: "remove the cause, or give the suppression a later date",
				What: fmt.Sprintf("the suppression of %s ended on %s", s.Check, s.Until.Format(time.DateOnly))})
			continue
		}
		if c := Lookup(s.Check); c == nil {
			fs = append(fs, checks.Finding{ID: "SUPPRESS", Severity: checks.Warning, Where: s.Pos.String(), Fix: "see 'roce-fabric check --list'",
				What: fmt.Sprintf("a suppression names check %s, which does not exist", s.Check)})
			continue
		}
		fs = suppressOne(s, fs)
	}
	return fs
}

func suppressOne(s *intent.Suppression, fs []checks.Finding) []checks.Finding {
	mark := &checks.Suppressed{Reason: s.Reason, Where: s.Pos.String()}
	if !s.Until.IsZero() {
		mark.Until = s.Until.Format(time.DateOnly)
	}
	for i := range fs {
		f := &fs[i]
		if f.Suppressed != nil || !f.AcceptedBy(s.Check) || s.Unchecked && !f.Inconclusive() {
			continue
		}
		if len(f.Ports) == 0 {
			if s.Covers(f.Device, "") {
				f.Suppressed = mark
			}
			continue
		}
		accepted, left := *f, *f
		accepted.Ports, left.Ports, accepted.Peers, left.Peers = nil, nil, nil, nil
		for n, port := range f.Ports {
			to := &left
			if s.Covers(f.Device, port) {
				to = &accepted
			}
			to.Ports = append(to.Ports, port)
			if n < len(f.Peers) {
				to.Peers = append(to.Peers, f.Peers[n])
			}
		}
		if len(accepted.Ports) == 0 {
			continue
		}
		accepted.Suppressed = mark
		*f = accepted
		if len(left.Ports) > 0 {
			fs = append(fs, left)
		}
	}
	return slices.Clip(fs)
}
