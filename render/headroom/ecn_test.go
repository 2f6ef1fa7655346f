package headroom

import (
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"pgregory.net/rapid"
)

func model(t *testing.T, name string) *catalog.Model {
	t.Helper()
	m, ok := catalog.Lookup(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	return m
}

// auto returns the proposal for a model.
func auto(t *testing.T, name string, in ECNInput, exponent *int64) ECN {
	t.Helper()
	p, err := PoolOf(model(t, name), in.Speed, Facts{Exponent: exponent})
	if err != nil {
		t.Fatal(err)
	}
	in.Pool = &p
	e, err := ECNAuto(in)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestECNAuto(t *testing.T) {
	// Without a pool only the rule applies: 6 us and 60 us in whole KiB.
	e, err := ECNAuto(ECNInput{Speed: 200 * g, Missing: "nobody knows"})
	if err != nil || e.Min != 146*1024 || e.Max != 1464*1024 || e.Limit != nil || e.Order != "" || !strings.Contains(e.String(), "not compared with the buffer: nobody knows") {
		t.Errorf("200G: %+v, %v", e, err)
	}
	// 64 ports of Tomahawk5: the buffer lowers max.
	e = auto(t, "Dell-Z9864f-O64", ECNInput{Speed: 400 * g, Case: WorstCase(64, 2)}, new(int64))
	if kb(e.Limit.Queue) != 327 || e.Order != MarksFirst || e.Max != e.Limit.Queue/1024*1024 || e.Min != e.Limit.Queue/2/1024*1024 {
		t.Errorf("TH5 400G: %+v", e)
	}
	// With a declared fan-out of 4 the rule's max is kept.
	e = auto(t, "Dell-Z9864f-O64", ECNInput{Speed: 400 * g, Case: OneToMany(4, 2)}, new(int64))
	if e.Max != 3_000_000/1024*1024 || e.Order != MarksFirst {
		t.Errorf("fan-out 4: %+v", e)
	}
	// A small buffer: the lower bound applies, and the result states the consequence.
	e = auto(t, "ACS-MSN2700", ECNInput{Speed: 100 * g, Case: WorstCase(32, 2), LosslessMTU: 4200}, nil)
	if e.Max != 65536 || e.Min != 32768 || e.Order != MarksPartly || e.Limit.Queue >= e.Max || !strings.Contains(e.String(), "above the limit") {
		t.Errorf("Spectrum-1: %+v", e)
	}
	// At low speed, min is four frames.
	if e, _ = ECNAuto(ECNInput{Speed: 10 * g, LosslessMTU: 9000}); e.Min != 36*1024 || e.Max < 2*e.Min {
		t.Errorf("10G: %+v", e)
	}
	if _, err = ECNAuto(ECNInput{}); !errors.Is(err, errInput) {
		t.Errorf("no speed: %v", err)
	}
}

// If the case allows less than the shortest published threshold, min goes down to the lower end of
// the usual drain times, and no further.
func TestECNAutoGivesWay(t *testing.T) {
	for limit, want := range map[int64]struct {
		min   int64
		order Order
	}{
		131_072: {131_072, MarksPartly}, // 2.6 us at 400G
		120_000: {119_808, MarksPartly}, // whole KiB below the limit
		100_352: {100_352, MarksPartly}, // 2 us, up to a KiB
		100_000: {100_352, PausesFirst},
		1_000:   {100_352, PausesFirst},
	} {
		// A fan of one with alpha 1 halves the pool.
		e, err := ECNAuto(ECNInput{Speed: 400 * g, Pool: &Pool{Bytes: 2 * limit, Alpha: Alpha{1, 1}}, Case: OneToMany(1, 1)})
		if err != nil || e.Limit.Queue != limit || e.Min != want.min || e.Order != want.order || e.Drains.Min < MinDrainLow {
			t.Errorf("limit %d: %+v, %v; want %+v", limit, e, err, want)
		}
	}
}

func TestPoolOf(t *testing.T) {
	if _, err := PoolOf(model(t, "NH-4010"), 400*g, Facts{}); !errors.Is(err, errNoPool) || !strings.Contains(err.Error(), "no size of") {
		t.Errorf("NH-4010: %v", err)
	}
	if _, err := PoolOf(nil, 400*g, Facts{}); !errors.Is(err, errNoPool) {
		t.Errorf("no model: %v", err)
	}
	m := model(t, "DellEMC-Z9332f-O32")
	p, err := PoolOf(m, 400*g, Facts{})
	if err != nil || p.Alpha != (Alpha{1, 4}) || p.Bytes != 38462204/2 || p.Slices != 2 || p.Min != 2540 {
		t.Errorf("Z9332f: %+v, %v", p, err)
	}
	stated := int64(-4)
	if p, err = PoolOf(m, 400*g, Facts{Exponent: &stated, ExponentHow: "as stated"}); err != nil || p.Alpha != (Alpha{1, 16}) || !strings.Contains(p.AlphaHow, "as stated") {
		t.Errorf("stated alpha: %+v, %v", p, err)
	}
	if _, err = PoolOf(m, 800*g, Facts{}); !errors.Is(err, errNoPool) {
		t.Errorf("a speed without rows: %v", err)
	}
	if p, err = PoolOf(model(t, "ACS-SN5600"), 400*g, Facts{}); err != nil || p.Alpha != (Alpha{1, 1}) {
		t.Errorf("dynamic model: %+v, %v", p, err)
	}
}

func TestECNAutoProperties(t *testing.T) {
	names := catalog.Models()
	rapid.Check(t, func(t *rapid.T) {
		in := ECNInput{
			Speed:       units.Rate(rapid.IntRange(10, 1600).Draw(t, "gbps")) * g,
			LosslessMTU: rapid.IntRange(0, 9216).Draw(t, "mtu"),
		}
		fan, lossless := rapid.IntRange(0, 128).Draw(t, "fan"), rapid.IntRange(0, 4).Draw(t, "lossless")
		in.Case = rapid.SampledFrom([]Case{OneToMany(fan, lossless), WorstCase(fan, lossless)}).Draw(t, "case")
		m, _ := catalog.Lookup(rapid.SampledFrom(names).Draw(t, "model"))
		exponent := rapid.Int64Range(-8, 7).Draw(t, "exponent")
		if p, err := PoolOf(m, in.Speed, Facts{Exponent: &exponent}); err == nil {
			in.Pool = &p
		}
		e, err := ECNAuto(in)
		if err != nil {
			t.Fatal(err)
		}
		if e.Min <= 0 || e.Max < 2*e.Min || e.Min%1024 != 0 || e.Max%1024 != 0 || len(e.Steps) == 0 || len(e.Sources) == 0 {
			t.Fatalf("%+v", e)
		}
		if e.Min < 4*int64(in.LosslessMTU) {
			t.Fatalf("min %d is below four frames of %d", e.Min, in.LosslessMTU)
		}
		if e.Drains.Min < MinDrainLow {
			t.Fatalf("min drains in %s", e.Drains.Min)
		}
		if last := e.Steps[len(e.Steps)-1]; last.Max != e.Max && last.Max/1024*1024 != e.Max || last.Min != e.Min && last.Min/1024*1024 != e.Min {
			t.Fatalf("the last step leaves %+v of %+v", last, e)
		}
		if in.Pool == nil {
			return
		}
		// min may be above the limit only if no useful value is below it.
		shortest := max(2000*int64(in.Speed)/8e9, 4*int64(in.LosslessMTU)) + 1024
		if in.LosslessMTU == 0 {
			shortest = max(shortest, 4*4200+1024)
		}
		if e.Order == PausesFirst && e.Limit.Queue >= shortest {
			t.Fatalf("min %d is above the limit %d for no need", e.Min, e.Limit.Queue)
		}
		if want := e.Limit.Judge(e.Min, e.Max); e.Order != want {
			t.Fatalf("order %q, want %q", e.Order, want)
		}
	})
}

func TestDataPorts(t *testing.T) {
	for name, want := range map[string]int{"DellEMC-Z9332f-O32": 32, "Arista-7060X6-64PE-O128S2": 128, "Force10-S6000": 32, "Arista-7280DR3A-36": 0} {
		if got := DataPorts(model(t, name)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
