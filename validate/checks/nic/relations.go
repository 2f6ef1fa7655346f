package nic

import (
	"cmp"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// stallDefault is how long a port pauses its link by default before mlx5 gives up (mlnx-tools,
// pfc_stall_prevention: default is 8 s, auto 100 ms).
const stallDefault = 8 * time.Second

// relations checks settings that depend on each other, which a comparison of single values does
// not show.
func (p *portCheck) relations() {
	h, w := p.have, p.want
	p.rdmaMTU()
	p.tags()
	if !w.Willing.Set {
		p.willing(toWrite("willing: off"))
	}
	if !w.StallPrevention.Set {
		p.stall(toWrite("stallPrevention: auto"))
	}
	if h.Missing[nic.FieldTrafficClass] == nic.NotInDriver && w.ToS.Set && !h.VF {
		p.add("NIC-06", checks.Info, p.name, w.From[nic.FieldTrafficClass], fmt.Sprintf("set NCCL_IB_TC=%d, UCX_IB_TRAFFIC_CLASS=%d or the like in the applications: 'roce-fabric advise' has the line for each library", w.ToS.V, w.ToS.V),
			"the driver has no traffic class for queue pairs opened without RDMA-CM: ToS %d applies only to RDMA-CM (layer %s)", h.ToS.Or(w.ToS.V), nic.LayerRDMA)
	}
	if !w.BufferSpeed.Set {
		p.buffers(toWrite("buffers: auto"))
	}
}

// toWrite returns the fix for a setting that the intent does not set.
func toWrite(key string) string {
	return "write " + key + " for the NIC into the intent, and apply it to the host"
}

func (p *portCheck) willing(fix string) {
	h := p.have
	if !h.Willing.Or(false) {
		return
	}
	severity, who := checks.Info, "no DCBX agent was found"
	switch {
	case h.DCBX.Set && h.DCBX.V == nic.OwnerFirmware:
		severity, who = checks.Warning, "the firmware owns DCBX of this port"
	case len(p.running.Agents) > 0: // which ports it serves is not shown
		severity, who = checks.Warning, agentsOf(p.running)+" is active on the host"
	}
	p.add("DCB-01", severity, p.name, cmp.Or(p.want.From[nic.FieldWilling], p.want.From[nic.FieldDCBX]), fix, "ETS is willing, so the NIC accepts the peer's settings, and %s (layer %s)", who, nic.LayerDriver)
}

// stall compares how long the NIC may pause its link with the detection time of the switch's
// watchdog.
func (p *portCheck) stall(fix string) (found bool) {
	h := p.have
	if !h.StallPrevention.Set || h.StallPrevention.V != nic.StallDefault || p.sw == nil || p.want.PFC.Or(0) == 0 {
		return false
	}
	d := p.sw.Settings.Watchdog
	if !d.Enabled.V || d.Detect.V >= stallDefault {
		return false
	}
	p.add("NIC-07", checks.Warning, p.name, cmp.Or(p.want.From[nic.FieldStallPrevention], d.Detect.From.String()), fix, "PFC stall prevention is default, %s, but the watchdog of the switch port acts after %s (layer %s)", stallDefault, d.Detect.V, nic.LayerDriver)
	return true
}

// buffers checks the receive buffers of lossless priorities.
func (p *portCheck) buffers(fix string) (found bool) {
	h := p.have
	lossless := h.PFC.Or(0) & p.want.PFC.Or(0)
	if !h.Buffers.Set || lossless == 0 {
		return false
	}
	if h.Driver != nic.DriverMLX5 {
		fix = "set the buffers with the tool of the card's vendor: this tool divides those of mlx5 alone"
	}
	b := h.Buffers.V
	for _, prio := range lossless.List() {
		at := b.PriorityToBuffer[prio]
		if at < 0 || int(at) >= len(b.Size) {
			continue
		}
		var others []int
		for o, buffer := range b.PriorityToBuffer {
			if buffer == at && !lossless.Has(o) {
				others = append(others, o)
			}
		}
		if len(others) > 0 {
			found = true
			p.found("BUF-13", checks.Warning, nic.FieldBuffers, fix, "lossless priority %d is received into buffer %d, with %s: %s", prio, at, words.Plural(len(others), "lossy priority", "lossy priorities"), qos.FoldInts(others))
			continue
		}
		if h.Driver != nic.DriverMLX5 || p.speed == 0 || !h.MTU.Set || !p.want.Cable.Set {
			continue
		}
		if need := nic.LosslessBuffer(p.speed, p.want.Cable.V, h.MTU.V); b.Size[at] < need {
			found = true
			p.found("BUF-13", checks.Warning, nic.FieldBuffers, fix, "buffer %d of lossless priority %d has %d B, at %s over %s it needs %d B", at, prio, b.Size[at], p.speed, p.want.Cable.V, need)
		}
	}
	return found
}
