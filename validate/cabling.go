package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
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
	var all ordered.Groups[string, *sighting] // by device
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
			all.Add(strings.ToLower(sw.Name), &sighting{intent.Endpoint{Device: sw.Name, Port: p.Name}, p, kept.neighbors[i], seen, severity})
		}
	}
	fix, told := Lookup("TOP-07").Fix, map[*sighting]bool{}
	byDevice := maps.Collect(all.All())
	for _, list := range all.All() {
		for _, s := range list {
			if told[s] {
				continue
			}
			peer, _ := s.port.Peer()
			fd := checks.Finding{ID: "TOP-07", Severity: s.severity, Device: s.at.Device, Where: s.port.Link.Pos.String(), Fix: fix,
				What: fmt.Sprintf("LLDP shows %s, the intent says %s", s.seen, peer)}
			if end := r.otherEnd(s, byDevice); end != nil {
				told[end] = true
				peer, _ := end.port.Peer()
				if end.severity.Rank() < fd.Severity.Rank() {
					fd.Severity = end.severity
				}
				fd.Peers = []string{end.at.String()}
				fd.What += fmt.Sprintf("; LLDP of %s shows this port, the intent says %s", end.at, peer)
			}
			r.found.Add(fd, s.at.Port)
		}
	}
}

// sighting is a port on which LLDP shows another neighbour than the intent has.
type sighting struct {
	at       intent.Endpoint
	port     *intent.Port
	neighbor qos.Neighbor
	seen     string // the neighbour, for people
	severity checks.Severity
}

// otherEnd returns the sighting at the other end of the same cable; nil if there is none, or if the
// names that the ends report fit several.
func (r *Run) otherEnd(s *sighting, byDevice map[string][]*sighting) (end *sighting) {
	names := func(n qos.Neighbor) [2]string {
		short, _, _ := strings.Cut(n.Device, ".")
		return [2]string{strings.ToLower(n.Device), strings.ToLower(short)}
	}
	sees := func(a, b *sighting) bool {
		n := names(a.neighbor)
		return slices.Contains(n[:], strings.ToLower(b.at.Device)) && r.namesOf(r.fabric.Switch(b.at.Device)).NamesOtherPort(b.at.Port, a.neighbor.Port) == ""
	}
	n := names(s.neighbor)
	for _, e := range slices.Concat(byDevice[n[0]], byDevice[n[1]]) {
		if e == s || e == end || !sees(s, e) || !sees(e, s) {
			continue
		}
		if end != nil {
			return nil
		}
		end = e
	}
	return end
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
