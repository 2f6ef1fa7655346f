package gate

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// The load that a lossless class must carry for a window to prove that the class loses nothing.
const (
	// LoadPart is the least share of the traffic to hosts, not counting other classes of RDMA.
	LoadPart = 0.1
	// loadLeast is the least load in bytes: fewer than a hundred packets prove nothing.
	loadLeast = 100 * packetBytes
	// packetBytes is the assumed size of a packet where bytes are not counted.
	packetBytes = 1024
)

// load is the traffic that ports sent in a lossless class and in lossy queues, in bytes.
type load struct {
	counted      bool
	class, lossy float64
	packets      uint64 // of the class
	queues       [qos.NumPriorities]float64
	nics         int
	quiet        []string // NICs without load of the class
}

// isEnough reports whether the load is large enough to prove that the class loses nothing.
func (l *load) isEnough() bool { return l.class >= loadLeast && loaded(l.class, l.lossy) }

// loaded reports whether a class carried its share of the traffic.
func loaded(class, lossy float64) bool { return class > 0 && class >= LoadPart*(class+lossy) }

// findUnloaded finds lossless classes without load, or whose packets no switch counts, and names
// NICs without load of a class that other NICs carried. A class that is lossless on no port is
// skipped: it cannot lose anything.
func (j *judge) findUnloaded() {
	classes := map[string]*load{}
	any := false
	hosts := slices.ContainsFunc(j.windows, func(w *window) bool {
		return slices.ContainsFunc(w.ports, func(p *PortWindow) bool { return !w.dev.Host && p.port.ToHost && len(p.port.Classes) > 0 })
	})
	for _, w := range j.windows {
		if w.dev.Host {
			continue
		}
		any = true
		for _, p := range w.ports {
			for _, c := range p.port.Classes {
				if classes[c.Name] == nil {
					classes[c.Name] = &load{}
				}
				if p.port.ToHost || !hosts {
					classes[c.Name].add(p, j.at[p.port.Peer], c)
				}
			}
		}
	}
	if any && len(classes) == 0 && j.o.Traffic {
		j.addFinding(NoTraffic, Inconclusive, "", "", "no port of the window has a lossless class", "choose switches with lossless ports")
	}
	for _, name := range natural.Keys(classes) {
		const again = "repeat the window while RDMA traffic of the class runs"
		l := classes[name]
		if !l.isEnough() {
			j.unloaded = append(j.unloaded, name)
		}
		switch {
		case !j.o.Traffic:
		case !l.counted:
			j.addFinding(NoTraffic, Inconclusive, "", "", fmt.Sprintf("no switch counts the packets of lossless class %s, so it may have carried none", name), "turn the queue counters on, and repeat the window")
		case !l.isEnough():
			j.addFinding(NoTraffic, Inconclusive, "", "", fmt.Sprintf("lossless class %s carried %s", name, l.describe()), again)
		case len(l.quiet) > 0:
			j.addFinding(NoTraffic, Pass, "", "", fmt.Sprintf("%d of %d NICs carried no load of lossless class %s, so the window proves nothing about them: %s", len(l.quiet), l.nics, name, words.Some(natural.Sorted(l.quiet), 5)), again)
		}
	}
}

// add adds the traffic of a switch port. nic is the port at the other end, if it is in the
// window.
func (l *load) add(p, nic *PortWindow, c Class) {
	class, counted := p.sent(drivers.QueueBytes, drivers.QueuePackets, c.Queue)
	if !counted {
		return
	}
	var lossy float64
	for q := range qos.NumPriorities {
		if !p.port.RDMA.Has(q) && !slices.ContainsFunc(p.port.Classes, func(c Class) bool { return c.Queue == q }) {
			n, _ := p.sent(drivers.QueueBytes, drivers.QueuePackets, q)
			l.queues[q] += n
			lossy += n
		}
	}
	l.counted, l.class, l.lossy, l.packets = true, l.class+class, l.lossy+lossy, l.packets+p.count(drivers.QueuePackets, c.Queue)
	if p.port.ToHost {
		l.nics++
		if !loaded(class, lossy) && !nic.busy(c) {
			l.quiet = append(l.quiet, p.port.Peer.String())
		}
	}
}

// describe describes how little the class carried, and which queue carried the load instead.
func (l *load) describe() string {
	out := "no packets during the window"
	switch {
	case l.packets > 0:
		out = "only " + countNoun(l.packets, "packet") + " during the window"
	case l.class > 0:
		out = fmt.Sprintf("only %s during the window", units.Bytes(l.class))
	}
	most := 0
	for q, n := range l.queues {
		if n > l.queues[most] {
			most = q
		}
	}
	if l.lossy < loadLeast || loaded(l.class, l.lossy) {
		return out
	}
	part := fmt.Sprintf("%.2g %%", 100*l.class/(l.class+l.lossy))
	if l.class < 1e-4*l.lossy {
		part = "less than 0.01 %"
	}
	return fmt.Sprintf("%s, %s of what hosts received: the load went through queue %d (%s)", out, part, most, units.Bytes(l.queues[most]))
}

// sent returns the bytes that a queue or priority sent. If bytes are not counted, which may
// show as a constant zero, it estimates them from the packets.
func (p *PortWindow) sent(bytes, packets drivers.Metric, index int) (n float64, counted bool) {
	b, bOK := p.grew(bytes, index)
	k, kOK := p.grew(packets, index)
	if b == 0 {
		return packetBytes * float64(k), bOK || kOK
	}
	return float64(b), true
}

// busy reports whether a NIC sent load of a class.
func (p *PortWindow) busy(c Class) bool {
	if p == nil {
		return false
	}
	class, _ := p.sent(drivers.PriorityTxBytes, drivers.PriorityTxPackets, c.Priority)
	var lossy float64
	for i := range qos.NumPriorities {
		if !p.port.RDMA.Has(i) && p.port.lossless(i) == nil {
			n, _ := p.sent(drivers.PriorityTxBytes, drivers.PriorityTxPackets, i)
			lossy += n
		}
	}
	return loaded(class, lossy)
}
