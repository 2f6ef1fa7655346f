// Package bench measures the tool against floors: the same thing done as
// plainly as it can be done. It has tests only, and none of them fails on a
// clock. README.md says what the numbers mean.
package bench

import (
	"slices"
	"testing"
	"time"
)

// race times several ways to do a thing in turns, so that whatever slows the
// machine down slows them all.
type race struct{ laps map[string][]time.Duration }

// run does the thing one way, once.
func (r *race) run(way string, do func()) {
	if r.laps == nil {
		r.laps = map[string][]time.Duration{}
	}
	start := time.Now()
	do()
	r.laps[way] = append(r.laps[way], time.Since(start))
}

// median of all laps of one way.
func (r *race) median(way string) time.Duration {
	l := slices.Sorted(slices.Values(r.laps[way]))
	return l[len(l)/2]
}

// ratio is how often the floor fits into the time of a way.
func (r *race) ratio(way, floor string) float64 {
	return float64(r.median(way)) / float64(r.median(floor))
}

// report replaces ns/op, which would be the sum of all ways.
func report(b *testing.B, metrics map[string]float64) {
	b.ReportMetric(0, "ns/op")
	for unit, v := range metrics {
		b.ReportMetric(v, unit)
	}
}
