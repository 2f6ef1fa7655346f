package headroom

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"pgregory.net/rapid"
)

// Pools as shipped, for the tables below.
const (
	poolTH5, xoffTH5 = 162539680, 33374584
	poolTH4, xoffTH4 = 113620296, 50653696
	poolSPC4         = 67737959
	poolTD3          = 32732160
	poolTH2          = 33329088
	poolSPC1         = 4580864
)

func kb(n int64) int64 { return int64(math.Round(float64(n) / 1000)) }

func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		name  string
		pool  int64
		alpha float64
		want  [5]int64 // KB at 1, 8, 32, 64, 128 active groups
	}{
		{"TH5", poolTH5, 1, [5]int64{81270, 18060, 4925, 2501, 1260}},
		{"TH5", poolTH5, 1. / 16, [5]int64{9561, 6772, 3386, 2032, 1129}},
		{"TH4", poolTH4, 1, [5]int64{56810, 12624, 3443, 1748, 881}},
		{"Spectrum-4", poolSPC4, 1, [5]int64{33869, 7526, 2053, 1042, 525}},
		{"TD3", poolTD3, 1, [5]int64{16366, 3637, 992, 504, 254}},
		{"TH2", poolTH2, 1. / 16, [5]int64{1961, 1389, 694, 417, 231}},
		{"Spectrum-1", poolSPC1, 1, [5]int64{2290, 509, 139, 70, 36}},
	} {
		for i, active := range []int{1, 8, 32, 64, 128} {
			if got := kb(Threshold(c.alpha, c.pool, active)); got != c.want[i] {
				t.Errorf("%s alpha %g A=%d: %d KB, want %d", c.name, c.alpha, active, got, c.want[i])
			}
		}
	}
	if Alpha(-4) != 1./16 || Alpha(0) != 1 || Alpha(7) != 128 {
		t.Error("alpha of an exponent")
	}
}

func TestWorstCaseECN(t *testing.T) {
	for _, c := range []struct {
		name  string
		pool  int64
		ports int
		want  int64
	}{
		{"TH5", poolTH5, 64, 847}, {"TH5 less xoff", poolTH5 - xoffTH5, 64, 673}, {"TH4 less xoff", poolTH4 - xoffTH4, 64, 328},
		{"Spectrum-4", poolSPC4, 64, 353}, {"TD3", poolTD3, 32, 341}, {"TH2", poolTH2, 64, 174},
	} {
		if got := kb(WorstCaseECN(1, c.pool, c.ports, 2)); got != c.want {
			t.Errorf("%s: %d KB, want %d", c.name, got, c.want)
		}
	}
	// The paper's own numbers: 12 MB, 32 ports, 8 classes with 22.4 KB each of
	// headroom, beta 8, which is 8*alpha.
	if got := WorstCaseECN(1, 12_000_000-8*32*22400, 32, 8); got < 21750 || got > 21765 {
		t.Errorf("DCQCN: %d, want 21.76 KB", got)
	}
	// Feeders raise the limit, fan-out lowers it.
	if ECNLimit(1, poolTH5, 4, 1, 4) <= ECNLimit(1, poolTH5, 1, 1, 4) || ECNLimit(1, poolTH5, 1, 8, 4) >= ECNLimit(1, poolTH5, 1, 1, 4) {
		t.Error("feeders and fan-out")
	}
}

func model(t *testing.T, name string) *catalog.Model {
	t.Helper()
	m, ok := catalog.Lookup(name)
	if !ok {
		t.Fatalf("no model %s", name)
	}
	return m
}

func TestECNAuto(t *testing.T) {
	// Without a model the rule alone: 6 us and 60 us in whole KiB.
	e, err := ECNAuto(ECNInput{Speed: 200 * g})
	if err != nil || e.Min != 146*1024 || e.Max != 1464*1024 || e.Bound != 0 || e.Covered || !strings.Contains(e.Explanation, "not checked") {
		t.Errorf("200G: %+v, %v", e, err)
	}
	// 64 ports of Tomahawk5: the buffer lowers max.
	m := model(t, "Dell-Z9864f-O64")
	e, err = ECNAuto(ECNInput{Speed: 400 * g, Model: m, Lossless: 2, Alpha: new(int64)})
	if err != nil || kb(e.Bound) != 673 || !e.Covered || e.Max != e.Bound/1024*1024 || e.Min != 300_000/1024*1024 {
		t.Errorf("TH5 400G: %+v, %v", e, err)
	}
	// A declared fan-out of 4 leaves the rule's max alone.
	e, _ = ECNAuto(ECNInput{Speed: 400 * g, Model: m, Lossless: 2, Alpha: new(int64), FanOut: 4})
	if e.Max != 3_000_000/1024*1024 || !e.Covered {
		t.Errorf("fan-out 4: %+v", e)
	}
	// A small buffer: the floor holds, and the result says that it is not covered.
	e, _ = ECNAuto(ECNInput{Speed: 100 * g, Model: model(t, "ACS-MSN2700"), Lossless: 2, LosslessMTU: 4200})
	if e.Max != 65536 || e.Min != 32768 || e.Covered || e.Bound >= e.Max || !strings.Contains(e.Explanation, "above the bound") {
		t.Errorf("Spectrum-1: %+v", e)
	}
	// Four frames at low speed.
	if e, _ = ECNAuto(ECNInput{Speed: 10 * g, LosslessMTU: 9000}); e.Min != 36*1024 || e.Max < 2*e.Min {
		t.Errorf("10G: %+v", e)
	}
	// What the model lacks is named.
	if e, _ = ECNAuto(ECNInput{Speed: 400 * g, Model: model(t, "NH-4010")}); e.Bound != 0 || !strings.Contains(e.Explanation, "no size of") {
		t.Errorf("NH-4010: %+v", e)
	}
	if _, err = ECNAuto(ECNInput{}); !errors.Is(err, ErrInput) {
		t.Errorf("no speed: %v", err)
	}
}

func TestECNAutoProperties(t *testing.T) {
	names := append([]string{""}, catalog.Models()...)
	rapid.Check(t, func(t *rapid.T) {
		in := ECNInput{
			Speed:       units.Rate(rapid.IntRange(10, 1600).Draw(t, "gbps")) * g,
			FanOut:      rapid.IntRange(0, 128).Draw(t, "fanout"),
			Lossless:    rapid.IntRange(0, 4).Draw(t, "lossless"),
			LosslessMTU: rapid.IntRange(0, 9216).Draw(t, "mtu"),
		}
		if name := rapid.SampledFrom(names).Draw(t, "model"); name != "" {
			in.Model, _ = catalog.Lookup(name)
		}
		e, err := ECNAuto(in)
		if err != nil {
			t.Fatal(err)
		}
		if e.Min <= 0 || e.Max < 2*e.Min || e.Min%1024 != 0 || e.Max%1024 != 0 || e.Explanation == "" || len(e.Sources) == 0 {
			t.Fatalf("%+v", e)
		}
		if e.Min < 4*int64(in.LosslessMTU) {
			t.Fatalf("min %d is below four frames of %d", e.Min, in.LosslessMTU)
		}
		if e.Covered != (e.Bound > 0 && e.Max <= e.Bound) {
			t.Fatalf("covered: %+v", e)
		}
		if e.Max > e.Bound && e.Bound > 0 && !strings.Contains(e.Explanation, "above the bound") {
			t.Fatalf("above the bound and silent: %+v", e)
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
