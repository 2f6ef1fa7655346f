package nic

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// UpperKind is what an [Upper] is, as the kernel calls it.
type UpperKind string

// The kinds.
const (
	UpperBond   UpperKind = "bond"
	UpperVLAN   UpperKind = "vlan"
	UpperBridge UpperKind = "bridge"
)

// PCPs has a PCP for each priority of the kernel, or the other way round;
// [qos.Unmanaged] in a desired host is one that is left alone.
type PCPs [qos.NumPriorities]int8

// Upper is a bond, VLAN or bridge over ports or over other such devices. RDMA by its
// addresses has its MTU and, over a VLAN, its tag.
type Upper struct {
	Name string    `json:"name"`
	Kind UpperKind `json:"kind"`
	// On are the devices directly below it, in natural order: the members of a bond,
	// the ports of a bridge, the one device of a VLAN.
	On   []string     `json:"on,omitempty"`
	Mode string       `json:"mode,omitempty"` // of a bond: "802.3ad"; running only
	MTU  qos.Opt[int] `json:"mtu,omitzero"`   // bytes of the largest IP packet
	VLAN qos.Opt[int] `json:"vlan,omitzero"`  // its id, 0..4094
	// Egress is the PCP that a VLAN sends each priority of the kernel with, Ingress the
	// priority of each PCP that it receives.
	Egress  qos.Opt[PCPs] `json:"egress,omitzero"`
	Ingress qos.Opt[PCPs] `json:"ingress,omitzero"`
	// From is the intent's line behind each Field; desired only.
	From map[string]string `json:"from,omitempty"`
	// Missing says why something could not be read, by its Field.
	Missing map[string]string `json:"missing,omitempty"`
}

// Above returns the devices over a port, also those over others, in natural order.
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

// standsOn reports whether any of some ports is below a device.
func (h *Host) standsOn(device string, ports map[string]*Port) bool {
	for name := range ports {
		if slices.Contains(h.Above(name), h.Uppers[device]) {
			return true
		}
	}
	return false
}

// RDMAMTU is the largest RDMA payload of a device with an MTU, both in bytes, as the
// kernel works it out; 0 where none fits (Linux include/rdma/ib_addr.h, iboe_get_mtu).
func RDMAMTU(mtu int) int {
	for payload := 4096; payload >= 256; payload /= 2 {
		if payload+intent.RDMAOverhead <= mtu {
			return payload
		}
	}
	return 0
}

// SocketPriority is the priority that the kernel has for a ToS. RDMA-CM sends over a VLAN
// with the PCP of that priority (Linux net/ipv4/route.c, ip_tos2prio;
// drivers/infiniband/core/cma.c, iboe_tos_to_sl).
func SocketPriority(tos int) int { return [...]int{0, 2, 6, 4}[tos>>3&3] }

// RDMATag returns the PCPs of the class of the RDMA that a NIC sends unless the application
// marks it; none where the intent has none.
func RDMATag(f *intent.Fabric, n *intent.NIC) []int {
	if k := firstRDMA(settingsOf(f, n)); k != nil {
		return k.PCP.V
	}
	return nil
}

// firstRDMA is the class of RDMA that the application does not mark; nil for none.
func firstRDMA(s *intent.Settings) *intent.Class {
	rdma := rdmaClasses(s)
	if len(rdma) == 0 {
		return nil
	}
	return rdma[max(0, slices.IndexFunc(rdma, func(k *intent.Class) bool { return len(k.DSCP.V) > 0 }))]
}

// pcpOf is the PCP that frames of a class are sent with: that of its priority where the
// class has it, else its lowest.
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

// uppers adds the bonds and VLANs over the ports of a desired host. A bond and its members
// have one MTU, which the kernel sets together.
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
		problems = append(problems, u.tags(settingsOf(f, n), below.ToS, v)...)
	}
	return problems
}

// tags sets the map of a VLAN: the PCP of its class for the priority of each, and that of
// RDMA for the one that the kernel has for its ToS, unless that is of another class.
func (u *Upper) tags(s *intent.Settings, tos qos.Opt[int], v intent.VLAN) []Problem {
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
				What: fmt.Sprintf("RDMA-CM over VLAN %s is sent with PCP %d: the kernel has priority %d for ToS %d, which is that of another class than %s", v.Name, m[from], from, tos.V, k.Name)}}
		}
	}
	if len(s.Classes) > 0 {
		u.Egress, u.From[FieldEgress] = qos.Of(m), intent.Origin{Pos: s.Classes[0].Pos}.String()
	}
	return problems
}

// RDMAPriority is what to do where RDMA has the PCP of another class for a priority that
// the class has, too.
const RDMAPriority = "give the class of RDMA a DSCP for which the kernel has a priority of no other class, such as 26, or set the service level in the applications"
