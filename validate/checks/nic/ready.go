package nic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// rdmaModules are the kernel modules that create the RDMA devices of each driver's cards.
var rdmaModules = map[string]string{nic.DriverMLX5: "mlx5_ib", nic.DriverBNXT: "bnxt_re", nic.DriverICE: "irdma", nic.DriverIonic: "ionic_rdma"}

// checkReadiness finds faults that keep RDMA from running, or from running at the speed of the
// link, even if the port is set correctly.
func (p *portCheck) checkReadiness() {
	h, at := p.have, p.want.From[nic.FieldPort]
	switch {
	case h.RDMA == "":
		p.noRDMA(at)
		return
	case !p.want.ToS.Set:
		return
	}
	p.transport(at)
	if g := h.GIDs; g.Set && h.Carrier.V && h.Transport.V == nic.TransportRoCE {
		switch {
		case g.V.Routed():
		case len(g.V.V2) > 0:
			p.add("NIC-14", checks.Warning, p.name, at, "give the interface an IP address", "RoCE v2 has link-local addresses alone: RDMA does not leave the subnet")
		case g.V.V1 > 0:
			p.add("NIC-14", checks.Error, p.name, at, "turn RoCE v2 on in the firmware or the driver of the card: this tool does not", "the NIC has addresses for RoCE v1 alone")
		default:
			p.add("NIC-14", checks.Error, p.name, at, "bring the interface up and give it an IP address; on an NVIDIA card look at 'devlink dev param show', enable_roce: this tool does not set it", "the NIC has no address for RoCE v2: no connection can be made")
		}
	}
	p.slot(at)
	p.pairs(at)
	p.gpus(at)
	p.received(at)
}

// noRDMA reports a missing RDMA device if the intent uses it.
func (p *portCheck) noRDMA(at string) {
	severity := checks.Warning
	switch {
	case p.want.RDMA != "":
		severity = checks.Error
	case !p.want.ToS.Set || !p.mayNeedRDMA():
		return
	}
	fix := "load the module that makes the RDMA device of the card"
	if m := rdmaModules[p.have.Driver]; m != "" {
		fix = fmt.Sprintf("load the module %s, and look into the kernel's log for why it made none", m)
	}
	if p.have.RDMAOff() {
		fix = "RDMA is off in the NVM of the card: apply the intent to the host, which turns it on there, and reboot the host"
	}
	p.add("NIC-13", severity, p.name, at, fix, "the NIC has no RDMA device")
}

// mayNeedRDMA reports whether a NIC that states no RDMA device may be meant to have one: no NIC of
// its host states one, and its port is lossless or no NIC of the fabric states one either.
func (p *portCheck) mayNeedRDMA() bool {
	n := p.host.NIC(p.name)
	if n == nil || topology.RDMAOf(n) != topology.UnknownRDMA {
		return false
	}
	return p.want.PFC.V != 0 || !slices.ContainsFunc(p.fabric.Hosts, func(h *intent.Host) bool {
		return slices.ContainsFunc(h.NICs, func(m *intent.NIC) bool { return m.RDMA.V != "" })
	})
}

func (p *portCheck) transport(at string) {
	switch t := p.have.Transport; {
	case !t.Set:
	case t.V == nic.TransportRoCE:
		if s := p.have.RDMAState; s.Set && s.V != nic.RDMAActive && p.have.Carrier.V {
			p.add("NIC-13", checks.Error, p.name, at, "bring the interface up: 'rdma link' and the kernel's log say more", "the RDMA port is %s although the NIC has a carrier", term.CleanLine(s.V))
		}
	case t.V == nic.TransportIWARP && p.have.Driver == nic.DriverICE:
		p.add("NIC-13", checks.Error, p.name, at, fmt.Sprintf("turn enable_iwarp off and enable_roce on with 'devlink dev param set pci/%s', or with Intel's own irdma set roce_ena=1: this tool does not", term.CleanLine(p.have.PCI)), "the RDMA device speaks iWARP")
	case t.V == nic.TransportInfiniBand:
		p.add("NIC-13", checks.Error, p.name, at, "set LINK_TYPE of the port to ETH with mlxconfig, and reset the card: this tool does not", "the port of the card is set to InfiniBand")
	default:
		p.add("NIC-13", checks.Error, p.name, at, "use a card with RoCE v2, or its mode for it", "the RDMA device speaks %s", t.V)
	}
}

// lost explains a NIC that the host does not have.
func (v *hostCheck) lost(want *nic.Port) (what, fix string) {
	if want.Select.Set {
		why := cmp.Or(v.running.Unchosen[want.Name], want.Select.V.String())
		return term.CleanLine(why), "correct select in the intent, or look for the card"
	}
	what, fix = "the host has no such interface", "correct its name in the intent, or look for the card"
	if want.RDMA != "" {
		for _, name := range natural.Keys(v.running.Ports) {
			if p := v.running.Ports[name]; p != nil && p.RDMA == want.RDMA && p.RDMAPort <= 1 && v.desired.Ports[name] == nil {
				return fmt.Sprintf("%s: its RDMA device %s belongs to %s", what, want.RDMA, term.CleanLine(name)), "correct its name in the intent, or on the host"
			}
		}
	}
	if where := v.elsewhere(want); where != "" {
		return what + ": " + where, "take it out of the intent, or validate from there; or give it back to the host"
	}
	away := v.running.Away
	if want.RDMA != "" {
		away = slices.DeleteFunc(slices.Clone(away), func(name string) bool { return name != want.RDMA })
	}
	if len(away) > 0 {
		have := "has"
		if len(away) > 1 {
			have = "have"
		}
		what += fmt.Sprintf("; %s %s no interface in this network namespace", term.CleanLine(strings.Join(away, ", ")), have)
		fix = "if a container has it, take it out of the intent, or validate from there; else correct its name in the intent"
	}
	return what, fix
}

// elsewhere says which other network namespace has the interface of a missing NIC; "" if that is not
// known.
func (v *hostCheck) elsewhere(want *nic.Port) string {
	for _, e := range v.running.Elsewhere {
		if e.Interface != want.Name && (e.RDMA == "" || e.RDMA != want.RDMA) {
			continue
		}
		of := ""
		if e.RDMA != "" {
			of = " of RDMA device " + term.CleanLine(e.RDMA)
		}
		return fmt.Sprintf("interface %s%s, on %s, is in the network namespace of %s", term.CleanLine(e.Interface), of, term.CleanLine(e.PCI), term.CleanLine(e.Owner))
	}
	return ""
}

// slot compares the speed of the card's PCIe slot with the speed of its link, and with the PCIe
// speed that the card supports.
func (p *portCheck) slot(at string) {
	pcie, speed := p.have.PCIe.V, p.speed
	if p.have.Speed.Set && p.have.Carrier.V {
		speed = p.have.Speed.V
	}
	if !p.have.PCIe.Set || p.have.VF {
		return
	}
	is := fmt.Sprintf("the slot gives the card %g GT/s on %d lanes, %.0f Gb/s", float64(pcie.Transfers)/1000, pcie.Lanes, pcie.Rate().Gbps())
	fix := "move the card to a slot with more lanes, or seat it anew; look at the slot's settings in the BIOS"
	switch {
	case speed > 0 && pcie.Rate() < speed:
		p.add("NIC-15", checks.Warning, p.name, at, fix, "%s, and the link runs at %s", is, speed)
	case pcie.Lanes < pcie.MaxLanes || pcie.Transfers < pcie.MaxTransfers:
		p.add("NIC-15", checks.Info, p.name, at, fix, "%s; the card can do %g GT/s on %d", is, float64(pcie.MaxTransfers)/1000, pcie.MaxLanes)
	}
}
