package headroom

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Row is the headroom that a platform sets for a speed and a cable.
type Row struct {
	Speed units.Rate   `json:"speed"`
	Cable units.Length `json:"cable"`
	XOFF  int64        `json:"xoff"` // bytes
}

// Rows returns the published rows of a model.
func Rows(m *catalog.Model) []Row {
	rows := make([]Row, len(m.Headroom))
	for i, r := range m.Headroom {
		rows[i] = Row{r.Speed, r.Cable, r.XOFF}
	}
	return rows
}

// Fall is a row with less than one of a shorter cable at its speed, or of the next
// lower speed with its cable.
type Fall struct{ Row, Above Row }

// Falls returns what falls in the rows of a platform, by speed and cable.
func Falls(rows []Row) []Fall {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Cable, b.Cable))
	})
	var out []Fall
	slower := map[units.Length]Row{} // the row of the next lower speed
	for i, r := range sorted {
		if i > 0 && sorted[i-1].Speed == r.Speed && sorted[i-1].XOFF > r.XOFF {
			out = append(out, Fall{r, sorted[i-1]})
		}
		if s, ok := slower[r.Cable]; ok && s.XOFF > r.XOFF {
			out = append(out, Fall{r, s})
		}
		slower[r.Cable] = r
	}
	return out
}
