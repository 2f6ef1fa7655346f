package cabling

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Compare compares a list of cables, from a topology file or an LLDP dump, with the links of
// the intent.
func Compare(f *intent.Fabric, file string, cables []topology.Cable) []checks.Finding {
	fix := checks.FixIn(Checks, "TOP-07")
	var out []checks.Finding
	for _, d := range topology.Compare(f, cables) {
		s := checks.Warning
		if d.Kind == topology.Moved {
			s = checks.Error
		}
		where := d.Pos.String()
		if d.Pos.Line == 0 {
			where = file
			if d.Line > 0 {
				where = fmt.Sprintf("%s:%d", file, d.Line)
			}
		}
		fd := checks.Finding{ID: "TOP-07", Severity: s, Device: d.A.Device, What: term.CleanLine(d.String()), Fix: fix, Where: where}
		if d.A.Port != "" {
			fd.Ports, fd.Peers = []string{d.A.Port}, []string{d.B.String()}
		}
		out = append(out, fd)
	}
	return out
}

// OtherNIC says with which severity a name reported by a host means another interface than nic;
// "" if it may mean nic.
func OtherNIC(h *intent.Host, nic, given string) checks.Severity {
	if given == nic {
		return ""
	}
	if h.NIC(given) != nil {
		return checks.Error
	}
	for _, n := range h.NICs {
		if n.RDMA.V == given && given != "" {
			if n.Name == nic {
				return ""
			}
			return checks.Error
		}
	}
	// Only the host knows which interface a selector chooses.
	if n := h.NIC(nic); derive.NamesInterface(given) && (n == nil || n.Select.IsDefault()) {
		return checks.Warning
	}
	return ""
}

// Checks are the checks of what is connected to a port.
var Checks = []checks.Check{
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
