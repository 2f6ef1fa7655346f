package eos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Fit adapts a compiled device to EOS, in place.
//
// EOS has one set of maps for the whole switch. GlobalMaps becomes the maps of most ports, plus
// entries that only other ports have (such as the CoS map, if most ports trust DSCP). A port
// with contradicting maps keeps its own, for [Refusals] to report. Code points without a class
// stay unmanaged. See also [lines.Fit].
//
// A polling interval that the intent does not state is left to EOS. One above half of the
// watchdog times is lowered to half, in whole milliseconds, because EOS would otherwise replace
// it.
func Fit(d *qos.Device) {
	lines.Fit(d)
	fitMaps(d)
	if d.PollUsual {
		d.WatchdogPoll = qos.Opt[time.Duration]{}
	}
	if w, ok := commonWatchdog(d); ok && d.WatchdogPoll.Set {
		d.WatchdogPoll.V = min(d.WatchdogPoll.V, halfOf(w))
	}
	qos.Normalize(d)
}

// halfOf returns the longest polling interval that EOS accepts for a watchdog (EOS User Manual,
// PFC watchdog).
func halfOf(w qos.Watchdog) time.Duration {
	return (min(w.Detect, w.Restore) / 2).Truncate(time.Millisecond)
}

// fitMaps sets GlobalMaps to the maps of most ports and merges compatible ones into it. Ports
// with the same map share a pointer, so few maps are compared.
func fitMaps(d *qos.Device) {
	fitted := map[*qos.Maps]qos.Maps{}
	most, some := mostUsed(d.Ports, func(n string) (f qos.Maps, ok bool) {
		m := d.MapsOf(n)
		if m == nil {
			return f, false
		}
		if f, ok = fitted[m]; !ok {
			f = fitOne(m)
			fitted[m] = f
		}
		return f, true
	})
	if !some {
		if d.GlobalMaps.Set && d.GlobalMaps.V != nil {
			f := fitOne(d.GlobalMaps.V)
			d.GlobalMaps = qos.Of(&f)
		}
		return
	}
	whole, fits, own := most, map[qos.Maps]bool{most: true}, map[qos.Maps]*qos.Maps{}
	for _, n := range natural.Keys(d.Ports) {
		m := d.MapsOf(n)
		if m == nil {
			continue
		}
		f := fitted[m]
		if fits[f] = fits[f] || join(&whole, f); fits[f] {
			d.Ports[n].Maps = qos.Opt[*qos.Maps]{}
			continue
		}
		if own[f] == nil {
			own[f] = &f
		}
		d.Ports[n].Maps = qos.Of(own[f])
	}
	d.GlobalMaps = qos.Of(&whole)
}

// mapped lists the maps that EOS has.
var mapped = []qos.Table{qos.DSCPToTC, qos.PCPToTC, qos.TCToQueue}

// unmapped lists the maps that EOS lacks or that this tool does not write.
var unmapped = []qos.Table{qos.TCToGroup, qos.PFCToQueue, qos.PFCToGroup, qos.TCToDSCP}

// join merges the entries of m into whole. It returns false and changes nothing if an entry has
// a different value there.
func join(whole *qos.Maps, m qos.Maps) bool {
	out := *whole
	for _, t := range mapped {
		into := out.Table(t)
		for i, v := range m.Table(t) {
			switch {
			case v == qos.Unmanaged || v == into[i]:
			case into[i] == qos.Unmanaged:
				into[i] = v
			default:
				return false
			}
		}
	}
	*whole = out
	return true
}

func fitOne(m *qos.Maps) qos.Maps {
	f := *m
	f.Unmanage(unmapped...)
	for _, t := range mapped {
		for i, v := range f.Table(t) {
			if v == qos.Unmapped {
				f.Table(t)[i] = qos.Unmanaged
			}
		}
	}
	return f
}

// commonWatchdog returns the watchdog of most ports; false if no port has one.
func commonWatchdog(d *qos.Device) (qos.Watchdog, bool) {
	return mostUsed(d.Ports, func(n string) (qos.Watchdog, bool) {
		w := d.Ports[n].Watchdog
		w.V.Priorities = 0
		return w.V, w.Set && w.V.Enabled
	})
}

// mostUsed returns the value that most ports have; on a tie, the one of the first port. ok is
// false if no port has a value.
func mostUsed[K comparable](ports map[string]*qos.Port, of func(port string) (K, bool)) (most K, ok bool) {
	type use struct {
		n     int
		first string
	}
	uses := map[K]use{}
	for name := range ports {
		k, ok := of(name)
		if !ok {
			continue
		}
		u := uses[k]
		if u.n == 0 || natural.Compare(name, u.first) < 0 {
			u.first = name
		}
		u.n++
		uses[k] = u
	}
	var best use
	for k, u := range uses {
		if u.n > best.n || u.n == best.n && natural.Compare(u.first, best.first) < 0 {
			most, best = k, u
		}
	}
	return most, best.n > 0
}

// Ranges of the watchdog (aristanetworks/avd, priority_flow_control.schema.yml).
const (
	minWatchdog, maxWatchdog = 10 * time.Millisecond, 60 * time.Second
	watchdogStep             = 10 * time.Millisecond
	minPoll, maxPoll         = 5 * time.Millisecond, 30 * time.Second
	pollStep                 = time.Millisecond
)

// Other ranges (aristanetworks/avd, qos_profiles.schema.yml and ethernet_interfaces.schema.yml).
const (
	minMTU, maxMTU = 68, 65535
	maxThreshold   = math.MaxUint32 - 1
	maxECNWeight   = 15
	maxKbps        = math.MaxUint32
)

// Refusals returns the values of a fitted device that EOS does not accept or has no line for,
// with ports in natural order.
func Refusals(d *qos.Device) []render.Refusal {
	var out render.Refusals
	if d.GlobalMaps.Set && !goodMaps(d.GlobalMaps.V) {
		out.Add("", qos.KindGlobalMap.All(), "EOS has traffic classes and queues 0 to 7, and this tool does not rewrite DSCPs on EOS")
	}
	if poll := d.WatchdogPoll; poll.Set {
		w, ok := commonWatchdog(d)
		switch {
		case poll.V < minPoll || poll.V > maxPoll || poll.V%pollStep != 0:
			out.Add("", qos.KindWatchdogPoll.Attr(), "EOS takes a polling interval of %s to %s in steps of %s, not %s", minPoll, maxPoll, pollStep, poll.V)
		case ok && poll.V > halfOf(w):
			out.Add("", qos.KindWatchdogPoll.Attr(), "EOS takes a polling interval of at most half the watchdog's times, here %s, not %s", halfOf(w), poll.V)
		}
	}
	for name, p := range d.Ports {
		if !isEthernet(name) {
			out.Add(name, qos.KindPort.Attr(), "EOS has no port of that name; ports are called Ethernet1 or Ethernet1/1")
			continue
		}
		checkPort(p, func(attr qos.Attr, format string, a ...any) { out.Add(name, attr, format, a...) })
	}
	ordered.Sort(out, func(a, b render.Refusal) int { return natural.Compare(a.Port, b.Port) })
	return out
}

// usualMTU is the largest MTU in bytes that common EOS hardware accepts (aristanetworks/avd, MTU
// of point-to-point uplinks); the CLI accepts more.
const usualMTU = 9214

// Warnings returns values that a switch may refuse, depending on its hardware.
func Warnings(d *qos.Device) []string {
	var ports []string
	largest := 0
	for name, p := range d.Ports {
		if p.MTU.Or(0) > usualMTU {
			ports, largest = append(ports, name), max(largest, p.MTU.V)
		}
	}
	if len(ports) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the MTU of %d on %s is above %d, the most that common EOS hardware takes", largest, natural.Fold(ports), usualMTU)}
}

// writable returns a copy of d without the values that EOS does not accept.
func writable(d *qos.Device) *qos.Device { return render.Accepted(d, Refusals(d)) }

func goodMaps(m *qos.Maps) bool {
	if m == nil {
		return false
	}
	for _, t := range mapped {
		if slices.ContainsFunc(m.Table(t), func(v int8) bool { return v != qos.Unmanaged && (v < 0 || v >= qos.NumPriorities) }) {
			return false
		}
	}
	return !slices.ContainsFunc(unmapped, func(t qos.Table) bool { return slices.Max(m.Table(t)) >= 0 })
}

func checkPort(p *qos.Port, no func(attr qos.Attr, format string, a ...any)) {
	if p.Maps.Set {
		no(qos.KindMap.All(), "EOS has one set of maps for the whole switch, and most ports want others")
	}
	if p.PFCAsymmetric.Or(false) {
		no(qos.KindPFCAsymmetric.Attr(), "EOS has no asymmetric PFC")
	}
	if m := p.MTU; m.Set && (m.V < minMTU || m.V > maxMTU) {
		no(qos.KindMTU.Attr(), "EOS takes an MTU of %d to %d, not %d", minMTU, maxMTU, m.V)
	}
	if t := p.Trust; t.Set && trustLine(t.V) == "" {
		no(qos.KindTrust.Attr(), "EOS does not trust %q", t.V)
	}
	if w := p.Watchdog; w.Set && w.V.Enabled {
		if why := refusedWatchdog(w.V, p.PFC); why != "" {
			no(qos.KindWatchdog.Attr(), "%s", why)
		}
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		if q.Scheduler.Set {
			if why := refusedScheduler(&q.Scheduler.V); why != "" {
				no(qos.KindScheduler.At(i), "%s", why)
			}
		}
		if q.ECN.Set {
			if why := refusedECN(&q.ECN.V); why != "" {
				no(qos.KindECN.At(i), "%s", why)
			}
		}
	}
}

func refusedWatchdog(w qos.Watchdog, pfc qos.Opt[qos.PrioritySet]) string {
	bad := func(d time.Duration) bool { return d < minWatchdog || d > maxWatchdog || d%watchdogStep != 0 }
	switch {
	case w.Action == qos.ActionForward:
		return "the watchdog can drop, alert or errdisable on EOS, not forward"
	case bad(w.Detect):
		return fmt.Sprintf("EOS takes a detection time of %s to %s in steps of %s, not %s", minWatchdog, maxWatchdog, watchdogStep, w.Detect)
	case bad(w.Restore):
		return fmt.Sprintf("EOS takes a restoration time of %s to %s in steps of %s, not %s", minWatchdog, maxWatchdog, watchdogStep, w.Restore)
	case pfc.Set && w.Priorities != pfc.V:
		return fmt.Sprintf("the watchdog of EOS watches all lossless priorities %s, not %s", pfc.V, w.Priorities)
	}
	return ""
}

func refusedScheduler(s *qos.Scheduler) string {
	rate := func(r units.Rate) bool { return r != 0 && (r < 1000 || r%1000 != 0 || r/1000 > maxKbps) }
	switch {
	case s.Other != "":
		return "EOS has no " + s.Other
	case !s.Strict && (s.Weight < 1 || s.Weight > 100):
		return fmt.Sprintf("EOS takes a weight of 1 to 100, not %d", s.Weight)
	case rate(s.MinRate) || rate(s.MaxRate):
		return fmt.Sprintf("EOS takes rates in whole kbps up to %d, not %d and %d bits a second", int64(maxKbps), int64(s.MinRate), int64(s.MaxRate))
	}
	return ""
}

func refusedECN(e *qos.ECN) string {
	if *e == (qos.ECN{}) {
		return ""
	}
	lower, upper := e.Unit.Split()
	switch {
	case e.Other != "" || !e.Enabled:
		return "EOS has no such curve: " + e.String()
	case !isUnit(lower) || !isUnit(upper):
		return fmt.Sprintf("EOS has no thresholds in %s", e.Unit)
	case e.Min < 1 || e.Max < 1 || e.Min > maxThreshold || e.Max > maxThreshold || lower == upper && e.Min > e.Max:
		return fmt.Sprintf("EOS takes thresholds of 1 to %d with min not above max, not %d and %d", int64(maxThreshold), e.Min, e.Max)
	case e.Probability < 1 || e.Probability > 100:
		return fmt.Sprintf("EOS takes a probability of 1%% to 100%%, not %d%%", e.Probability)
	case e.Weight < 0 || e.Weight > maxECNWeight:
		return fmt.Sprintf("EOS takes a weight of 0 to %d, not %d", maxECNWeight, e.Weight)
	}
	return ""
}

// isUnit reports whether EOS has a unit of thresholds (aristanetworks/avd, qos_profiles.schema.yml).
func isUnit(u qos.ThresholdUnit) bool {
	return slices.Contains(strings.Split(unitWords, "|"), unitWord(u))
}
