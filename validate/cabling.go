package validate

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/cabling"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// cabling compares the LLDP neighbours with the links of the intent. It runs before the checks
// of two ends, which mention it if LLDP shows the ends on different cables.
func (r *Run) cabling() {
	r.miscabled = map[intent.Endpoint]string{}
	fix := Lookup("TOP-07").Fix
	for _, sw := range r.fabric.Switches {
		kept := r.seen[sw.Name]
		if kept == nil || kept.neighbors == nil {
			continue
		}
		for i, p := range kept.sw.Ports {
			seen, severity := r.wrongNeighbor(p, kept.neighbors[i])
			if seen == "" {
				continue
			}
			if r.miscabled[intent.Endpoint{Device: sw.Name, Port: p.Name}] = seen; kept.ends[i].Bare {
				continue
			}
			peer, _ := p.Peer()
			r.found.Add(checks.Finding{ID: "TOP-07", Severity: severity, Device: sw.Name, Where: p.Link.Pos.String(), Fix: fix,
				What: fmt.Sprintf("LLDP shows %s, the intent says %s", seen, peer)}, p.Name)
		}
	}
}

// wrongNeighbor returns the neighbour that LLDP shows on a port if it is not the other end of the
// link, with the severity; "" if they match.
func (r *Run) wrongNeighbor(p *intent.Port, n qos.Neighbor) (seen string, s checks.Severity) {
	peer, linked := p.Peer()
	if !linked || n == (qos.Neighbor{}) {
		return "", ""
	}
	f := r.fabric
	device, _, _ := strings.Cut(n.Device, ".")
	// A neighbour that reports a MAC instead of a name is compared by its port alone.
	same := strings.EqualFold(device, peer.Device) || strings.EqualFold(n.Device, peer.Device) || derive.IsMAC(n.Device) && f.Switch(peer.Device) != nil
	switch {
	case device == "" || !same && !f.Has(device) && f.Host(peer.Device) != nil:
		return "", "" // hosts may report any name
	case !same && f.Has(device):
		s = checks.Error
	case !same:
		s = checks.Warning
	case f.Switch(peer.Device) != nil:
		s = r.namesOf(f.Switch(peer.Device)).NamesOtherPort(peer.Port, n.Port)
	default:
		s = cabling.OtherNIC(f.Host(peer.Device), peer.Port, n.Port)
	}
	if s == "" {
		return "", ""
	}
	return term.CleanLine(n.Device + "/" + n.Port), s
}

// namesOf returns the port names of a switch: of its running state if it was read, otherwise
// the ports that the intent names.
func (r *Run) namesOf(sw *intent.Switch) *identity.Names {
	kept := r.deviceOf(sw)
	if kept.names == nil {
		all := make(map[string]bool, len(sw.Ports))
		for _, p := range sw.Ports {
			all[p.Name] = true
		}
		kept.names = r.alike.portNames(identity.NamesOf(sw, all, nil))
	}
	return kept.names
}
