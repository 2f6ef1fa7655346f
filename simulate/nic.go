package simulate

// flow is a flow and both of its ends.
type flow struct {
	spec       *Flow
	path, back []int32
	self, next int32 // its own index; the next one in the list of flows that may send
	linked     bool  // in that list
	waiting    bool  // evReady is scheduled
	rated      bool  // slower than the line
	gen        int32 // of evReady
	// The sender.
	start, at    Time  // at is when the last packet began
	last         int64 // bytes of it on the wire
	wait         Time  // from the start of a packet to the start of the next one, a KiB
	sentTo, high int64 // payload: sent up to here, and ever
	acked        int64
	ackedBefore  int64 // at the last timeout
	resent       int64
	control      control
	// The receiver.
	got, warm int64 // payload in order; during the measured time
	counted   int64 // packets since the last acknowledgement
	asked     bool  // for a retransmission
	cnp       Time  // of the last notification
	owed      bool  // a notification follows when the interval is over
	marked    int64
	cnps      int64
	end       Time  // when the last byte arrived; -1 before
	after     int32 // flows that wait for this one: the first
	nextAfter int32
}

func (s *sim) addFlow(spec *Flow) {
	i := int32(len(s.flows))
	f := flow{spec: spec, path: spec.Path, back: spec.Back, self: i, next: -1, end: -1, after: -1, nextAfter: -1, cnp: -1 << 62}
	line := s.ports[f.path[0]].perKiB
	f.wait = Time(line)
	if spec.Control != nil {
		f.control.start(spec.Control, line)
	}
	s.flows = append(s.flows, f)
	s.w.add(spec.Start, evStart, i, 0)
}

// started begins a flow.
func (s *sim) started(i int32) {
	f := &s.flows[i]
	f.start = s.now
	if f.spec.Chunk > 0 {
		head := &s.flows[f.spec.After]
		f.nextAfter, head.after = head.after, i
	}
	if f.spec.Timeout > 0 {
		s.w.add(s.now+f.spec.Timeout, evTimeout, i, 0)
	}
	s.ready(f)
}

// limit returns up to where a flow may send.
func (s *sim) limit(f *flow) int64 {
	n := f.spec.Size
	if n == 0 {
		n = 1 << 62
	}
	if f.spec.Chunk > 0 {
		n = min(n, (s.flows[f.spec.After].got/f.spec.Chunk+1)*f.spec.Chunk)
	}
	return n
}

// ready puts a flow into the list of those that may send, when its rate allows it.
func (s *sim) ready(f *flow) {
	if f.linked || f.sentTo >= s.limit(f) {
		return
	}
	if due := f.due(); f.last > 0 && due > s.now {
		if p := &s.ports[f.path[0]]; due > p.idle || !f.unlimited(p) {
			s.later(f, due)
			return
		}
	}
	s.link(f)
}

// unlimited reports whether the rate of a flow is that of the line.
func (f *flow) unlimited(p *port) bool { return f.wait <= Time(p.perKiB) }

// due returns when the rate of a flow allows the next packet.
func (f *flow) due() Time { return f.at + Time(f.last)*f.wait>>10 }

func (s *sim) later(f *flow, at Time) {
	if f.waiting {
		return
	}
	f.waiting = true
	s.w.add(at, evReady, f.self, f.gen)
}

// reschedule follows a change of the rate of a flow that waits.
func (s *sim) reschedule(f *flow) {
	if !f.waiting {
		return
	}
	f.gen++
	f.waiting = false
	s.later(f, max(f.due(), s.now))
}

// link appends a flow to the list of those that may send.
func (s *sim) link(f *flow) {
	f.linked, f.next = true, -1
	p := &s.ports[f.path[0]]
	c := f.spec.Class
	l := &p.queues[c].flows
	if l.head < 0 {
		l.head = f.self
	} else {
		s.flows[l.tail].next = f.self
	}
	l.tail = f.self
	p.wake(c)
	s.transmit(f.path[0])
}

// fromFlow makes the next packet of the flows of a queue, which take turns; -1 if none may send now.
func (s *sim) fromFlow(p *port, q *queue) int32 {
	for q.flows.head >= 0 {
		f := &s.flows[q.flows.head]
		q.flows.head = f.next
		f.linked = false
		left := s.limit(f) - f.sentTo
		if left <= 0 {
			continue
		}
		at := s.take()
		load := min(left, f.spec.Payload)
		s.packets[at] = packet{seq: f.sentTo, kind: dataPacket, class: uint8(f.spec.Class), flow: f.self, size: int32(load + f.spec.Header), load: int32(load)}
		if f.sentTo < f.high {
			f.resent += load
		}
		f.sentTo += load
		f.high = max(f.high, f.sentTo)
		f.at, f.last = s.now, load+f.spec.Header+p.gap
		if f.rated {
			s.counted(f, f.last)
		}
		s.again(f, p, q, left > load)
		return at
	}
	return -1
}

// again queues a flow for its next packet.
func (s *sim) again(f *flow, p *port, q *queue, more bool) {
	switch {
	case !more:
	case !f.unlimited(p):
		s.later(f, f.due())
	default:
		f.linked, f.next = true, -1
		if q.flows.head < 0 {
			q.flows.head = f.self
		} else {
			s.flows[q.flows.tail].next = f.self
		}
		q.flows.tail = f.self
	}
}

// receive handles a packet that has reached its host.
func (s *sim) receive(at int32) {
	k := &s.packets[at]
	f := &s.flows[k.flow]
	switch k.kind {
	case cnpPacket:
		s.notified(f)
	case ackPacket:
		f.acked = max(f.acked, k.seq)
	case nakPacket:
		f.acked = max(f.acked, k.seq)
		s.goBack(f, k.seq)
	default:
		s.data(f, k)
	}
	s.drop(at)
}

// goBack sends again from a byte on.
func (s *sim) goBack(f *flow, seq int64) {
	if seq < f.sentTo {
		f.sentTo = seq
		s.ready(f)
	}
}

// data handles a data packet at its receiver. Packets after a gap are dropped and asked for again.
func (s *sim) data(f *flow, k *packet) {
	seq, load := k.seq, int64(k.load)
	if k.marked {
		s.congested(f)
	}
	switch {
	case seq > f.got:
		if !f.asked && f.spec.Ack > 0 {
			f.asked = true
			s.reply(f, nakPacket, f.spec.AckClass, f.got)
		}
		return
	case seq+load <= f.got:
		return
	}
	f.asked = false
	f.got = seq + load
	if s.now >= s.opt.Warm {
		f.warm += load
	}
	if f.got == f.spec.Size {
		f.end = s.now
	}
	if f.spec.Ack > 0 {
		if f.counted++; f.counted >= int64(f.spec.Ack) || f.end >= 0 {
			f.counted = 0
			s.reply(f, ackPacket, f.spec.AckClass, f.got)
		}
	}
	for i := f.after; i >= 0; i = s.flows[i].nextAfter {
		s.ready(&s.flows[i])
	}
}

// congested handles a marked packet at the receiver: it notifies the sender at once, or at the end of
// the interval in which it may not.
func (s *sim) congested(f *flow) {
	f.marked++
	d := f.spec.Control
	switch {
	case d == nil || f.owed:
	case s.now-f.cnp >= d.CNPInterval:
		s.notify(f)
	default:
		f.owed = true
		s.w.add(f.cnp+d.CNPInterval, evNotify, f.self, 0)
	}
}

// notify sends a congestion notification to the sender of a flow.
func (s *sim) notify(f *flow) {
	f.owed = false
	f.cnp = s.now
	f.cnps++
	s.reply(f, cnpPacket, f.spec.CNPClass, 0)
}

// reply sends a packet from the receiver of a flow to its sender.
func (s *sim) reply(f *flow, kind packetKind, class int, seq int64) {
	at := s.take()
	s.packets[at] = packet{kind: kind, class: uint8(class), flow: f.self, size: controlFrame, seq: seq}
	s.enqueue(f.back[0], at)
}

// timeout sends again what has not been confirmed for the time of the timer.
func (s *sim) timeout(f *flow) {
	if f.acked == f.ackedBefore && f.acked < f.sentTo {
		s.goBack(f, f.acked)
	}
	f.ackedBefore = f.acked
	if f.spec.Size == 0 || f.acked < f.spec.Size {
		s.w.add(s.now+f.spec.Timeout, evTimeout, f.self, 0)
	}
}
