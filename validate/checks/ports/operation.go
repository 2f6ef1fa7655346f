package ports

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// WireOf returns the state of a link as a port shows it.
func WireOf(s *drivers.PortState, want *qos.Port) checks.Wire {
	if s == nil || !s.OperUp.Set {
		return checks.Wire{}
	}
	return checks.Wire{Known: true, Up: s.OperUp.V, Autoneg: s.Autoneg.V, Speed: s.Speed.V, FEC: s.FEC.V, AdminFEC: s.AdminFEC.V, Said: want != nil && otherFEC(s, want)}
}

// wireOfEnds compares the operational values of two ends, or their configured FEC if the link
// is down. Values that the intent states are left to PRT-04.
func wireOfEnds(r *checks.Link) {
	a, b := r.A.Wire, r.B.Wire
	if !a.Known || !b.Known {
		return
	}
	if r.Stated.Speed.V == 0 && a.Up && b.Up && a.Speed != 0 && b.Speed != 0 && a.Speed != b.Speed {
		r.Found(checks.Warning, r.Check.Fix, "the port runs at %v, %v at %v", a.Speed, b.Speed, qos.KindSpeed.Attr())
	}
	if a.Said || b.Said {
		return
	}
	x, y, what := a.FEC, b.FEC, "the port runs with FEC %v, %v with %v"
	if !a.Up || !b.Up {
		x, y, what = a.AdminFEC, b.AdminFEC, "the link is down: FEC is configured as %v, on %v as %v"
		if a.Autoneg || b.Autoneg || x == "auto" || y == "auto" {
			return
		}
	}
	if x != "" && y != "" && x != y {
		r.Found(checks.Warning, r.Check.Fix, what, x, y, qos.KindFEC.Attr())
	}
}

// inOperation compares the operational speed and FEC of ports that are up with the intent.
// Ports whose configuration differs already have a finding.
func inOperation(r *checks.Switch) {
	for p := range r.Ports() {
		s, want := r.Seen.Ports[p.Name], r.Device.Desired.Ports[p.Name]
		if s == nil || !s.OperUp.V || want == nil {
			continue
		}
		at := qos.KindSpeed.Attr()
		if _, said := r.Differs(p.Name, at); !said && s.Speed.Set && p.Speed.V != 0 && s.Speed.V != p.Speed.V {
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the port runs at %s, the intent says %s", s.Speed.V, p.Speed.V),
				Fix: "check the transceivers and the speed at the other end"}, p.Name, at)
		}
		at = qos.KindFEC.Attr()
		if _, said := r.Differs(p.Name, at); !said && otherFEC(s, want) {
			r.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("the port runs with FEC %s, the intent says %s", s.FEC.V, want.FEC.V),
				Fix: "check the transceivers and FEC at the other end"}, p.Name, at)
		}
	}
}

// otherFEC reports whether a port runs another FEC than the intent states.
func otherFEC(s *drivers.PortState, want *qos.Port) bool {
	fec := drivers.FECOf(want.FEC.V)
	return s.FEC.Set && fec.Set && fec.V != "auto" && s.FEC.V != fec.V
}

// leftDown describes a port that a run of this tool took down and did not bring up; what is ""
// for other ports.
func leftDown(r *checks.Switch, port string) (what, fix string) {
	run := r.Seen.LeftDown[port]
	if run == "" {
		return "", ""
	}
	return fmt.Sprintf("the port is administratively down: run %s took it down for a step and did not bring it up", cmp.Or(term.CleanLine(run), "an earlier one")),
		"apply the intent, which brings it up, or roll the run back"
}
