package simulate

// arrive handles a packet at the far end of the link of a port.
func (s *sim) arrive(from, at int32) {
	in := s.ports[from].peer
	p := &s.ports[in]
	k := &s.packets[at]
	if p.down {
		if k.kind == dataPacket {
			s.ports[from].queues[k.class].lost++
		}
		s.drop(at)
		return
	}
	switch k.kind {
	case pauseFrame, resumeFrame:
		s.paused(in, p, k)
		s.drop(at)
		return
	}
	k.hop++
	if s.nodes[p.node].host {
		s.reach(in, p, at)
		return
	}
	s.forward(in, p, at)
}

// paused lets a port obey a pause frame after its response time.
func (s *sim) paused(in int32, p *port, k *packet) {
	on := k.kind == pauseFrame
	switch {
	case p.response == 0:
		s.obey(in, k.class, on)
	case on:
		s.w.add(s.now+p.response, evPause, in, int32(k.class))
	default:
		s.w.add(s.now+p.response, evResume, in, int32(k.class))
	}
}

// forward stores a packet in the memory of a switch and puts it into its egress queue.
func (s *sim) forward(in int32, p *port, at int32) {
	k := &s.packets[at]
	out := s.route(k)
	k.in = in
	if !p.groups[k.class].lossless && !s.ports[out].groups[k.class].lossless {
		k.in = out
	}
	if !s.store(&s.nodes[p.node], k) {
		s.drop(at)
		return
	}
	s.enqueue(out, at)
}

// route returns the port that sends a packet next.
func (s *sim) route(k *packet) int32 {
	f := &s.flows[k.flow]
	if k.kind == dataPacket {
		return f.path[k.hop]
	}
	return f.back[k.hop]
}

// reach handles a packet at a host. A host that is slow keeps it in its receive buffer.
func (s *sim) reach(in int32, p *port, at int32) {
	k := &s.packets[at]
	n := &s.nodes[p.node]
	if n.drain == 0 || k.kind != dataPacket {
		s.receive(at)
		return
	}
	k.in = in
	if !s.store(n, k) {
		s.drop(at)
		return
	}
	idle := n.head < 0
	l := list{n.head, n.tail}
	s.push(&l, at)
	n.head, n.tail = l.head, l.tail
	if idle {
		s.w.add(s.now+Time(int64(k.size)*n.drain>>10), evDrain, p.node, 0)
	}
}

// drained takes the first packet out of the receive buffer of a host.
func (s *sim) drained(i int32) {
	n := &s.nodes[i]
	l := list{n.head, n.tail}
	at := s.shift(&l)
	n.head, n.tail = l.head, l.tail
	k := &s.packets[at]
	s.release(n, k)
	if n.head >= 0 {
		s.w.add(s.now+Time(int64(s.packets[n.head].size)*n.drain>>10), evDrain, i, 0)
	}
	s.receive(at)
}

// storm makes a host pause all lossless classes of its ports.
func (s *sim) storm(host int32) {
	for i := range s.ports {
		if s.ports[i].node != host {
			continue
		}
		for c := range MaxClasses {
			if up := &s.ports[s.ports[i].peer]; up.groups[c].lossless {
				s.pausing(int32(i), uint8(c), true)
			}
		}
	}
}
