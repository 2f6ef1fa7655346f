package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic"
)

// rdmaMTU looks at the MTUs that RDMA goes by: that of the NIC, and that of each device
// over it by whose addresses connections are made. With RoCE LAG the RDMA device itself
// has that of the bond.
func (p *portCheck) rdmaMTU() {
	h, w := p.have, p.want
	if !w.ActiveMTU.Set {
		return
	}
	var says, fixes []string
	payload, severity := w.ActiveMTU.V, Info
	for _, u := range p.running.Above(p.name) {
		most := nic.RDMAMTU(u.MTU.V)
		if !u.MTU.Set || most >= w.ActiveMTU.V {
			continue
		}
		// A VLAN may be there for what is no RDMA.
		if u.Kind != nic.UpperVLAN {
			severity = Warning
		}
		payload = min(payload, most)
		says = append(says, fmt.Sprintf("%s %s over it has an MTU of %d B", u.Kind, printable(u.Name), u.MTU.V))
		fixes = append(fixes, fmt.Sprintf("raise the MTU of %s from %d to %d B, there and in the network configuration of the host", printable(u.Name), u.MTU.V, w.MTU.V))
	}
	what := fmt.Sprintf("over it RDMA has an MTU of at most %d B", payload)
	if p.lowRDMA() {
		severity, what = Warning, fmt.Sprintf("the RDMA MTU is %d B", h.ActiveMTU.V)
		switch {
		case h.MTU.Set && w.MTU.Set && h.MTU.V < w.MTU.V:
			fixes = slices.Insert(fixes, 0, fmt.Sprintf("%s: the MTU of the interface rises from %d to %d B", applyHost, h.MTU.V, w.MTU.V))
		case len(fixes) > 0:
		case h.MTU.Set:
			fixes = []string{fmt.Sprintf("the interface has an MTU of %d B: RDMA needs %d B in addition to its payload", h.MTU.V, intent.RDMAOverhead)}
		default:
			fixes = []string{"raise the MTU of the interface"}
		}
	} else if len(says) == 0 {
		return
	}
	if len(says) == 0 {
		says = []string{"it follows from mtu"}
	}
	p.add("MTU-04", severity, p.name, w.From[nic.FieldActiveMTU], strings.Join(fixes, "; then "), "%s, the intent says %d B (%s, layer %s)", what, w.ActiveMTU.V, strings.Join(says, ", "), nic.LayerDriver)
}

// tags finds VLANs that send RDMA with another PCP than the intent, where that decides
// its class. RDMA-CM takes the PCP of the priority that the kernel has for the ToS.
func (p *portCheck) tags() {
	n := p.host.NIC(p.name)
	if severity, _ := p.tagCounts(); n == nil || severity != Error {
		return
	}
	pcp, ok := nic.RDMATag(p.fabric, n)
	tos := p.want.ToS
	if !tos.Set { // the intent has no DSCP, and leaves the ToS alone
		tos = p.have.ToS
	}
	if !ok || !tos.Set {
		return
	}
	from := nic.SocketPriority(tos.V)
	for _, u := range p.running.Above(p.name) {
		if !u.Egress.Set || int(u.Egress.V[from]) == pcp {
			continue
		}
		name := printable(u.Name)
		p.found("NIC-02", Error, nic.FieldEgress, fmt.Sprintf("ip link set dev %s type vlan egress-qos-map %d:%d, there and in the network configuration of the host", name, from, pcp),
			"VLAN %s over it sends RDMA-CM with PCP %d, the intent says %d: the kernel has priority %d for ToS %d", name, u.Egress.V[from], pcp, from, tos.V)
	}
}
