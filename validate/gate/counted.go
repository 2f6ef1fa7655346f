package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// need is a set of counters that show one kind of failure, and their name in findings.
type need struct {
	metrics []drivers.Metric
	says    string
}

// needs are the counters that a switch should have. Not every system has all of them: a counter
// that a switch never shows makes the window inconclusive only if no other counter shows the
// same.
var needs = []need{
	{[]drivers.Metric{drivers.GroupDrops}, "drops of priority groups"},
	{[]drivers.Metric{drivers.QueueDrops}, "drops of queues"},
	{[]drivers.Metric{drivers.PFCRx, drivers.PFCTx}, "PFC frames"},
	{[]drivers.Metric{drivers.LinkPauseRx, drivers.LinkPauseTx}, "frames that pause the whole link"},
	{[]drivers.Metric{drivers.StormsDetected}, "storms of the PFC watchdog"},
}

// nicNeeds are the counters that a NIC should have.
var nicNeeds = []need{
	{[]drivers.Metric{drivers.PriorityDiscards, drivers.Discards}, "discards"},
	{[]drivers.Metric{drivers.PFCRx, drivers.PFCTx}, "PFC frames"},
	{[]drivers.Metric{drivers.LinkPauseRx, drivers.LinkPauseTx}, "frames that pause the whole link"},
	{[]drivers.Metric{drivers.StallErrors}, "pauses that it aborted"},
}

// decides reports whether a counter can fail a port: drops and storms of lossless classes, PFC
// of all priorities, and counters that a port has only once.
func decides(p *Port, id drivers.CounterID) bool {
	ofClass := func(index func(Class) int) bool {
		return slices.ContainsFunc(p.Classes, func(c Class) bool { return index(c) == int(id.Index) })
	}
	switch id.Metric {
	case drivers.GroupDrops:
		return ofClass(func(c Class) int { return c.Group })
	case drivers.QueueDrops:
		return ofClass(func(c Class) int { return c.Queue })
	case drivers.StormsDetected:
		return p.Watched && ofClass(func(c Class) int { return c.Queue })
	case drivers.PriorityDiscards:
		return ofClass(func(c Class) int { return c.Priority })
	case drivers.PFCRx, drivers.PFCTx, drivers.LinkPauseRx, drivers.LinkPauseTx, drivers.Discards, drivers.StallErrors:
		return len(p.Classes) > 0
	}
	return false
}

// gaps returns the counters that decide something and are missing from some of the readings.
func gaps(p *PortWindow, samples []Sample) []drivers.CounterID {
	seen := map[drivers.CounterID]int{}
	for _, s := range samples {
		for id := range s.Ports[p.Port] {
			if decides(p.port, id) {
				seen[id]++
			}
		}
	}
	var out []drivers.CounterID
	for id, n := range seen {
		if n < len(samples) {
			out = append(out, id)
		}
	}
	return out
}

// reportTurnedOff reports the counters that a switch could count but has turned off.
func (j *judge) reportTurnedOff(w *window) {
	if !slices.ContainsFunc(w.ports, func(p *PortWindow) bool { return len(p.port.Classes) > 0 }) {
		return
	}
	why := map[string][]string{}
	for _, n := range w.needed() {
		for _, m := range n.metrics {
			if where, off := w.off[m]; off && !slices.Contains(why[where], n.says) {
				why[where] = append(why[where], n.says)
			}
		}
	}
	for _, where := range natural.Keys(why) {
		j.addFinding(NotCounted, Inconclusive, w.dev.Name, "", fmt.Sprintf("%s are not counted: %s", strings.Join(why[where], " and "), where), "turn the counters on, and repeat the window")
	}
}

// needed returns the needs of a switch. Storms are among them only if a port has the watchdog
// on.
func (w *window) needed() []need {
	if slices.ContainsFunc(w.ports, func(p *PortWindow) bool { return p.port.Watched }) {
		return needs
	}
	return slices.DeleteFunc(slices.Clone(needs), func(n need) bool { return n.metrics[0] == drivers.StormsDetected })
}

// reportMissingCounters reports the counters of a port that are missing although they decide
// whether the port is healthy. Counters that went backwards are reported elsewhere, as
// [CounterReset].
func (j *judge) reportMissingCounters(w *window, p *PortWindow) {
	if len(p.port.Classes) == 0 || p.Back > 0 {
		return
	}
	note := func(what, fix string) { j.addFinding(NotCounted, Inconclusive, p.Device, p.Port, what, fix) }
	const again = "find out why the device shows them only sometimes, and repeat the window"
	if len(p.Growth) == 0 {
		switch {
		case w.dev.Host:
			note("the NIC did not show its counters at both ends of the window", "make sure that the host can read its driver's statistics")
		case !slices.ContainsFunc(w.needed(), w.isOff): // else [judge.reportTurnedOff] says why
			note("the port did not show its counters at both ends of the window", "make sure that the device has the port and counts for it")
		}
		return
	}
	list := needs
	if w.dev.Host {
		list = nicNeeds
	}
	gap := func(n need) bool {
		return slices.ContainsFunc(p.gaps, func(id drivers.CounterID) bool { return slices.Contains(n.metrics, id.Metric) })
	}
	for _, n := range list {
		if gap(n) && !w.isOff(n) {
			note(n.says+" were not counted at all readings of the window", again)
		}
	}
	if w.dev.Host {
		return
	}
	for _, c := range p.port.Classes {
		group, queue := p.knows(drivers.GroupDrops, c.Group), p.knows(drivers.QueueDrops, c.Queue)
		switch {
		case group || gap(needs[0]) || w.isOff(needs[0]):
		case !queue && !gap(needs[1]) && !w.isOff(needs[1]):
			note(fmt.Sprintf("no drops of lossless class %s are counted, neither of queue %d nor of priority group %d", c.Name, c.Queue, c.Group), "switch the counters on")
		case w.groups:
			note(fmt.Sprintf("drops of priority group %d of lossless class %s are not counted, and those of other ports are", c.Group, c.Name), "find out why the switch has no counters for the group")
		}
	}
	if pfc := needs[2]; !p.pfc() && !j.at[p.port.Peer].pfc() && !gap(pfc) && !w.isOff(pfc) {
		note("no PFC frames are counted, at neither end of the link", "switch the counters on")
	}
}

// isOff reports whether the device said that a counter of n is turned off.
func (w *window) isOff(n need) bool {
	return slices.ContainsFunc(n.metrics, func(m drivers.Metric) bool { return w.off[m] != "" })
}

// groupDrops reports whether the group drops of any lossless class of any port are counted.
func groupDrops(ports []*PortWindow) bool {
	return slices.ContainsFunc(ports, func(p *PortWindow) bool {
		return slices.ContainsFunc(p.port.Classes, func(c Class) bool { return p.knows(drivers.GroupDrops, c.Group) })
	})
}

// knows reports whether the growth of a counter is known.
func (p *PortWindow) knows(m drivers.Metric, index int) bool {
	_, ok := p.grew(m, index)
	return ok
}

// knewAllWindow reports whether the growth of a counter is known for the whole window.
func (p *PortWindow) knewAllWindow(m drivers.Metric, index int) bool {
	return p.knows(m, index) && p.Back == 0 && !slices.Contains(p.gaps, m.Of(index))
}

// pfc reports whether the port counts PFC frames of any priority.
func (p *PortWindow) pfc() bool {
	for i := range qos.NumPriorities {
		if p.knows(drivers.PFCRx, i) || p.knows(drivers.PFCTx, i) {
			return true
		}
	}
	return false
}
