package nic

import "strings"

// The fields: what [Change.Field] says and [Port.Missing] is keyed with.
const (
	FieldAgents = "agents" // of the host
	FieldUnit   = "unit"   // of the host
	FieldUppers = "uppers" // of the host: its bonds, VLANs and bridges
	// FieldWriters are the other writers, of the host; no Change speaks of them.
	FieldWriters = "writers"

	// Of a bond or VLAN, with FieldPort and FieldMTU.

	FieldOn     = "on" // the devices below it
	FieldVLAN   = "vlan_id"
	FieldEgress = "egress_qos_map"

	FieldPort         = "port" // the interface as a whole
	FieldRDMA         = "rdma" // the name of the RDMA device
	FieldDCB          = "dcb"  // all DCB settings at once: a function that has none
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
	FieldNV           = "nv" // all firmware settings; one is "nv[CNP_DSCP_P1]"

	FieldStallPrevention = "stall_prevention"

	// Of virtual and scalable functions.

	FieldVFs             = "vfs"
	FieldSFs             = "sfs"
	FieldVFTrust         = "vf_trust"
	FieldRepresentors    = "representors"
	FieldMaxReadRequest  = "max_read_request"
	FieldRelaxedOrdering = "relaxed_ordering"
	FieldDCQCN           = "dcqcn" // all parameters at once; one is "dcqcn[rp_ai_rate]"

	// Running state that no Change speaks of.

	FieldActiveMTU = "active_mtu"
	FieldCarrier   = "carrier"
	FieldCounters  = "counters"
	FieldTransport = "transport"
	FieldRDMAState = "rdma_state"
	FieldGIDs      = "gids"
	FieldPCIe      = "pcie"
	FieldPairs     = "queue_pairs"
	FieldFEC       = "fec"
	FieldReceived  = "received"
	FieldFirmware  = "firmware"
)

// layers of the fields that are settings.
var layers = map[string]Layer{
	FieldDCBX: LayerDriver, FieldLinkPause: LayerDriver, FieldETS: LayerDriver, FieldBuffers: LayerDriver,
	FieldCable: LayerDriver, FieldPFC: LayerDriver, FieldDSCP: LayerDriver, FieldTrust: LayerDriver,
	FieldECN: LayerDriver, FieldCNPDSCP: LayerDriver, FieldCNPPriority: LayerDriver, FieldMTU: LayerDriver,
	FieldWilling: LayerDriver, FieldStallPrevention: LayerDriver, FieldMaxReadRequest: LayerDriver, FieldDCQCN: LayerDriver,
	FieldDCB: LayerDriver, FieldRings: LayerDriver, FieldRoCEApp: LayerDriver,
	FieldEgress: LayerDriver, FieldVFs: LayerDriver, FieldSFs: LayerDriver, FieldVFTrust: LayerDriver, FieldRepresentors: LayerDriver,
	FieldMode: LayerRDMA, FieldToS: LayerRDMA, FieldTrafficClass: LayerRDMA,
	FieldNV: LayerFirmware, FieldRelaxedOrdering: LayerFirmware,
}

// LayerOf returns the layer of a field, "" for one that is no setting of a port.
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

// NVName returns the firmware setting that a field is of.
func NVName(field string) (name string, ok bool) { return partOf(field, FieldNV) }

// DCQCNName returns the parameter of congestion control that a field is of.
func DCQCNName(field string) (name string, ok bool) { return partOf(field, FieldDCQCN) }

// ShowsUnderLoad reports whether a field is of congestion control or buffers, which show in
// the traffic under load alone.
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

// OfDCB reports whether a field is one that a DCBX agent writes (IEEE 802.1Qaz).
func OfDCB(field string) bool {
	return field == FieldPFC || field == FieldETS || field == FieldDSCP || field == FieldTrust || field == FieldRoCEApp
}

// OfCM reports whether a field is a default of RDMA-CM, which needs its module.
func OfCM(field string) bool { return field == FieldMode || field == FieldToS }
