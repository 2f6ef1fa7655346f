package nic

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// rail is one NIC of the NICs that have the same name on different hosts. They send RDMA to one
// another if the fabric joins them.
type rail struct {
	host *intent.Host
	nic  *intent.NIC
	p    *nic.Port
	from []netip.Addr // its addresses
	at   group
}

// group is what two NICs share that send RDMA to one another: joined switches, and the island.
type group struct {
	name    string
	network int
	island  *intent.Island
}

// routes finds NICs through which no route leads to the NICs of the same name on other hosts. The
// kernel looks for such a route when it opens an RDMA connection with the address of the NIC (Linux,
// drivers/infiniband/core/addr.c, addr4_resolve and addr6_resolve).
func routes(c *checks.Collector, f *intent.Fabric, running []*nic.Host) {
	groups := map[group][]rail{}
	networks := networksOf(f)
	islands := map[*intent.Host]*intent.Island{}
	for _, is := range f.Islands {
		for _, h := range is.Hosts {
			islands[h] = is
		}
	}
	var all []rail
	for _, r := range running {
		h := f.Host(r.Name)
		if h == nil {
			continue
		}
		for _, n := range h.NICs {
			sw, p := nic.SwitchPort(f, n), r.Ports[n.Name]
			if sw == nil || p == nil || !p.GIDs.V.Routed() || topology.RDMAOf(n) == topology.NoRDMA {
				continue
			}
			one := rail{h, n, p, p.GIDs.V.Addresses(), group{n.Name, networks[sw.Switch], islands[h]}}
			groups[one.at] = append(groups[one.at], one)
			all = append(all, one)
		}
	}
	for _, one := range all {
		one.compare(c, groups[one.at])
	}
}

// networksOf numbers the groups of switches that links join.
func networksOf(f *intent.Fabric) map[*intent.Switch]int {
	out := map[*intent.Switch]int{}
	for _, first := range f.Switches {
		if out[first] > 0 {
			continue
		}
		number := len(out) + 1
		out[first] = number
		for todo := []*intent.Switch{first}; len(todo) > 0; todo = todo[1:] {
			for _, p := range todo[0].Ports {
				peer, _ := p.Peer()
				if next := f.Switch(peer.Device); next != nil && out[next] == 0 {
					out[next] = number
					todo = append(todo, next)
				}
			}
		}
	}
	return out
}

// compare reports the NICs of others to which no route leads through this one.
func (r *rail) compare(c *checks.Collector, others []rail) {
	unread := r.p.Missing[nic.FieldReach]
	if !r.p.Reach.Set && unread == "" {
		return
	}
	var lost []string
	of, other := 0, func(a netip.Addr) bool { return !slices.Contains(r.from, a) }
	for _, o := range others {
		if o.host == r.host || !slices.ContainsFunc(o.from, other) {
			continue
		}
		of++
		if !slices.ContainsFunc(o.from, func(a netip.Addr) bool { return other(a) && r.p.Reach.V.Leads(a) }) {
			lost = append(lost, o.host.Name)
		}
	}
	if len(lost) == 0 {
		return
	}
	on := fmt.Sprintf("any of the %d other hosts that were read", of)
	if len(lost) < of || of == 1 {
		on = term.Clip(natural.Fold(lost), 80)
	}
	if unread == "" {
		unread = r.p.Reach.V.Partial
	}
	finding := checks.Finding{ID: "NIC-25", Severity: checks.Warning, Device: r.host.Name, Where: r.nic.Pos.String(), Fix: checks.FixIn(Checks, "NIC-25"),
		What: "no route of the host leads through it, from its address, to the NIC of this name on " + on}
	if unread != "" {
		finding.Severity, finding.Fix = checks.Info, "look at 'ip route get ADDRESS from ADDRESS oif INTERFACE' on the host"
		finding.Unchecked, finding.Because = "routes of NICs", "the host does not show them"
		finding.What = fmt.Sprintf("whether a route of the host leads through it to the NIC of this name on %s is not known: %s", on, term.CleanLine(unread))
	}
	c.Add(finding, r.nic.Name)
}
