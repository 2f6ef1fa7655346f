package gate

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// marked holds how much a switch paused and marked one class.
type marked struct {
	class  string
	frames uint64 // PFC frames that the switch sent
	// part is the largest fraction of the time for which a port was paused. pauses is the least
	// number of frames that such a pause needs: while a pause lasts, the frame is repeated to
	// each paused port.
	part, pauses float64
	marks        uint64
	counted      bool
	// share is the fraction of packets that were marked, on the port with the most marks; 0 if
	// packets are not counted, and then the number of marks decides.
	share float64
}

// markShare is the fraction of packets that a queue must mark per fraction of time that its
// switch pauses: the queue stays above its ECN thresholds for at least as long.
const markShare = 0.01

// isTooFew reports whether marks are missing: there are fewer marks than pauses that they should
// have prevented, and the congested queue marks hardly any of its packets.
func (m marked) isTooFew() bool {
	return m.frames >= fewestHere && float64(m.marks) < m.pauses && m.share < markShare*m.part
}

// marking finds switches that pause more than they mark. Marks should come first: a queue that
// makes its switch pause holds many packets above its threshold, so that a pause comes with
// many marks. Pauses of any port and marks of any queue count, because the congested queue
// belongs to another port than the group that pauses.
func (j *judge) marking(w *window) {
	for prio := range qos.NumPriorities {
		now, was := markedBy(j.at, w.ports, prio), markedBy(j.base, w.ports, prio)
		const fix = "lower the ECN thresholds of the class, and make sure that its packets are ECN-capable"
		sent := fmt.Sprintf("it sent %s for class %s", countNoun(now.frames, "frame"), now.class)
		// In the baseline, the switch also marked this little for its pauses.
		usual := was.counted && was.pauses > 0 && float64(now.marks)*was.pauses >= float64(was.marks)*now.pauses/2
		switch off := w.off[drivers.QueueMarked]; {
		case now.frames == 0:
		case !now.counted && off != "" && j.o.Traffic:
			j.addFinding(ECNBeforePFC, Inconclusive, w.dev.Name, "", sent+"; its marks are not counted: "+off, "turn the counter on, and repeat the window")
		case !now.counted:
		case now.marks == 0 && now.frames >= fewestHere && was.marks >= fewestHere:
			j.addFinding(ECNBeforePFC, Fail, w.dev.Name, "", fmt.Sprintf("%s but marked none of its packets, and in the baseline it marked %d", sent, was.marks), fix)
		case usual:
		case now.marks == 0:
			j.addFinding(ECNBeforePFC, Warn, w.dev.Name, "", sent+" but marked none of its packets", fix)
		case now.isTooFew():
			j.addFinding(ECNBeforePFC, Warn, w.dev.Name, "", fmt.Sprintf("%s, up to %.1f %% of the time, but marked only %s", sent, 100*now.part, countNoun(now.marks, "packet")), fix)
		}
	}
}

// markedBy adds up how much the ports of a switch paused and marked one priority.
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
