package nic

import "strings"

// driverOf returns the driver that the name of an RDMA device implies by the kernel's naming
// (drivers/infiniband/hw); "" if the device was renamed or is not known.
func driverOf(rdma string) string {
	for prefix, driver := range map[string]string{"mlx5_": DriverMLX5, "bnxt_re": DriverBNXT, "irdma": DriverICE, "ionic_": DriverIonic} {
		if strings.HasPrefix(rdma, prefix) {
			return driver
		}
	}
	return ""
}

// place says where a driver keeps a setting; an empty stored means that the driver does not have
// it.
type place struct{ stored, how, lifetime string }

// inCard is the lifetime of settings made with nicctl (AMD's ROCm documentation).
const inCard = "kept by the card until it loses power, with a persona of the card longer"

const (
	bnxtCC = "bnxt_re/DEVICE/ports/1/cc in configfs with Broadcom's own driver, cc_config in debugfs with the kernel's since 6.13"
	ccAll  = "for all priorities or none"
)

// mlx5Alone lists the settings that no other driver has.
var mlx5Alone = []string{FieldCable, FieldBuffers, FieldStallPrevention, FieldTrafficClass}

// elsewhere lists, for drivers other than mlx5, the settings that they keep in a different place.
var elsewhere = map[string]map[string]place{
	DriverBNXT: {
		FieldDCBX:        {stored: dcbnl, how: "the agents of the firmware are turned off in the card's NVM, with niccli"},
		FieldETS:         {stored: dcbnl + "; shown as empty until it is set after the driver is loaded", how: "traffic classes are numbered in the order of the priorities in use"},
		FieldPFC:         {stored: dcbnl + "; shown as empty until it is set after the driver is loaded", how: "a change takes the link down for a moment"},
		FieldTrust:       {stored: dcbnl + " (APP table)"},
		FieldDCQCN:       {stored: "driver, " + bnxtCC},
		FieldECN:         {stored: "driver, ecn_enable and ecn_marking of " + bnxtCC, how: ccAll},
		FieldCNPDSCP:     {stored: "driver, cnp_dscp of " + bnxtCC},
		FieldCNPPriority: {stored: "driver, cnp_prio of " + bnxtCC},
	},
	DriverICE: {
		FieldDCBX:        {stored: dcbnl + ", and the private flag " + AgentICE + ", by ethtool", how: "the firmware changes nothing by itself"},
		FieldETS:         {stored: dcbnl + "; the first DSCP in the APP table resets it", how: "priority n is in traffic class n"},
		FieldTrust:       {stored: dcbnl + " (APP table)", how: "ice trusts DSCP as long as its APP table lists one"},
		FieldECN:         {},
		FieldCNPDSCP:     {},
		FieldCNPPriority: {},
		FieldDCQCN:       {},
	},
	DriverIonic: {
		FieldDCBX:        {},
		FieldWilling:     {},
		FieldCNPPriority: {},
		FieldLinkPause:   {"card, nicctl update port --pause-type pfc", "the pause type is set to pfc instead", inCard},
		FieldTrust:       {"all AMD cards of the host, nicctl update qos --classification-type", "", inCard},
		FieldDSCP:        {"card, nicctl update qos dscp-to-priority", "", inCard},
		FieldETS:         {"card, nicctl update qos scheduling", "by priority; a strict one has a rate limit, 10 Gb/s if it has none yet", "kept by the card until it loses power"},
		FieldPFC:         {"card, nicctl update qos pfc", "a change may take the link down for a moment", inCard},
		FieldECN:         {"card, nicctl update dcqcn", ccAll, inCard},
		FieldCNPDSCP:     {"card, nicctl update dcqcn --cnp-dscp", "", inCard},
	},
}
