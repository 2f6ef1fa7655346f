package intent

import (
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Measurement is what was measured on a switch model. Checks prefer it to tables and formulas.
type Measurement struct {
	Pos   Pos
	Model string // hwsku, as of [Switch.Model]
	Speed units.Rate
	Cable units.Length // one way
	// Headroom is the largest number of bytes that arrived in one lossless group after it had
	// paused; 0 if it was not measured.
	Headroom int64
	// Pause is the level, in bytes, at which a lossless group pauses that is alone; 0 if it was not
	// measured.
	Pause  int64
	Date   time.Time
	Source string
}

// Measurement returns the latest measurement of the switch's model at a speed and cable length; nil
// if there is none.
func (s *Switch) Measurement(speed units.Rate, cable units.Length) (latest *Measurement) {
	for _, m := range s.measured {
		if m.Speed == speed && m.Cable == cable && (latest == nil || m.Date.After(latest.Date)) {
			latest = m
		}
	}
	return latest
}

// measurements resolves what was measured, and gives it to the switches of the model.
func (r *resolver) measurements() {
	of := map[string][]*Measurement{}
	for i := range r.raw.Measured.Items {
		raw := &r.raw.Measured.Items[i]
		m := &Measurement{
			Pos: raw.Pos, Model: raw.Model.V, Speed: raw.Speed.V, Cable: raw.Cable.V,
			Headroom: int64(raw.Headroom.V), Pause: int64(raw.Pause.V), Source: strings.TrimSpace(raw.Source.V),
		}
		if m.Headroom <= 0 && m.Pause <= 0 {
			r.problems.addf(raw.Pos, "state headroom, pause or both", "the measurement says nothing")
		}
		if raw.Date.Set {
			var err error
			if m.Date, err = time.Parse(time.DateOnly, raw.Date.V); err != nil {
				r.problems.addf(raw.Date.Pos, "", "date: there is no day %s", raw.Date.V)
			}
		}
		of[m.Model] = append(of[m.Model], m)
	}
	for _, s := range r.out.Switches {
		s.measured = of[s.Model.V]
	}
}
