package gate

import (
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// window holds the counts of a device between its first and last sample.
type window struct {
	dev   *Device
	n     int // samples
	span  time.Duration
	poll  map[drivers.Metric]time.Duration // slowest update interval
	off   map[drivers.Metric]string        // counters that are off in any sample, and why
	pools map[string]uint64                // highest fill levels
	ports []*PortWindow                    // in natural order
	// groups is set if group drops of some lossless class are counted.
	groups bool
}

func windowOf(d *Device, samples []Sample) *window {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Counters == nil })
	ordered.Sort(samples, func(a, b Sample) int { return a.Taken.Compare(b.Taken) })
	w := &window{dev: d, n: len(samples), poll: map[drivers.Metric]time.Duration{}, off: map[drivers.Metric]string{}, pools: map[string]uint64{}}
	if w.n > 0 {
		w.span = samples[w.n-1].Taken.Sub(samples[0].Taken)
	}
	for i, s := range samples {
		for m, every := range s.Poll {
			w.poll[m] = max(w.poll[m], every)
		}
		maps.Copy(w.off, s.Off)
		for name, v := range s.Pools {
			if i > 0 { // the first covers the time before the window
				w.pools[name] = max(w.pools[name], v)
			}
		}
	}
	for _, name := range natural.Keys(d.Ports) {
		port := d.Ports[name]
		w.ports = append(w.ports, windowOfPort(&PortWindow{Device: d.Name, Port: name, Growth: drivers.PortCounters{}, port: &port}, samples))
	}
	w.groups = groupDrops(w.ports)
	return w
}

// windowOfPort adds up the growth of a port's counters from sample to sample. If any counter went
// backwards in a step, as after a restart or a clear, the growth in that step is unknown for
// all: another counter that restarted at zero may have passed its old value.
func windowOfPort(p *PortWindow, samples []Sample) *PortWindow {
	p.gaps = gaps(p, samples)
	for i, s := range samples {
		now := s.Ports[p.Port]
		if i == 0 {
			p.first, p.begin = now, s.Taken
			continue
		}
		before := samples[i-1].Ports[p.Port]
		if now == nil || before == nil {
			continue
		}
		p.Steps++
		back := wentBack(before, now)
		if back {
			p.Back++
		} else {
			p.Span += s.Taken.Sub(samples[i-1].Taken)
		}
		for id, v := range now {
			if id.Metric.Peak() {
				p.Growth[id] = max(p.Growth[id], v)
			} else if was, ok := before[id]; ok && !back {
				p.Growth[id] += v - was
			}
		}
	}
	return p
}

func wentBack(before, now drivers.PortCounters) bool {
	for id, was := range before {
		if v, ok := now[id]; ok && v < was && !id.Metric.Peak() {
			return true
		}
	}
	return false
}

// grew returns the growth of a counter; ok is false if it is not known.
func (p *PortWindow) grew(m drivers.Metric, index int) (n uint64, ok bool) {
	if p == nil {
		return 0, false
	}
	n, ok = p.Growth[m.Of(index)]
	return n, ok
}

// count returns the growth of a counter, or 0 if it is not known.
func (p *PortWindow) count(m drivers.Metric, index int) uint64 {
	n, _ := p.grew(m, index)
	return n
}

// rate returns the growth of a counter per second.
func (p *PortWindow) rate(m drivers.Metric, index int) float64 {
	if p == nil || p.Span <= 0 {
		return 0
	}
	return float64(p.count(m, index)) / p.Span.Seconds()
}

// baselineOf returns the baseline of a port; nil if there is none.
func (j *judge) baselineOf(p *PortWindow) *PortWindow { return j.base[p.end()] }

// Lean removes counters from a sample that neither failures nor comparisons of rates need, so
// that the baseline of a large fabric fits into memory.
func Lean(d *Device, s *Sample) {
	for name, counters := range s.Ports {
		p, ok := d.Ports[name]
		if !ok {
			delete(s.Ports, name)
			continue
		}
		kept := map[drivers.CounterID]uint64{} // a map does not shrink
		for id, n := range counters {
			if decides(&p, id) || rated[id.Metric] || p.carries(id) {
				kept[id] = n
			}
		}
		s.Ports[name] = kept
	}
	s.Pools = nil
}

// carries reports whether a counter measures the traffic of a lossless class, which tells
// sources of pauses apart.
func (p *Port) carries(id drivers.CounterID) bool {
	return slices.ContainsFunc(p.Classes, func(c Class) bool {
		switch id.Metric {
		case drivers.QueueBytes, drivers.QueuePackets:
			return int(id.Index) == c.Queue
		case drivers.PriorityRxBytes, drivers.PriorityTxBytes:
			return int(id.Index) == c.Priority
		}
		return false
	})
}

// rated holds the counters whose rates are compared, or that show the congestion control loop.
var rated = map[drivers.Metric]bool{
	drivers.PauseRxTime: true, drivers.PauseTxTime: true, drivers.QueueMarked: true,
	drivers.OutOfSequence: true, drivers.SequenceErrors: true, drivers.AckTimeouts: true, drivers.RNRRetries: true,
	drivers.CNPSent: true, drivers.MarkedReceived: true, drivers.CNPHandled: true, drivers.CNPIgnored: true,
}
