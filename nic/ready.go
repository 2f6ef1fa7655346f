package nic

import (
	"net/netip"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Transport is the transport protocol of an RDMA device.
type Transport string

// The transports, derived from the node type of the device (Linux, include/rdma/ib_verbs.h, enum
// rdma_node_type) and the link layer of the port.
const (
	TransportRoCE       Transport = "RoCE"
	TransportIWARP      Transport = "iWARP"
	TransportInfiniBand Transport = "InfiniBand"
	TransportOther      Transport = "another transport"
)

// RDMAActive is the state of an RDMA device's port that can send (Linux,
// drivers/infiniband/core/sysfs.c, state_show).
const RDMAActive = "ACTIVE"

// GIDs holds the addresses that a port of an RDMA device can send from.
type GIDs struct {
	// V2 holds the IP addresses of the RoCE v2 GIDs, without duplicates, in table order.
	V2 []string `json:"v2,omitempty"`
	// V1 is the number of RoCE v1 GIDs, whose packets cannot be routed.
	V1 int `json:"v1,omitempty"`
	// Slot is the first slot of the table with an address for RoCE v2 that is not link-local.
	Slot qos.Opt[int] `json:"slot,omitzero"`
}

// Routed reports whether the port has an address for sending beyond its subnet.
func (g GIDs) Routed() bool { return len(g.Addresses()) > 0 }

// Addresses returns the addresses of the port for sending beyond its subnet.
func (g GIDs) Addresses() (out []netip.Addr) {
	for _, s := range g.V2 {
		if a, err := netip.ParseAddr(s); err == nil && !a.IsLinkLocalUnicast() {
			out = append(out, a)
		}
	}
	return out
}

// PCIe describes the link between a card and its slot: the trained values and the maximum.
type PCIe struct {
	// Transfers is in megatransfers per second and lane: 16000 is PCIe 4.0.
	Transfers    int `json:"transfers"`
	MaxTransfers int `json:"max_transfers,omitempty"`
	Lanes        int `json:"lanes"`
	MaxLanes     int `json:"max_lanes,omitempty"`
}

// Rate returns what the link carries in each direction after its encoding: 8b/10b up to PCIe 2.0,
// then 128b/130b, and 242 of 256 bytes per flit from 6.0 on (PCI Express Base Specification 6.0;
// Linux, drivers/pci/pci.h, PCIE_SPEED2MBS_ENC). Packet headers are not deducted.
func (p PCIe) Rate() units.Rate {
	perLane := float64(p.Transfers) * 1e6
	switch {
	case p.Transfers <= 5000:
		perLane *= 8. / 10
	case p.Transfers <= 32000:
		perLane *= 128. / 130
	default:
		perLane *= 242. / 256
	}
	return units.Rate(perLane * float64(p.Lanes))
}
