package headroom

import (
	"errors"
	"math"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

func TestMaxSharedHeadroom(t *testing.T) {
	for id, want := range map[string]int64{"spc1": 788352, "spc2": 1182528, "spc3": 1182528, "spc4": 1576704, "spc5": 1183488, "spc6": 1577984} {
		if n, ok := maxSharedHeadroom(asic(t, id), 4); !ok || n != want {
			t.Errorf("%s: %d, want %d", id, n, want)
		}
	}
	if n, _ := maxSharedHeadroom(asic(t, "spc4"), 8); n != (8192+40)*192 {
		t.Errorf("8 lanes: %d", n)
	}
	if _, ok := maxSharedHeadroom(asic(t, "th5"), 8); ok {
		t.Error("th5 has no published limit")
	}
}

func TestAdmit(t *testing.T) {
	lossless := Groups{Count: 2, Size: 158_720, XON: 38_912, XOFF: 110_592}
	in := AdmissionInput{ASIC: asic(t, "spc3"), Lanes: 4, Groups: []Groups{lossless, {Count: 1}}}
	// 4 KiB deviation, 19 pipeline, 20 mirror, two lossless groups, and 19 for a lossy one.
	want := int64((4+19+20+19)*1024 + 2*158_720)
	r, err := Admit(in)
	if err != nil || r.Total != want || !r.Admitted {
		t.Errorf("%+v, %v; want %d", r, err, want)
	}
	in.Lanes = 8
	if r, _ = Admit(in); r.Total != int64((4+37+40+37)*1024+2*158_720) {
		t.Errorf("8 lanes: %+v", r)
	}
	// Barefoot's script accepts everything; other chips have no script.
	if r, err := Admit(AdmissionInput{ASIC: asic(t, "tofino2")}); err != nil || !r.Admitted {
		t.Errorf("Tofino: %+v, %v", r, err)
	}
	for _, a := range []*catalog.ASIC{nil, asic(t, "th5")} {
		if _, err := Admit(AdmissionInput{ASIC: a}); !errors.Is(err, ErrNoModel) {
			t.Errorf("%v: %v", a, err)
		}
	}
}

// Two lossless groups at 800G on Spectrum-4 fit a port's share of the shared headroom pool with 500
// m but not with 1000 m.
func TestAdmitSharedHeadroom(t *testing.T) {
	for cable, want := range map[units.Length]struct {
		kib      int64
		admitted bool
	}{500: {1414, true}, 1000: {2632, false}} {
		r, err := SONiCDyn(Input{Speed: 800 * g, Cable: cable, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: 50, SharedHeadroom: true, Lanes: 4, ASIC: asic(t, "spc4")})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Admit(AdmissionInput{ASIC: asic(t, "spc4"), Lanes: 4, SharedHeadroom: true, Groups: []Groups{{Count: 2, Size: r.Size, XON: r.XON, XOFF: r.XOFF}}})
		if err != nil || a.Shared != want.kib*1024 || a.Admitted != want.admitted || a.MaxShared != 1576704 {
			t.Errorf("%s: %+v, %v; want %+v", cable, a, err, want)
		}
	}
}

func TestSizePools(t *testing.T) {
	lossless := Groups{Count: 2, Size: 19_456, XON: 19_456, XOFF: 100 << 10}
	in := PoolInput{
		ASIC: asic(t, "spc3"), Ratio: 2, IngressPools: 1,
		Ports: []PortBuffers{{Count: 30, Lanes: 4, Up: true, Groups: []Groups{lossless, {Count: 1}}, Queues: 1000}, {Count: 2, Lanes: 8, Groups: []Groups{{Count: 1}}}},
	}
	r, err := SizePools(in)
	if err != nil {
		t.Fatal(err)
	}
	shared := int64((30*2*(100<<10) - 30*10<<10) / 2)
	occupied := int64(30*2*19_456) + // lossless groups
		30*19<<10 + 2*37<<10 + // lossy groups
		30*1000 + 30*10<<10 + shared +
		30*19<<10 + 30*10<<10 + 256<<10 // management groups, mirror, management pool
	if r.SharedHeadroom != shared || r.Occupied != occupied || r.Size != 60817392-occupied {
		t.Errorf("%+v; want shared %d, occupied %d", r, shared, occupied)
	}
	var sum float64
	for _, x := range r.Terms {
		sum += x.Bytes
	}
	if int64(sum) != r.Occupied {
		t.Errorf("the terms sum to %g", sum)
	}
	// Two ingress pools get half of the remaining memory each.
	in.IngressPools = 2
	if half, _ := SizePools(in); half.Size != (r.Size+1)/2 {
		t.Errorf("two pools: %d of %d", half.Size, r.Size)
	}
	// A stated size overrides the ratio; if groups need a pool and nothing is stated, it gets the
	// minimum.
	in.SharedHeadroom = 1 << 20
	if s, _ := SizePools(in); s.SharedHeadroom != 1<<20 {
		t.Errorf("stated: %+v", s)
	}
	in.SharedHeadroom, in.Ratio = 0, 0
	if s, _ := SizePools(in); s.SharedHeadroom != 655_360 {
		t.Errorf("forced: %+v", s)
	}
	// Groups with their own headroom need no shared pool.
	in.Ports[0].Groups = []Groups{{Count: 2, Size: 119 << 10, XON: 19 << 10, XOFF: 100 << 10}}
	if s, _ := SizePools(in); s.SharedHeadroom != 0 {
		t.Errorf("own headroom: %+v", s)
	}
	// Spectrum-6 reserves 32 MiB and uses it for mirroring.
	in.ASIC = asic(t, "spc6")
	six, _ := SizePools(in)
	for _, x := range six.Terms {
		if x.Name == "modification descriptors" && x.Bytes != 32<<20 || x.Name == "egress mirror" && x.Bytes != 0 {
			t.Errorf("Spectrum-6: %+v", x)
		}
	}
	if _, err := SizePools(PoolInput{ASIC: asic(t, "th5")}); !errors.Is(err, ErrNoModel) {
		t.Errorf("th5: %v", err)
	}
	if _, err := SizePools(PoolInput{ASIC: asic(t, "vs")}); !errors.Is(err, errInput) {
		t.Errorf("no memory: %v", err)
	}
}

func TestSharedHeadroomPool(t *testing.T) {
	for _, c := range []struct {
		headroom int64
		ports    int
		ratio    float64
		want     int64
	}{{1 << 20, 10, 1, 1<<20 - 100<<10}, {1<<20 + 1, 10, 3, 315_393}, {100 << 10, 10, 1, 655_360}, {1 << 20, 0, 0, 655_360}} {
		if got := sharedHeadroomPool(c.headroom, c.ports, c.ratio); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// The over-subscription of the headroom pool in published profiles, with two lossless groups per
// port.
func TestOverSubscription(t *testing.T) {
	for _, c := range []struct {
		model string
		ports int64
		speed units.Rate
		cable units.Length
		want  float64
	}{
		{"DS3000", 32, 100 * g, 40, 0.76}, {"DellEMC-Z9664f-O64", 64, 400 * g, 40, 1.07},
		{"Dell-Z9864f-O64", 64, 800 * g, 5, 2.8}, {"Dell-Z9864f-O64", 64, 800 * g, 40, 3.2},
		{"Arista-7060X6-64PE-256x200G", 256, 200 * g, 5, 5.2}, {"Arista-7050CX3-32S-C32", 32, 100 * g, 5, 6.3},
	} {
		m := model(t, c.model)
		row, ok := m.HeadroomRow(c.speed, c.cable)
		pool, ok2 := m.Pool(catalog.IngressPool)
		if !ok || !ok2 {
			t.Errorf("%s: no row or pool", c.model)
			continue
		}
		got, ok := OverSubscription(2*c.ports*row.XOFF, pool.XOFF)
		printed := 0.005
		if c.want > 2 {
			printed = 0.05
		}
		if !ok || math.Abs(got-c.want) > printed {
			t.Errorf("%s: %.3f (2 * %d * %d of %d), want %g", c.model, got, c.ports, row.XOFF, pool.XOFF, c.want)
		}
	}
	// The 7260CX3's t0 template has a pool of 7.83 MB; the catalogue has t1.
	row, _ := model(t, "Arista-7260CX3-C64").HeadroomRow(100*g, 40)
	if r, ok := OverSubscription(2*64*row.XOFF, 7_830_000); !ok || math.Abs(r-0.98) > 0.005 {
		t.Errorf("7260CX3: %g", r)
	}
	if _, ok := OverSubscription(1, 0); ok {
		t.Error("a ratio to no pool")
	}
}
