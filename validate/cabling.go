package validate

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Cabling compares a list of cables, from a topology file or an LLDP dump, with the links of
// the intent.
func Cabling(f *intent.Fabric, file string, cables []topology.Cable) []checks.Finding {
	fix := checks.FixIn(cablingChecks, "TOP-07")
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

// portNames holds the ports of a switch, under the names that LLDP may report.
type portNames struct {
	os, model string // of the switch
	ports     []string
	all       bool     // ports has all ports of the switch
	aliases   []string // aliases of ports as the switch shows them; "" for a port without one
	// byAlias is built on first use, because most neighbours report the name itself. Several
	// runs may share it.
	once    sync.Once
	byAlias map[string][]string
}

// key returns a string that is equal for switches with the same names.
func (n *portNames) key() string {
	return fmt.Sprintf("%q %q %t %q %q", n.os, n.model, n.all, n.ports, n.aliases)
}

// portsOfAlias returns the ports with an alias: as the switch shows it, or for ports without one as
// the model has it.
func (n *portNames) portsOfAlias(alias string) []string {
	n.once.Do(func() {
		n.byAlias = map[string][]string{}
		unnamed := map[string]bool{}
		for i, p := range n.ports {
			if a := n.aliases[i]; a != "" {
				n.byAlias[a] = append(n.byAlias[a], p)
			} else {
				unnamed[p] = true
			}
		}
		if m, ok := catalog.ModelOf(n.os, n.model); ok {
			for _, p := range m.Ports {
				if unnamed[p.Name] && p.Alias != "" {
					n.byAlias[p.Alias] = append(n.byAlias[p.Alias], p.Name)
				}
			}
		}
	})
	return n.byAlias[alias]
}

// namesOtherPort says with which severity a name reported by LLDP means a different port of the
// switch; "" if it may mean port. The alias of one port may be the name of another, and a name
// that the switch does not have may mean any port, unless it has the form of port names.
func (n *portNames) namesOtherPort(port, given string) checks.Severity {
	if derive.SamePort(port, given) {
		return ""
	}
	called := n.portsOfAlias(given)
	switch {
	case slices.Contains(called, port):
		return ""
	case len(called) > 0, slices.ContainsFunc(n.ports, func(p string) bool { return derive.SamePort(p, given) }):
		return checks.Error
	case n.all && derive.SameForm(port, given):
		return checks.Warning
	}
	return ""
}

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
		s = r.namesOf(f.Switch(peer.Device)).namesOtherPort(peer.Port, n.Port)
	default:
		s = otherNIC(f.Host(peer.Device), peer.Port, n.Port)
	}
	if s == "" {
		return "", ""
	}
	return term.CleanLine(n.Device + "/" + n.Port), s
}

// namesOf returns the port names of a switch: of its running state if it was read, otherwise
// the ports that the intent names.
func (r *Run) namesOf(sw *intent.Switch) *portNames {
	kept := r.deviceOf(sw)
	if kept.names == nil {
		all := make(map[string]bool, len(sw.Ports))
		for _, p := range sw.Ports {
			all[p.Name] = true
		}
		kept.names = r.alike.portNames(namesOf(sw, all, nil))
	}
	return kept.names
}

// otherNIC says with which severity a name reported by a host means another interface than nic;
// "" if it may mean nic.
func otherNIC(h *intent.Host, nic, given string) checks.Severity {
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

// runningNames returns the names of all ports that a switch shows or has configured.
func runningNames(sw *intent.Switch, cfg *qos.Device, shown map[string]*drivers.PortState) *portNames {
	all := make(map[string]bool, len(shown)+len(cfg.Ports))
	for p := range shown {
		all[p] = true
	}
	for p := range cfg.Ports {
		all[p] = true
	}
	return namesOf(sw, all, shown)
}

func namesOf(sw *intent.Switch, ports map[string]bool, shown map[string]*drivers.PortState) *portNames {
	n := &portNames{os: sw.OS, model: sw.Model.V, ports: natural.Keys(ports), all: len(shown) > 0}
	for _, p := range n.ports {
		var alias string
		if s := shown[p]; s != nil {
			alias = s.Alias
		}
		n.aliases = append(n.aliases, alias)
	}
	return n
}
