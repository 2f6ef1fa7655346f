package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/gate/origin"
)

// Source is the source of pauses of a lossless class.
type Source struct {
	Class    string      `json:"class" doc:"name of the lossless class"`
	Priority int         `json:"priority" doc:"its priority"`
	Kind     origin.Kind `json:"kind" enum:"slow receiver,storm,congestion,cycle,not known"`
	Device   string      `json:"device" doc:"the host or the switch"`
	Port     string      `json:"port,omitempty" doc:"the NIC, or the egress port of the switch"`
	Certain  bool        `json:"certain" doc:"whether nothing else explains the pauses"`
	Why      string      `json:"why,omitempty" doc:"what makes it not certain"`
	// Candidates are the other possible ports if the source is not certain, and the ports of a
	// cycle.
	Candidates []string `json:"candidates,omitempty" doc:"the ports that may be meant where it is not certain, and the ports of a cycle"`
	// Paused are the ports that are paused because of the source, nearest first.
	Paused []string `json:"paused" doc:"the ports that are stopped because of it"`
	What   string   `json:"what" doc:"the same in a sentence"`
}

// longPause is a finding on a long pause, and the port that was paused.
type longPause struct {
	stopped  intent.Endpoint
	priority int
	finding  Finding
}

// sources traces the pauses of each lossless priority to their sources. The finding on a source
// replaces the findings on the long pauses that lead to it.
func (j *judge) sources() {
	if j.o.Tiers == nil {
		return
	}
	for prio := range qos.NumPriorities {
		devices, ways, name := j.ways(prio)
		for _, o := range origin.Find(devices, ways) {
			src := describeSource(o, ways, prio, name)
			j.traced = append(j.traced, src)
			before := len(j.pauses)
			j.pauses = slices.DeleteFunc(j.pauses, func(p longPause) bool {
				return p.priority == prio && slices.ContainsFunc(o.Ways, func(i int) bool { return ways[i].From == p.stopped })
			})
			switch {
			case o.Kind == origin.Storm:
				j.addFinding(Storm, Fail, src.Device, src.Port, src.What, src.Fix())
			case o.Kind == origin.Cycle && !o.Moves:
				j.addFinding(Deadlock, Fail, src.Device, src.Port, src.What, src.Fix())
			case len(j.pauses) < before:
				j.addFinding(PauseSource, Warn, src.Device, src.Port, src.What, src.Fix())
			}
		}
	}
}

// ways returns the links that carry a priority, each direction separately, with the counts of
// both ends.
func (j *judge) ways(prio int) (devices map[string]origin.Device, out []origin.Way, class string) {
	devices = map[string]origin.Device{}
	tierOf := func(name string, host bool) {
		if _, known := devices[name]; !known {
			devices[name] = origin.Device{Host: host, Tier: j.o.Tiers[name]}
		}
	}
	at := map[intent.Endpoint]int{}
	for _, w := range j.windows {
		for _, p := range w.ports {
			c := p.port.lossless(prio)
			if c == nil || p.port.Peer == (intent.Endpoint{}) {
				continue
			}
			class = c.Name
			tierOf(p.Device, w.dev.Host)
			tierOf(p.port.Peer.Device, p.port.ToHost)
			for _, from := range []intent.Endpoint{p.end(), p.port.Peer} {
				if _, known := at[from]; known {
					continue
				}
				to := p.port.Peer
				if from == to {
					to = p.end()
				}
				at[from] = len(out)
				out = append(out, origin.Way{From: from, To: to, Speed: p.port.Speed})
			}
			p.addTraffic(&out[at[p.end()]], c, w.dev.Host, true)
			p.addTraffic(&out[at[p.port.Peer]], c, w.dev.Host, false)
		}
	}
	for i := range out {
		w := &out[i]
		s := stopped(j.at, w.From, w.To, prio)
		if w.Frames = s.frames; s.known && s.exact {
			w.Paused = qos.Of(s.part)
		} else if s.known {
			w.AtMost = qos.Of(s.part)
		}
	}
	return devices, out, class
}

// addTraffic adds to a way the data counters of one of its ends, the sender or the receiver.
func (p *PortWindow) addTraffic(w *origin.Way, c *Class, host, sender bool) {
	bytes, packets, index := drivers.QueueBytes, drivers.QueuePackets, c.Queue
	switch {
	case host && sender:
		bytes, packets, index = drivers.PriorityTxBytes, drivers.PriorityTxPackets, c.Priority
	case host:
		bytes, packets, index = drivers.PriorityRxBytes, drivers.PriorityRxPackets, c.Priority
	}
	if used, ok := p.used(bytes, packets, index); ok && (sender || host && !w.Used.Set) {
		w.Used = qos.Of(used)
	}
	if !sender || host {
		return
	}
	if n, ok := p.grew(drivers.QueueMarked, c.Queue); ok {
		w.Marked = qos.Of(n)
	}
	if n, ok := p.grew(drivers.QueuePeak, c.Queue); ok {
		w.Peak = qos.Of(n)
	}
	w.Storms = p.count(drivers.StormsDetected, c.Queue)
}

// largestPacket is the largest packet in bytes. Below hardlyUsed, a fraction of the port's
// speed, a packet count is as good as a byte count.
const (
	largestPacket = 9216
	hardlyUsed    = 0.01
)

// used returns the traffic of a queue or priority as a fraction of the port's speed; ok is
// false if it is not known.
func (p *PortWindow) used(bytes, packets drivers.Metric, index int) (part float64, ok bool) {
	if p.port.Speed <= 0 || p.Span <= 0 {
		return 0, false
	}
	of := func(n float64) float64 { return min(1, 8*n/p.Span.Seconds()/float64(p.port.Speed)) }
	n, ok := p.grew(bytes, index)
	few, known := p.grew(packets, index)
	if ok && (n > 0 || few == 0) {
		return of(float64(n)), true
	}
	// Hardware that does not count bytes shows a constant zero.
	most := of(largestPacket * float64(few))
	return most, known && most <= hardlyUsed
}

// describeSource describes a source in words.
func describeSource(o origin.Source, ways []origin.Way, prio int, class string) Source {
	s := Source{Class: class, Priority: prio, Kind: o.Kind, Device: o.At.Device, Port: o.At.Port, Certain: o.Certain, Why: o.Why, Paused: []string{}}
	for _, i := range o.Ways {
		s.Paused = append(s.Paused, ways[i].From.String())
	}
	for _, c := range o.Candidates {
		s.Candidates = append(s.Candidates, strings.TrimSuffix(c.String(), "/"))
	}
	leads := fmt.Sprintf("pauses of class %s on %s lead to ", class, words.Plural(len(o.Ways), "link", "links"))
	var w origin.Way
	if o.Way >= 0 {
		w = ways[o.Way]
	}
	rate := func(verb string) string {
		if !w.Used.Set {
			return ""
		}
		return fmt.Sprintf(" and %s %s", verb, gigabits(w.Used.V*float64(w.Speed)))
	}
	switch o.Kind {
	case origin.Storm:
		s.What = leads + fmt.Sprintf("%s, which stormed: it paused %s%s%s", o.At, w.From.Device, timePart(w), rate("received"))
		if w.Storms > 0 {
			s.What += ", and the watchdog acted " + times(w.Storms)
		}
	case origin.SlowReceiver:
		s.What = leads + fmt.Sprintf("%s, which paused %s%s%s", o.At, w.From.Device, timePart(w), rate("received"))
	case origin.Congestion:
		s.What = leads + fmt.Sprintf("%s, whose queue to %s", o.At, w.To)
		switch {
		case w.Used.Set && w.Used.V >= 0.88:
			s.What += fmt.Sprintf(" is full: %s of %s", gigabits(w.Used.V*float64(w.Speed)), w.Speed)
		case w.Used.Set:
			s.What += fmt.Sprintf(" got more at times than its link carries: %s of %s on average", gigabits(w.Used.V*float64(w.Speed)), w.Speed)
		default:
			s.What += " got more than its link carries"
		}
		if o.Feeders > 1 {
			s.What += fmt.Sprintf(", from %d ports that the switch paused", o.Feeders)
		}
	case origin.Cycle:
		s.What = fmt.Sprintf("pauses of class %s go around in a cycle of %s: %s", class, words.Plural(len(o.Candidates), "port", "ports"), strings.Join(s.Candidates, ", "))
		if o.Certain {
			s.What += "; nothing moves there, which is a deadlock"
		}
	default:
		s.What = leads + strings.TrimSuffix(o.At.String(), "/") + " and cannot be followed any further"
	}
	if !o.Certain {
		s.What += "; not certain: " + o.Why
		if others := slices.DeleteFunc(slices.Clone(s.Candidates), func(c string) bool { return c == o.At.String() }); len(others) > 0 && o.Kind != origin.Cycle {
			s.What += ", so it may be " + strings.Join(natural.Sorted(others), " or ")
		}
	}
	return s
}

// timePart says how long a way was paused.
func timePart(w origin.Way) string {
	switch {
	case w.Paused.Set:
		return fmt.Sprintf(" %.0f %% of the time", 100*w.Paused.V)
	case w.Frames.Set:
		return " with " + countNoun(w.Frames.V, "PFC frame")
	}
	return ""
}

// gigabits formats a rate.
func gigabits(r float64) string {
	switch {
	case r >= 10e9:
		return fmt.Sprintf("%.0f Gb/s", r/1e9)
	case r >= 1e8:
		return fmt.Sprintf("%.1f Gb/s", r/1e9)
	}
	return fmt.Sprintf("%.0f Mb/s", r/1e6)
}

// Fix says what to do about a source.
func (s *Source) Fix() string {
	switch s.Kind {
	case origin.Storm:
		return "stop the host's RDMA traffic or take its port down, then look for a stuck driver, firmware or receiver"
	case origin.SlowReceiver:
		return "look at the host: PCIe speed and width, memory, NIC errors, and whether its receiver keeps up"
	case origin.Congestion:
		return "spread the traffic over more links or receivers, and have marks reach the senders before the pauses: see ECN thresholds"
	case origin.Cycle:
		return "drain one of the ports, and keep traffic that came down from going up again"
	}
	return "turn the counters on there, and repeat the window"
}
