package validate

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// cablingChecks are the checks of what is connected to a port.
var cablingChecks = []checks.Check{
	{
		ID: "TOP-07", Title: "a port is cabled to a different neighbour than the intent says",
		// Made by Run.cabling and Cabling.
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a device of the fabric or another port of it"}, {Severity: checks.Warning, When: "for a link, a neighbour or a NIC that only one side knows"}}, Scope: checks.ScopeLink, Reads: checks.ReadsRunning,
		Why: "checks that compare both ends of a link compare the wrong ports",
		Fix: "move the cable, or correct the link in the intent",
	},
	{
		ID: "TOP-10", Title: "LLDP shows no neighbour at a link between switches",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where other ports of the switch have one"}, {Severity: checks.Info, When: "where no port has one"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsApplied,
		Why:   "the port may be cabled to something else, or LLDP is off at the other end; its cabling is not checked",
		Fix:   "check the cable, and LLDP at the other end",
		State: silentNeighbors,
	},
}

// mistakenIdentity reports a switch that is not the one in the intent.
func mistakenIdentity(r *checks.Switch) {
	if what, where := Mistaken(r.Device.Fabric, r.Device.Switch.Name, evidence(&r.Seen)); what != "" {
		r.Found(checks.Finding{Severity: checks.Error, What: what, Where: where}, "")
	}
}

func wireOf(s *drivers.PortState, want *qos.Port) checks.Wire {
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

// silentNeighbors finds ports linked to another switch on which LLDP shows no neighbour. Hosts
// need not support LLDP.
func silentNeighbors(r *checks.Switch) {
	hears := false
	for _, s := range r.Seen.Ports {
		hears = hears || len(s.Neighbors) > 0
	}
	var silent []*intent.Port
	for _, p := range r.Device.Switch.Ports {
		s := r.Seen.Ports[p.Name]
		if p.Link == nil || !p.Uplink() || s == nil || !s.OperUp.V || len(s.Neighbors) > 0 || r.Bare[p.Name] {
			continue
		}
		silent = append(silent, p)
	}
	if !hears {
		if len(silent) > 0 {
			r.Found(checks.Finding{Severity: checks.Info, What: "LLDP shows no neighbour on any port", Fix: "turn LLDP on, or compare the cables by hand",
				Unchecked: "cabling", Because: "LLDP shows no neighbour"}, "")
		}
		return
	}
	for _, p := range silent {
		r.Found(checks.Finding{Severity: checks.Warning, Where: p.Link.Pos.String(), What: "the link is up and LLDP shows no neighbour, but does on other ports"}, p.Name)
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
