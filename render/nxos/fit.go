package nxos

import (
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Fit adapts a compiled device to NX-OS. It unsets what NX-OS does not support: the values that
// [lines.Fit] unsets, and trust. Code points that a map does not list stay as they are, and so
// does the table that the port does not trust. A port that trusts nothing has everything in group 0,
// as without a policy. A device without ports has no polling interval; a
// polling interval that does not divide the watchdog times is lowered to the largest that does
// and is at least 100 ms, if there is one. Unused queues above a strict queue become strict, as
// NX-OS requires strict queues to be adjacent from the highest down (Nexus 9000 NX-OS QoS
// Configuration Guide, Configuring Queuing and Scheduling).
func Fit(d *qos.Device) {
	lines.Fit(d)
	d.GlobalMaps = qos.Opt[*qos.Maps]{}
	if d.Empty() {
		d.WatchdogPoll = qos.Opt[time.Duration]{} // a switch without a port in the intent is left alone
	}
	type key struct {
		maps  *qos.Maps
		trust qos.Trust
		pfc   qos.PrioritySet
	}
	fitted := map[key]*qos.Maps{}
	for _, p := range d.Ports {
		if p.Maps.Set && p.Maps.V != nil {
			k := key{p.Maps.V, p.Trust.V, p.PFC.V}
			if fitted[k] == nil {
				fitted[k] = fitMaps(p.Maps.V, p.Trust.V, p.PFC.V)
			}
			p.Maps.V = fitted[k]
		}
		p.Trust = qos.Opt[qos.Trust]{}
		strict := false
		for q := range p.Queues {
			s := &p.Queues[q]
			if strict && !s.Scheduler.Set {
				s.Scheduler = qos.Of(qos.Scheduler{Strict: true})
			}
			strict = strict || s.Scheduler.V.Strict
		}
	}
	fitPoll(d)
}

func fitMaps(m *qos.Maps, trust qos.Trust, pfc qos.PrioritySet) *qos.Maps {
	out := *m
	for i := range out.DSCPToTC {
		switch {
		case trust == qos.TrustNone:
			out.DSCPToTC[i] = 0
		case out.DSCPToTC[i] == qos.Unmapped || trust == qos.TrustPCP:
			out.DSCPToTC[i] = qos.Unmanaged
		}
	}
	for i := range qos.NumPriorities {
		switch {
		case trust == qos.TrustNone:
			out.PCPToTC[i] = 0
		case out.PCPToTC[i] == qos.Unmapped || trust == qos.TrustDSCP:
			out.PCPToTC[i] = qos.Unmanaged
		}
		if out.TCToQueue[i] == qos.Unmapped {
			out.TCToQueue[i] = qos.Unmanaged
		}
		if out.PFCToQueue[i] == qos.Unmapped || !pfc.Has(i) {
			out.PFCToQueue[i] = qos.Unmanaged
		}
	}
	leaveUnused(&out)
	out.Unmanage(qos.TCToGroup, qos.PFCToGroup, qos.TCToDSCP)
	return &out
}

// leaveUnused leaves open in which group a traffic class without packets is if another class has the
// group of its number.
func leaveUnused(m *qos.Maps) {
	used := func(tc int8) bool { return slices.Contains(m.DSCPToTC[:], tc) || slices.Contains(m.PCPToTC[:], tc) }
	for tc, g := range m.TCToQueue {
		if g >= 0 && int(g) != tc && !used(g) {
			m.TCToQueue[g] = qos.Unmanaged
		}
	}
}

func fitPoll(d *qos.Device) {
	var common time.Duration
	for _, p := range d.Ports {
		if w := p.Watchdog.V; p.Watchdog.Set && w.Enabled {
			common = gcd(gcd(common, w.Detect), w.Restore)
		}
	}
	if !d.WatchdogPoll.Set || common <= 0 {
		return
	}
	for i := min(d.WatchdogPoll.V, maxInterval).Truncate(time.Millisecond); i >= minInterval; i -= time.Millisecond {
		if common%i == 0 {
			d.WatchdogPoll.V = i
			return
		}
	}
}

func gcd(a, b time.Duration) time.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// common holds settings that exist once per switch.
type common struct {
	// pauses is the group of each priority that any port pauses.
	pauses map[int]int
	// watchdog is the setting of most ports; not enabled if no port has one. timers holds the
	// timers for it; ok is false if no timers fit.
	watchdog qos.Watchdog
	timers   timers
	ok       bool
}

// groupOf returns the group whose queue stops when a port receives pauses of a priority.
func groupOf(p *qos.Port, priority int) int {
	if p.Maps.Set && p.Maps.V != nil {
		if g := p.Maps.V.PFCToQueue[priority]; g >= 0 {
			return int(g)
		}
	}
	return priority
}

func commonOf(d *qos.Device, ports []string) common {
	c := common{pauses: map[int]int{}}
	count := map[qos.Watchdog]int{}
	taken := map[int]bool{}
	for _, name := range ports {
		p := d.Ports[name]
		for _, n := range p.PFC.V.List() {
			g := groupOf(p, n)
			if _, ok := c.pauses[n]; !ok && !taken[g] {
				c.pauses[n], taken[g] = g, true
			}
		}
		if w := p.Watchdog.V; p.Watchdog.Set && w.Enabled {
			w.Priorities = 0
			count[w]++
			if count[w] > count[c.watchdog] {
				c.watchdog = w
			}
		}
	}
	if c.watchdog.Enabled {
		c.timers, c.ok = timersFor(c.watchdog, d.WatchdogPoll)
	}
	return c
}

// timersFor returns the timers that implement a watchdog; ok is false if none do.
func timersFor(w qos.Watchdog, poll qos.Opt[time.Duration]) (timers, bool) {
	fits := func(i time.Duration) bool {
		return i >= minInterval && i <= maxInterval && i%time.Millisecond == 0 &&
			w.Detect >= i && w.Detect%i == 0 && w.Detect/i <= maxMultiplier &&
			w.Restore >= 0 && w.Restore%i == 0 && w.Restore/i <= maxRestore
	}
	at := func(i time.Duration) (timers, bool) {
		return timers{on: true, interval: i, multiplier: int(w.Detect / i), restore: int(w.Restore / i)}, true
	}
	if poll.Set {
		if fits(poll.V) {
			return at(poll.V)
		}
		return timers{}, false
	}
	for i := minInterval; i <= maxInterval; i += time.Millisecond {
		if fits(i) {
			return at(i)
		}
	}
	return timers{}, false
}
