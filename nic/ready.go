package nic

import (
	"net/netip"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Transport is what an RDMA device speaks.
type Transport string

// The transports: the node type of the device (Linux, include/rdma/ib_verbs.h, enum
// rdma_node_type) with the link layer of the port.
const (
	TransportRoCE       Transport = "RoCE"
	TransportIWARP      Transport = "iWARP"
	TransportInfiniBand Transport = "InfiniBand"
	TransportOther      Transport = "another transport"
)

// RDMAActive is the state of a port of an RDMA device that can send (Linux,
// drivers/infiniband/core/sysfs.c, state_show).
const RDMAActive = "ACTIVE"

// GIDs are the addresses that a port of an RDMA device can send from.
type GIDs struct {
	// V2 are the IP addresses of those of RoCE v2, without repeats, in the order of the
	// table.
	V2 []string `json:"v2,omitempty"`
	// V1 is how many there are of RoCE v1, which no router passes on.
	V1 int `json:"v1,omitempty"`
}

// Routed reports whether packets can be sent beyond the subnet.
func (g GIDs) Routed() bool {
	return slices.ContainsFunc(g.V2, func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && !a.IsLinkLocalUnicast()
	})
}

// PCIe is the link between a card and its slot, as it is trained, and what the card can.
type PCIe struct {
	// Transfers are in megatransfers per second and lane: 16000 is PCIe 4.0.
	Transfers    int `json:"transfers"`
	MaxTransfers int `json:"max_transfers,omitempty"`
	Lanes        int `json:"lanes"`
	MaxLanes     int `json:"max_lanes,omitempty"`
}

// Rate is what the link carries after its encoding, in each direction: 8b/10b up to PCIe
// 2.0, then 128b/130b, and 242 of 256 bytes of a flit from 6.0 on (PCI Express Base
// Specification 6.0; Linux, drivers/pci/pci.h, PCIE_SPEED2MBS_ENC). The headers of packets
// take some of it.
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
