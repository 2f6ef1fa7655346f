package gate

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// marked is what a switch paused and marked of a class.
type marked struct {
	class  string
	frames uint64 // that it sent
	// part is the part of the time in which it paused one port, of that with the longest
	// pauses, and pauses how many frames hold such a pause at least: while a pause lasts,
	// its frame repeats, to each port that is paused.
	part, pauses float64
	marks        uint64
	counted      bool
	// share is the part of the packets that got a mark, of the port with the most; 0 where
	// packets are not counted, so that the number of marks decides.
	share float64
}

// markShare is the part of the packets that a queue marks at least, for the part of the
// time in which its switch pauses: the queue is above its thresholds for as long.
const markShare = 0.01

// few reports whether marks are missing: fewer came than the pauses that they should have
// prevented, and the queue that fills marks hardly any of its packets.
func (m marked) few() bool {
	return m.frames >= fewestHere && float64(m.marks) < m.pauses && m.share < markShare*m.part
}

// marking finds switches that pause more than they mark: the marks are to come first,
// and a queue that makes its switch pause holds many packets above its threshold, so
// that a pause goes with many marks. Pauses of any port and marks of any queue count, as
// the queue that fills is another than the group that pauses.
func (j *judge) marking(w *window) {
	for prio := range qos.NumPriorities {
		now, was := markedBy(j.at, w.ports, prio), markedBy(j.base, w.ports, prio)
		const fix = "lower the ECN thresholds of the class, and make sure that its packets are ECN-capable"
		sent := fmt.Sprintf("it sent %s for class %s", count(now.frames, "frame"), now.class)
		// In the baseline it marked as little for its pauses.
		usual := was.counted && was.pauses > 0 && float64(now.marks)*was.pauses >= float64(was.marks)*now.pauses/2
		switch off := w.off[drivers.QueueMarked]; {
		case now.frames == 0:
		case !now.counted && off != "" && j.o.Traffic:
			j.found(ECNBeforePFC, Inconclusive, w.dev.Name, "", sent+"; its marks are not counted: "+off, "turn the counter on, and repeat the window")
		case !now.counted:
		case now.marks == 0 && now.frames >= fewestHere && was.marks >= fewestHere:
			j.found(ECNBeforePFC, Fail, w.dev.Name, "", fmt.Sprintf("%s but marked none of its packets, and in the baseline it marked %d", sent, was.marks), fix)
		case usual:
		case now.marks == 0:
			j.found(ECNBeforePFC, Warn, w.dev.Name, "", sent+" but marked none of its packets", fix)
		case now.few():
			j.found(ECNBeforePFC, Warn, w.dev.Name, "", fmt.Sprintf("%s, up to %.1f %% of the time, but marked only %s", sent, 100*now.part, count(now.marks, "packet")), fix)
		}
	}
}

// markedBy adds up what the ports of a switch paused and marked in a set of windows.
func markedBy(windows map[intent.Endpoint]*PortWindow, ports []*PortWindow, prio int) (out marked) {
	var most uint64
	for _, p := range ports {
		c := p.port.lossless(prio)
		if c == nil || !c.Marks {
			continue
		}
		out.class = c.Name
		of := windows[p.end()]
		out.frames += of.count(drivers.PFCTx, prio)
		if s := stopped(windows, p.port.Peer, p.end(), prio); of != nil && s.part > out.part {
			out.part = s.part
			if one := headroom.PausedAtMost(1, p.port.Speed, of.Span); one > 0 {
				out.pauses = s.part / one
			}
		}
		n, ok := of.grew(drivers.QueueMarked, c.Queue)
		out.marks, out.counted = out.marks+n, out.counted || ok
		if packets := of.count(drivers.QueuePackets, c.Queue); n > most && packets > 0 {
			most, out.share = n, float64(n)/float64(packets)
		}
	}
	return out
}
