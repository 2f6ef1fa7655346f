package nic

import (
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

// PCPs has a priority of the kernel or a PCP for each of the other.
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

// RDMATag is the PCP that the intent gives the RDMA that a NIC sends unless the
// application marks it; ok is false where the intent has none.
func RDMATag(f *intent.Fabric, n *intent.NIC) (pcp int, ok bool) {
	rdma := rdmaClasses(settingsOf(f, n))
	if len(rdma) == 0 {
		return 0, false
	}
	k := rdma[max(0, slices.IndexFunc(rdma, func(k *intent.Class) bool { return len(k.DSCP.V) > 0 }))]
	if len(k.PCP.V) == 0 {
		return 0, false
	}
	return k.PCP.V[0], true
}
