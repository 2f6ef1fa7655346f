package nic

import (
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// gpus checks whether RDMA to GPU memory leaves the root complex of the NIC.
func (p *portCheck) gpus(at string) {
	if len(p.running.GPUs) == 0 || !p.have.Seat.Set {
		return
	}
	near, beside := p.running.GPUsNear(p.have)
	severity, way := checks.Info, "they are on its NUMA node"
	switch seat := p.have.Seat.V; {
	case len(near) > 0:
		return
	case len(beside) > 0 && len(beside) < len(p.running.GPUs):
		way = "some are on its NUMA node"
	case len(beside) > 0:
	case seat.Node.Set && p.running.GPUs[0].Node.Set:
		severity, way = checks.Warning, "they are on other NUMA nodes, and RDMA to their memory crosses the link between CPUs"
	default:
		way = "the host does not show their NUMA nodes"
	}
	p.add("NIC-17", severity, p.name, at, "move the card to a slot next to a GPU; if it is no NIC of the GPUs, accept this in the intent",
		"no GPU of the host is on the PCIe root complex of the NIC, %s: %s", term.CleanLine(p.have.Seat.V.Root), way)
}
