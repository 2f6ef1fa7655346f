package headroom

import (
	"math"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Curve is a marking curve as a function of the queue, whatever the system that
// it is written for: no mark up to Min, rising evenly to Probability at Max,
// every packet beyond. SONiC, NX-OS and EOS write the probability at Max and
// mark all beyond it; NVIDIA Cumulus Linux writes 100, a ramp to certainty; a step has
// Min equal to Max. These compare as functions, not as numbers.
type Curve struct {
	Min         int64   `json:"min"`         // bytes
	Max         int64   `json:"max"`         // bytes
	Probability float64 `json:"probability"` // at Max, 0..1
}

// CurveOf returns the curve of a queue; ok is false where it is off, or its
// thresholds are not bytes. A kbyte counts as 1000 bytes.
func CurveOf(e qos.ECN) (c Curve, ok bool) {
	lower, upper := e.Unit.Split()
	lo, _, okLo := lower.Bytes(e.Min)
	hi, _, okHi := upper.Bytes(e.Max)
	if !e.Enabled || !okLo || !okHi {
		return Curve{}, false
	}
	return Curve{lo, hi, float64(min(max(e.Probability, 0), 100)) / 100}, true
}

// At returns the probability, 0..1, that a packet is marked with so many bytes queued.
func (c Curve) At(queue int64) float64 {
	switch {
	case queue > c.Max || queue == c.Max && c.Min >= c.Max:
		return 1
	case queue <= c.Min:
		return 0
	}
	return c.Probability * float64(queue-c.Min) / float64(c.Max-c.Min)
}

// Difference returns by how much the marking of two curves differs at most,
// 0..1, and the shortest queue where it does. Both are straight between their
// thresholds, so they are compared there and one byte to either side.
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

// At a port the thresholds of a curve are times: those of another speed show.
const (
	// MinDrainLow and MinDrainHigh bound the drain time of Min, MaxDrainHigh
	// that of Max. Published settings lie between them; no standard says so.
	MinDrainLow  = 2 * time.Microsecond
	MinDrainHigh = 100 * time.Microsecond
	MaxDrainHigh = 300 * time.Microsecond
)

// DrainTimes are the thresholds of a curve as the time to send such a queue.
type DrainTimes struct {
	Min time.Duration `json:"min_ns"`
	Max time.Duration `json:"max_ns"`
	// Usual says that both are in the window of published settings.
	Usual bool `json:"usual"`
}

// Drains returns the drain times of the curve at a speed.
func (c Curve) Drains(speed units.Rate) DrainTimes {
	d := DrainTimes{Min: drain(c.Min, speed), Max: drain(c.Max, speed)}
	d.Usual = d.Min >= MinDrainLow && d.Min <= MinDrainHigh && d.Max <= MaxDrainHigh
	return d
}
