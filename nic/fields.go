package nic

import "strings"

// Fields, as used in [Change.Field] and as keys of [Port.Missing].
const (
	FieldAgents = "agents" // of the host: daemons that write DCB settings
	FieldUnit   = "unit"   // of the host: the boot unit
	FieldUppers = "uppers" // of the host: its bonds, VLANs and bridges
	// FieldWriters stands for the other writers on the host; no Change uses it.
	FieldWriters = "writers"

	// Fields of a bond or VLAN, in addition to FieldPort and FieldMTU.

	FieldOn     = "on" // the devices below it
	FieldVLAN   = "vlan_id"
	FieldEgress = "egress_qos_map"

	FieldPort         = "port" // the interface as a whole
	FieldRDMA         = "rdma" // the name of the RDMA device
	FieldDCB          = "dcb"  // all DCB settings at once, for a function without DCB
	FieldDCBX         = "dcbx"
	FieldLinkPause    = "link_pause"
	FieldRings        = "rings"
	FieldETS          = "ets"
	FieldBuffers      = "buffers"
	FieldCable        = "cable"
	FieldPFC          = "pfc"
	FieldDSCP         = "dscp"
	FieldTrust        = "trust"
	FieldRoCEApp      = "roce_app"
	FieldMode         = "mode"
	FieldToS          = "tos"
	FieldTrafficClass = "traffic_class"
	FieldECN          = "ecn"
	FieldCNPDSCP      = "cnp_dscp"
	FieldCNPPriority  = "cnp_priority"
	FieldMTU          = "mtu"
	FieldWilling      = "willing"
	FieldNV           = "nv" // all firmware settings; a single one is "nv[CNP_DSCP_P1]"

	FieldStallPrevention = "stall_prevention"

	// Fields of virtual and scalable functions.

	FieldVFs             = "vfs"
	FieldSFs             = "sfs"
	FieldVFTrust         = "vf_trust"
	FieldVFTag           = "vf_tag" // the VLAN tag that the card adds to frames of VFs
	FieldRepresentors    = "representors"
	FieldMaxReadRequest  = "max_read_request"
	FieldRelaxedOrdering = "relaxed_ordering"
	FieldDCQCN           = "dcqcn" // all parameters at once; a single one is "dcqcn[rp_ai_rate]"

	// Fields of the running state that no Change uses.

	FieldActiveMTU = "active_mtu"
	FieldCarrier   = "carrier"
	FieldCounters  = "counters"
	FieldTransport = "transport"
	FieldRDMAState = "rdma_state"
	FieldGIDs      = "gids"
	FieldReach     = "reach"
	FieldPCIe      = "pcie"
	FieldPairs     = "queue_pairs"
	FieldFEC       = "fec"
	FieldReceived  = "received"
	FieldFirmware  = "firmware"
)

// layers maps each field that is a setting to its layer.
var layers = map[string]Layer{
	FieldDCBX: LayerDriver, FieldLinkPause: LayerDriver, FieldETS: LayerDriver, FieldBuffers: LayerDriver,
	FieldCable: LayerDriver, FieldPFC: LayerDriver, FieldDSCP: LayerDriver, FieldTrust: LayerDriver,
	FieldECN: LayerDriver, FieldCNPDSCP: LayerDriver, FieldCNPPriority: LayerDriver, FieldMTU: LayerDriver,
	FieldWilling: LayerDriver, FieldStallPrevention: LayerDriver, FieldMaxReadRequest: LayerDriver, FieldDCQCN: LayerDriver,
	FieldDCB: LayerDriver, FieldRings: LayerDriver, FieldRoCEApp: LayerDriver,
	FieldEgress: LayerDriver, FieldVFs: LayerDriver, FieldSFs: LayerDriver, FieldVFTrust: LayerDriver, FieldVFTag: LayerDriver, FieldRepresentors: LayerDriver,
	FieldMode: LayerRDMA, FieldToS: LayerRDMA, FieldTrafficClass: LayerRDMA,
	FieldNV: LayerFirmware, FieldRelaxedOrdering: LayerFirmware,
}

// LayerOf returns the layer of a field, or "" if the field is not a port setting.
func LayerOf(field string) Layer {
	for _, whole := range []string{FieldNV, FieldDCQCN} {
		if _, ok := partOf(field, whole); ok {
			return layers[whole]
		}
	}
	return layers[field]
}

// nvField returns the field of a firmware setting: "nv[CNP_DSCP_P1]".
func nvField(name string) string { return FieldNV + "[" + name + "]" }

// NVName returns the name of the firmware setting that a field stands for.
func NVName(field string) (name string, ok bool) { return partOf(field, FieldNV) }

// DCQCNName returns the name of the congestion control parameter that a field stands for.
func DCQCNName(field string) (name string, ok bool) { return partOf(field, FieldDCQCN) }

// ShowsUnderLoad reports whether the effect of a field, congestion control or buffers, is visible
// only in traffic under load.
func ShowsUnderLoad(field string) bool {
	_, dcqcn := DCQCNName(field)
	return dcqcn || field == FieldECN || field == FieldBuffers
}

func partOf(field, whole string) (name string, ok bool) {
	name, ok = strings.CutPrefix(field, whole+"[")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "]")
}

// OfDCB reports whether a DCBX agent writes the field (IEEE 802.1Qaz).
func OfDCB(field string) bool {
	return field == FieldPFC || field == FieldETS || field == FieldDSCP || field == FieldTrust || field == FieldRoCEApp
}

// OfCM reports whether the field is a default of RDMA-CM, which requires the rdma_cm module.
func OfCM(field string) bool { return field == FieldMode || field == FieldToS }
