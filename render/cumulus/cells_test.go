package cumulus

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestThresholdsThatTheASICRounded(t *testing.T) {
	for _, c := range []struct {
		written, shown int64
		same           bool
	}{
		{150_000, 150_000, true}, {150_000, 159_744, true}, {150_000, 156_672, true}, {150_000, 153_600, true}, {1_500_000, 1_499_463, true},
		{150_000, 180_000, false}, {150_000, 100_000, false}, {1_500_000, 150_000, false},
	} {
		if SameThreshold(c.written, c.shown) != c.same {
			t.Errorf("%d, shown %d: same is not %v", c.written, c.shown, c.same)
		}
	}
	device := func(low, high int64) *qos.Device {
		p := &qos.Port{}
		p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: low, Max: high, Probability: 10})
		return &qos.Device{Ports: map[string]*qos.Port{"swp1": p, "swp2": {}}}
	}
	want := device(150_000, 1_500_000)
	if got := Rounded(device(159_744, 1_511_424), want); len(qos.Diff(device(159_744, 1_511_424), got)) > 0 {
		t.Error("what Spectrum-4 makes of it is a change")
	}
	if want.Ports["swp1"].Queues[3].ECN.V.Min != 150_000 {
		t.Error("desired was changed")
	}
	if back := device(159_744, 1_511_424); len(qos.Diff(want, Rounded(want, back))) > 0 {
		t.Error("what Spectrum-4 makes of it, in an intent, is a change where it was written exactly")
	}
	for _, have := range []*qos.Device{device(159_000, 1_511_424), device(147_456, 1_500_000), device(172_032, 1_511_424), device(150_000, 3_000_000)} {
		if Rounded(have, want) != want {
			t.Errorf("%+v is taken for rounded", have.Ports["swp1"].Queues[3].ECN.V)
		}
	}
}
