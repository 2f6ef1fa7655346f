package nic

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// UpperKind is the kind of an [Upper], as the kernel names it.
type UpperKind string

// The kinds of uppers.
const (
	UpperBond   UpperKind = "bond"
	UpperVLAN   UpperKind = "vlan"
	UpperBridge UpperKind = "bridge"
)

// PCPs maps each kernel priority to a PCP, or each PCP to a kernel priority. In a desired host,
// [qos.Unmanaged] marks an entry that is left alone.
type PCPs [qos.NumPriorities]int8

// Upper is a bond, VLAN or bridge over ports or over other such devices. RDMA that uses the
// addresses of an Upper also uses its MTU and, over a VLAN, its tag.
type Upper struct {
	Name string    `json:"name"`
	Kind UpperKind `json:"kind"`
	// On lists the devices directly below, in natural order: the members of a bond, the ports of a
	// bridge, or the one device of a VLAN.
	On   []string     `json:"on,omitempty"`
	Mode string       `json:"mode,omitempty"` // mode of a bond: "802.3ad"; running only
	Hash string       `json:"hash,omitempty"` // by what a bond chooses a member: "layer3+4"; running only
	MTU  qos.Opt[int] `json:"mtu,omitzero"`   // bytes of the largest IP packet
	VLAN qos.Opt[int] `json:"vlan,omitzero"`  // VLAN ID, 0..4094
	// Egress maps each kernel priority to the PCP that a VLAN sends; Ingress maps each received PCP
	// to a kernel priority.
	Egress  qos.Opt[PCPs] `json:"egress,omitzero"`
	Ingress qos.Opt[PCPs] `json:"ingress,omitzero"`
	// From is the line of the intent behind each Field; desired only.
	From map[string]string `json:"from,omitempty"`
	// Missing says, by Field, why a value could not be read.
	Missing map[string]string `json:"missing,omitempty"`
}

// Above returns the devices directly or indirectly over a port, in natural order.
func (h *Host) Above(port string) []*Upper {
	found := map[string]*Upper{}
	for todo := []string{port}; len(todo) > 0; todo = todo[1:] {
		for name, u := range h.Uppers {
			if u != nil && found[name] == nil && slices.Contains(u.On, todo[0]) {
				found[name] = u
				todo = append(todo, name)
			}
		}
	}
	var out []*Upper
	for _, name := range natural.Keys(found) {
		out = append(out, found[name])
	}
	return out
}

// isAbove reports whether at least one of the ports is below the device.
func (h *Host) isAbove(device string, ports map[string]*Port) bool {
	for name := range ports {
		if slices.Contains(h.Above(name), h.Uppers[device]) {
			return true
		}
	}
	return false
}

// RDMAMTU returns the largest RDMA payload for a device MTU, both in bytes, as the kernel
// calculates it; 0 if no payload fits (Linux include/rdma/ib_addr.h, iboe_get_mtu).
func RDMAMTU(mtu int) int {
	for payload := 4096; payload >= 256; payload /= 2 {
		if payload+intent.RDMAOverhead <= mtu {
			return payload
		}
	}
	return 0
}

// SocketPriority returns the kernel's priority for a ToS. Over a VLAN, RDMA-CM sends with the PCP
// of that priority (Linux net/ipv4/route.c, ip_tos2prio; drivers/infiniband/core/cma.c,
// iboe_tos_to_sl).
func SocketPriority(tos int) int { return [...]int{0, 2, 6, 4}[tos>>3&3] }

// RDMATag returns the PCPs of the class of RDMA traffic that applications on a NIC do not mark; nil
// if the intent has no such class.
func RDMATag(f *intent.Fabric, n *intent.NIC) []int {
	if k := firstRDMA(settingsOf(f, n)); k != nil {
		return k.PCP.V
	}
	return nil
}

// firstRDMA returns the class of RDMA that applications do not mark; nil if there is none.
func firstRDMA(s *intent.Settings) *intent.Class {
	rdma := rdmaClasses(s)
	if len(rdma) == 0 {
		return nil
	}
	return rdma[max(0, slices.IndexFunc(rdma, func(k *intent.Class) bool { return len(k.DSCP.V) > 0 }))]
}

// pcpOf returns the PCP for frames of a class: the PCP equal to its priority if the class has it,
// or else its lowest.
func pcpOf(k *intent.Class) (int, bool) {
	switch l := k.PCP.V; {
	case len(l) == 0:
		return 0, false
	case slices.Contains(l, k.Priority.V):
		return k.Priority.V, true
	default:
		return l[0], true
	}
}

// uppers adds the bonds and VLANs over the ports of a desired host. A bond and its members share
// one MTU, because the kernel sets it on all of them.
func (h *Host) uppers(f *intent.Fabric, host *intent.Host) (problems []Problem) {
	add := func(u *Upper, pos intent.Pos, mtu qos.Opt[int], from string) {
		if h.Uppers == nil {
			h.Uppers = map[string]*Upper{}
		}
		u.MTU, u.From[FieldPort], u.From[FieldMTU] = mtu, pos.String(), from
		h.Uppers[u.Name] = u
	}
	nicBelow := map[string]*intent.NIC{}
	for _, b := range host.Bonds {
		var least *Port
		for _, m := range b.Members.V {
			if p := h.Ports[m]; p != nil && (least == nil || p.MTU.V < least.MTU.V) {
				least, nicBelow[b.Name] = p, host.NIC(m)
			}
		}
		if least == nil {
			continue
		}
		for _, m := range b.Members.V {
			if p := h.Ports[m]; p != nil {
				p.MTU, p.From[FieldMTU] = least.MTU, least.From[FieldMTU]
			}
		}
		add(&Upper{Name: b.Name, Kind: UpperBond, On: b.Members.V, From: map[string]string{FieldOn: b.Members.From.String()}}, b.Pos, least.MTU, least.From[FieldMTU])
	}
	for _, v := range host.VLANs {
		n := nicBelow[v.On.V]
		if p := h.Ports[v.On.V]; p != nil {
			n = host.NIC(v.On.V)
		}
		if n == nil {
			continue
		}
		below := h.Ports[n.Name]
		u := &Upper{Name: v.Name, Kind: UpperVLAN, On: []string{v.On.V}, VLAN: qos.Of(v.ID.V), From: map[string]string{FieldOn: v.On.From.String(), FieldVLAN: v.ID.From.String()}}
		add(u, v.Pos, below.MTU, below.From[FieldMTU])
		problems = append(problems, u.setEgressMap(settingsOf(f, n), below.ToS, v)...)
	}
	return problems
}

// setEgressMap sets the egress map of a VLAN: the priority of each class is mapped to the PCP of
// the class. The kernel priority of the RDMA ToS is mapped to the PCP of RDMA, unless it belongs to
// another class.
func (u *Upper) setEgressMap(s *intent.Settings, tos qos.Opt[int], v intent.VLAN) []Problem {
	var m PCPs
	for i := range m {
		m[i] = qos.Unmanaged
	}
	for _, k := range s.Classes {
		if pcp, ok := pcpOf(k); ok {
			m[k.Priority.V] = int8(pcp)
		}
	}
	var problems []Problem
	if k := firstRDMA(s); k != nil && tos.Set {
		from := SocketPriority(tos.V)
		pcp, ok := pcpOf(k)
		switch {
		case !ok:
		case m[from] == qos.Unmanaged:
			m[from] = int8(pcp)
		case int(m[from]) != pcp && s.Trust.V == qos.TrustPCP:
			problems = []Problem{{Port: v.Name, Where: k.DSCP.From.String(), Hint: RDMAPriority,
				What: fmt.Sprintf("RDMA-CM over VLAN %s is sent with PCP %d: ToS %d has kernel priority %d, which belongs to a class other than %s", v.Name, m[from], tos.V, from, k.Name)}}
		}
	}
	if len(s.Classes) > 0 {
		u.Egress, u.From[FieldEgress] = qos.Of(m), intent.Origin{Pos: s.Classes[0].Pos}.String()
	}
	return problems
}

// RDMAPriority is the hint for RDMA that is sent with another class's PCP, because the kernel
// priority of its ToS belongs to that class.
const RDMAPriority = "give the class of RDMA a DSCP whose kernel priority belongs to no other class, such as 26, or set the service level in the applications"
