// Package bench measures the tool against floors: the simplest possible way to do the same thing.
// It contains only tests, and none of them fails because of timing. README.md explains the
// numbers.
package bench

import (
	"slices"
	"testing"
	"time"
)

// race runs several ways to do a thing in turns, so that anything that slows the machine down
// affects all of them.
type race struct{ laps map[string][]time.Duration }

// run runs one way once.
func (r *race) run(way string, do func()) {
	if r.laps == nil {
		r.laps = map[string][]time.Duration{}
	}
	start := time.Now()
	do()
	r.laps[way] = append(r.laps[way], time.Since(start))
}

// median returns the median of all laps of one way.
func (r *race) median(way string) time.Duration {
	l := slices.Sorted(slices.Values(r.laps[way]))
	return l[len(l)/2]
}

// ratio returns the median time of a way as a multiple of the floor.
func (r *race) ratio(way, floor string) float64 {
	return float64(r.median(way)) / float64(r.median(floor))
}

// report reports metrics and removes ns/op, which would be the sum of all ways.
func report(b *testing.B, metrics map[string]float64) {
	b.ReportMetric(0, "ns/op")
	for unit, v := range metrics {
		b.ReportMetric(v, unit)
	}
}
