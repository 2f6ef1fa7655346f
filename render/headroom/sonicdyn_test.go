package headroom

import (
	"math"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// XOFF in KiB on Spectrum-4 with shared headroom, port MTU 9100 and lossless frames of 1024 bytes,
// for 50 and 100 percent of small packets.
func TestSONiCDynSpectrum4(t *testing.T) {
	for cable, want := range map[units.Length][6][2]int64{
		5:    {{20, 47}, {26, 61}, {46, 111}, {54, 128}, {94, 225}, {104, 250}},
		40:   {{22, 50}, {29, 68}, {52, 124}, {64, 154}, {115, 277}, {147, 354}},
		100:  {{24, 56}, {33, 79}, {61, 146}, {83, 198}, {152, 366}, {220, 531}},
		300:  {{32, 74}, {49, 116}, {91, 220}, {143, 346}, {273, 662}, {463, 1123}},
		500:  {{39, 93}, {64, 153}, {122, 294}, {204, 494}, {395, 958}, {707, 1715}},
		1000: {{58, 139}, {102, 245}, {198, 479}, {357, 864}, {700, 1697}, {1316, 3195}},
		2000: {{96, 232}, {178, 430}, {350, 849}, {661, 1604}, {1309, 3177}, {2535, 6154}},
	} {
		for i, speed := range speeds {
			for j, small := range []int{50, 100} {
				r, err := SONiCDyn(Input{Speed: speed, Cable: cable, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: small,
					SharedHeadroom: true, ASIC: asic(t, "spc4")})
				if err != nil || r.XOFF != want[i][j]*1024 {
					t.Errorf("%s %s %d%%: %d, %v; want %d KiB", speed, cable, small, r.XOFF, err, want[i][j])
				}
			}
		}
	}
}

// Every published row of ACS-SN5600, within 1 KiB: small packets only, with the script's cable and
// quanta.
func TestSONiCDynReproducesSN5600(t *testing.T) {
	m, ok := catalog.Lookup("ACS-SN5600")
	if !ok {
		t.Fatal("no ACS-SN5600")
	}
	n := 0
	for _, row := range m.Headroom {
		r, err := SONiCDyn(Input{Speed: row.Speed, Cable: row.Cable, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: 100, ASIC: m.ASIC()})
		if err != nil {
			t.Errorf("%s %s: %v", row.Speed, row.Cable, err)
			continue
		}
		if d := r.XOFF - row.XOFF; d > 1024 || d < -1024 {
			t.Errorf("%s %s: %d, published %d", row.Speed, row.Cable, r.XOFF, row.XOFF)
		}
		n++
	}
	if n < 20 {
		t.Errorf("%d rows", n)
	}
	r, _ := SONiCDyn(Input{Speed: 400 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: 100, ASIC: m.ASIC()})
	if r.XON != 19456 || r.XOFF != 283648 || r.Size != 303104 {
		t.Errorf("400G/40m: %+v, published 19456, 283648, 303104", r)
	}
}

// A larger lossless MTU lowers XOFF, because the share of small packets is counted by byte.
func TestSONiCDynLosslessMTU(t *testing.T) {
	in := Input{Speed: 400 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: 50, ASIC: asic(t, "spc4")}
	if r, _ := SONiCDyn(in); r.XOFF != 119808 {
		t.Errorf("1024: %d", r.XOFF)
	}
	in.LosslessMTU = 4200
	if r, _ := SONiCDyn(in); r.XOFF != 106496 {
		t.Errorf("4200: %d", r.XOFF)
	}
}

func TestSONiCDynRules(t *testing.T) {
	base := Input{Speed: 400 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: 50, ASIC: asic(t, "spc4")}
	run := func(change func(*Input)) Result {
		in := base
		change(&in)
		r, err := SONiCDyn(in)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	off := run(func(*Input) {})
	shp := run(func(in *Input) { in.SharedHeadroom = true })
	if off.XOFF-shp.XOFF != 2048 {
		t.Errorf("compensation without shared headroom: %d", off.XOFF-shp.XOFF)
	}
	if shp.Size != shp.XON || off.Size != off.XOFF+off.XON {
		t.Errorf("size: shared %+v, own %+v", shp, off)
	}
	eight := run(func(in *Input) { in.Lanes = 8 })
	if eight.XON != 2*19*1024 || eight.XOFF != off.XOFF || eight.Size != off.XOFF+eight.XON+9*1024 {
		t.Errorf("8 lanes: %+v", eight)
	}
	if r := run(func(in *Input) { in.Release = "202511" }); r.XOFF != shp.XOFF {
		t.Errorf("202511 has no compensation: %d", r.XOFF)
	}
	plain, tile := asic(t, "spc3"), asic(t, "spc4")
	without := *tile
	without.TileNS = 0
	a := run(func(in *Input) { in.SharedHeadroom = true; in.ASIC = &without })
	if shp.XOFF-a.XOFF != 7168 {
		// 6000 bytes of tile, times 1.2353, between two roundings.
		t.Errorf("tile: %d", shp.XOFF-a.XOFF)
	}
	if b := run(func(in *Input) { in.SharedHeadroom = true; in.ASIC = plain }); b.XOFF != a.XOFF {
		t.Errorf("Spectrum-3 %d, Spectrum-4 without its tile %d", b.XOFF, a.XOFF)
	}

	six := asic(t, "spc6")
	noExtra := *six
	noExtra.XOFFExtra = 0
	d := run(func(in *Input) { in.ASIC = six }).XOFF - run(func(in *Input) { in.ASIC = &noExtra }).XOFF
	if d != 18432 {
		t.Errorf("Spectrum-6 adds %d", d)
	}

	r := run(func(in *Input) { in.Speed = 1600 * g })
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "3.8 KiB") {
		t.Errorf("1600G: notes %q", r.Notes)
	}
	noPeer := *tile
	noPeer.PeerKiB = 0
	in := base
	in.Speed, in.ASIC = 1600*g, &noPeer
	if _, err := SONiCDyn(in); err == nil {
		t.Error("1600G without quanta and without a constant")
	}
}

// Before 202405 the share of small packets was a plain count: 100 percent meant a factor of
// cell/64, and 0 percent no overhead.
func TestSONiCDyn202311(t *testing.T) {
	in := Input{Speed: 100 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 1024, ASIC: asic(t, "spc2"), Release: "202311.1", Lanes: 8}
	r, err := SONiCDyn(in)
	if err != nil {
		t.Fatal(err)
	}
	// 9100 + 5050.5*1000/1024 + 819.2 + 25216 + 1024 = 41091.3
	if r.XOFF != 41*1024 || r.XON != 37*1024 {
		t.Errorf("0%%: %+v", r)
	}
	in.SmallPacketPercent = 100
	// (9100 + 4932.1 + 819.2 + 25216) * 144/64 + 1024 = 91175.5
	if r, _ := SONiCDyn(in); r.XOFF != 90*1024 {
		t.Errorf("100%%: %+v", r)
	}
}

// The memory that the scripts reserve per byte, with frames of 1024 bytes, at 50 and at 100 percent
// of small packets.
func TestSONiCDynOccupancy(t *testing.T) {
	for id, want := range map[string][2]float64{
		"spc1": {1.118, 2}, "spc2": {1.235, 3}, "spc3": {1.235, 3}, "spc4": {1.235, 3}, "spc5": {1.235, 3}, "spc6": {1.353, 4},
	} {
		for i, small := range []int{50, 100} {
			r, err := SONiCDyn(Input{Speed: 100 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: small, SharedHeadroom: true, ASIC: asic(t, id)})
			if err != nil {
				t.Fatal(err)
			}
			var wire, more float64
			for _, x := range r.Terms {
				switch x.Name {
				case "largest frame", "cable", "MAC and PHY", "peer response", "tile":
					wire += x.Bytes
				case "cell occupancy":
					more = x.Bytes
				}
			}
			if got := 1 + more/wire; math.Abs(got-want[i]) > 0.0005 {
				t.Errorf("%s %d%%: %.4f, want %g", id, small, got, want[i])
			}
		}
	}
}

// Barefoot's script: small packets by count, the peer twice at 400G, and size always xon.
func TestSONiCDynBarefoot(t *testing.T) {
	in := Input{Speed: 400 * g, Cable: 40, PortMTU: 9100, LosslessMTU: 1024, SmallPacketPercent: 50, SharedHeadroom: true, Lanes: 8, ASIC: asic(t, "tofino2")}
	r, err := SONiCDyn(in)
	// (9100 + 19728.5 + 819.2 + 2*57920) * (1 + 0.5*1.75) + 1024 = 273813.5
	if err != nil || r.XOFF != 268*1024 || r.XON != 68*1024 || r.Size != r.XON || len(r.Notes) != 0 {
		t.Errorf("400G: %+v, %v", r, err)
	}
	in.Speed, in.SharedHeadroom = 100*g, false
	r, err = SONiCDyn(in)
	// (9100 + 4932.1 + 819.2 + 25216) * 1.875 + 1024 = 76150.2
	if err != nil || r.XOFF != 75*1024 || r.Size != r.XON || len(r.Notes) != 1 {
		t.Errorf("100G: %+v, %v", r, err)
	}
	in.Speed = 1600 * g
	if r, err = SONiCDyn(in); err != nil || !strings.Contains(r.Notes[0], "9 KiB") {
		t.Errorf("1600G: %q, %v", r.Notes, err)
	}
}
