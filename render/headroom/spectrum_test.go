package headroom

import (
	"math"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// spectrumRow is a profile, in bytes, on a switch of a model, and what NVIDIA's own QoS test
// expects of it, in cells: sonic-mgmt b4ba9de3c9 tests/qos/files/mellanox/qos_param_generator.py
// was run on these profiles, with the threshold that tests/qos/qos_sai_base.py gives it. spc3 has
// two rows of qos_params.spc3.yaml, for four groups of a port.
type spectrumRow struct {
	model           string
	speed           units.Rate
	size, xon, xoff int64
	pool, shp       int64
	alpha, beta     int64 // exponents
	// groups is the number of lossless groups of a port.
	groups            int
	pause, drop, xon2 int64
	each              []int64 // pause of one group after another, two a port
	onlyHeadroom      bool    // the pool of the switch that was measured is not published
}

var spectrumRows = []spectrumRow{
	{model: "ACS-MSN2700", speed: 100 * g, size: 50176, xon: 19456, xoff: 30720, pool: 3302912, groups: 2, pause: 17406, drop: 17631, xon2: 17204},
	{model: "ACS-MSN2700", speed: 40 * g, size: 78848, xon: 19456, xoff: 59392, pool: 3302912, groups: 2, pause: 17405, drop: 17929, xon2: 17203},
	{model: "ACS-MSN3700", speed: 100 * g, size: 53248, xon: 19456, xoff: 33792, pool: 11622400, groups: 2, pause: 40491, drop: 40662, xon2: 40357},
	{model: "ACS-MSN4700", speed: 100 * g, size: 53248, xon: 19456, xoff: 33792, pool: 20627456, groups: 2, pause: 71758, drop: 71929, xon2: 71624},
	{model: "ACS-MSN4700", speed: 400 * g, size: 124928, xon: 37888, xoff: 77824, pool: 20627456, groups: 2, pause: 71950, drop: 72368, xon2: 71640},
	{model: "ACS-SN5600", speed: 400 * g, size: 303104, xon: 19456, xoff: 283648, pool: 52161690, beta: 7, groups: 2, pause: 263544, drop: 264975, xon2: 263444},
	{model: "ACS-SN6600", speed: 400 * g, size: 144384, xon: 43008, xoff: 101376, pool: 62516224, groups: 2, pause: 122270, drop: 122619, xon2: 122103},
	{model: "ACS-MSN3700", speed: 100 * g, size: 19456, xon: 19456, xoff: 38912, pool: 11622400, shp: 1000000, groups: 2, pause: 40491, drop: 41033, xon2: 40356,
		each: []int64{40491, 20313, 10224, 5180, 2658, 1397, 766, 451, 293, 214, 175, 155, 145, 140}},
	{model: "ACS-MSN4700", speed: 100 * g, size: 19456, xon: 19456, xoff: 38912, pool: 20627456, shp: 1000000, groups: 4, pause: 71759, drop: 72843, xon2: 71624},
	{model: "ACS-SN5600", speed: 400 * g, size: 19456, xon: 19456, xoff: 90112, pool: 52161690, shp: 2000000, beta: 7, groups: 2, pause: 263545, drop: 264485, xon2: 263444,
		each: []int64{263546, 4093, 4215, 164, 166, 103, 103, 102, 102, 102, 102, 102, 102, 102}},
	{model: "Mellanox-SN5640-C448O16", speed: 400 * g, size: 19456, xon: 19456, xoff: 104448, pool: 108270592, shp: 3000000, beta: 7, groups: 2, pause: 546923, drop: 548011, xon2: 546822,
		each: []int64{546924, 8387, 8639, 231, 235, 104, 104, 102, 102, 102, 102, 102, 102, 102}},
	{model: "Mellanox-SN5640-C448O16", speed: 400 * g, size: 19456, xon: 19456, xoff: 104448, pool: 108270592, shp: 3000000, alpha: 1, beta: 0, groups: 2, pause: 225666, drop: 226754, xon2: 225565,
		each: []int64{225666, 45215, 117396, 23560, 61095, 12300, 31818, 6446, 16594, 3401, 8678, 1817, 4562, 994}},
	{model: "ACS-MSN4600C", speed: 100 * g, xoff: 66560, shp: 1000000, groups: 4, pause: 176064, drop: 177916, onlyHeadroom: true},
	{model: "ACS-MSN4700", speed: 400 * g, xoff: 144384, shp: 1000000, groups: 4, pause: 167524, drop: 171535, onlyHeadroom: true},
}

// Pause, resume, first drop and the sequence of groups agree with NVIDIA's own test to four cells.
// A threshold is computed there from the rounded size, here from bytes.
func TestSpectrumRows(t *testing.T) {
	for _, r := range spectrumRows {
		m := model(t, r.model)
		cell := m.ASIC().CellBytes
		compare := func(what string, got, want int64) {
			t.Helper()
			if d := math.Abs(float64(got - want)); d > 4 {
				t.Errorf("%s %s: %s at %d cells, NVIDIA's test has %d", r.model, r.speed, what, got, want)
			}
		}
		u := UsableOf(m.ASIC(), r.speed, 4, r.groups, r.xoff, r.shp > 0)
		headroom := cells(u.Most, cell) / cell
		compare("headroom", headroom, r.drop-r.pause)
		if r.onlyHeadroom {
			continue
		}
		min := GroupReserve(r.size, r.xoff, r.shp)
		facts := Facts{Sizes: &Sizes{Size: r.pool}, Exponent: &r.alpha, Min: &min}
		if m.ASIC().PortAlpha {
			facts.PortExponent = &r.beta
		}
		p, err := PoolOf(m, r.speed, facts)
		if err != nil {
			t.Fatal(err)
		}
		compare("pause", p.Threshold(1)/cell, r.pause)
		// The test lets the pause end once all but these cells have left.
		resume := Hysteresis(p.Threshold(1), r.xon, nil).Resume / cell
		if n := m.ASIC().Uneven; n != nil && n.Speed == r.speed {
			resume -= n.Resume
		}
		compare("resume", resume, r.pause-r.xon2-(min-r.xon)/cell)

		s := NewSlice(p.Bytes/cell, 0)
		alone := s.Add(GroupSize{Min: cells(min, cell) / cell, Alpha: p.Alpha, Headroom: headroom, PortAlpha: p.PortAlpha})
		sent := int64(0)
		for s.Receive(alone, 1) != Dropped {
			sent++
		}
		compare("first drop", sent, r.drop)

		s = NewSlice(p.Bytes/cell, 0)
		for i, want := range r.each {
			group := s.Add(GroupSize{Min: cells(min, cell) / cell, Alpha: p.Alpha, Headroom: headroom, Port: i / 2, PortAlpha: p.PortAlpha})
			sent := int64(1)
			for s.Receive(group, 1) != Paused {
				sent++
			}
			compare("pause of the next group", sent, want)
		}
	}
}

// The bounds of usable headroom: what is lost of a group's own, and what it may take of the pool.
func TestUsableHeadroom(t *testing.T) {
	spc := func(id string) *catalog.ASIC { return asic(t, id) }
	for name, c := range map[string]struct {
		asic        *catalog.ASIC
		speed       units.Rate
		shared      bool
		least, most int64
		says        string
	}{
		"own":          {spc("spc2"), 100 * g, false, 100000 - 64*144, 100000 - 64*144, "64 cells of 144 B"},
		"uneven":       {spc("spc3"), 400 * g, false, 100000 - 123*144, 100000 - 123*144, "at 400G another 59"},
		"even":         {spc("spc3"), 200 * g, false, 100000 - 64*144, 100000 - 64*144, ""},
		"shared":       {spc("spc4"), 400 * g, true, 100000, 200000, "of all 2"},
		"port's limit": {spc("spc1"), 100 * g, true, 100000, 200000, ""},
	} {
		u := UsableOf(c.asic, c.speed, 4, 2, 100000, c.shared)
		if u.Least != c.least || u.Most != c.most || !strings.Contains(u.Why, c.says) {
			t.Errorf("%s: %+v", name, u)
		}
	}
	if u := UsableOf(spc("spc1"), 100*g, 4, 2, 500_000, true); u.Most != (8192+20)*96 || !strings.Contains(u.Why, "of a port") {
		t.Errorf("%+v", u)
	}
	if UsableOf(spc("th3"), 400*g, 8, 2, 100000, false) != nil || UsableOf(nil, 400*g, 8, 2, 100000, false) != nil {
		t.Error("nothing is known of other chips")
	}
}

// Each packet on Spectrum-6 takes 32 bytes beside its own.
func TestDescriptor(t *testing.T) {
	a := asic(t, "spc6")
	for packet, want := range map[int]float64{64: 256. / 64, 224: 256. / 224, 225: 512. / 225, 256: 512. / 256} {
		if got := Occupancy(a.CellBytes, a.Descriptor, packet); got != want {
			t.Errorf("%d bytes: %f, want %f", packet, got, want)
		}
	}
	if got := worstOccupancy(256, 32, 200); got != 512./225 {
		t.Errorf("the worst packet of 200 bytes and more: %f", got)
	}
}
