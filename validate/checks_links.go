package validate

import (
	"cmp"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// cablingChecks are the checks of what is connected to a port.
var cablingChecks = []Check{
	{
		ID: "TOP-07", Title: "a port is cabled to a different neighbour than the intent says",
		// Made by Run.cabling and Cabling.
		Rules: []Rule{{Error, "for a device of the fabric or another port of it"}, {Warning, "for a link, a neighbour or a NIC that only one side knows"}}, Scope: ScopeLink, Reads: ReadsRunning,
		Why: "checks that compare both ends of a link compare the wrong ports",
		Fix: "move the cable, or correct the link in the intent",
	},
	{
		ID: "TOP-10", Title: "LLDP shows no neighbour at a link between switches",
		Rules: []Rule{{Warning, "where other ports of the switch have one"}, {Info, "where no port has one"}}, Scope: ScopeSwitch, Reads: ReadsApplied,
		Why:   "the port may be cabled to something else, or LLDP is off at the other end; its cabling is not checked",
		Fix:   "check the cable, and LLDP at the other end",
		state: silentNeighbors,
	},
}

// mistakenIdentity reports a switch that is not the one in the intent.
func mistakenIdentity(r *deviceRun) {
	if what, where := Mistaken(r.d.Fabric, r.d.Switch.Name, r.seen.evidence()); what != "" {
		r.found(Finding{Severity: Error, What: what, Where: where}, "")
	}
}

// wire is the state of a link as a port shows it.
type wire struct {
	known, up, autoneg bool
	speed              units.Rate
	fec, adminFEC      string
	said               bool // PRT-04 reports that the FEC is not the intent's
}

func wireOf(s *drivers.PortState, want *qos.Port) wire {
	if s == nil || !s.OperUp.Set {
		return wire{}
	}
	return wire{true, s.OperUp.V, s.Autoneg.V, s.Speed.V, s.FEC.V, s.AdminFEC.V, want != nil && otherFEC(s, want)}
}

// wireOfEnds compares the operational values of two ends, or their configured FEC if the link
// is down. Values that the intent states are left to PRT-04.
func wireOfEnds(r *linkRun) {
	a, b := r.a.wire, r.b.wire
	if !a.known || !b.known {
		return
	}
	if r.l.Speed.V == 0 && a.up && b.up && a.speed != 0 && b.speed != 0 && a.speed != b.speed {
		r.found(Warning, r.check.Fix, "the port runs at %v, %v at %v", a.speed, b.speed, qos.KindSpeed.Attr())
	}
	if a.said || b.said {
		return
	}
	x, y, what := a.fec, b.fec, "the port runs with FEC %v, %v with %v"
	if !a.up || !b.up {
		x, y, what = a.adminFEC, b.adminFEC, "the link is down: FEC is configured as %v, on %v as %v"
		if a.autoneg || b.autoneg || x == "auto" || y == "auto" {
			return
		}
	}
	if x != "" && y != "" && x != y {
		r.found(Warning, r.check.Fix, what, x, y, qos.KindFEC.Attr())
	}
}

// silentNeighbors finds ports linked to another switch on which LLDP shows no neighbour. Hosts
// need not support LLDP.
func silentNeighbors(r *deviceRun) {
	hears := false
	for _, s := range r.seen.Ports {
		hears = hears || len(s.Neighbors) > 0
	}
	var silent []*intent.Port
	for _, p := range r.d.Switch.Ports {
		s := r.seen.Ports[p.Name]
		if p.Link == nil || !p.Uplink() || s == nil || !s.OperUp.V || len(s.Neighbors) > 0 || r.bare[p.Name] {
			continue
		}
		silent = append(silent, p)
	}
	if !hears {
		if len(silent) > 0 {
			r.found(Finding{Severity: Info, What: "LLDP shows no neighbour on any port", Fix: "turn LLDP on, or compare the cables by hand",
				Unchecked: "cabling", Because: "LLDP shows no neighbour"}, "")
		}
		return
	}
	for _, p := range silent {
		r.found(Finding{Severity: Warning, Where: p.Link.Pos.String(), What: "the link is up and LLDP shows no neighbour, but does on other ports"}, p.Name)
	}
}

// inOperation compares the operational speed and FEC of ports that are up with the intent.
// Ports whose configuration differs already have a finding.
func inOperation(r *deviceRun) {
	for p := range r.ports() {
		s, want := r.seen.Ports[p.Name], r.d.Desired.Ports[p.Name]
		if s == nil || !s.OperUp.V || want == nil {
			continue
		}
		at := qos.KindSpeed.Attr()
		if _, said := r.differs(p.Name, at); !said && s.Speed.Set && p.Speed.V != 0 && s.Speed.V != p.Speed.V {
			r.found(Finding{Severity: Warning, What: fmt.Sprintf("the port runs at %s, the intent says %s", s.Speed.V, p.Speed.V),
				Fix: "check the transceivers and the speed at the other end"}, p.Name, at)
		}
		at = qos.KindFEC.Attr()
		if _, said := r.differs(p.Name, at); !said && otherFEC(s, want) {
			r.found(Finding{Severity: Warning, What: fmt.Sprintf("the port runs with FEC %s, the intent says %s", s.FEC.V, want.FEC.V),
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
func (r *deviceRun) leftDown(port string) (what, fix string) {
	run := r.seen.LeftDown[port]
	if run == "" {
		return "", ""
	}
	return fmt.Sprintf("the port is administratively down: run %s took it down for a step and did not bring it up", cmp.Or(term.CleanLine(run), "an earlier one")),
		"apply the intent, which brings it up, or roll the run back"
}
