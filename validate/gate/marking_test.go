package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// picture describes the counters of leaf1: the fraction of the time that it pauses spine1, the
// frames that it sends for that, and how many of its packets to gpu3 it marks.
type picture struct {
	part           float64
	frames         uint64
	marks, packets uint64
}

func (p picture) judge(base *Result) *Result {
	ds, tiers, before, after := twoLeaves()
	before.add("spine1", "leaf1", drivers.PauseRxTime, 3, 0)
	after.add("leaf1", "up", drivers.PFCTx, 3, p.frames).add("spine1", "leaf1", drivers.PFCRx, 3, p.frames).add("spine1", "leaf1", drivers.PauseRxTime, 3, uint64(p.part*span.Seconds()*1e6))
	after.add("leaf1", "gpu3", drivers.QueueMarked, 3, p.marks).add("leaf1", "gpu3", drivers.QueuePackets, 3, p.packets).add("leaf1", "gpu3", drivers.QueueBytes, 3, 4096*p.packets)
	after.add("gpu3", "eth0", drivers.MarkedReceived, 0, p.marks).add("gpu3", "eth0", drivers.CNPSent, 0, p.marks/10)
	return Judge(ds, samples(before, after), Options{Tiers: tiers, Baseline: base})
}

// TestMarking checks that marks are compared with the duration of pauses: frames are repeated
// while a pause lasts.
func TestMarking(t *testing.T) {
	healthy := picture{0.005, 2_000_000, 1_500_000, 50_000_000} // 3 % marked, with repeated pause frames
	slow := picture{0.3, 900_000, 300_000, 3_000_000}           // a slow receiver
	for name, tt := range map[string]struct {
		base, now picture
		want      []string
	}{
		"3 % marked":                         {picture{}, healthy, nil},
		"3 % marked before and after":        {healthy, healthy, nil},
		"a slow receiver, before and after":  {slow, slow, nil},
		"as few as before":                   {picture{0.3, 900_000, 10, 3_000_000}, picture{0.3, 900_000, 10, 3_000_000}, nil},
		"no mark before and after":           {picture{0.3, 900_000, 0, 3_000_000}, picture{0.3, 900_000, 0, 3_000_000}, nil},
		"few marks":                          {picture{}, picture{0.009, 900_000, 10, 3_000_000}, []string{"warn gate:ecn-before-pfc leaf1: it sent 900000 frames for class rdma, up to 0.9 % of the time, but marked only 10 packets"}},
		"marks that are gone":                {healthy, picture{0.005, 2_000_000, 0, 50_000_000}, []string{"fail gate:ecn-before-pfc leaf1: it sent 2000000 frames for class rdma but marked none of its packets, and in the baseline it marked 1500000"}},
		"marks that are gone with the pause": {healthy, picture{0, 0, 0, 50_000_000}, nil},
	} {
		var base *Result
		if tt.base != (picture{}) {
			base = tt.base.judge(nil)
		}
		if d := cmp.Diff(tt.want, show(tt.now.judge(base).Findings)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestWorseInTotalAndPerSecond checks that a failure got worse only if its count grew both in
// total and per second.
func TestWorseInTotalAndPerSecond(t *testing.T) {
	drops := func(n uint64, of drivers.Metric) Finding {
		r := Judge(fabric(), samples(read(0), read(span).add("leaf1", "Ethernet0", of, 3, n)), Options{})
		return r.Findings[0]
	}
	five := drops(5, drivers.GroupDrops)
	longer := five
	longer.Count, longer.Span = 10, 2*span
	for _, tt := range []struct {
		now         Finding
		same, worse bool
	}{
		{five, true, false},
		{drops(6, drivers.GroupDrops), true, true},
		{drops(50_000, drivers.GroupDrops), true, true},
		{longer, true, false}, // at the same rate
		{drops(3, drivers.GroupDrops), true, false},
		{drops(5, drivers.QueueDrops), false, false}, // a drop of the queue is not the group's
	} {
		if got := tt.now.Same(five); got != tt.same {
			t.Errorf("%+v: the same: %v", tt.now, got)
		}
		if got := tt.now.Worse(five); got != tt.worse {
			t.Errorf("%+v: worse: %v", tt.now, got)
		}
	}
}
