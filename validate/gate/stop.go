package gate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// stop is how much a priority was paused in one direction of a link, from the counts of both
// ends.
type stop struct {
	// part is the fraction of the time: an upper bound computed from frames unless exact is
	// set. known is false if neither end counts pauses.
	part         float64
	exact, known bool
	frames       qos.Opt[uint64] // from the end that counted more
}

// stopped returns how much port to paused port from; windows may lack either of them. A
// received frame was certainly sent, so the count of an end that the other end contradicts is
// ignored, and the longer of two times is used.
func stopped(windows map[intent.Endpoint]*PortWindow, from, to intent.Endpoint, priority int) (out stop) {
	receiver, sender := windows[from], windows[to]
	few := disagree(receiver, sender, priority)
	ends := []struct {
		*PortWindow
		duration, frames drivers.Metric
	}{{receiver, drivers.PauseRxTime, drivers.PFCRx}, {sender, drivers.PauseTxTime, drivers.PFCTx}}
	for _, end := range ends {
		if n, ok := end.grew(end.frames, priority); ok {
			out.frames = qos.Of(max(n, out.frames.V))
		}
	}
	for _, end := range ends {
		part, exact, ok := end.pausedPart(end.duration, end.frames, priority)
		switch {
		case !ok || end.PortWindow == few || exact && part == 0 && out.frames.V > 0:
		case !out.known || exact && !out.exact:
			out.part, out.exact, out.known = part, exact, true
		case exact == out.exact:
			out.part = max(part, out.part)
		}
	}
	return out
}

// The ends of a link are not read at the same moment, and a NIC may count the start of a pause
// but not the frames that repeat it. So only a count close to none contradicts the other end.
const (
	fewestDisagree = 1000
	// overlap is the fraction of the longer window that both windows must share.
	overlap = 0.5
)

// disagree returns the end of a link that counted hardly any of the PFC frames that the other
// end counted; nil if the ends agree or cannot be compared.
func disagree(receiver, sender *PortWindow, priority int) (few *PortWindow) {
	if !receiver.knewAllWindow(drivers.PFCRx, priority) || !sender.knewAllWindow(drivers.PFCTx, priority) || !receiver.sameTime(sender) {
		return nil
	}
	got, sent := receiver.count(drivers.PFCRx, priority), sender.count(drivers.PFCTx, priority)
	switch {
	case max(got, sent) < fewestDisagree:
	case float64(sent) < arrivesBadly*float64(got):
		return sender
	case float64(got) < arrivesBadly*float64(sent):
		return receiver
	}
	return nil
}

// sameTime reports whether two windows mostly cover the same time.
func (p *PortWindow) sameTime(q *PortWindow) bool {
	first, last := p.begin, p.begin.Add(p.Span)
	if q.begin.After(first) {
		first = q.begin
	}
	if end := q.begin.Add(q.Span); end.Before(last) {
		last = end
	}
	return last.Sub(first) >= time.Duration(overlap*float64(max(p.Span, q.Span)))
}

// disagree finds links whose ends contradict each other. The finding is on the sender: it
// counted frames that the other end did not receive, or did not count frames that the other end
// received.
func (j *judge) disagree() {
	for _, w := range j.windows {
		for _, p := range w.ports {
			for prio := range qos.NumPriorities {
				j.disagreeOn(p, w.dev.Host, prio)
			}
		}
	}
}

// disagreeOn compares the pause frames that a port sent for a priority with those that the
// other end received.
func (j *judge) disagreeOn(p *PortWindow, host bool, prio int) {
	peer := j.at[p.port.Peer]
	few := disagree(peer, p, prio)
	if few == nil {
		return
	}
	got, sent := peer.count(drivers.PFCRx, prio), p.count(drivers.PFCTx, prio)
	if few == p {
		fix := "check the software of the switch, and whether its counters are renewed"
		if host {
			fix = "check firmware and driver of the NIC, and whether its counters are renewed (ethtool -S)"
		}
		j.addFinding(EndsDisagree, Warn, p.Device, p.Port, fmt.Sprintf("the port counted %s sent for priority %d, but %s received %d from it: its firmware, driver or counters are wrong",
			countNoun(sent, "PFC frame"), prio, peer.end(), got), fix)
		return
	}
	j.addFinding(EndsDisagree, Warn, p.Device, p.Port, fmt.Sprintf("the port counted %s sent for priority %d, but %s received only %d: either the counters of this port are wrong, or the other end ignores PFC",
		countNoun(sent, "PFC frame"), prio, peer.end(), got), "check PFC at the other end, and the firmware, driver and counters of both")
}

// fewestStill is how many packets the other end of a link must have received before a port that
// counted hardly any is reported.
const fewestStill = 10_000

// frozenCounters finds ports whose counters do not move although the other end received packets:
// their zeros prove nothing.
func (j *judge) frozenCounters(p *PortWindow, host bool) {
	peer := j.at[p.port.Peer]
	got, gotOK := peer.grew(drivers.PacketsRx, 0)
	if n, ok := peer.sumOverPriorities(drivers.PriorityRxPackets); ok {
		got, gotOK = max(n, got), true
	}
	sent, sentOK := p.sumOverPriorities(drivers.QueuePackets)
	if host {
		sent, sentOK = p.sumOverPriorities(drivers.PriorityTxPackets)
	}
	if gotOK && sentOK && got >= fewestStill && float64(sent) < arrivesBadly*float64(got) && p.sameTime(peer) {
		j.addFinding(NotCounted, Inconclusive, p.Device, p.Port, fmt.Sprintf("the port counted %s sent, but %s received %d: its counters do not advance", countNoun(sent, "packet"), peer.end(), got),
			"find out why the device does not renew its counters, and repeat the window")
	}
}

// sumOverPriorities adds up a counter over all queues or priorities; ok is false if one of them
// is not known.
func (p *PortWindow) sumOverPriorities(m drivers.Metric) (sum uint64, ok bool) {
	for i := range qos.NumPriorities {
		n, ok := p.grew(m, i)
		if !ok {
			return 0, false
		}
		sum += n
	}
	return sum, true
}
