package intent

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// rawCard holds the settings of a NIC's card, as opposed to those of its port.
type rawCard struct {
	DCQCN           numbers     `key:"dcqcn" min:"0" max:"4294967295" doc:"Parameters of congestion control by the name that the driver of the kernel gives them, such as rp_ai_rate of mlx5 and init_cr of bnxt; NVIDIA's and Broadcom's own drivers take the same names. Those of other cards this tool does not set. Default: left alone."`
	DCBX            opt[string] `key:"dcbx" enum:"host,keep" doc:"Owner of DCBX. host: the host decides, and the LLDP and DCBX agents of the firmware are turned off; keep: it stays as it is. Default host."`
	MaxReadRequest  opt[int]    `key:"maxReadRequest" enum:"128,256,512,1024,2048,4096" doc:"Largest read request of the card on PCIe, bytes. Default: left alone."`
	RelaxedOrdering opt[string] `key:"relaxedOrdering" enum:"on,keep" doc:"on: the writes of the card on PCIe may overtake each other (PCI_WR_ORDERING); NVIDIA's cards alone. Default keep."`
}

// CardLine holds the card settings that one line of the intent states for its NICs.
type CardLine struct {
	// DCQCN maps congestion control parameters to values; nil leaves all of them unchanged.
	DCQCN Value[map[string]int]
	// KeepDCBX leaves the DCBX owner and the firmware's LLDP and DCBX agents unchanged.
	KeepDCBX Value[bool]
	// MaxReadRequest is in bytes; 0 leaves it unchanged.
	MaxReadRequest Value[int]
	// RelaxedOrdering turns relaxed PCIe ordering on; false leaves it unchanged.
	RelaxedOrdering Value[bool]
}

func (v *rawCard) line() CardLine {
	l := CardLine{MaxReadRequest: from(v.MaxReadRequest, 0), RelaxedOrdering: unlessKeep(v.RelaxedOrdering), DCQCN: Value[map[string]int]{From: byDefault}}
	if v.DCQCN.V != nil {
		l.DCQCN = Value[map[string]int]{V: v.DCQCN.V, From: Origin{Pos: v.DCQCN.Pos}}
	}
	owner := from(v.DCBX, "host")
	l.KeepDCBX = Value[bool]{V: owner.V == "keep", From: owner.From}
	return l
}

// dcqcnNames lists the congestion control parameters that a NIC may state, sorted: those in
// debugfs of mlx5 (Linux, drivers/infiniband/hw/mlx5/cong.c) and of bnxt_re
// (drivers/infiniband/hw/bnxt_re/debugfs.c), except the ones derived from classes.
var dcqcnNames = []string{
	"cc_mode", "inactivity_cp", "init_cr", "init_tr", "np_min_time_between_cnps", "num_phase_per_state",
	"rp_ai_rate", "rp_byte_reset", "rp_clamp_tgt_rate", "rp_clamp_tgt_rate_ati", "rp_dce_tcp_g", "rp_dce_tcp_rtt", "rp_gd",
	"rp_hai_rate", "rp_initial_alpha_value", "rp_max_rate", "rp_min_dec_fac", "rp_min_rate", "rp_rate_reduce_monitor_period",
	"rp_rate_to_set_on_first_cnp", "rp_threshold", "rp_time_reset", "rtt", "run_avg_weight_g", "tcp_cp",
}

// DCQCNNames returns the congestion control parameters that a NIC may state, sorted.
func DCQCNNames() []string { return slices.Clone(dcqcnNames) }

// numbers maps congestion control parameters to values.
type numbers struct {
	V   map[string]int
	Pos Pos
}

func (m *numbers) decode(d *decoder, n *yaml.Node, f *field) {
	m.Pos = posOf(n)
	if n.Kind != yaml.Map {
		d.problems.addf(m.Pos, "", "%s must be a map, not %s", f.key, n.Kind)
		return
	}
	m.V = map[string]int{}
	for _, p := range n.Pairs {
		name := p.Key.Value
		if !slices.Contains(dcqcnNames, name) {
			d.unknownKey(p.Key, dcqcnNames)
			continue
		}
		one := *f
		one.key = name
		var v opt[int]
		v.decode(d, p.Value, &one)
		m.V[name] = v.V
	}
}

func (m *numbers) schema(_ *generator, f *field) map[string]any {
	return map[string]any{"type": "object", "propertyNames": map[string]any{"enum": dcqcnNames}, "additionalProperties": scalarSchema(new(int), f)}
}
