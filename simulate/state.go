package simulate

import (
	"math/rand/v2"

	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// sim is a running simulation.
type sim struct {
	now     Time
	w       *wheel
	ports   []port
	nodes   []node
	flows   []flow
	packets []packet
	free    int32 // list of unused packets
	random  *rand.Rand
	opt     Options

	first  [MaxClasses]Firsts
	events uint64
	hops   uint64
	flying int // packets in use
	most   int // largest value of flying
	series series
}

// packetKind says what a packet carries.
type packetKind uint8

const (
	dataPacket packetKind = iota
	ackPacket             // confirms all bytes before seq
	nakPacket             // asks for all bytes from seq
	cnpPacket             // congestion notification
	pauseFrame
	resumeFrame
)

// packet is a packet in flight or in a queue.
type packet struct {
	seq  int64 // of data: the first byte of payload
	next int32 // in its queue
	flow int32
	in   int32 // the port whose group holds it in the memory of its switch or host
	size int32 // without preamble and gap
	load int32 // payload
	hop  uint8 // index into the path of the port that sends it next
	kind packetKind
	// class is the class of the packet; of a pause frame the one that it pauses.
	class  uint8
	marked bool
}

// node is a switch or host.
type node struct {
	slices     []*headroom.Slice
	cell, more int64
	host       bool
	drain      int64 // picoseconds per KiB; 0 if the host is never the bottleneck
	head, tail int32 // the receive buffer of a host that drains
}

// port is one end of a link.
type port struct {
	node, peer int32
	perKiB     int64 // picoseconds to send 1024 bytes
	gap        int64
	delay      Time
	response   Time
	slice      *headroom.Slice
	idle       Time  // when it has sent the current packet
	vtime      int64 // of the weighted queue served last
	ready      uint8 // classes with packets or flows
	paused     uint8 // classes that the peer has paused
	strict     uint8 // classes with strict priority
	shaped     uint8 // classes whose shaper waits
	waiting    bool  // evFree is scheduled
	down       bool
	control    list // pause frames
	queues     [MaxClasses]queue
	groups     [MaxClasses]group
}

// list is a queue of packets.
type list struct{ head, tail int32 }

// queue is the egress side of a class on a port.
type queue struct {
	list
	flows  list // flows of a host that may send now
	bytes  int64
	weight int64
	vtime  int64 // bytes sent divided by weight
	shape  int64 // picoseconds per KiB of a shaper; 0 for none
	open   Time  // when the shaper allows the next packet
	ecn    ECN
	pause  paused
	most   int64
	marks  int64
	sent   int64 // packets
	bytesS int64 // bytes sent
	lost   int64
	window areaOf
}

// group is the memory of a class on a port. A lossless one holds what the port received, another one
// what waits in the queue of the port.
type group struct {
	index    int32 // in the slice of the port; -1 if the node has no memory
	lossless bool
	sent     bool  // a pause was sent and not ended
	pauses   int64 // pause frames sent that began a pause
	dropped  int64
	first    Time // of the first pause; -1 for none
}

// paused counts how long a queue was paused by its peer.
type paused struct {
	since, total, first Time
	times               int64
}

// areaOf integrates the length of a queue over time.
type areaOf struct {
	at  Time
	sum float64 // byte picoseconds
}

// build prepares a run.
func build(n *Network, opt Options) *sim {
	s := &sim{free: -1, random: rand.New(rand.NewPCG(opt.Seed, 0x5eed)), opt: opt}
	for i := range s.first {
		s.first[i] = none
	}
	perMicrosecond := int64(0)
	for _, p := range n.Ports {
		perMicrosecond += p.Rate / 1e6 / 8 / 1000
	}
	s.w = newWheel(2 * perMicrosecond)
	for _, d := range n.Nodes {
		at := node{cell: max(d.Cell, 1), more: d.Descriptor, host: d.Host, head: -1, tail: -1}
		for _, size := range d.Slices {
			at.slices = append(at.slices, headroom.NewSlice(size.Shared, size.Headroom))
		}
		if d.Drain > 0 {
			at.drain = perKiB(d.Drain)
		}
		s.nodes = append(s.nodes, at)
	}
	for i := range n.Ports {
		s.ports = append(s.ports, s.port(&n.Ports[i], len(n.Classes)))
	}
	for i := range n.Flows {
		s.addFlow(&n.Flows[i])
	}
	for i, d := range n.Nodes {
		if d.Storm {
			s.storm(int32(i))
		}
	}
	for i, f := range n.Fail {
		s.w.add(f.At, evFail, int32(f.Port), int32(i))
	}
	s.series.start(s, opt)
	return s
}

// perKiB returns the picoseconds that 1024 bytes take at a rate in bits per second.
func perKiB(rate int64) int64 { return (8192*1e12 + rate/2) / rate }

func (s *sim) port(p *Port, classes int) port {
	out := port{
		node: int32(p.Node), peer: int32(p.Peer), perKiB: perKiB(p.Rate), gap: p.Gap, delay: p.Delay, response: p.Response,
		control: list{-1, -1},
	}
	if d := s.nodes[p.Node]; len(d.slices) > 0 {
		out.slice = d.slices[p.Slice]
	}
	for c := range MaxClasses {
		k := p.Classes[c]
		q := queue{list: list{-1, -1}, flows: list{-1, -1}, weight: max(k.Weight, 1), ecn: k.ECN, pause: paused{since: -1, first: -1}}
		g := group{index: -1, first: -1, lossless: k.Lossless}
		if k.MaxRate > 0 {
			q.shape = perKiB(k.MaxRate)
		}
		if k.Strict {
			out.strict |= 1 << c
		}
		if out.slice != nil && c < classes {
			g.index = int32(out.slice.Add(k.Group))
		}
		out.queues[c], out.groups[c] = q, g
	}
	return out
}

// take returns an unused packet.
func (s *sim) take() int32 {
	i := s.free
	if i >= 0 {
		s.free = s.packets[i].next
	} else {
		i = int32(len(s.packets))
		s.packets = append(s.packets, packet{})
	}
	if s.flying++; s.flying > s.most {
		s.most = s.flying
	}
	return i
}

// drop gives a packet back.
func (s *sim) drop(i int32) {
	s.packets[i].next = s.free
	s.free = i
	s.flying--
}

func (s *sim) push(l *list, i int32) {
	s.packets[i].next = -1
	if l.head < 0 {
		l.head = i
	} else {
		s.packets[l.tail].next = i
	}
	l.tail = i
}

func (s *sim) shift(l *list) int32 {
	i := l.head
	l.head = s.packets[i].next
	return i
}

// note records the first time that something happens.
func (s *sim) note(first *Moment, port int32) {
	if first.At < 0 {
		*first = Moment{At: s.now, Port: int(port)}
	}
}
