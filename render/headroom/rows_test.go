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

// published reads the rows of every published table, by switch model.
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

// The 421 rows of the 24 published tables are never below the floor, and never fall with longer
// cable or higher speed. A count over all files of sonic-buildimage (1462 rows, 77 distinct files)
// finds such rows in files that are not among the 24.
//
// To find rows that are below the IEEE model, that count adds up the cable, a frame of 9114 bytes,
// a last frame of 1086, the pause frame and the quanta. It finds 93 rows in 26 of the distinct
// files; 14 rows in 6 tables are among the 24. ieee-quanta requires 819 bytes for the MAC and PHY
// at this end and 24 bytes more for the largest frame; it finds 4 more rows, all of the Supermicro,
// whose rows are that close.
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

// Twelve tables of the catalogue have rows that fall where they should rise (check BUF-06), and
// only NVIDIA rows for 1500 m and more are below the floor (check BUF-01).
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

// Incorrect rows that sonic-buildimage published.
func TestPublishedRowsWithFallingHeadroom(t *testing.T) {
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
