package nic

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// vfs finds VFs whose settings in the kernel, or whose interface, keep RDMA from running as the
// intent says. Where the intent states the setting, its change reports it.
func (p *portCheck) vfs() {
	says := ordered.Groups[vfFault, int]{}
	for _, v := range p.have.Each {
		for _, f := range p.vfFaults(v) {
			says.Add(f, v.Number)
		}
	}
	for f, of := range says.All() {
		p.add("NIC-24", f.severity, p.name, p.want.From[nic.FieldPort], f.fix, "VF %s %s", qos.FoldInts(of), f.says)
	}
}

// vfFault is a fault that several VFs may have.
type vfFault struct {
	severity  checks.Severity
	says, fix string
}

func (p *portCheck) vfFaults(v nic.VF) (out []vfFault) {
	by := func(what string) string {
		return fmt.Sprintf("ip link set %s vf N %s, there and in what makes the VFs: this tool does not set it", term.CleanLine(p.have.Name), what)
	}
	if v.Down {
		out = append(out, vfFault{checks.Warning, "is shut by the host: its link is down whatever the port is (link-state disable)", by("state auto")})
	}
	if v.MaxRate > 0 {
		out = append(out, vfFault{checks.Info, fmt.Sprintf("sends at most %s (max_tx_rate)", units.Rate(v.MaxRate)*1e6), by("max_tx_rate 0")})
	}
	n := p.host.NIC(p.name)
	if severity, _ := p.tagCounts(); n != nil && v.VLAN > 0 && severity == checks.Error && !p.want.VFTag.Set {
		if pcps := nic.RDMATag(p.fabric, n); len(pcps) > 0 && !slices.Contains(pcps, v.Priority) {
			out = append(out, vfFault{checks.Warning, fmt.Sprintf("sends all frames with VLAN %d and priority %d, the intent says %s for RDMA", v.VLAN, v.Priority, qos.FoldInts(pcps)),
				fmt.Sprintf("write vfs: {vlan: %d} for the NIC into the intent, and apply it to the host", v.VLAN)})
		}
	}
	if most := nic.RDMAMTU(v.MTU); v.Up && v.MTU > 0 && p.want.ActiveMTU.Set && most < p.want.ActiveMTU.V {
		out = append(out, vfFault{checks.Warning, fmt.Sprintf("has an MTU of %d B, so that its RDMA MTU is at most %d B, the intent says %d B", v.MTU, most, p.want.ActiveMTU.V),
			"raise the MTU of the interface of the VF in the network configuration of the host, or of the pod that has it: this tool does not set it"})
	}
	return out
}
