package nic

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// operatorCNPDSCP is the value that NVIDIA's NIC configuration operator writes to CNP_DSCP if
// roceOptimized is on, up to Network Operator 26.7; from 26.10 on it writes 48 (its
// documentation, "Configuration Details").
const operatorCNPDSCP = 4

// byOperator names a program that may have set a DSCP of congestion notifications; "" if none
// is known.
func byOperator(dscp int) string {
	if dscp != operatorCNPDSCP {
		return ""
	}
	return "; NVIDIA's nic-configuration-operator writes 4 with roceOptimized, up to Network Operator 26.7"
}

// unseenCongestion reports a Broadcom card whose driver does not show congestion control: the
// kernel's bnxt_re shows it from Linux 6.13 on (drivers/infiniband/hw/bnxt_re/debugfs.c),
// Broadcom's own in configfs.
func (p *portCheck) unseenCongestion() {
	h, w := p.have, p.want
	if h.Driver != nic.DriverBNXT || h.RDMA == "" || h.VF || !w.ECN.Set || w.ECN.V == 0 || h.ECN.Set || h.Missing[nic.FieldECN] != nic.NotInDriver {
		return
	}
	// Defaults of Thor2, from the vendor's design page.
	factory := ""
	if firmware := intent.CardModels("14e4")[h.Device]; firmware == "Thor2" && w.CNPDSCP.Set && w.CNPPriority.Set {
		factory = "; from the factory a Thor2 marks them with DSCP 48 and priority 7"
		if w.CNPDSCP.V != 48 || w.CNPPriority.V != 7 {
			factory += fmt.Sprintf(", the intent says %d and %d", w.CNPDSCP.V, w.CNPPriority.V)
		}
	}
	p.c.Add(checks.Finding{ID: "ECN-11", Severity: checks.Info, Device: p.host.Name, Where: w.From[nic.FieldECN], Unchecked: "congestion control", Because: "the driver does not show it",
		What: fmt.Sprintf("bnxt_re does not show whether congestion control is on, and how its notifications are marked%s (layer %s)", factory, nic.LayerDriver),
		Fix:  "use Linux 6.13 or newer, or Broadcom's own bnxt_re, where this tool sees it; else look at it with niccli, and accept this in the intent"}, p.name)
}
