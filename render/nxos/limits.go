package nxos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
)

// Ranges of Cisco-NX-OS-device.yang (YangModels/yang, 9.3-2): MTUs in bytes, thresholds in the
// unit in which they are written.
const (
	minMTU, maxMTU = 576, 9216
	maxThreshold   = 52428800
	maxWeight      = 15
)

// Ranges of the watchdog timers that this tool writes.
const (
	minInterval, maxInterval = 100 * time.Millisecond, 1000 * time.Millisecond
	maxMultiplier            = 10
	maxRestore               = 100
)

// Refusals returns the values of a fitted device that this tool writes to no switch, with ports
// in natural order. Refusals that depend on the class model are in [ClassModel.Refusals].
func Refusals(d *qos.Device) []render.Refusal {
	ports := natural.Keys(d.Ports)
	r := refuser{all: commonOf(d, ports)}
	if poll := d.WatchdogPoll; poll.Set && (poll.V < minInterval || poll.V > maxInterval || poll.V%time.Millisecond != 0) {
		r.add(qos.KindWatchdogPoll.Attr(), "this tool writes an interval of %s to %s, not %s", minInterval, maxInterval, poll.V)
	}
	for _, name := range ports {
		r.port = name
		if !portName.MatchString(name) {
			r.add(qos.KindPort.Attr(), "NX-OS has no port of that name; ports are called Ethernet1/1 or Ethernet1/1/1")
			continue
		}
		r.check(d.Ports[name])
	}
	return r.out
}

// portName matches slot, port and, on a breakout port, lane.
var portName = lazyre.New(`^Ethernet[1-9]\d{0,3}(/[1-9]\d{0,3}){1,2}$`)

type refuser struct {
	all  common
	port string
	out  render.Refusals
}

func (r *refuser) add(attr qos.Attr, format string, a ...any) { r.out.Add(r.port, attr, format, a...) }

func (r *refuser) check(p *qos.Port) {
	if p.MTU.Set && (p.MTU.V < minMTU || p.MTU.V > maxMTU) {
		r.add(qos.KindMTU.Attr(), "NX-OS takes an MTU of %d to %d, not %d", minMTU, maxMTU, p.MTU.V)
	}
	pfc := r.pfc(p)
	if pfc != "" {
		r.add(qos.KindPFC.Attr(), "%s", pfc)
	}
	if p.Maps.Set && p.Maps.V != nil {
		r.maps(p.Maps.V, pfc)
	}
	if p.PFCAsymmetric.V {
		r.add(qos.KindPFCAsymmetric.Attr(), "NX-OS has no asymmetric PFC")
	}
	r.queues(p)
	if w := p.Watchdog.V; p.Watchdog.Set && w.Enabled {
		switch {
		case w.Action != qos.ActionDrop:
			r.add(qos.KindWatchdog.Attr(), "the watchdog of NX-OS drops; there is no action %s", w.Action)
		case pfc != "" || !p.PFC.Set || w.Priorities != p.PFC.V:
			r.add(qos.KindWatchdog.Attr(), "the watchdog of NX-OS guards what the port pauses, not %s", w.Priorities)
		case !r.all.guards(w):
			r.add(qos.KindWatchdog.Attr(), "a switch has one watchdog, and a port at most a multiplier of its own, of 1 to %d polling intervals until it detects a storm; most ports have %s", maxPortMultiplier, strings.Replace(r.all.watchdog.String(), " {}", "", 1))
		case !r.all.ok:
			r.add(qos.KindWatchdog.Attr(), "this tool writes a polling interval of %s to %s, detection after 1 to %d and restoration after 0 to %d of them; none gives %s and %s",
				minInterval, maxInterval, maxMultiplier, maxRestore, w.Detect, w.Restore)
		}
	}
}

func (r *refuser) maps(m *qos.Maps, pfc string) {
	tcs := trafficClasses(r.all.pauses)
	for tc, q := range m.TCToQueue {
		if q >= 0 && q < qos.NumPriorities && int(tcs[q]) != tc {
			r.add(qos.KindMap.Table(qos.TCToQueue), "on NX-OS only a lossless class has another queue than its priority; queue %d has traffic class %d, not %d", q, tcs[q], tc)
			break
		}
	}
	bad := func(n int8) bool { return n == qos.Unmapped || n >= qos.NumPriorities }
	if slices.ContainsFunc(m.DSCPToTC[:], bad) {
		r.add(qos.KindMap.Table(qos.DSCPToTC), "NX-OS has qos-groups 0 to 7 for all code points")
	}
	if slices.ContainsFunc(m.PCPToTC[:], bad) {
		r.add(qos.KindMap.Table(qos.PCPToTC), "NX-OS has qos-groups 0 to 7 for all priorities")
	}
	for n, g := range m.PFCToQueue {
		have, ok := r.all.pauses[n]
		switch {
		case g == qos.Unmanaged:
			continue
		case pfc != "":
			r.add(qos.KindMap.Table(qos.PFCToQueue), "%s", pfc)
		case !ok || have != int(g):
			r.add(qos.KindMap.Table(qos.PFCToQueue), "pauses of priority %d do not stop queue %d alone on the whole switch", n, g)
		default:
			continue
		}
		break
	}
	for _, t := range []qos.Table{qos.PFCToGroup, qos.TCToDSCP, qos.TCToGroup} {
		if slices.ContainsFunc(m.Table(t), func(n int8) bool { return n >= 0 }) {
			r.add(qos.KindMap.Table(t), "NX-OS has no such map")
		}
	}
}

// pfc returns the reason why a port cannot pause the priorities that it should; "" if it can.
func (r *refuser) pfc(p *qos.Port) string {
	if p.PFC.V == 0 {
		return ""
	}
	for n := range qos.NumPriorities {
		g, some := r.all.pauses[n]
		into := some && p.Maps.Set && p.Maps.V != nil && mapsInto(p.Maps.V, g)
		switch {
		case p.PFC.V.Has(n) && (!some || g != groupOf(p, n)):
			return fmt.Sprintf("NX-OS pauses each group for one priority on the whole switch; other ports use priority %d or group %d differently", n, groupOf(p, n))
		case p.PFC.V.Has(n) && !into:
			return fmt.Sprintf("NX-OS pauses priority %d only on ports that classify traffic into group %d, and this port does not", n, g)
		case !p.PFC.V.Has(n) && into:
			return fmt.Sprintf("priority %d is paused on the whole switch, and so on this port, which has traffic in group %d", n, g)
		}
	}
	return ""
}

func mapsInto(m *qos.Maps, g int) bool {
	into := func(tc int8) bool { return groupOfClass(m, tc) == int8(g) }
	return slices.ContainsFunc(m.DSCPToTC[:], into) || slices.ContainsFunc(m.PCPToTC[:], into)
}

func (r *refuser) queues(p *qos.Port) {
	sum, weighted := 0, false
	for q := range slices.Backward(p.Queues[:]) {
		s := p.Queues[q].Scheduler
		field := qos.KindScheduler.At(q)
		switch {
		case !s.Set:
		case s.V.Other != "" || s.V.MinRate != 0:
			r.add(field, "this tool writes no %s", cmp.Or(s.V.Other, "minimum rate"))
		case s.V.Weight < 0 || s.V.Weight > 100:
			r.add(field, "NX-OS takes a bandwidth of 0 to 100 percent, not %d", s.V.Weight)
		case s.V.MaxRate < 0 || !hasRate(s.V.MaxRate):
			r.add(field, "this tool writes no maximum rate of %s", s.V.MaxRate)
		case s.V.Strict && weighted:
			r.add(field, "NX-OS needs its strict queues adjacent, from the highest down; give the strict class a higher queue than every weighted one")
		}
		if s.Set && !s.V.Strict {
			weighted = true
			sum += s.V.Weight
		}
		if e := p.Queues[q].ECN; e.Set && e.V != (qos.ECN{}) {
			if why := refuseECN(e.V); why != "" {
				r.add(qos.KindECN.At(q), "%s", why)
			}
		}
	}
	if sum <= 100 {
		return
	}
	for q := range p.Queues {
		if s := p.Queues[q].Scheduler; s.Set && s.V.Weight > 0 {
			r.add(qos.KindScheduler.At(q), "the bandwidths of a port are %d percent; NX-OS takes at most 100", sum)
		}
	}
}

func refuseECN(e qos.ECN) string {
	lower, upper := e.Unit.Split()
	_, okLower := unitWord(lower)
	_, okUpper := unitWord(upper)
	switch {
	case e.Other != "" || !e.Enabled:
		return "this tool writes no marking of that form"
	case !okLower || !okUpper:
		return fmt.Sprintf("NX-OS takes thresholds in packets, bytes, kbytes and mbytes, not %s", e.Unit)
	case e.Min < 0 || e.Max < 0 || e.Min > maxThreshold || e.Max > maxThreshold || lower == upper && e.Min > e.Max:
		return fmt.Sprintf("NX-OS takes thresholds of at most %d with the minimum below the maximum, not %d and %d", maxThreshold, e.Min, e.Max)
	case e.Probability < 0 || e.Probability > 100 || e.Weight < 0 || e.Weight > maxWeight:
		return fmt.Sprintf("NX-OS takes a probability of 0 to 100 and a weight of 0 to %d, not %d and %d", maxWeight, e.Probability, e.Weight)
	}
	return ""
}

// Refusals returns the values of a fitted device that a switch of this class model does not
// accept, in addition to those of the function [Refusals].
func (m ClassModel) Refusals(d *qos.Device) []render.Refusal {
	if m == EightQueue {
		return nil
	}
	var out render.Refusals
	for _, name := range natural.Keys(d.Ports) {
		p := d.Ports[name]
		refuse := func(attr qos.Attr, why string) { out.Add(name, attr, "%s", why) }
		no := func(n int) string { return fmt.Sprintf("the switch has queues 0 to %d, and no %d", m.top(), n) }
		add := func(attr qos.Attr, n int) { refuse(attr, no(n)) }
		mapped := p.Maps.Set && p.Maps.V != nil
		paused := "" // reason why PFC is refused
		if mapped {
			classed := make(map[int]bool) // groups that the accepted tables map into
			refused := ""
			for _, table := range []struct {
				qos.Table
				is string
			}{{qos.DSCPToTC, "map of DSCPs"}, {qos.PCPToTC, "map of priorities"}} {
				to := slices.Clone(p.Maps.V.Table(table.Table))
				for i := range to {
					to[i] = groupOfClass(p.Maps.V, to[i])
				}
				if n := int(slices.Max(to)); n > m.top() {
					add(qos.KindMap.Table(table.Table), n)
					refused = fmt.Sprintf("a priority is paused where its traffic is classified, and the port's %s is refused: %s", table.is, no(n))
					continue
				}
				for _, g := range to {
					classed[int(g)] = true
				}
			}
			for _, n := range p.PFC.V.List() {
				if !classed[groupOf(p, n)] {
					paused = refused
				}
			}
		}
		for _, n := range p.PFC.V.List() {
			if g := groupOf(p, n); g > m.top() {
				paused = no(g)
				break
			}
		}
		if paused != "" && p.PFC.V != 0 {
			refuse(qos.KindPFC.Attr(), paused)
			if p.Watchdog.V.Enabled {
				refuse(qos.KindWatchdog.Attr(), paused)
			}
		}
		if mapped {
			switch n := int(slices.Max(p.Maps.V.PFCToQueue[:])); {
			case n > m.top():
				add(qos.KindMap.Table(qos.PFCToQueue), n)
			case paused != "" && n >= 0:
				refuse(qos.KindMap.Table(qos.PFCToQueue), paused)
			}
		}
		for q := m.top() + 1; q < qos.NumPriorities; q++ {
			// Fit makes queues that do not exist strict; that is not refused.
			if s := p.Queues[q].Scheduler; s.Set && s.V != (qos.Scheduler{Strict: true}) {
				add(qos.KindScheduler.At(q), q)
			}
			if e := p.Queues[q].ECN; e.Set && e.V != (qos.ECN{}) {
				add(qos.KindECN.At(q), q)
			}
		}
	}
	ordered.Sort(out, func(a, b render.Refusal) int {
		return cmp.Or(natural.Compare(a.Port, b.Port), cmp.Compare(a.Field.String(), b.Field.String()))
	})
	return out
}

// Warnings returns effects of a fitted device on a switch of a class model that the operator may
// not expect. Refused values and devices without ports cause no warnings.
func Warnings(d *qos.Device, m ClassModel) []string {
	if len(d.Ports) == 0 {
		return nil
	}
	var out []string
	add := func(format string, a ...any) {
		if s := fmt.Sprintf(format, a...); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	ports := natural.Keys(d.Ports)
	for _, name := range ports {
		if p := d.Ports[name]; p.LinkPause.V && p.PFC.V != 0 {
			add("%s has both link pause and PFC; a port can use only one of them", name)
		}
	}
	pauses := commonOf(d, ports).pauses
	for _, name := range ports {
		for _, n := range d.Ports[name].PFC.V.List() {
			if g, ok := pauses[n]; ok && g != n && d.Ports[name].Maps.V != nil && slices.Contains(d.Ports[name].Maps.V.DSCPToTC[:], int8(n)) {
				add("qos-group %d pauses priority %d and takes packets by DSCP; where the two numbers differ, Cisco's QoS guide advises to classify by CoS alone", g, n)
			}
		}
	}
	if n := len(pauses); n > 3 {
		add("the switch is to pause %d priorities; not every Nexus has the buffers for more than three", n)
	}
	return out
}

// FilledIn lists the unused queues that become strict. NX-OS itself makes the highest queue
// strict by default.
func FilledIn(d *qos.Device, m ClassModel) (out []string) {
	if len(d.Ports) == 0 {
		return nil
	}
	used, weighted := map[int]bool{}, -1 // highest weighted queue
	for _, c := range d.Classes {
		used[c.Queue] = true
		if !c.Strict {
			weighted = max(weighted, c.Queue)
		}
	}
	for _, c := range d.Classes {
		if !c.Strict || c.Queue < weighted {
			continue
		}
		for q := c.Queue + 1; q <= m.top(); q++ {
			if !used[q] {
				out = append(out, fmt.Sprintf("class %s asks for strict on queue %d: queue %d is strict as well (level %d), queue %d gets level %d", c.Name, c.Queue, q, m.top()-q+1, c.Queue, m.top()-c.Queue+1))
			}
		}
	}
	return out
}

// accepted returns the desired state without refused values.
func accepted(d *qos.Device, m ClassModel) *qos.Device {
	return render.Accepted(d, append(Refusals(d), m.Refusals(d)...))
}

// Doubts lists lines of an edit that a switch might refuse, as far as public sources tell: an
// MTU of a switched port other than 1500 and "system jumbomtu", lines on a member of a
// port-channel, and multipliers of ports, whose line no public document shows.
func Doubts(e Edit, have *Config) []string {
	v := newView(have, EightQueue)
	jumbo, _, _ := last(v.global, "system jumbomtu")
	var switched, members, multiplied []string
	for _, s := range e {
		h, _ := headOf(s.Section)
		own := v.ports[h.name]
		if h.at != inInterface || own == nil || s.Line == "" {
			continue
		}
		routed := slices.ContainsFunc(own.Sub, func(l *Line) bool { return l.Text == "no switchport" })
		mtu, _ := cutWords(s.Line, keyMTU)
		switch {
		case aggregate(own) != "":
			members = append(members, h.name)
		case s.Key == keyMTU && !routed && mtu != strconv.Itoa(defaultMTU) && mtu != cmp.Or(jumbo, strconv.Itoa(maxMTU)):
			switched = append(switched, h.name)
		case s.Key == keyWatchdog && strings.Contains(s.Line, wordPortMultiplier):
			multiplied = append(multiplied, h.name)
		}
	}
	var out []string
	for _, doubt := range []struct {
		ports []string
		why   string
	}{
		{switched, `a port without "no switchport" may take no MTU but 1500 and that of "system jumbomtu"`},
		{members, "a member of a port-channel may take its lines from the port-channel alone"},
		{multiplied, wordPortMultiplier + " is an attribute of the switch, but no public document shows its line"},
	} {
		if ports := slices.Compact(natural.Sorted(doubt.ports)); len(ports) > 0 {
			out = append(out, fmt.Sprintf("%s: %s; a switch that refuses a line refuses the plan as a whole", natural.Fold(ports), doubt.why))
		}
	}
	return out
}
