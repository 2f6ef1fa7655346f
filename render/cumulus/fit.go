package cumulus

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
)

// Fit adapts a compiled device to Cumulus Linux. It unsets what the OS does not support, such as
// buffer profiles and maps to priority groups. Code points without a class stay unmanaged. The cable length belongs to the PFC profile and is kept only if the port pauses.
// Bandwidth shares are scaled to at most 100 percent in total. A polling interval that the
// intent does not state becomes the restore time of the watchdog, as the switch restores after
// one interval without a pause.
func Fit(d *qos.Device) {
	d.Pools, d.Profiles = nil, nil
	d.Restrict(qos.KindWatchdogPoll, qos.KindLAG, qos.KindMTU, qos.KindAdminUp, qos.KindCable, qos.KindTrust, qos.KindMap,
		qos.KindPFC, qos.KindPFCAsymmetric, qos.KindLinkPause, qos.KindECN, qos.KindScheduler, qos.KindWatchdog)
	type key struct {
		maps  *qos.Maps
		trust qos.Opt[qos.Trust]
	}
	fitted := map[key]*qos.Maps{}
	for _, p := range d.Ports {
		if p.Maps.Set && p.Maps.V != nil {
			k := key{p.Maps.V, p.Trust}
			if fitted[k] == nil {
				fitted[k] = fitMaps(p.Maps.V, p.Trust.V)
			}
			p.Maps.V = fitted[k]
		}
		for _, n := range p.PFC.V.List() {
			p.Groups[n].Lossless = qos.Of(true)
		}
		if p.PFC.V == 0 {
			p.Cable = qos.Opt[units.Length]{}
		} else if p.Cable.Set {
			p.Cable.V = units.Length(math.Ceil(float64(p.Cable.V)))
		}
		if !p.PFCAsymmetric.V {
			p.PFCAsymmetric = qos.Opt[bool]{}
		}
	}
	qos.Normalize(d)
	for _, p := range d.Ports {
		scale(&p.Queues)
	}
	w, some := watchdogOf(d)
	switch {
	case !some && d.PollUsual:
		d.WatchdogPoll = qos.Opt[time.Duration]{}
	case some && (d.PollUsual || !d.WatchdogPoll.Set):
		d.WatchdogPoll = qos.Of(w.Restore)
	}
}

func fitMaps(m *qos.Maps, trust qos.Trust) *qos.Maps {
	out := *m
	out.Unmanage(qos.TCToGroup, qos.PFCToQueue, qos.PFCToGroup, qos.TCToDSCP)
	switch trust {
	case qos.TrustDSCP:
		out.Unmanage(qos.PCPToTC)
	case qos.TrustPCP:
		out.Unmanage(qos.DSCPToTC)
	}
	out.KeepUnmapped()
	for i, q := range out.TCToQueue {
		if q == qos.Unmapped {
			out.TCToQueue[i] = qos.Unmanaged
		}
	}
	return &out
}

// scale turns weights that add up to more than 100 into percentages of at least 1 that add up to
// 100: NVUE refuses more, and rounded percentages may add up to 101. Whatever rounding down
// leaves goes to the weights with the largest remainders.
func scale(queues *[qos.NumPriorities]qos.Queue) {
	sum := 0
	for i := range queues {
		sum += queues[i].Scheduler.V.Weight
	}
	if sum <= 100 {
		return
	}
	left := 100
	var rest [qos.NumPriorities]int
	for i := range queues {
		if w := &queues[i].Scheduler.V.Weight; *w > 0 {
			rest[i] = *w * 100 % sum
			*w = max(1, *w*100/sum)
			left -= *w
		}
	}
	for ; left > 0; left-- {
		i := slices.Index(rest[:], slices.Max(rest[:]))
		queues[i].Scheduler.V.Weight++
		rest[i] = 0
	}
	for ; left < 0; left++ { // small weights were raised to 1
		most := 0
		for i := range queues {
			if queues[i].Scheduler.V.Weight > queues[most].Scheduler.V.Weight {
				most = i
			}
		}
		queues[most].Scheduler.V.Weight--
	}
}

// watchdogOf returns the watchdog of the first port that has one; the switch has only one set of
// timers.
func watchdogOf(d *qos.Device) (qos.Watchdog, bool) {
	for _, name := range natural.Keys(d.Ports) {
		if w := d.Ports[name].Watchdog; w.Set && w.V.Enabled {
			return w.V, true
		}
	}
	return qos.Watchdog{}, false
}

// Ranges that NVIDIA documents (nvue-reference, QoS).
const (
	maxCable      = 100_000
	maxRate       = noRate - 1
	maxThreshold  = math.MaxUint32
	minPoll       = 100 * time.Millisecond
	maxPoll       = 5000 * time.Millisecond
	maxRobustness = 1000
	minMTU        = 552
	maxMTU        = 9216
)

// Refusals returns the values of a fitted device that a release does not accept or cannot
// represent, with ports in natural order.
func Refusals(d *qos.Device, rel Release) []render.Refusal {
	var out render.Refusals
	common, some := watchdogOf(d)
	if poll := d.WatchdogPoll; poll.Set && (poll.V < minPoll || poll.V%time.Millisecond != 0 || poll.V > maxPoll) {
		out.Add("", qos.KindWatchdogPoll.Attr(), "NVUE takes a polling interval of %s to %s in whole milliseconds, not %s", minPoll, maxPoll, poll.V)
	}
	queues := queuesOf(d)
	for name, p := range d.Ports {
		if !isPort(name) {
			out.Add(name, qos.KindPort.Attr(), "Cumulus Linux has no port of that name; ports are called swp1 or swp1s0")
			continue
		}
		no := func(attr qos.Attr, format string, a ...any) { out.Add(name, attr, format, a...) }
		if p.Maps.Set && p.Maps.V != nil {
			if m := p.Maps.V; slices.ContainsFunc(slices.Concat(m.DSCPToTC[:], m.PCPToTC[:], m.TCToQueue[:]), func(v int8) bool { return v != qos.Unmanaged && (v < 0 || v >= qos.NumPriorities) }) {
				no(qos.KindMap.All(), "NVUE has switch priorities and traffic classes 0 to 7")
			} else if clashes(m, queues) {
				no(qos.KindMap.Table(qos.TCToQueue), "NVUE has one map of switch priorities to traffic classes for the whole switch, and another port wants another one")
			}
		}
		if p.PFCAsymmetric.Or(false) {
			no(qos.KindPFCAsymmetric.Attr(), "this tool turns on PFC in both directions")
		}
		if p.LinkPause.Or(false) {
			no(qos.KindLinkPause.Attr(), "this tool does not turn on link pause")
		}
		if m := p.MTU; m.Set && (m.V < minMTU || m.V > maxMTU) {
			no(qos.KindMTU.Attr(), "NVUE takes an MTU of %d to %d, not %d", minMTU, maxMTU, m.V)
		}
		if c := p.Cable; c.Set && (c.V < 1 || c.V > maxCable) {
			no(qos.KindCable.Attr(), "NVUE takes a cable of 1 to %d metres, not %s", maxCable, c.V)
		}
		if w := p.Watchdog; w.Set && w.V.Enabled {
			if why := refusedWatchdog(w.V, common, d.WatchdogPoll, p.PFC); some && why != "" {
				no(qos.KindWatchdog.Attr(), "%s", why)
			}
		}
		for i := range p.Queues {
			q := &p.Queues[i]
			if why := refusedScheduler(&q.Scheduler.V); q.Scheduler.Set && why != "" {
				no(qos.KindScheduler.At(i), "%s", why)
			}
			if why := refusedECN(&q.ECN.V, rel); q.ECN.Set && why != "" {
				no(qos.KindECN.At(i), "%s", why)
			}
		}
	}
	ordered.Sort(out, func(a, b render.Refusal) int { return natural.Compare(a.Port, b.Port) })
	return out
}

func refusedWatchdog(w, common qos.Watchdog, poll qos.Opt[time.Duration], pfc qos.Opt[qos.PrioritySet]) string {
	interval := poll.Or(w.Restore)
	switch {
	case w.Action != qos.ActionDrop:
		return fmt.Sprintf("the PFC watchdog of Cumulus Linux drops what a stuck queue gets and has no other action, such as %s", w.Action)
	case w.Restore != interval:
		return fmt.Sprintf("the PFC watchdog of Cumulus Linux restores after one polling interval, here %s, not after %s", interval, w.Restore)
	case interval < minPoll || interval > maxPoll:
		return fmt.Sprintf("the PFC watchdog of Cumulus Linux has a polling interval of %s to %s, after which it restores, not of %s", minPoll, maxPoll, interval)
	case w.Detect < interval || w.Detect%interval != 0 || w.Detect/interval > maxRobustness:
		return fmt.Sprintf("the PFC watchdog of Cumulus Linux detects after whole polling intervals of %s, not after %s", interval, w.Detect)
	case w.Detect != common.Detect || w.Restore != common.Restore:
		return "Cumulus Linux has one set of timers of the PFC watchdog for the whole switch, and another port wants others"
	case pfc.Set && w.Priorities != pfc.V:
		return fmt.Sprintf("the PFC watchdog of Cumulus Linux watches all lossless priorities %s, not %s", pfc.V, w.Priorities)
	}
	return ""
}

func refusedScheduler(s *qos.Scheduler) string {
	rate := func(r units.Rate) bool { return r < 0 || r%1000 != 0 || int64(r/1000) > maxRate }
	switch {
	case s.Other != "":
		return "NVUE has no " + s.Other
	case !s.Strict && (s.Weight < 1 || s.Weight > 100):
		return fmt.Sprintf("NVUE takes a share of 1 to 100 percent, not %d", s.Weight)
	case rate(s.MinRate) || rate(s.MaxRate):
		return fmt.Sprintf("NVUE takes rates in whole kbps up to %d", int64(maxRate))
	}
	return ""
}

func refusedECN(e *qos.ECN, rel Release) string {
	if *e == (qos.ECN{}) {
		return ""
	}
	percent := e.Unit == qos.UnitPercent
	lower, upper := e.Unit.Split()
	_, _, bytes := lower.Bytes(e.Min)
	_, _, also := upper.Bytes(e.Max)
	switch {
	case e.Other != "" || !e.Enabled && !e.Drops:
		return "NVUE has no such curve: " + e.String()
	case !percent && !(bytes && also):
		return fmt.Sprintf("NVUE has thresholds in bytes and in percent, not in %s", e.Unit)
	case percent && !rel.since(17):
		return fmt.Sprintf("thresholds in percent came with 5.17, and the switch runs %s", rel)
	case percent && (e.Min < 0 || e.Max > 100 || e.Min > e.Max):
		return fmt.Sprintf("NVUE takes thresholds of 0 to 100 percent with min not above max, not %d and %d", e.Min, e.Max)
	case !percent && (e.Min < 1 || e.Max > maxThreshold || lower == upper && e.Min > e.Max):
		return fmt.Sprintf("NVUE takes thresholds with min not above max, not %d and %d", e.Min, e.Max)
	case e.Probability < 1 || e.Probability > 100:
		return fmt.Sprintf("NVUE takes a probability of 1%% to 100%%, not %d%%", e.Probability)
	case e.Weight != 0:
		return "NVUE has no averaging of the queue length"
	}
	return ""
}

// queuesOf returns the map of priorities to traffic classes that the ports want. If ports want
// different maps, the first in natural order wins.
func queuesOf(d *qos.Device) (out [qos.NumPriorities]int8) {
	for i := range out {
		out[i] = qos.Unmanaged
	}
	for _, name := range natural.Keys(d.Ports) {
		m := d.Ports[name].Maps
		if !m.Set || m.V == nil || clashes(m.V, out) {
			continue
		}
		for i, q := range m.V.TCToQueue {
			if q != qos.Unmanaged {
				out[i] = q
			}
		}
	}
	return out
}

func clashes(m *qos.Maps, queues [qos.NumPriorities]int8) bool {
	for i, q := range m.TCToQueue {
		if q != qos.Unmanaged && queues[i] != qos.Unmanaged && q != queues[i] {
			return true
		}
	}
	return false
}

// Warnings returns values that a switch may refuse or treat differently, where no public
// document is clear.
func Warnings(d *qos.Device) []string {
	var out []string
	var paused qos.PrioritySet
	percent := false
	for _, name := range natural.Keys(d.Ports) {
		p := d.Ports[name]
		paused |= p.PFC.V
		for i := range p.Queues {
			percent = percent || p.Queues[i].ECN.V.Unit == qos.UnitPercent
		}
	}
	if paused.Len() > 1 {
		out = append(out, fmt.Sprintf("priorities %s are lossless: NVIDIA's documents of one release say both that a switch takes several and that it takes one", paused.Join(", ")))
	}
	if percent {
		out = append(out, "ECN thresholds in percent are a beta feature of Cumulus Linux 5.17, on Spectrum-4 and later")
	}
	return out
}

// isOwn reports whether this package created a profile.
func isOwn(name string) bool { return strings.HasPrefix(name, Prefix) }
