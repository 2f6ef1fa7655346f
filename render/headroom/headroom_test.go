package headroom

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"pgregory.net/rapid"
)

const g = units.Rate(1e9)

var speeds = []units.Rate{25 * g, 50 * g, 100 * g, 200 * g, 400 * g, 800 * g}

func asic(t interface {
	Helper()
	Fatalf(string, ...any)
}, id string) *catalog.ASIC {
	t.Helper()
	a, ok := catalog.ASICByID(id)
	if !ok {
		t.Fatalf("no asic %s", id)
	}
	return a
}

func TestQuanta(t *testing.T) {
	for speed, want := range map[units.Rate]struct {
		quanta, bytes int64
		ns            time.Duration
	}{
		10 * g: {67, 4288, 3430}, 25 * g: {80, 5120, 1638}, 40 * g: {118, 7552, 1510}, 50 * g: {147, 9408, 1505},
		100 * g: {394, 25216, 2017}, 200 * g: {453, 28992, 1160}, 400 * g: {905, 57920, 1158}, 800 * g: {905, 57920, 579},
	} {
		q, ok := Quanta(speed)
		b, _ := ResponseBytes(speed)
		d := drain(b, speed)
		if !ok || q != want.quanta || b != want.bytes || d != want.ns {
			t.Errorf("%s: %d quanta, %d bytes, %v; want %+v", speed, q, b, d, want)
		}
	}
	for _, speed := range []units.Rate{0, -g, 1600 * g, 150 * g, 100*g + 1} {
		if q, ok := Quanta(speed); ok {
			t.Errorf("%s: %d quanta", speed, q)
		}
		if n, ok := ResponseBytes(speed); ok {
			t.Errorf("%s: %d bytes", speed, n)
		}
	}
}

// The round trip in the cable for 25G to 800G, in whole bytes.
func TestCableBytes(t *testing.T) {
	for cable, want := range map[units.Length][6]float64{
		1:    {32, 63, 126, 253, 505, 1010},
		5:    {158, 316, 631, 1263, 2525, 5051},
		40:   {1263, 2525, 5051, 10101, 20202, 40404},
		100:  {3157, 6313, 12626, 25253, 50505, 101010},
		300:  {9470, 18939, 37879, 75758, 151515, 303030},
		500:  {15783, 31566, 63131, 126263, 252525, 505051},
		1000: {31566, 63131, 126263, 252525, 505051, 1010101},
		2000: {63131, 126263, 252525, 505051, 1010101, 2020202},
	} {
		for i, speed := range speeds {
			if got := math.Round(cableBytes(speed, cable)); got != want[i] {
				t.Errorf("%s %s: %.0f, want %.0f", speed, cable, got, want[i])
			}
		}
	}
	if got := Floor(400*g, 40, 4200); got != 20203+8400 {
		t.Errorf("floor %d", got)
	}
}

// The reference headroom in KiB for lossless frames of 4200 and 9216 bytes, if the largest frame of
// the port takes 9216 bytes on the wire, including overhead.
func TestIEEE(t *testing.T) {
	for cable, want := range map[units.Length][6][2]int64{
		1:    {{20, 24}, {24, 29}, {39, 44}, {43, 48}, {72, 76}, {72, 77}},
		5:    {{20, 25}, {24, 29}, {40, 45}, {44, 49}, {74, 78}, {76, 81}},
		40:   {{21, 26}, {26, 31}, {44, 49}, {53, 58}, {91, 96}, {111, 115}},
		100:  {{23, 27}, {30, 35}, {51, 56}, {67, 72}, {120, 125}, {170, 175}},
		300:  {{29, 34}, {42, 47}, {76, 81}, {117, 122}, {219, 224}, {367, 372}},
		500:  {{35, 40}, {54, 59}, {101, 106}, {166, 171}, {318, 323}, {564, 569}},
		1000: {{50, 55}, {85, 90}, {162, 167}, {289, 294}, {564, 569}, {1057, 1062}},
		2000: {{81, 86}, {147, 152}, {286, 291}, {536, 541}, {1057, 1062}, {2044, 2049}},
	} {
		for i, speed := range speeds {
			for j, frame := range []int{4200, 9216} {
				r, err := IEEE(Input{Speed: speed, Cable: cable, PortMTU: 9216 - frameOverhead, LosslessMTU: frame})
				if kib := (r.XOFF + 1023) / 1024; err != nil || kib != want[i][j] {
					t.Errorf("%s %s frame %d: %d KiB (%d bytes), %v; want %d", speed, cable, frame, kib, r.XOFF, err, want[i][j])
				}
			}
		}
	}
	if r, _ := IEEE(Input{Speed: 400 * g, Cable: 5, PortMTU: 9216, LosslessMTU: 4200}); r.XOFF != 74803 {
		t.Errorf("400G/5m: %d, want 74802.25 rounded up", r.XOFF)
	}
	a, _ := IEEE(Input{Speed: 400 * g, Cable: 5, PortMTU: 9216, LosslessMTU: 4200})
	b, _ := IEEE(Input{Speed: 400 * g, Cable: 5, PortMTU: 4200, LosslessMTU: 4200})
	if d := a.XOFF - b.XOFF; d != 9216-4200 {
		t.Errorf("a smaller port MTU saves %d", d)
	}
}

func TestIEEECells(t *testing.T) {
	in := Input{Speed: 100 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 4200, ASIC: asic(t, "th3")}
	plain, err := IEEE(in)
	if err != nil {
		t.Fatal(err)
	}
	in.MinPacket = 64
	small, _ := IEEE(in)
	wire := float64(plain.XOFF - 4200)
	if want := wire*254/64 + 4200; math.Abs(float64(small.XOFF)-want) > 5 {
		t.Errorf("64-byte packets: %d, want about %.0f", small.XOFF, want)
	}
	in.ASIC = asic(t, "td4") // no cell size is published
	if r, err := IEEE(in); err != nil || r.XOFF != plain.XOFF || len(r.Notes) != 1 || len(plain.Notes) != 0 {
		t.Errorf("without a cell size: %d, notes %q, %v", r.XOFF, r.Notes, err)
	}
}

func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		cell   int64
		packet int
		want   float64
	}{{208, 64, 3.25}, {254, 64, 3.97}, {256, 64, 4}, {420, 64, 6.56}, {384, 64, 6}, {254, 1086, 1.17}, {254, 4158, 1.04}, {0, 64, 1}, {254, 0, 1}} {
		if got := Occupancy(c.cell, 0, c.packet); math.Abs(got-c.want) > 0.005 {
			t.Errorf("%d bytes in cells of %d: %.3f, want %.2f", c.packet, c.cell, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.Int64Range(1, 512).Draw(t, "cell")
		least := rapid.IntRange(1, 2000).Draw(t, "least")
		descriptor := rapid.Int64Range(0, cell-1).Draw(t, "descriptor")
		w := worstOccupancy(cell, descriptor, least)
		worst := 0.0
		for p := least; p <= least+2*int(cell); p++ {
			worst = max(worst, Occupancy(cell, descriptor, p))
		}
		if w != worst {
			t.Fatalf("%v, the search finds %v", w, worst)
		}
	})
}

func TestErrors(t *testing.T) {
	ok := Input{Speed: 400 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 4200, SmallPacketPercent: 50, ASIC: asic(t, "spc4")}
	for name, change := range map[string]func(*Input){
		"speed":    func(in *Input) { in.Speed = 0 },
		"cable":    func(in *Input) { in.Cable = -1 },
		"nan":      func(in *Input) { in.Cable = units.Length(math.NaN()) },
		"far":      func(in *Input) { in.Cable = units.Length(math.Inf(1)) },
		"mtu":      func(in *Input) { in.PortMTU = 0 },
		"lossless": func(in *Input) { in.LosslessMTU = 1 << 20 },
		"percent":  func(in *Input) { in.SmallPacketPercent = 101 },
		"lanes":    func(in *Input) { in.Lanes = 17 },
		"packet":   func(in *Input) { in.MinPacket = -1 },
	} {
		in := ok
		change(&in)
		if _, err := IEEE(in); !errors.Is(err, errInput) {
			t.Errorf("%s: IEEE: %v", name, err)
		}
		if _, err := SONiCDyn(in); !errors.Is(err, errInput) {
			t.Errorf("%s: SONiCDyn: %v", name, err)
		}
	}
	in := ok
	in.Speed = 1600 * g
	if _, err := IEEE(in); !errors.Is(err, errNoQuanta) {
		t.Errorf("IEEE at 1600G: %v", err)
	}
	for _, a := range []*catalog.ASIC{nil, asic(t, "th5")} {
		in := ok
		in.ASIC = a
		if _, err := SONiCDyn(in); !errors.Is(err, ErrNoModel) {
			t.Errorf("SONiCDyn on %+v: %v", a, err)
		}
	}
}

func TestDrain(t *testing.T) {
	for _, c := range []struct {
		n    int64
		rate units.Rate
		want time.Duration
	}{{131072, 400 * g, 2621}, {262144, 400 * g, 5243}, {150_000, 400 * g, 3000}, {1 << 20, 100 * g, 83886}, {2_000_000, 400 * g, 40000}, {1, 0, 0}} {
		if got := drain(c.n, c.rate); got != c.want {
			t.Errorf("%d at %s: %v, want %v", c.n, c.rate, got, c.want)
		}
	}
}

// A measured response of the peer replaces the quanta of the standard.
func TestIEEEPeer(t *testing.T) {
	in := Input{Speed: 100 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 4200}
	standard, err := IEEE(in)
	if err != nil {
		t.Fatal(err)
	}
	in.PeerBytes, in.PeerHow = 50_000, "measured"
	slow, err := IEEE(in)
	if err != nil || slow.XOFF-standard.XOFF != 50_000-25_216 {
		t.Errorf("%d, %v; standard %d", slow.XOFF, err, standard.XOFF)
	}
	for _, x := range slow.Terms {
		if x.Name == "peer response" && (x.Bytes != 50_000 || x.Source != "measured") {
			t.Errorf("%+v", x)
		}
	}
	// With a stated response, a speed without quanta works too.
	in.Speed = 1600 * g
	if _, err := IEEE(in); err != nil {
		t.Error(err)
	}
	in.PeerBytes = -1
	if _, err := IEEE(in); !errors.Is(err, errInput) {
		t.Errorf("a negative response: %v", err)
	}
}

func drawInput(t *rapid.T) Input {
	id := rapid.SampledFrom([]string{"spc1", "spc2", "spc3", "spc4", "spc5", "spc6", "vs"}).Draw(t, "asic")
	return Input{
		Speed:              rapid.SampledFrom([]units.Rate{g, 10 * g, 25 * g, 40 * g, 50 * g, 100 * g, 200 * g, 400 * g, 800 * g}).Draw(t, "speed"),
		Cable:              units.Length(rapid.Float64Range(0, 5000).Draw(t, "cable")),
		PortMTU:            rapid.IntRange(64, 10000).Draw(t, "mtu"),
		LosslessMTU:        rapid.IntRange(64, 10000).Draw(t, "lossless"),
		SmallPacketPercent: rapid.IntRange(0, 100).Draw(t, "small"),
		MinPacket:          rapid.IntRange(0, 2000).Draw(t, "packet"),
		Lanes:              rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "lanes"),
		SharedHeadroom:     rapid.Bool().Draw(t, "shp"),
		ASIC:               asic(t, id),
		Release:            rapid.SampledFrom([]string{"", "master", "202311", "202405", "202511", "202605", "202611"}).Draw(t, "release"),
	}
}

func sum(r Result) float64 {
	var s float64
	for _, x := range r.Terms {
		s += x.Bytes
	}
	return s
}

func TestProperties(t *testing.T) {
	for name, model := range map[string]func(Input) (Result, error){ModelIEEE: IEEE, ModelSONiCDyn: SONiCDyn} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := drawInput(t)
				r, err := model(in)
				if err != nil {
					t.Fatal(err)
				}
				if r.Model != name {
					t.Fatalf("model %q", r.Model)
				}
				if d := math.Abs(sum(r) - float64(r.XOFF)); d > 1e-5 {
					t.Fatalf("terms sum to %f, total %d", sum(r), r.XOFF)
				}
				for _, x := range r.Terms {
					if x.Name == "" || x.Formula == "" || x.Source == "" && x.Name != "rounding" {
						t.Fatalf("bare term %+v", x)
					}
				}
				if r.XOFF < int64(cableBytes(in.Speed, in.Cable)*1000/1024) {
					t.Fatalf("%d is below the cable", r.XOFF)
				}
				// Up to 202311 the script takes the cable to be 2.3 % shorter.
				if in.PortMTU >= in.LosslessMTU && generationOf(in.Release) > gen202311 && r.XOFF < r.Floor {
					t.Fatalf("%d is below the floor %d", r.XOFF, r.Floor)
				}
				more := func(what string, change func(*Input)) {
					bigger := in
					change(&bigger)
					r2, err := model(bigger)
					if err != nil {
						t.Fatal(err)
					}
					// Without shared headroom the script adds 2 KiB, which may be lost again
					// through two roundings.
					var slack int64
					if name == ModelSONiCDyn && !in.SharedHeadroom && generationOf(in.Release) == gen202605 {
						slack = 2048
					}
					if r2.XOFF < r.XOFF-slack || r2.XON < r.XON || r2.Size < r.Size-slack {
						t.Fatalf("larger %s: %+v, then %+v", what, r, r2)
					}
				}
				more("cable", func(in *Input) { in.Cable += units.Length(rapid.Float64Range(0, 1000).Draw(t, "more cable")) })
				more("port MTU", func(in *Input) { in.PortMTU += rapid.IntRange(0, 5000).Draw(t, "more mtu") })
				if in.Speed < 800*g {
					more("speed", func(in *Input) {
						in.Speed = rapid.SampledFrom(speeds).Filter(func(s units.Rate) bool { return s > in.Speed }).Draw(t, "more speed")
					})
				}
				if name == ModelIEEE {
					more("lossless MTU", func(in *Input) { in.LosslessMTU += 1000 })
				}
			})
		})
	}
}
