package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// used lists the metrics that the rules read, on switches and NICs.
var used = []drivers.Metric{
	drivers.PFCRx, drivers.PFCTx, drivers.PauseRxTime, drivers.PauseTxTime, drivers.LinkPauseRx, drivers.LinkPauseTx,
	drivers.QueueDrops, drivers.QueueMarked, drivers.StormsDetected, drivers.GroupDrops, drivers.HeadroomPeak,
}

func (j *judge) judgeDevice(w *window) {
	if w.n < 2 {
		j.addFinding(NotCounted, Inconclusive, w.dev.Name, "", "its counters were not read at both ends of the window", "make sure that the device can be read")
		return
	}
	j.tooShort(w)
	j.reportTurnedOff(w)
	for _, p := range w.ports {
		if p.Back > 0 {
			what := "counters went backwards: the counts of the window are unknown"
			if p.Steps > 1 {
				what = fmt.Sprintf("counters went backwards in %d of %s: their counts are unknown", p.Back, words.Plural(p.Steps, "step", "steps"))
			}
			j.addFinding(CounterReset, Inconclusive, p.Device, p.Port, what, "look for a restart or a manual clear, and repeat the window")
		}
		j.reportMissingCounters(w, p)
		j.frozenCounters(p, w.dev.Host)
		j.lossesOfClasses(p)
		j.storms(p)
		j.linkPause(p)
		j.wrongPriority(p, w.dev.Host)
		j.errors(p)
		j.longPauses(p, w.dev.Host)
		if w.dev.Host {
			j.rdmaErrors(p)
			continue
		}
		j.headroom(p)
	}
	if !w.dev.Host {
		j.marking(w)
		j.pools(w)
	}
}

// tooShort reports a window shorter than two update intervals of the slowest counter that a
// rule reads: the growth of such a counter may belong to an earlier time.
func (j *judge) tooShort(w *window) {
	var slowest drivers.Metric
	var every time.Duration
	for _, m := range used {
		seen := slices.ContainsFunc(w.ports, func(p *PortWindow) bool {
			for id := range p.Growth {
				if id.Metric == m {
					return true
				}
			}
			return false
		})
		if seen && w.poll[m] > every {
			slowest, every = m, w.poll[m]
		}
	}
	if need := 2 * every; w.span < need {
		j.addFinding(WindowTooShort, Inconclusive, w.dev.Name, "", fmt.Sprintf("it updates its counters only every %s (%s), and a window must be at least twice as long", Spell(every), slowest),
			"use a window of at least "+Spell(need))
	}
}

// Spell formats a duration briefly: "2m", "1.25s".
func Spell(d time.Duration) string {
	if d >= 10*time.Second {
		return drivers.Spell(d.Round(time.Second))
	}
	return d.Round(10 * time.Millisecond).String()
}

// lossesOfClasses finds packets lost by lossless classes. Packets that a queue dropped while the
// watchdog drained it belong to the watchdog's finding.
func (j *judge) lossesOfClasses(p *PortWindow) {
	note := func(where string, c *Class, m drivers.Metric, index int, fix string) {
		if n := p.count(m, index); n > 0 {
			j.addFailure(LosslessDrop, p, m.Of(index), fmt.Sprintf("%s of lossless class %s dropped %s", fmt.Sprintf(where, index), c.Name, countNoun(n, "packet")), fix)
		}
	}
	for i := range p.port.Classes {
		c := &p.port.Classes[i]
		note("priority group %d", c, drivers.GroupDrops, c.Group, "give the group more headroom: see explain for what the cable needs")
		if p.count(drivers.StormsDetected, c.Queue) == 0 {
			note("queue %d", c, drivers.QueueDrops, c.Queue, "check the queue's egress buffer profile, and that every ingress port pauses")
		}
		note("priority %d", c, drivers.PriorityDiscards, c.Priority, "check the NIC's receive buffers, and that it pauses this priority")
	}
	if n := p.count(drivers.Discards, 0); n > 0 && !j.discarded(p) {
		j.addFinding(LosslessDrop, Warn, p.Device, p.Port, fmt.Sprintf("the NIC had no buffer for %s of a priority that it does not report", countNoun(n, "packet")), "check the NIC's receive buffers")
	}
}

// discarded reports whether any priority of a NIC counts discards.
func (j *judge) discarded(p *PortWindow) bool {
	for i := range qos.NumPriorities {
		if p.count(drivers.PriorityDiscards, i) > 0 {
			return true
		}
	}
	return false
}

// countNoun prints "1 frame" or "3 frames".
func countNoun(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// storms finds queues that the watchdog found stuck, and NICs that paused for too long.
func (j *judge) storms(p *PortWindow) {
	for q := range qos.NumPriorities {
		n := p.count(drivers.StormsDetected, q)
		if n == 0 {
			continue
		}
		what := fmt.Sprintf("the PFC watchdog found queue %d stuck %s", q, times(n))
		if d := p.count(drivers.QueueDrops, q); d > 0 {
			what += ", and " + countNoun(d, "packet") + " of it were dropped"
		}
		j.addFailure(Watchdog, p, drivers.StormsDetected.Of(q), what, "check the device attached there: it paused for longer than the watchdog allows")
	}
	if n := p.count(drivers.StallErrors, 0); n > 0 {
		j.addFailure(NICStall, p, drivers.StallErrors.Of(0), fmt.Sprintf("the NIC aborted its pause %s, because it had lasted too long", times(n)), "find out why the host does not accept packets")
	} else if n := p.count(drivers.StallWarnings, 0); n > 0 {
		j.addFinding(NICStall, Warn, p.Device, p.Port, fmt.Sprintf("the NIC nearly aborted its pause %s", times(n)), "find out why the host does not accept packets")
	}
}

// linkPause finds pause frames for the whole link. Some hardware counts PFC frames there as
// well, a frame for several priorities once: such a count lies between the busiest priority's
// and the sum of all. Any other count is of real link pause.
func (j *judge) linkPause(p *PortWindow) {
	if len(p.port.Classes) == 0 {
		return
	}
	for _, way := range []struct {
		link, pfc drivers.Metric
		says      string
	}{{drivers.LinkPauseRx, drivers.PFCRx, "received"}, {drivers.LinkPauseTx, drivers.PFCTx, "sent"}} {
		var sum, most uint64
		for i := range qos.NumPriorities {
			n := p.count(way.pfc, i)
			sum, most = sum+n, max(most, n)
		}
		n := p.count(way.link, 0)
		// The two counters are not updated at the same moment.
		skew := uint64(float64(sum)*0.02) + 2
		if n > 0 && (n > sum || n+skew < most) {
			j.addFailure(LinkPause, p, way.link.Of(0), fmt.Sprintf("the port %s %s that pause the whole link (IEEE 802.3x)", way.says, countNoun(n, "frame")), "turn link pause off on both ends")
		}
	}
}

// wrongPriority finds pause on priorities that the intent calls lossy. Both ends of a link see
// it; the finding is on the switch if the switch counts it.
func (j *judge) wrongPriority(p *PortWindow, host bool) {
	var peer *PortWindow
	if host {
		peer = j.at[p.port.Peer]
	}
	for i := range qos.NumPriorities {
		if p.port.lossless(i) != nil {
			continue
		}
		if n := p.count(drivers.PFCRx, i); n > 0 && !p.port.Asymmetric && peer.count(drivers.PFCTx, i) == 0 {
			j.addFailure(WrongPriority, p, drivers.PFCRx.Of(i), fmt.Sprintf("the port received %s that pause priority %d, which the intent calls lossy", countNoun(n, "frame"), i), "check the other end: it has PFC on for this priority, or maps packets to it")
		}
		obeyed := peer != nil && peer.port.Asymmetric
		if n := p.count(drivers.PFCTx, i); n > 0 && !obeyed && peer.count(drivers.PFCRx, i) == 0 {
			j.addFailure(WrongPriority, p, drivers.PFCTx.Of(i), fmt.Sprintf("the port sent %s that pause priority %d, which the intent calls lossy", countNoun(n, "frame"), i), "check the port's map from priority to priority group")
		} else if before := p.first[drivers.PFCTx.Of(i)]; n == 0 && before > 0 && !host {
			j.out = append(j.out, pausedBefore(p.Device, p.Port, i, "; none during this window"))
		}
	}
}

// The fractions of time for which a priority may be paused before a warning. They are rules of
// thumb: no public source has a limit that holds everywhere.
const (
	pausedFabric = 0.01
	pausedHost   = 0.05
	// boundFactor multiplies the limit where only frames are counted: most pauses end long
	// before a frame's pause time is over.
	boundFactor = 10
)

// longPauses finds priorities of a port that were paused for long, and those of the port at the
// other end if that is not in the window. Twice the baseline is allowed.
func (j *judge) longPauses(p *PortWindow, host bool) {
	for _, c := range p.port.Classes {
		j.longPausesOneWay(p, c, host, p.end(), p.port.Peer)
		if j.at[p.port.Peer] == nil {
			j.longPausesOneWay(p, c, host, p.port.Peer, p.end())
		}
	}
}

// longPausesOneWay judges one direction of a port's link; the port is from or to.
func (j *judge) longPausesOneWay(p *PortWindow, c Class, host bool, from, to intent.Endpoint) {
	s := stopped(j.at, from, to, c.Priority)
	nic := j.at[p.port.Peer]
	limit, says := pausedFabric, "was paused"
	switch byHost := p.port.ToHost || host && from != p.end(); {
	case !byHost && host:
		says = "was paused by the switch"
	case byHost:
		limit = pausedHost
		if host {
			says = "of the switch was paused by this NIC"
		} else if timed(nic, drivers.PauseTxTime) && disagree(p, nic, c.Priority) == nil {
			// The NIC counts the time for which it paused.
			p, says = nic, "of the switch was paused by this NIC"
		}
	}
	most, word := limit, ""
	if !s.exact {
		most, word = min(limit*boundFactor, 0.99), "up to "
	}
	if was := stopped(j.base, from, to, c.Priority); was.known {
		most = max(most, 2*was.part)
	}
	if s.part > most {
		j.pauses = append(j.pauses, longPause{from, c.Priority, Finding{ID: PauseRatio, Means: Warn, Device: p.Device, Port: p.Port,
			What: fmt.Sprintf("priority %d %s %s%.1f %% of the time", c.Priority, says, word, 100*s.part),
			Fix:  "follow the traffic of class " + c.Name + ": the pause leads to the congested port or the slow receiver"}})
	}
}

func timed(p *PortWindow, m drivers.Metric) bool {
	return p != nil && slices.ContainsFunc(p.port.Classes, func(c Class) bool { return p.knows(m, c.Priority) })
}

// headroom finds priority groups whose headroom was filled.
func (j *judge) headroom(p *PortWindow) {
	const much, most = 0.5, 0.9
	for _, c := range p.port.Classes {
		peak, _ := p.highest(drivers.HeadroomPeak, drivers.HeadroomPeakKept, c.Group)
		if c.Headroom <= 0 || float64(peak) <= much*float64(c.Headroom) {
			continue
		}
		what := fmt.Sprintf("the headroom of priority group %d was filled to %d of %d B", c.Group, peak, c.Headroom)
		if float64(peak) > most*float64(c.Headroom) {
			what += ", nearly all of it"
		}
		j.addFinding(HeadroomWatermark, Warn, p.Device, p.Port, what, "check the cable length and the pause response time of the other end, and raise the group's xoff")
	}
}

func (j *judge) pools(w *window) {
	const much = 0.8
	for _, name := range natural.Keys(w.pools) {
		if size := w.dev.Pools[name]; size > 0 && float64(w.pools[name]) > much*float64(size) {
			j.addFinding(HeadroomWatermark, Warn, w.dev.Name, "", fmt.Sprintf("buffer pool %s was filled to %s of %s", name, units.Bytes(w.pools[name]), units.Bytes(size)), "find the queues that fill it: a smaller alpha leaves room for others")
		}
	}
}
