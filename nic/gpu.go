package nic

import "github.com/roce-fabric/roce-fabric/intent/qos"

// GPU is an accelerator of a host.
type GPU struct {
	PCI string `json:"pci"` // "0000:9b:00.0"
	Seat
}

// Seat is a card's location in the PCIe topology.
type Seat struct {
	// Root is the root complex as named in sysfs: "pci0000:97".
	Root string `json:"root,omitempty"`
	// Node is the NUMA node; unset if the host's firmware does not report it.
	Node qos.Opt[int] `json:"node,omitzero"`
}

// GPUsNear returns the GPUs on the same root complex as the port (near), and those only on the same
// NUMA node (beside).
func (h *Host) GPUsNear(p *Port) (sameRoot, sameNode []GPU) {
	for _, g := range h.GPUs {
		switch {
		case g.Root == p.Seat.V.Root:
			sameRoot = append(sameRoot, g)
		case g.Node.Set && g.Node == p.Seat.V.Node:
			sameNode = append(sameNode, g)
		}
	}
	return sameRoot, sameNode
}
