package headroom

import (
	"math"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Curve is a marking curve as a function of the queue, independent of the operating system: no
// marks up to Min, then a linear rise to Probability at Max, and every packet above Max. SONiC,
// NX-OS and EOS configure the probability at Max and mark everything above; NVIDIA Cumulus Linux
// configures 100, a ramp to certainty; a step has Min equal to Max. Curves are compared as
// functions, not by their numbers.
type Curve struct {
	Min         int64   `json:"min"`         // bytes
	Max         int64   `json:"max"`         // bytes
	Probability float64 `json:"probability"` // at Max, 0..1
}

// CurveOf returns the curve of a queue; ok is false if ECN is off, or the thresholds are not in
// bytes. A kbyte counts as 1000 bytes.
func CurveOf(e qos.ECN) (c Curve, ok bool) {
	lower, upper := e.Unit.Split()
	lo, _, okLo := lower.Bytes(e.Min)
	hi, _, okHi := upper.Bytes(e.Max)
	if !e.Enabled || !okLo || !okHi {
		return Curve{}, false
	}
	return Curve{lo, hi, float64(min(max(e.Probability, 0), 100)) / 100}, true
}

// At returns the probability, 0..1, of marking a packet at a queue of that many bytes.
func (c Curve) At(queue int64) float64 {
	switch {
	case queue > c.Max || queue == c.Max && c.Min >= c.Max:
		return 1
	case queue <= c.Min:
		return 0
	}
	return c.Probability * float64(queue-c.Min) / float64(c.Max-c.Min)
}

// Difference returns the maximum difference between the marking probabilities of two curves, 0..1,
// and the shortest queue where it occurs. Curves are straight between their thresholds, so they are
// compared there and one byte to either side.
func (c Curve) Difference(o Curve) (most float64, queue int64) {
	for _, at := range []int64{c.Min, c.Max, o.Min, o.Max} {
		for n := at - 1; n <= at+1; n++ {
			d := math.Abs(c.At(n) - o.At(n))
			if d > most || d == most && n < queue {
				most, queue = d, n
			}
		}
	}
	return most, queue
}

// Relative to the port speed, thresholds are times, so thresholds meant for another speed stand
// out.
const (
	// MinDrainLow and MinDrainHigh bound the drain time of Min, MaxDrainHigh bounds the drain time
	// of Max. Published settings are within these bounds, which come from no standard.
	MinDrainLow  = 2 * time.Microsecond
	MinDrainHigh = 100 * time.Microsecond
	MaxDrainHigh = 300 * time.Microsecond
)

// DrainTimes gives the thresholds of a curve as the time to send a queue of that length.
type DrainTimes struct {
	Min time.Duration `json:"min_ns"`
	Max time.Duration `json:"max_ns"`
	// Usual is set if both are in the range of published settings.
	Usual bool `json:"usual"`
}

// Drains returns the drain times of the curve at a speed.
func (c Curve) Drains(speed units.Rate) DrainTimes {
	d := DrainTimes{Min: drain(c.Min, speed), Max: drain(c.Max, speed)}
	d.Usual = d.Min >= MinDrainLow && d.Min <= MinDrainHigh && d.Max <= MaxDrainHigh
	return d
}
