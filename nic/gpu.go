package nic

import "github.com/roce-fabric/roce-fabric/intent/qos"

// GPU is an accelerator of a host.
type GPU struct {
	PCI string `json:"pci"` // "0000:9b:00.0"
	Seat
}

// Seat is where a card is on PCIe.
type Seat struct {
	// Root is its root complex, as sysfs names it: "pci0000:97".
	Root string `json:"root,omitempty"`
	// Node is the NUMA node, not set where the firmware of the host does not tell.
	Node qos.Opt[int] `json:"node,omitzero"`
}

// Near are the GPUs of a host on the root complex of a port, Beside those on its NUMA node
// alone.
func (h *Host) Near(p *Port) (near, beside []GPU) {
	for _, g := range h.GPUs {
		switch {
		case g.Root == p.Seat.V.Root:
			near = append(near, g)
		case g.Node.Set && g.Node == p.Seat.V.Node:
			beside = append(beside, g)
		}
	}
	return near, beside
}
