package simulate

import (
	"context"
	"fmt"
)

// Options control a run.
type Options struct {
	For  Time // how long it simulates
	Seed uint64
	// Warm is when measuring of rates, of the mean of queues and of pause times begins.
	Warm Time
	// Every is the time between two samples of the queues; 0 takes none.
	Every Time
	// Progress is called now and then with the time simulated so far; may be nil.
	Progress func(Time)
}

// checkEvery is how many events pass between two looks at the context.
const checkEvery = 1 << 16

// Run simulates a network. If the context ends, the result covers the time until then, and Stopped
// is set.
func Run(ctx context.Context, n *Network, opt Options) (*Result, error) {
	if err := n.check(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if opt.For <= 0 {
		return nil, fmt.Errorf("simulate: a time of %d", opt.For)
	}
	s := build(n, opt)
	stopped := s.run(ctx)
	r := s.result(n)
	r.Stopped = stopped
	return r, nil
}

func (s *sim) run(ctx context.Context) (stopped bool) {
	for {
		e, ok := s.w.pop()
		if !ok || e.at > s.opt.For {
			s.now = s.opt.For
			return false
		}
		s.now = e.at
		if s.events++; s.events%checkEvery == 0 {
			if ctx.Err() != nil {
				return true
			}
			if s.opt.Progress != nil {
				s.opt.Progress(s.now)
			}
		}
		switch e.kind {
		case evArrive:
			s.arrive(e.a, e.b)
		case evFree:
			s.ports[e.a].waiting = false
			s.transmit(e.a)
		case evReady:
			if f := &s.flows[e.a]; f.gen == e.b {
				f.waiting = false
				s.link(f)
			}
		default:
			s.seldom(e)
		}
	}
}

// seldom handles the events that are rare.
func (s *sim) seldom(e event) {
	switch e.kind {
	case evPause:
		s.obey(e.a, uint8(e.b), true)
	case evResume:
		s.obey(e.a, uint8(e.b), false)
	case evStart:
		s.started(e.a)
	case evRate:
		s.tick(&s.flows[e.a], e.b)
	case evPoll:
		s.poll(&s.flows[e.a])
	case evNotify:
		s.notify(&s.flows[e.a])
	case evDrain:
		s.drained(e.a)
	case evTimeout:
		s.timeout(&s.flows[e.a])
	case evShape:
		s.ports[e.a].shaped &^= 1 << e.b
		s.transmit(e.a)
	case evFail:
		s.fail(e.a)
	case evSample:
		s.sample()
	}
}

// Moment is when and where something happened first; At is -1 if it did not.
type Moment struct {
	At   Time
	Port int
}

// Firsts are the first events.
type Firsts struct {
	Mark  Moment
	Pause Moment // a switch or host sent it
	Drop  Moment
}

// none are the first events before any has happened.
var none = Firsts{Moment{At: -1}, Moment{At: -1}, Moment{At: -1}}

// Result is what a run measured. Ports and flows are in the order of the network.
type Result struct {
	End     Time // the time that was simulated
	Stopped bool // before the end
	Events  uint64
	Hops    uint64 // data packets that a port began to send
	Most    int    // packets in flight at most
	Firsts         // of all classes
	ByClass [MaxClasses]Firsts
	Ports   []PortResult
	Flows   []FlowResult
	Stuck   *Deadlock // nil if there is none at the end
	Series  Series
}

// PortResult is what one port did, by class.
type PortResult [MaxClasses]ClassResult

// ClassResult is what a port did with a class.
type ClassResult struct {
	Packets, Bytes int64 // sent, without gaps
	Marks          int64
	Queue          int64   // longest queue, bytes
	Mean           float64 // of the queue from Options.Warm on
	Lost           int64   // packets that were lost for want of memory, or with a link
	Pauses         int64   // sent to the peer
	FirstPause     Time    // sent; -1 if none
	Paused         Time    // by the peer, from Options.Warm on
	PausedTimes    int64
	FirstPaused    Time  // -1 if never
	Held, Headroom int64 // most cells that the group held, and in headroom
}

// FlowResult is what one flow did.
type FlowResult struct {
	Delivered int64 // bytes of payload in order
	// Rate is the goodput from Options.Warm on, or from the start, to the end of the flow or of the
	// run, in bits per second.
	Rate       float64
	Start, End Time // End is -1 if the flow did not finish
	Resent     int64
	Marked     int64 // packets that arrived marked
	CNPs, Cuts int64
}

func (s *sim) result(n *Network) *Result {
	r := &Result{
		End: s.now, Events: s.events, Hops: s.hops, Most: s.most,
		Firsts: s.earliest(), ByClass: s.first,
		Ports: make([]PortResult, len(s.ports)), Series: s.series.Series,
	}
	for i := range s.ports {
		for c := range n.Classes {
			r.Ports[i][c] = s.classResult(&s.ports[i], c)
		}
	}
	for i := range s.flows {
		f := &s.flows[i]
		x := FlowResult{Delivered: f.got, Start: f.start, End: f.end, Resent: f.resent, Marked: f.marked, CNPs: f.cnps, Cuts: f.control.cuts}
		end := s.now
		if f.end >= 0 {
			end = f.end
		}
		if span := end - max(f.start, s.opt.Warm); span > 0 {
			x.Rate = float64(f.warm) * 8e12 / float64(span)
		}
		r.Flows = append(r.Flows, x)
	}
	r.Stuck = s.deadlock()
	return r
}

// earliest returns the first events over all classes.
func (s *sim) earliest() Firsts {
	out := none
	for _, c := range s.first {
		for _, x := range []struct{ of, to *Moment }{{&c.Mark, &out.Mark}, {&c.Pause, &out.Pause}, {&c.Drop, &out.Drop}} {
			if x.of.At >= 0 && (x.to.At < 0 || x.of.At < x.to.At) {
				*x.to = *x.of
			}
		}
	}
	return out
}

func (s *sim) classResult(p *port, c int) ClassResult {
	q, g := &p.queues[c], &p.groups[c]
	s.area(q)
	x := ClassResult{
		Packets: q.sent, Bytes: q.bytesS, Marks: q.marks, Queue: q.most, Lost: q.lost + g.dropped,
		Pauses: g.pauses, FirstPause: g.first, Paused: q.pause.total, PausedTimes: q.pause.times, FirstPaused: q.pause.first,
	}
	if span := s.now - s.opt.Warm; span > 0 {
		x.Mean = q.window.sum / float64(span)
	}
	if q.pause.since >= 0 {
		x.Paused += s.now - max(q.pause.since, min(s.opt.Warm, s.now))
	}
	if g.index >= 0 {
		x.Held, x.Headroom = p.slice.Most(int(g.index))
	}
	return x
}
