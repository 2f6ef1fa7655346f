package local

import (
	"maps"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// Value is one setting as the machine stores it. It holds more than the model in package nic if the
// revert needs more. Only the members of its field are set.
type Value struct {
	PFC     *qos.PrioritySet   `json:"pfc,omitempty"`
	DSCP    *[qos.NumDSCP]int8 `json:"dscp,omitempty"`
	ETS     *nic.ETS           `json:"ets,omitempty"`
	Buffers *nic.Buffers       `json:"buffers,omitempty"`
	// DCBX holds the bits as in dcbnl, of which only the host bit is compared. Agent is ice's
	// private flag for the agent in its firmware.
	DCBX  *dcb.DCBX `json:"dcbx,omitempty"`
	Agent *bool     `json:"agent,omitempty"`
	Pause *Pause    `json:"pause,omitempty"`
	// Trust is nicctl's classification, in addition to its DSCP map.
	Trust qos.Trust `json:"trust,omitempty"`
	// Rates are nicctl's rate limits in Gbit/s, in addition to its shares.
	Rates *[qos.NumPriorities]int `json:"rates,omitempty"`
	Rings *nic.Rings              `json:"rings,omitempty"`
	// ECN holds the priorities with congestion control. With nicctl, Number also holds the DSCP of
	// congestion notifications.
	ECN *ECN `json:"ecn,omitempty"`
	// DCQCN holds congestion control parameters by name.
	DCQCN map[string]uint64 `json:"dcqcn,omitempty"`
	// Number is the value of mtu, max_read_request, cable (metres), tos, traffic_class (-1 for
	// none), cnp_dscp, cnp_priority, roce_app (-1 for none), vfs or sfs.
	Number *int `json:"number,omitempty"`
	// Along holds the MTUs of the devices that the kernel changes together with an mtu.
	Along map[string]int `json:"along,omitempty"`
	// PCPs is the egress map of a VLAN.
	PCPs *nic.PCPs `json:"pcps,omitempty"`
	// Willing says whether a DCBX peer may overwrite the settings.
	Willing *bool `json:"willing,omitempty"`
	// Mode is the default mode of RDMA-CM, or the mode of the stall prevention.
	Mode string `json:"mode,omitempty"`
	// VFTrust says which VFs are trusted.
	VFTrust *VFTrust `json:"vf_trust,omitempty"`
	// VFTag says how frames of VFs are tagged.
	VFTag *VFTag `json:"vf_tag,omitempty"`
	// NV holds firmware settings for the next boot, by name.
	NV map[string]string `json:"nv,omitempty"`
}

// ECN holds the priorities with congestion control on at the notification point and the reaction
// point.
type ECN struct {
	NP qos.PrioritySet `json:"np"`
	RP qos.PrioritySet `json:"rp"`
	// Exactly says that all other priorities must be off.
	Exactly bool `json:"exactly,omitempty"`
}

// holds reports whether the priorities match the wanted ones.
func (e ECN) holds(have, want qos.PrioritySet) bool {
	return have&want == want && (have == want || !e.Exactly)
}

// sameSize reports whether two buffer sizes are equal for a driver that rounds down to whole cells
// of at most 512 bytes.
func sameSize(want, have int64) bool {
	return have == want || have > 0 && have < want && want-have < 512
}

// same reports whether a machine with the value have already holds the wanted value v.
func (v Value) same(have Value) bool {
	switch {
	case !v.sameAMD(have):
		return false
	case v.Rings != nil:
		w, h := v.Rings, have.Rings
		return h != nil && (w.RX == 0 || w.RX == h.RX) && (w.TX == 0 || w.TX == h.TX)
	case v.PFC != nil:
		return have.PFC != nil && *have.PFC == *v.PFC
	case v.DSCP != nil:
		held := func(want, have int8) bool { return want == qos.Unmanaged || want == have }
		return have.DSCP != nil && slices.EqualFunc(v.DSCP[:], have.DSCP[:], held)
	case v.ETS != nil:
		return have.ETS != nil && have.ETS.Holds(*v.ETS)
	case v.Buffers != nil:
		return have.Buffers != nil && have.Buffers.PriorityToBuffer == v.Buffers.PriorityToBuffer &&
			slices.EqualFunc(v.Buffers.Size[:], have.Buffers.Size[:], sameSize)
	case v.DCBX != nil:
		if v.Agent != nil && have.Agent != nil && *v.Agent != *have.Agent {
			return false
		}
		return v.agentOn() || have.DCBX != nil && *have.DCBX&dcb.DCBXHost == *v.DCBX&dcb.DCBXHost
	case v.Pause != nil:
		// Autonegotiation is kept as it is or is not supported, so it is not compared.
		return have.Pause != nil && have.Pause.RX == v.Pause.RX && have.Pause.TX == v.Pause.TX
	case v.ECN != nil:
		return have.ECN != nil && v.ECN.holds(have.ECN.NP, v.ECN.NP) && v.ECN.holds(have.ECN.RP, v.ECN.RP)
	case v.DCQCN != nil:
		for name, n := range v.DCQCN {
			if have, ok := have.DCQCN[name]; !ok || have != n {
				return false
			}
		}
		return true
	case v.Number != nil:
		return have.Number != nil && *have.Number == *v.Number && v.sameAlong(have)
	case v.PCPs != nil:
		return have.PCPs != nil && have.PCPs.Holds(*v.PCPs)
	case v.Willing != nil:
		return have.Willing != nil && *have.Willing == *v.Willing
	case v.VFTrust != nil:
		return have.VFTrust != nil && v.VFTrust.holds(have.VFTrust.Each)
	case v.VFTag != nil:
		return have.VFTag != nil && v.VFTag.holds(have.VFTag.Each)
	case v.Mode != "":
		return have.Mode == v.Mode
	case v.NV != nil:
		return maps.EqualFunc(v.NV, have.NV, func(a, b string) bool { return mlxconfig.ParseValue(a).Same(mlxconfig.ParseValue(b)) })
	}
	return false
}

func (v Value) agentOn() bool { return v.Agent != nil && *v.Agent }

// sameAlong compares the MTUs of the other devices, as far as they still exist.
func (v Value) sameAlong(have Value) bool {
	for name, mtu := range v.Along {
		if n, ok := have.Along[name]; ok && n != mtu {
			return false
		}
	}
	return true
}
