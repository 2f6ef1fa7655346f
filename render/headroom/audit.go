package headroom

import (
	"cmp"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Row is one row of a table of headroom: what a platform sets for a speed and
// a cable.
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

// Fault is something wrong with a row.
type Fault string

// The faults of a row, from bad to doubtful.
const (
	// BelowFloor: less than the cable holds and two lossless frames. A full
	// link loses frames.
	BelowFloor Fault = "below the floor"
	// BelowModel: less than the model asks. It relies on a peer that stops
	// faster than the standard asks, and is no proof of loss.
	BelowModel Fault = "below the model"
	// CableFalls: less than a row of a shorter cable has at that speed.
	CableFalls Fault = "falls with the cable"
	// SpeedFalls: less than a row of a lower speed has with that cable.
	SpeedFalls Fault = "falls with the speed"
)

// RowVerdict is one row with what is wrong with it.
type RowVerdict struct {
	Row
	Floor int64 `json:"floor"`
	// Model is what the model asks, 0 where it knows nothing of the speed;
	// Margin is XOFF less that.
	Model  int64   `json:"model,omitempty"`
	Margin int64   `json:"margin,omitempty"`
	Faults []Fault `json:"faults,omitempty"`
	// Above are the rows that it falls below, one for each such fault.
	Above []Row `json:"above,omitempty"`
}

// Has reports whether the row has that fault.
func (v RowVerdict) Has(f Fault) bool { return slices.Contains(v.Faults, f) }

// InferredOccupancy is what a table reckons for a byte on the wire at a speed.
type InferredOccupancy struct {
	Speed  units.Rate `json:"speed"`
	Factor float64    `json:"factor"`
	// Low says that the rows grow by less than the cables hold, also when
	// each was rounded by a KiB. Rows of one value are not low: they may all
	// be that of the longest cable.
	Low bool `json:"low,omitempty"`
}

// Table is the verdict over a table.
type Table struct {
	Rows []RowVerdict `json:"rows"` // sorted by speed and cable
	// Flat says that all rows, at least two, have one value.
	Flat bool `json:"flat"`
	// Occupancies, for each speed with rows of different cables, from the
	// shortest and the longest.
	Occupancies []InferredOccupancy `json:"occupancies,omitempty"`
}

// Count returns how many rows have the fault.
func (t Table) Count(f Fault) int {
	n := 0
	for _, r := range t.Rows {
		if r.Has(f) {
			n++
		}
	}
	return n
}

// AuditTable judges each row of one platform's table. frame is the largest
// lossless frame, bytes. model returns the headroom that a row is held
// against; an error means that it has none for the row. Use [Reference] for
// the IEEE model.
func AuditTable(rows []Row, frame int, model func(units.Rate, units.Length) (int64, error)) Table {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Cable, b.Cable))
	})
	t := Table{Flat: len(sorted) > 1}
	slowest := map[units.Length]Row{} // the row of the next lower speed
	for i, r := range sorted {
		v := RowVerdict{Row: r, Floor: Floor(r.Speed, r.Cable, frame)}
		if r.XOFF < v.Floor {
			v.Faults = append(v.Faults, BelowFloor)
		}
		if n, err := model(r.Speed, r.Cable); err == nil {
			v.Model, v.Margin = n, r.XOFF-n
			if v.Margin < 0 {
				v.Faults = append(v.Faults, BelowModel)
			}
		}
		if i > 0 && sorted[i-1].Speed == r.Speed && sorted[i-1].XOFF > r.XOFF {
			v.Faults, v.Above = append(v.Faults, CableFalls), append(v.Above, sorted[i-1])
		}
		if s, ok := slowest[r.Cable]; ok && s.XOFF > r.XOFF {
			v.Faults, v.Above = append(v.Faults, SpeedFalls), append(v.Above, s)
		}
		slowest[r.Cable] = r
		t.Flat = t.Flat && r.XOFF == sorted[0].XOFF
		t.Rows = append(t.Rows, v)
	}
	t.Occupancies = occupancies(sorted)
	return t
}

// occupancies takes rows that are sorted by speed and cable.
func occupancies(rows []Row) []InferredOccupancy {
	var out []InferredOccupancy
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Speed == rows[0].Speed {
			n++
		}
		first, last := rows[0], rows[n-1]
		if w, ok := InferOccupancy(first, last); ok {
			const rounding = 1024
			wire := CableBytes(last.Speed, last.Cable) - CableBytes(first.Speed, first.Cable)
			low := last.XOFF != first.XOFF && float64(last.XOFF-first.XOFF+rounding) < wire
			out = append(out, InferredOccupancy{first.Speed, w, low})
		}
		rows = rows[n:]
	}
	return out
}

// Reference returns the IEEE model as AuditTable wants it; of the input only
// speed and cable are replaced.
func Reference(in Input) func(units.Rate, units.Length) (int64, error) {
	return func(speed units.Rate, cable units.Length) (int64, error) {
		in := in
		in.Speed, in.Cable = speed, cable
		r, err := IEEE(in)
		return r.XOFF, err
	}
}
