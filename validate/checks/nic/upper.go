package nic

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// rdmaMTU checks the MTUs that limit RDMA: the NIC's, and those of the devices on top of it
// whose addresses connections use. With RoCE LAG the RDMA device itself has the MTU of the
// bond.
func (p *portCheck) rdmaMTU() {
	h, w := p.have, p.want
	if !w.ActiveMTU.Set {
		return
	}
	var says, rise, fixes []string
	payload, severity := w.ActiveMTU.V, checks.Info
	if p.lowRDMA() && h.MTU.Set && w.MTU.Set && h.MTU.V < w.MTU.V {
		rise = append(rise, fmt.Sprintf("the MTU of the interface rises from %d to %d B", h.MTU.V, w.MTU.V))
	}
	for _, u := range p.running.Above(p.name) {
		most := nic.RDMAMTU(u.MTU.V)
		if !u.MTU.Set || most >= w.ActiveMTU.V {
			continue
		}
		want := p.desired.Uppers[u.Name]
		// A VLAN that the intent does not list may serve traffic other than RDMA.
		if u.Kind != nic.UpperVLAN || want != nil {
			severity = checks.Warning
		}
		payload = min(payload, most)
		says = append(says, fmt.Sprintf("%s %s over it has an MTU of %d B", kindOf(u), term.CleanLine(u.Name), u.MTU.V))
		if want != nil {
			rise = append(rise, fmt.Sprintf("the MTU of %s rises from %d to %d B", u.Name, u.MTU.V, want.MTU.V))
		} else {
			fixes = append(fixes, p.writeUpper(u, fmt.Sprintf("its MTU rises from %d to %d B", u.MTU.V, w.MTU.V), fmt.Sprintf("raise the MTU of %s from %d to %d B", term.CleanLine(u.Name), u.MTU.V, w.MTU.V)))
		}
	}
	what := fmt.Sprintf("over it RDMA has an MTU of at most %d B", payload)
	if p.lowRDMA() {
		severity, what = checks.Warning, fmt.Sprintf("the RDMA MTU is %d B", h.ActiveMTU.V)
	} else if len(says) == 0 {
		return
	}
	if len(rise) > 0 {
		fixes = slices.Insert(fixes, 0, applyHost+": "+strings.Join(rise, ", "))
	}
	switch {
	case len(fixes) > 0:
	case h.MTU.Set:
		fixes = []string{fmt.Sprintf("the interface has an MTU of %d B: RDMA needs %d B in addition to its payload", h.MTU.V, intent.RDMAOverhead)}
	default:
		fixes = []string{"raise the MTU of the interface"}
	}
	if len(says) == 0 {
		says = []string{"it follows from mtu"}
	}
	p.add("MTU-04", severity, p.name, w.From[nic.FieldActiveMTU], strings.Join(fixes, "; then "), "%s, the intent says %d B (%s, layer %s)", what, w.ActiveMTU.V, strings.Join(says, ", "), nic.LayerDriver)
}

// kindOf names the kind of a device.
func kindOf(u *nic.Upper) string {
	if u.Kind == nic.UpperVLAN {
		return "VLAN"
	}
	return term.CleanLine(string(u.Kind))
}

// writeUpper returns the fix for a device that the intent does not list: then says what apply
// does once the intent lists it, byHand what to do if the intent cannot.
func (v *hostCheck) writeUpper(u *nic.Upper, then, byHand string) string {
	bond, entry := u, ""
	if u.Kind == nic.UpperVLAN && u.VLAN.Set && len(u.On) == 1 {
		entry = fmt.Sprintf("vlans: {%s: {on: %s, id: %d}}", term.CleanLine(u.Name), term.CleanLine(u.On[0]), u.VLAN.V)
		bond = nil
		if v.host.NIC(u.On[0]) == nil && v.desired.Uppers[u.On[0]] == nil {
			bond = v.running.Uppers[u.On[0]]
		}
	}
	unlisted := func(name string) bool { return v.host.NIC(name) == nil }
	switch {
	case bond == nil && entry != "" && (v.host.NIC(u.On[0]) != nil || v.desired.Uppers[u.On[0]] != nil):
	case bond == nil || bond.Kind != nic.UpperBond:
		return byHand + ", there and in the network configuration of the host: this tool sets bonds and VLANs alone"
	default:
		members := fmt.Sprintf("bonds: {%s: {members: [%s]}}", term.CleanLine(bond.Name), term.CleanLine(strings.Join(bond.On, ", ")))
		entry = strings.TrimSuffix(members+", "+entry, ", ")
		if more := slices.DeleteFunc(slices.Clone(bond.On), func(name string) bool { return !unlisted(name) }); len(more) > 0 {
			return fmt.Sprintf("list %s in nics of the host in the intent, write %s there, and apply it: %s", term.CleanLine(strings.Join(more, ", ")), entry, then)
		}
	}
	return fmt.Sprintf("write %s for the host into the intent, and apply it: %s", entry, then)
}

// tags finds VLANs that send RDMA with another PCP than intended, if the PCP decides the class.
// RDMA-CM uses the PCP of the priority that the kernel assigns to the ToS.
func (p *portCheck) tags() {
	n := p.host.NIC(p.name)
	if severity, _ := p.tagCounts(); n == nil || severity != checks.Error {
		return
	}
	pcps := nic.RDMATag(p.fabric, n)
	tos := p.want.ToS
	if !tos.Set { // the intent has no DSCP, and does not set the ToS
		tos = p.have.ToS
	}
	if len(pcps) == 0 || !tos.Set {
		return
	}
	from := nic.SocketPriority(tos.V)
	p.tagWriters(from, pcps)
	for _, u := range p.running.Above(p.name) {
		want := p.desired.Uppers[u.Name]
		switch {
		case !u.Egress.Set, slices.Contains(pcps, int(u.Egress.V[from])):
			continue
		case want != nil && want.Egress.Set && !u.Egress.V.Holds(want.Egress.V):
			continue // its change reports it
		}
		fix := nic.RDMAPriority
		if want == nil {
			fix = p.writeUpper(u, "its egress-qos-map gives RDMA the PCP of its class", fmt.Sprintf("ip link set dev %s type vlan egress-qos-map %d:%d", term.CleanLine(u.Name), from, pcps[0]))
		}
		p.found("NIC-02", checks.Error, nic.FieldEgress, fix, "VLAN %s over it sends RDMA-CM with PCP %d, the intent says %s: the kernel has priority %d for ToS %d",
			term.CleanLine(u.Name), u.Egress.V[from], qos.FoldInts(pcps), from, tos.V)
	}
}

// macHashes says what a bond with this xmit_hash_policy sends through one member, where it does not
// look at IP addresses and UDP ports. mlx5 gives each connection the member that the bond's policy
// chooses for it, or hashes by the same policy in hardware (Linux, drivers/infiniband/core/lag.c;
// mlx5/core/lag/port_sel.c, set_tt_map).
var macHashes = map[string]string{
	"layer2":      "by MAC addresses: all RDMA through one router",
	"vlan+srcmac": "by the VLAN and its own MAC address: all RDMA of a VLAN",
}

// bonds finds bonds and bridges that RDMA does not follow, and bonds that choose the member for RDMA
// so that one gets all of it.
func (v *hostCheck) bonds() {
	for _, name := range natural.Keys(v.running.Uppers) {
		u := v.running.Uppers[name]
		if u.Kind == nic.UpperVLAN || v.oneAddress(u) {
			continue
		}
		says := macHashes[u.Hash]
		if u.Kind != nic.UpperBond || says == "" || len(u.On) < 2 || u.Mode != "802.3ad" && u.Mode != "balance-xor" {
			continue
		}
		carries := func(port string) bool {
			p := v.running.Ports[port]
			return v.desired.Ports[port] != nil && p != nil && p.Driver == nic.DriverMLX5
		}
		if !slices.ContainsFunc(u.On, carries) {
			continue
		}
		shown := term.CleanLine(name)
		v.add("NIC-20", checks.Warning, shown, v.host.Pos.String(),
			fmt.Sprintf("ip link set dev %s type bond xmit_hash_policy layer3+4, there and in the network configuration of the host: this tool does not set it", shown),
			"the bond chooses one of its %d members %s takes the same one (xmit_hash_policy %s, mode %s)", len(u.On), says, term.CleanLine(u.Hash), term.CleanLine(u.Mode))
	}
}

// oneAddress finds a bond or bridge whose address several RDMA devices have. The kernel gives it to
// the device of each port below, unless the card joins its ports to one device, as mlx5 does with
// RoCE LAG, or the bond has one active member (Linux, drivers/infiniband/core/roce_gid_mgmt.c,
// is_eth_port_of_netdev_filter). Each device sends and receives at its own port only.
func (v *hostCheck) oneAddress(u *nic.Upper) bool {
	ends, carries := v.addresses(u)
	for addr, with := range ends.All() {
		other := func(e rdmaEnd) bool { return e.device != with[0].device && e.branch != with[0].branch }
		if !slices.ContainsFunc(with, other) {
			continue
		}
		var devices []string
		for _, e := range with {
			devices = append(devices, e.device)
		}
		v.add("NIC-23", checks.Warning, term.CleanLine(u.Name), v.host.Pos.String(),
			"give each of these NICs its own address, or bond the ports of one card in a mode in which its driver joins them (mlx5: active-backup, 802.3ad, balance-xor): this tool creates no bonds",
			"%s all have address %s of the %s: each uses its own port only, and what the switch sends to another port is lost", strings.Join(slices.Compact(natural.Sorted(devices)), ", "), addr, kindOf(u))
		return true
	}
	if u.Kind == nic.UpperBridge && carries {
		v.add("NIC-23", checks.Info, term.CleanLine(u.Name), v.host.Pos.String(), "if only the host's own RDMA uses the NIC, take it out of the bridge and give it the address: this tool does neither; else accept this in the intent",
			"RDMA over the address of the bridge does not pass the bridge: its filters and VLANs do not apply, and its other ports have no RDMA")
	}
	return false
}

// rdmaEnd is an RDMA device below a bond or bridge, and the member that leads to it.
type rdmaEnd struct{ device, branch string }

// addresses returns the RDMA devices of the intent's NICs below a bond or bridge, by the addresses
// that they have. carries reports whether there are any.
func (v *hostCheck) addresses(u *nic.Upper) (ends ordered.Groups[string, rdmaEnd], carries bool) {
	for _, branch := range u.On {
		for _, name := range natural.Keys(v.running.Ports) {
			p := v.running.Ports[name]
			if p == nil || p.RDMA == "" || v.desired.Ports[name] == nil || name != branch && !slices.Contains(v.running.Above(name), v.running.Uppers[branch]) {
				continue
			}
			carries = true
			for _, addr := range p.GIDs.V.V2 {
				if a, err := netip.ParseAddr(addr); err == nil && !a.IsLinkLocalUnicast() {
					ends.Add(addr, rdmaEnd{term.CleanLine(p.RDMA), branch})
				}
			}
		}
	}
	return ends, carries
}

// upper checks a bond or VLAN of the intent.
func (v *hostCheck) upper(name string, changes []nic.Change) {
	have, want := v.running.Uppers[name], v.desired.Uppers[name]
	severity, why := checks.Info, ""
	var says bool // whether MTU-04 reports the MTU on a NIC below
	for port := range v.desired.Ports {
		if p := v.check(port); p.have != nil && slices.Contains(v.running.Above(port), have) {
			if s, w := p.tagCounts(); s.Rank() <= severity.Rank() {
				severity, why = s, w
			}
			says = says || have.MTU.Set && p.want.ActiveMTU.Set && nic.RDMAMTU(have.MTU.V) < p.want.ActiveMTU.V
		}
	}
	for _, ch := range changes {
		what := fmt.Sprintf("%s is %s, the intent says %s", ch.Field, ch.Old, ch.New)
		layer := fmt.Sprintf(" (layer %s)", ch.Layer)
		switch {
		case ch.Kind == nic.KindUnknown && ch.Field == nic.FieldMTU:
			v.unread(Unproven, checks.Error, name, ch.Field, "read the host as root (--sudo)", ch)
		case ch.Kind == nic.KindUnknown:
			v.unread("READ", checks.Info, name, ch.Field, "", ch)
		case ch.Field == nic.FieldPort:
			v.add("NIC-04", checks.Error, name, ch.Reason, ch.Blocked, "the host has no %s of that name over the NICs of the intent", kindOf(want))
		case ch.Field == nic.FieldEgress:
			v.add("NIC-02", severity, name, ch.Reason, blockedOr(ch, applyHost), "%s%s%s", what, why, layer)
		case ch.Field == nic.FieldMTU && says:
		case ch.Field == nic.FieldMTU:
			v.add("DRIFT", checks.Warning, name, ch.Reason, blockedOr(ch, applyHost), "%s%s", what, layer)
		default:
			v.add("DRIFT", checks.Error, name, ch.Reason, blockedOr(ch, applyHost), "%s", what)
		}
	}
}

// tagWriters finds programs that, when they run, give VLANs another PCP for a kernel priority
// than intended.
func (p *portCheck) tagWriters(from int, pcps []int) {
	for _, w := range p.running.Writers {
		if w.Egress == nil || !w.Writes(p.name, nic.FieldEgress) || w.Egress[from] < 0 {
			continue
		}
		pcp, rival := int(w.Egress[from]), nic.SameRival
		set := func(to int) string { return fmt.Sprintf("%d:%d", from, to) }
		ch := nic.Change{Old: set(pcp), New: set(pcp)}
		if !slices.Contains(pcps, pcp) {
			rival, ch.New = nic.OtherRival, set(pcps[0])
		}
		p.rival(w, p.name, p.host.Pos.String(), rival, ch)
	}
}
