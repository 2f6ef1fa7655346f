package simulate

import (
	"math"
	"math/bits"

	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// transmit makes a port send its next packet, now or when it has sent the current one.
func (s *sim) transmit(i int32) {
	p := &s.ports[i]
	if p.waiting {
		return
	}
	if s.now < p.idle {
		p.waiting = true
		s.w.add(p.idle, evFree, i, 0)
		return
	}
	at := s.next(i, p)
	if at < 0 {
		return
	}
	k := &s.packets[at]
	p.idle = s.now + Time((int64(k.size)+p.gap)*p.perKiB>>10)
	s.w.add(p.idle+p.delay, evArrive, i, at)
	if k.kind == dataPacket {
		s.hops++
	}
	if p.ready&^p.paused != 0 || p.control.head >= 0 {
		p.waiting = true
		s.w.add(p.idle, evFree, i, 0)
	}
}

// next takes the packet that a port sends next; -1 if it has none.
func (s *sim) next(i int32, p *port) int32 {
	if p.down {
		return -1
	}
	if p.control.head >= 0 {
		return s.shift(&p.control)
	}
	for {
		able := p.ready &^ p.paused &^ p.shaped
		if able == 0 {
			return -1
		}
		c := p.choose(able)
		q := &p.queues[c]
		var at int32
		if q.head >= 0 {
			at = s.dequeue(i, p, c)
		} else if at = s.fromFlow(p, q); at < 0 { // no flow of the class may send now
			s.unready(p, c)
			continue
		}
		size := int64(s.packets[at].size)
		q.sent++
		q.bytesS += size
		if p.strict>>c&1 == 0 {
			p.vtime = q.vtime
			q.vtime += size << 10 / q.weight
		}
		if q.shape > 0 {
			s.shape(i, p, c, size)
		}
		if q.head < 0 && q.flows.head < 0 {
			p.ready &^= 1 << c
		}
		return at
	}
}

// shape closes the queue of a class until its rate allows the next packet. It may lag by two packets,
// for which the port was busy.
func (s *sim) shape(i int32, p *port, c int, size int64) {
	q := &p.queues[c]
	step := Time((size + p.gap) * q.shape >> 10)
	if q.open = max(q.open, s.now-2*step) + step; q.open > s.now {
		p.shaped |= 1 << c
		s.w.add(q.open, evShape, i, int32(c))
	}
}

func (s *sim) unready(p *port, c int) {
	if q := &p.queues[c]; q.head < 0 && q.flows.head < 0 {
		p.ready &^= 1 << c
	}
}

// choose returns the class that is served next: the highest strict one, else the one that has
// received least for its weight. Over time that shares the link as deficit round robin does, without
// its bursts.
func (p *port) choose(able uint8) int {
	if able&(able-1) == 0 {
		return bits.TrailingZeros8(able)
	}
	if strict := able & p.strict; strict != 0 {
		return 7 - bits.LeadingZeros8(strict)
	}
	best, least := 0, int64(math.MaxInt64)
	for rest := able; rest != 0; rest &= rest - 1 {
		if c := bits.TrailingZeros8(rest); p.queues[c].vtime < least {
			best, least = c, p.queues[c].vtime
		}
	}
	return best
}

// wake notes that a class has something to send. A queue that was empty does not make up for that.
func (p *port) wake(c int) {
	if p.ready>>c&1 == 0 {
		p.ready |= 1 << c
		p.queues[c].vtime = max(p.queues[c].vtime, p.vtime)
	}
}

// enqueue puts a packet into the queue of its class and lets the port send.
func (s *sim) enqueue(i, at int32) {
	p, k := &s.ports[i], &s.packets[at]
	q := &p.queues[k.class]
	if !q.ecn.Leaving && k.kind == dataPacket {
		s.mark(i, q, k)
	}
	s.area(q)
	q.bytes += int64(k.size)
	q.most = max(q.most, q.bytes)
	s.push(&q.list, at)
	p.wake(int(k.class))
	if p.paused>>k.class&1 == 0 {
		s.transmit(i)
	}
}

// dequeue takes the first packet of a queue and releases its memory.
func (s *sim) dequeue(i int32, p *port, c int) int32 {
	q := &p.queues[c]
	at := s.shift(&q.list)
	k := &s.packets[at]
	if q.ecn.Leaving && k.kind == dataPacket {
		s.mark(i, q, k)
	}
	s.area(q)
	q.bytes -= int64(k.size)
	if n := &s.nodes[p.node]; !n.host {
		s.release(n, k)
	}
	return at
}

// store puts a packet into the memory of the group that holds it; ok is false if it is lost.
func (s *sim) store(n *node, k *packet) (ok bool) {
	p := &s.ports[k.in]
	g := &p.groups[k.class]
	switch outcome := p.slice.Receive(int(g.index), n.cells(k)); {
	case outcome == headroom.Stored:
		return true
	case outcome == headroom.Dropped:
		g.dropped++
		s.note(&s.first[k.class].Drop, k.in)
	default:
		ok = true
	}
	if p.slice.Paused(int(g.index)) {
		s.pausing(k.in, k.class, true)
	}
	return ok
}

// release gives the memory of a packet free.
func (s *sim) release(n *node, k *packet) {
	in, class := k.in, k.class
	p := &s.ports[in]
	if p.slice.Send(int(p.groups[class].index), n.cells(k)) {
		s.pausing(in, class, false)
	}
}

// cells returns what a packet takes of a memory.
func (n *node) cells(k *packet) int64 {
	if n.cell == 1 {
		return int64(k.size) + n.more
	}
	return int64(uint32(int64(k.size)+n.more+n.cell-1) / uint32(n.cell))
}

// mark marks a packet by the length of its queue.
func (s *sim) mark(i int32, q *queue, k *packet) {
	e := &q.ecn
	if q.bytes <= e.Min || e.Max == 0 || k.marked || !s.flows[k.flow].spec.ECT {
		return
	}
	if q.bytes < e.Max && s.random.Float64() >= e.Probability*float64(q.bytes-e.Min)/float64(e.Max-e.Min) {
		return
	}
	k.marked = true
	q.marks++
	s.note(&s.first[k.class].Mark, i)
}

// area adds to the integral of the length of a queue up to now.
func (s *sim) area(q *queue) {
	if from := max(q.window.at, s.opt.Warm); s.now > from {
		q.window.sum += float64(q.bytes) * float64(s.now-from)
	}
	q.window.at = s.now
}

// pausing sends a frame that begins or ends a pause of a class to the peer of a port.
func (s *sim) pausing(i int32, class uint8, on bool) {
	p := &s.ports[i]
	g := &p.groups[class]
	if g.sent == on {
		return
	}
	g.sent = on
	kind := resumeFrame
	if on {
		kind = pauseFrame
		g.pauses++
		if g.first < 0 {
			g.first = s.now
		}
		s.note(&s.first[class].Pause, i)
	}
	at := s.take()
	s.packets[at] = packet{kind: kind, class: class, size: controlFrame, flow: -1}
	s.push(&p.control, at)
	s.transmit(i)
}

// obey starts or ends the pause of a class at the port that a frame arrived at. A port where the
// class is not lossless ignores it.
func (s *sim) obey(i int32, class uint8, on bool) {
	p := &s.ports[i]
	z := &p.queues[class].pause
	if on == (p.paused>>class&1 == 1) || on && !p.groups[class].lossless {
		return
	}
	p.paused ^= 1 << class
	if on {
		z.since = s.now
		z.times++
		if z.first < 0 {
			z.first = s.now
		}
		return
	}
	z.total += s.now - max(z.since, min(s.opt.Warm, s.now))
	z.since = -1
	s.transmit(i)
}

// fail breaks a link: packets on it and in its queues are lost.
func (s *sim) fail(i int32) {
	for _, at := range []int32{i, s.ports[i].peer} {
		p := &s.ports[at]
		p.down = true
		for c := range p.queues {
			for q := &p.queues[c]; q.head >= 0; {
				k := s.dequeue(at, p, c)
				q.lost++
				s.drop(k)
			}
		}
	}
}
