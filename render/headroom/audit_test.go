package headroom

import (
	"encoding/csv"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"pgregory.net/rapid"
)

// published reads the rows of every published table by its switch model.
func published(t *testing.T) map[string][]Row {
	t.Helper()
	f, err := os.Open(sharedtest.Dir(t, "data", "sonic_pg_profiles.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recs, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]Row{}
	for _, r := range recs[1:] {
		mbps, err1 := strconv.ParseInt(r[4], 10, 64)
		cable, err2 := units.ParseLength(r[5])
		xoff, err3 := strconv.ParseInt(r[8], 10, 64)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		tables[r[2]] = append(tables[r[2]], Row{units.Rate(mbps * 1e6), cable, xoff})
	}
	return tables
}

// Every row of the 24 published tables has a verdict. A count over all files
// of sonic-buildimage (1462 rows of 77 contents) finds 22 rows below the floor,
// 6 contents that are not monotone and 9 flat ones. The tables here are 24 of
// those contents: none of the first two kinds is among them (they are in
// TestAuditKnownFaults), and 6 of the flat ones are.
//
// For the rows below a model that count asks for the cable, a frame of 9114, a
// last one of 1086, the pause frame and the quanta, and finds 93 rows in 26
// contents, 14 in 6 of them here. ieee-quanta asks for the 819 bytes of this
// end's MAC and PHY and 24 of the largest frame more, and finds 4 more, all on
// the Supermicro, whose rows are this close.
func TestAuditPublished(t *testing.T) {
	tables := published(t)
	const frame = 1086
	models := map[string]func(units.Rate, units.Length) (int64, error){
		"ieee-quanta": Reference(Input{PortMTU: 9100, LosslessMTU: frame}),
		"without MAC and PHY": func(speed units.Rate, cable units.Length) (int64, error) {
			q, ok := Quanta(speed)
			if !ok {
				return 0, ErrNoQuanta
			}
			return int64(math.Ceil(CableBytes(speed, cable))) + 9114 + frame + 84 + q*64, nil
		},
	}
	for name, want := range map[string]struct{ rows, tables int }{"ieee-quanta": {18, 6}, "without MAC and PHY": {14, 6}} {
		rows, below, in := 0, 0, 0
		var flat []string
		for sku, l := range tables {
			a := AuditTable(l, frame, models[name])
			rows += len(a.Rows)
			if n := a.Count(BelowModel); n > 0 {
				below, in = below+n, in+1
			}
			if n := a.Count(BelowFloor) + a.Count(CableFalls) + a.Count(SpeedFalls); n != 0 {
				t.Errorf("%s: %d rows below the floor or not monotone", sku, n)
			}
			for _, o := range a.Occupancies {
				if o.Low {
					t.Errorf("%s grows by %.2f of the cable at %s", sku, o.Factor, o.Speed)
				}
			}
			if a.Flat {
				flat = append(flat, sku)
			}
		}
		if rows != 421 || len(tables) != 24 {
			t.Errorf("%d rows in %d tables", rows, len(tables))
		}
		if below != want.rows || in != want.tables {
			t.Errorf("%s: %d rows below it in %d tables, want %+v", name, below, in, want)
		}
		slices.Sort(flat)
		if want := []string{"Arista-7050CX3-32S-C32", "Arista-7060X6-64PE-256x200G", "Arista-7060X6-64PE-O128S2", "DS3000", "NH-4010", "SONiC-VM"}; !slices.Equal(flat, want) {
			t.Errorf("flat: %v", flat)
		}
	}
}

// The rows that the product holds are those, so that its own tables are free of
// the faults that are no matter of opinion.
func TestAuditCatalogue(t *testing.T) {
	for _, name := range catalog.Models() {
		m := model(t, name)
		a := AuditTable(Rows(m), 1086, Reference(Input{PortMTU: 9100, LosslessMTU: 1086, ASIC: m.ASIC()}))
		if len(a.Rows) != len(m.Headroom) || a.Count(BelowFloor)+a.Count(CableFalls)+a.Count(SpeedFalls) != 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// What a byte on the wire takes in published tables.
func TestInferOccupancy(t *testing.T) {
	tables := published(t)
	for _, c := range []struct {
		sku   string
		speed units.Rate
		want  float64
	}{
		{"DellEMC-Z9664f-O64", 400 * g, 2.99}, {"Dell-Z9864f-O64", 800 * g, 2.99}, {"Arista-7260CX3-C64", 100 * g, 1.26}, {"dbmvtx9180_64osfp_128x400G", 100 * g, 1.01},
	} {
		a := AuditTable(tables[c.sku], 1086, Reference(Input{PortMTU: 9100, LosslessMTU: 1086}))
		i := slices.IndexFunc(a.Occupancies, func(o InferredOccupancy) bool { return o.Speed == c.speed })
		if i < 0 || math.Abs(a.Occupancies[i].Factor-c.want) > 0.005 {
			t.Errorf("%s %s: %+v, want %.2f", c.sku, c.speed, a.Occupancies, c.want)
		}
	}
	if _, ok := InferOccupancy(Row{100 * g, 5, 1}, Row{100 * g, 5, 2}); ok {
		t.Error("two cables of one length")
	}
	if _, ok := InferOccupancy(Row{100 * g, 5, 1}, Row{200 * g, 40, 2}); ok {
		t.Error("two speeds")
	}
}

// Rows that were published and are wrong, as sonic-buildimage had them.
func TestAuditKnownFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  []Row
		fault Fault
		at    int // index of the row in order of speed and cable
	}{
		{"SN4280-O28: 400G as at 200G", []Row{{200 * g, 2000, 555_008}, {400 * g, 2000, 555_008}}, BelowFloor, 1},
		{"SN4700-C128: 10G", []Row{{10 * g, 2000, 32_768}, {10 * g, 1500, 55_296}}, CableFalls, 1},
		{"NH-5010: 800G", []Row{{400 * g, 30, 514_553}, {800 * g, 30, 244_000}}, SpeedFalls, 1},
		{"IXR7220-H6: 100G", []Row{{50 * g, 5, 135_660}, {100 * g, 5, 125_580}}, SpeedFalls, 1},
	} {
		a := AuditTable(c.rows, 1086, Reference(Input{PortMTU: 9100, LosslessMTU: 1086}))
		if !a.Rows[c.at].Has(c.fault) || a.Count(c.fault) != 1 {
			t.Errorf("%s: %+v", c.name, a.Rows)
		}
		if (c.fault == CableFalls || c.fault == SpeedFalls) && (len(a.Rows[c.at].Above) != 1 || a.Rows[c.at].Above[0].XOFF <= a.Rows[c.at].XOFF) {
			t.Errorf("%s: above it %+v", c.name, a.Rows[c.at].Above)
		}
	}
	// A one-way cable term is 1/2.
	a := AuditTable([]Row{{100 * g, 5, 40_000}, {100 * g, 2000, 40_000 + 126_000}}, 1086, Reference(Input{PortMTU: 9100, LosslessMTU: 1086}))
	if len(a.Occupancies) != 1 || !a.Occupancies[0].Low || math.Abs(a.Occupancies[0].Factor-0.5) > 0.01 {
		t.Errorf("half a cable: %+v", a.Occupancies)
	}
}

func TestAuditProperties(t *testing.T) {
	in := Input{PortMTU: 9100, LosslessMTU: 4200}
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
			in := in
			in.Speed = rapid.SampledFrom(speeds).Draw(t, "speed")
			in.Cable = units.Length(i + 1)
			r, err := IEEE(in)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, Row{in.Speed, in.Cable, r.XOFF})
		}
		before := slices.Clone(rows)
		a := AuditTable(rows, 4200, Reference(in))
		if !slices.Equal(rows, before) || len(a.Rows) != len(rows) {
			t.Fatal("the rows are not as they were")
		}
		for _, r := range a.Rows {
			if len(r.Faults) != 0 || r.Margin != 0 || r.Model < r.Floor {
				t.Fatalf("a row of the model itself: %+v", r)
			}
		}
		for _, o := range a.Occupancies {
			if o.Low || math.Abs(o.Factor-1) > 0.2 {
				t.Fatalf("%+v", o)
			}
		}
		if len(rows) == 0 {
			return
		}
		// A byte less anywhere shows at that row.
		i := rapid.IntRange(0, len(rows)-1).Draw(t, "spoiled")
		rows[i].XOFF--
		if b := AuditTable(rows, 4200, Reference(in)); b.Count(BelowModel) != 1 {
			t.Fatalf("%d rows are below the model", b.Count(BelowModel))
		}
	})
}
