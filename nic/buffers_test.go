package nic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// needed is the buffer size that mlx5 requires at 400G over 10m with packets of 9000 B:
// (301+21)*400 + 272*9000/100 B, plus 9216 B and one cell of 128 B.
const needed = 162624

func TestBuffersFor(t *testing.T) {
	auto := edit(t, "mlx5_0}", "mlx5_0, buffers: auto}")
	two := strings.NewReplacer("  cnp:", "  more: {priority: 4, dscp: [30], lossless: true, bandwidth: 10%}\n  cnp:", "dscp: rest, bandwidth: 50%", "dscp: rest, bandwidth: 40%").Replace(auto)
	all := [8]int8{0, 1, 2, 3, 4, 5, 6, 7}
	for name, c := range map[string]struct {
		text    string
		have    Buffers
		edit    func(*Port)
		want    Buffers // except Total
		blocked string
	}{
		"fits": {auto, Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{20096, needed}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{20096, needed}}, ""},
		"too small": {auto, Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{20096, needed - 1}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{20096, 164864}}, ""},
		"all in one": {auto, Buffers{Size: [8]int64{262016}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{262016 - 164864, 164864}}, ""},
		"an unused one gives": {auto, Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{100000, 1000, 0, 161016}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{97152, 164864}}, ""},
		"with another lossless one": {two, Buffers{PriorityToBuffer: [8]int8{3: 2}, Size: [8]int64{20096, 0, 200000}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{3: 2, 4: 2}, Size: [8]int64{20096, 0, 200000}}, ""},
		"a longer cable is in force": {auto, Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{20096, needed}, Total: 262016}, func(p *Port) { p.Cable.V = 20 },
			Buffers{PriorityToBuffer: [8]int8{3: 1}, Size: [8]int64{20096, 174080}}, ""},
		"none is free": {two, Buffers{PriorityToBuffer: [8]int8{0, 1, 2, 3, 3, 5, 6, 7}, Size: [8]int64{1000, 1000, 1000, 250000, 1000, 1000, 1000, 1000}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{0, 1, 2, 3, 3, 5, 6, 7}, Size: [8]int64{1000, 1000, 1000, 250000, 1000, 1000, 1000, 1000}}, ""},
		"lossy ones use all": {auto, Buffers{PriorityToBuffer: [8]int8{0, 1, 2, 2, 4, 5, 6, 7}, Size: [8]int64{200000}, Total: 262016}, nil,
			Buffers{PriorityToBuffer: [8]int8{0, 1, 2, 3, 4, 5, 6, 7}, Size: [8]int64{97152, 0, 0, 164864}}, ""},
		"too little in all":        {auto, Buffers{Size: [8]int64{131072}, Total: 131072}, nil, Buffers{}, "has 131072 B and lossless priorities {3} need 162624 B at 400G over 10m"},
		"a total that is not told": {auto, Buffers{Size: [8]int64{131072}}, nil, Buffers{}, "need 162624 B"},
		"no such buffer":           {auto, Buffers{PriorityToBuffer: [8]int8{3: 9}}, nil, Buffers{}, "priority 3 in buffer 9"},
		"bnxt":                     {auto, Buffers{PriorityToBuffer: all}, func(p *Port) { p.Driver = DriverBNXT }, Buffers{}, "only mlx5 supports dividing the receive buffer; this NIC's driver is bnxt_en"},
		"not read": {auto, Buffers{}, func(p *Port) {
			p.Buffers.Set = false
			p.Missing = map[string]string{FieldBuffers: "needs root"}
		}, Buffers{}, "needs root"},
	} {
		h, problems := desired(t, c.text)
		want := h.Ports["ens1f0np0"]
		running := *want
		running.Driver, running.Buffers = DriverMLX5, qos.Of(c.have)
		if c.edit != nil {
			c.edit(&running)
		}
		got, why := want.BuffersFor(&running)
		if c.blocked != "" {
			if !strings.Contains(why, c.blocked) {
				t.Errorf("%s: %q", name, why)
			}
			continue
		}
		got.Total = 0
		if why != "" || got != c.want {
			t.Errorf("%s: %v, %q, problems %v", name, got, why, problems)
		}
		// After the change, sizes are rounded down to whole cells and nothing is left to do.
		running.Buffers.V.PriorityToBuffer = got.PriorityToBuffer
		for i, size := range got.Size {
			if size != c.have.Size[i] {
				size -= size % 512
			}
			running.Buffers.V.Size[i] = size
		}
		if again, why := want.BuffersFor(&running); why != "" || again != running.Buffers.V {
			t.Errorf("%s, again: %v %q", name, again, why)
		}
	}
}

func TestBuffersOfAnUnknownLink(t *testing.T) {
	h, problems := desired(t, edit(t, "mlx5_1}", "mlx5_1, buffers: auto, willing: off, stallPrevention: auto}"))
	p := h.Ports["ens2f0np0"]
	if p.BufferSpeed.Set || !strings.Contains(fmt.Sprint(problems), "needs the speed and cable length of the link") {
		t.Errorf("%+v, problems %v", p.BufferSpeed, problems)
	}
	if p.Willing != qos.Of(false) || p.StallPrevention != qos.Of(StallAuto) {
		t.Errorf("willing %+v, stall prevention %+v", p.Willing, p.StallPrevention)
	}
	if q := h.Ports["ens1f0np0"]; q.Willing.Set || q.StallPrevention.Set {
		t.Error("what the intent leaves alone is set")
	}
}
