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

// The 421 rows of the 24 published tables neither fall below the floor, nor with
// cable or speed. A count over all files of sonic-buildimage (1462 rows of 77
// contents) finds such rows in contents that are not among these.
//
// For the rows below a model that count asks for the cable, a frame of 9114, a
// last one of 1086, the pause frame and the quanta, and finds 93 rows in 26
// contents, 14 in 6 of them here. ieee-quanta asks for the 819 bytes of this
// end's MAC and PHY and 24 of the largest frame more, and finds 4 more, all on
// the Supermicro, whose rows are this close.
func TestPublishedRows(t *testing.T) {
	tables := published(t)
	const frame = 1086
	rows, below, plain := 0, 0, 0
	for sku, l := range tables {
		if falls := Falls(l); len(falls) > 0 {
			t.Errorf("%s: %+v", sku, falls)
		}
		for _, r := range l {
			rows++
			if r.XOFF < Floor(r.Speed, r.Cable, frame) {
				t.Errorf("%s: %+v is below the floor", sku, r)
			}
			if m, err := IEEE(Input{PortMTU: 9100, LosslessMTU: frame, Speed: r.Speed, Cable: r.Cable}); err == nil && r.XOFF < m.XOFF {
				below++
			}
			if q, ok := Quanta(r.Speed); ok && r.XOFF < int64(math.Ceil(cableBytes(r.Speed, r.Cable)))+9114+frame+84+q*64 {
				plain++
			}
		}
	}
	if rows != 421 || len(tables) != 24 || below != 18 || plain != 14 {
		t.Errorf("%d rows in %d tables, %d below ieee-quanta, %d without MAC and PHY", rows, len(tables), below, plain)
	}
}

// Of the tables that the product holds, twelve have rows that fall where they should
// rise, which BUF-06 says, and only rows of NVIDIA for 1500 m and more are below the
// floor, which BUF-01 says.
func TestCatalogueRows(t *testing.T) {
	falls := 0
	for _, name := range catalog.Models() {
		m := model(t, name)
		rows := Rows(m)
		if len(Falls(rows)) > 0 {
			falls++
		}
		for _, r := range rows {
			if r.XOFF < Floor(r.Speed, r.Cable, 1086) && (r.Cable < 1500 || m.ASIC().Vendor != "nvidia") {
				t.Errorf("%s: %+v is below the floor", name, r)
			}
		}
	}
	if falls != 12 {
		t.Errorf("rows fall in %d models", falls)
	}
}

// Rows that were published and are wrong, as sonic-buildimage had them.
func TestFalls(t *testing.T) {
	for name, c := range map[string]struct {
		rows []Row
		want Fall
	}{
		"SN4700-C128: 10G":   {[]Row{{10 * g, 2000, 32_768}, {10 * g, 1500, 55_296}}, Fall{Row{10 * g, 2000, 32_768}, Row{10 * g, 1500, 55_296}}},
		"NH-5010: 800G":      {[]Row{{400 * g, 30, 514_553}, {800 * g, 30, 244_000}}, Fall{Row{800 * g, 30, 244_000}, Row{400 * g, 30, 514_553}}},
		"IXR7220-H6: 100G":   {[]Row{{100 * g, 5, 125_580}, {50 * g, 5, 135_660}}, Fall{Row{100 * g, 5, 125_580}, Row{50 * g, 5, 135_660}}},
		"SN4280-O28 as 200G": {[]Row{{200 * g, 2000, 555_008}, {400 * g, 2000, 555_008}}, Fall{}},
	} {
		before := slices.Clone(c.rows)
		got := Falls(c.rows)
		if want := c.want != (Fall{}); len(got) != 0 != want || want && got[0] != c.want || !slices.Equal(c.rows, before) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
