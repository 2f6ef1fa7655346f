package headroom

import (
	"math"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"pgregory.net/rapid"
)

func TestCurveOf(t *testing.T) {
	for _, c := range []struct {
		in   qos.ECN
		want Curve
		ok   bool
	}{
		{qos.ECN{Enabled: true, Min: 150_000, Max: 1_500_000, Probability: 10}, Curve{150_000, 1_500_000, 0.1}, true},
		{qos.ECN{Enabled: true, Min: 150, Max: 3, Unit: "kbytes/mbytes", Probability: 7}, Curve{150_000, 3_000_000, 0.07}, true},
		{qos.ECN{Min: 1, Max: 2}, Curve{}, false},
		{qos.ECN{Enabled: true, Min: 2000, Max: 10_000, Unit: qos.UnitSegments}, Curve{}, false},
		{qos.ECN{Enabled: true, Min: -1, Max: 2}, Curve{}, false},
		{qos.ECN{Enabled: true, Min: 1, Max: math.MaxInt64, Unit: qos.UnitMBytes}, Curve{}, false},
	} {
		if got, ok := CurveOf(c.in); got != c.want || ok != c.ok {
			t.Errorf("%+v: %+v, %v", c.in, got, ok)
		}
	}
}

// Three ways to configure a curve, as functions of the queue.
func TestCurveAt(t *testing.T) {
	ramp := Curve{100_000, 300_000, 0.05} // SONiC, NX-OS, EOS, DCQCN
	full := Curve{100_000, 300_000, 1}    // Cumulus: probability 100
	step := Curve{300_000, 300_000, 1}    // Azure Local
	for _, c := range []struct {
		queue            int64
		ramp, full, step float64
	}{{0, 0, 0, 0}, {100_000, 0, 0, 0}, {200_000, 0.025, 0.5, 0}, {299_999, 0.04999975, 0.999995, 0}, {300_000, 0.05, 1, 1}, {300_001, 1, 1, 1}} {
		for i, v := range [][2]float64{{ramp.At(c.queue), c.ramp}, {full.At(c.queue), c.full}, {step.At(c.queue), c.step}} {
			if math.Abs(v[0]-v[1]) > 1e-9 {
				t.Errorf("curve %d at %d: %g, want %g", i, c.queue, v[0], v[1])
			}
		}
	}
	// 5 % and 100 % at the same thresholds differ most just before Max.
	if d, at := ramp.Difference(full); math.Abs(d-0.95) > 1e-9 || at != 300_000 {
		t.Errorf("difference %g at %d", d, at)
	}
	if d, at := ramp.Difference(Curve{100_000, 300_000, 0.06}); math.Abs(d-0.01) > 1e-9 || at != 300_000 {
		t.Errorf("difference %g at %d", d, at)
	}
}

func TestCurveProperties(t *testing.T) {
	curve := func(t *rapid.T, name string) Curve {
		lo := rapid.Int64Range(1, 200).Draw(t, name+" min")
		return Curve{lo, lo + rapid.Int64Range(0, 200).Draw(t, name+" more"), float64(rapid.IntRange(1, 100).Draw(t, name+" percent")) / 100}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := curve(t, "a"), curve(t, "b")
		most, last := 0.0, 0.0
		for q := int64(0); q < 500; q++ {
			p := a.At(q)
			if p < last || p > 1 {
				t.Fatalf("%g at %d after %g", p, q, last)
			}
			last = p
			most = max(most, math.Abs(p-b.At(q)))
		}
		d, at := a.Difference(b)
		if back, _ := b.Difference(a); math.Abs(d-most) > 1e-9 || d != back || math.Abs(math.Abs(a.At(at)-b.At(at))-d) > 1e-9 {
			t.Fatalf("difference %g at %d, other way %g, the search finds %g", d, at, back, most)
		}
	})
}

// Published settings as drain times, in us.
func TestDrains(t *testing.T) {
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	for _, c := range []struct {
		name     string
		speed    units.Rate
		min, max int64
		lo, hi   float64
		usual    bool
	}{
		{"DCQCN", 40 * g, 5_000, 200_000, 1, 40, false},
		{"HPCC", 25 * g, 100_000, 400_000, 32, 128, true},
		{"ECN or delay", 40 * g, 40_000, 200_000, 8, 40, true},
		{"SONiC default", 100 * g, 1 << 20, 2 << 20, 84, 168, true},
		{"SONiC TH", 100 * g, 250_000, 2 << 20, 20, 168, true},
		{"SONiC VOQ", 400 * g, 2_000_000, 10_000_000, 40, 200, true},
		{"SONiC VOQ at 100G", 100 * g, 2_000_000, 10_000_000, 160, 800, false},
		{"7060X6 O128", 400 * g, 131_072, 262_144, 2.6, 5.2, true},
		{"7060X6 100G", 100 * g, 166_912, 282_624, 13, 23, true},
		{"Cumulus", 400 * g, 150_000, 1_501_500, 3, 30, true},
		{"Z9664f", 400 * g, 2_048_000, 12_480_000, 41, 250, true},
		{"NX-OS", 100 * g, 150_000, 3_000_000, 12, 240, true},
	} {
		d := Curve{Min: c.min, Max: c.max}.Drains(c.speed)
		if math.Abs(us(d.Min)-c.lo) > 0.5 || math.Abs(us(d.Max)-c.hi) > 0.5 || d.Usual != c.usual {
			t.Errorf("%s: %+v, want %g and %g us, usual %v", c.name, d, c.lo, c.hi, c.usual)
		}
	}
}

func TestPause(t *testing.T) {
	for _, c := range []struct {
		speed  units.Rate
		us     float64
		frames float64
	}{{25 * g, 1342, 745}, {50 * g, 671, 1490}, {100 * g, 335.5, 2980}, {200 * g, 167.8, 5961}, {400 * g, 83.9, 11921}, {800 * g, 41.9, 23842}} {
		printed := 0.05
		if c.us > 400 {
			printed = 0.5
		}
		if got := float64(LongestPause(c.speed)) / 1e3; math.Abs(got-c.us) > printed {
			t.Errorf("%s: %.2f us, want %g", c.speed, got, c.us)
		}
		if got := math.Round(FramesToHold(c.speed)); got != c.frames {
			t.Errorf("%s: %.0f frames a second, want %g", c.speed, got, c.frames)
		}
	}
	if p := PausedAtMost(1490, 100*g, time.Second); math.Abs(p-0.5) > 0.001 {
		t.Errorf("1490 frames in a second at 100G: %g", p)
	}
	if p := PausedAtMost(1_000_000, 100*g, time.Second); p != 1 {
		t.Errorf("more than all of it: %g", p)
	}
	if PausedAtMost(-1, 100*g, time.Second)+PausedAtMost(1, 0, time.Second)+PausedAtMost(1, 100*g, 0) != 0 {
		t.Error("nothing of nothing")
	}
}
