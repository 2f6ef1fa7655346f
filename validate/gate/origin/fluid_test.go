package origin_test

import (
	"math/rand/v2"
)

// This file is a fluid model of a lossless fabric. Bytes of flows queue at the egress ports of
// switches, ingress ports send XOFF by a dynamic threshold and XON below it, NICs have receive
// buffers that the host drains, and senders may slow down for marks. The model knows nothing
// about finding sources; only its counters go to the finder.

const (
	tick     = 2e-6 // seconds; a pause also takes effect one tick later
	warmUp   = 1500 // ticks before the counters are first read
	measured = 3500 // ticks in the window
	quanta   = 65535 * 512
	packet   = 4096
)

// pipe is one direction of a cable.
type pipe struct {
	from, to node
	rate     float64 // bytes per second

	paused, wish bool // paused follows wish one tick later
	refresh      float64
	hops         []hop // flows in the egress queue

	// held is the bytes that came in by this pipe and are still in the switch at its end.
	held float64

	// counters of the window
	pausedTime    float64
	frames        uint64
	bytes, marked float64
	peak          float64
}

// node is a port.
type node struct{ device, port int }

type hop struct{ flow, at int }

type flow struct {
	path    []int     // pipes
	queue   []float64 // bytes at the egress of each pipe
	demand  func(t float64) float64
	rate    float64 // limit set by congestion control
	marked  bool
	backlog float64
}

type box struct {
	name   string
	host   bool
	tier   int
	out    []int // pipes
	in     []int
	buffer float64 // bytes of a switch, or of one NIC
	used   float64
}

// nicState is the receive side of a NIC at the end of a pipe.
type nicState struct {
	filled, size float64
	drain        func(t float64) float64 // bytes a second
	stuck        bool                    // sends pause whatever its buffer holds
}

type fluid struct {
	boxes []box
	pipes []pipe
	back  []int // the other direction of each pipe
	nics  map[int]*nicState
	flows []flow

	alpha  float64
	ecn    float64 // queue length in bytes above which packets are marked; 0 turns marking off
	obey   bool    // senders slow down when marked
	record bool
	ticks  int
}

// connect adds a cable and returns its two directions.
func (f *fluid) connect(a, b int, rate float64) (int, int) {
	ends := [2]node{{a, len(f.boxes[a].out)}, {b, len(f.boxes[b].out)}}
	n := len(f.pipes)
	f.pipes = append(f.pipes, pipe{from: ends[0], to: ends[1], rate: rate}, pipe{from: ends[1], to: ends[0], rate: rate})
	f.back = append(f.back, n+1, n)
	f.boxes[a].out, f.boxes[a].in = append(f.boxes[a].out, n), append(f.boxes[a].in, n+1)
	f.boxes[b].out, f.boxes[b].in = append(f.boxes[b].out, n+1), append(f.boxes[b].in, n)
	for _, end := range []struct{ pipe, box int }{{n, b}, {n + 1, a}} {
		if f.boxes[end.box].host {
			f.nics[end.pipe] = &nicState{size: f.boxes[end.box].buffer, drain: func(float64) float64 { return 4 * rate }}
		}
	}
	return n, n + 1
}

func (f *fluid) add(path []int, demand func(t float64) float64) {
	for at, p := range path {
		f.pipes[p].hops = append(f.pipes[p].hops, hop{len(f.flows), at})
	}
	f.flows = append(f.flows, flow{path: path, queue: make([]float64, len(path)), demand: demand, rate: f.pipes[path[0]].rate})
}

func (f *fluid) run(ticks int) {
	for range ticks {
		f.step(float64(f.ticks) * tick)
		f.ticks++
	}
}

func (f *fluid) step(t float64) {
	// Applications hand data to their NICs, up to a limited backlog.
	for i := range f.flows {
		fl := &f.flows[i]
		fl.backlog = min(fl.backlog+fl.demand(t)*tick, 8e6)
		give := min(fl.backlog, fl.rate*tick, max(0, 2*f.pipes[fl.path[0]].rate*tick-fl.queue[0]))
		fl.backlog -= give
		fl.queue[0] += give
	}
	// Every pipe carries the flows in its queue in proportion, unless it is paused.
	type move struct {
		hop  hop
		n    float64
		pipe int
	}
	var moves []move
	for i := range f.pipes {
		p := &f.pipes[i]
		var total float64
		for _, h := range p.hops {
			total += f.flows[h.flow].queue[h.at]
		}
		marks := f.ecn > 0 && total > f.ecn && !f.boxes[p.from.device].host
		if f.record {
			p.peak = max(p.peak, total)
		}
		if p.paused || total == 0 {
			continue
		}
		send := min(total, p.rate*tick)
		for _, h := range p.hops {
			if q := f.flows[h.flow].queue[h.at]; q > 0 {
				moves = append(moves, move{h, q * send / total, i})
				f.flows[h.flow].marked = f.flows[h.flow].marked || marks
			}
		}
		if f.record {
			p.bytes += send
			if marks {
				p.marked += send / packet
			}
		}
	}
	for _, m := range moves {
		fl := &f.flows[m.hop.flow]
		fl.queue[m.hop.at] -= m.n
		if m.hop.at > 0 {
			f.pipes[fl.path[m.hop.at-1]].held -= m.n
			f.boxes[f.pipes[m.pipe].from.device].used -= m.n
		}
		to := &f.boxes[f.pipes[m.pipe].to.device]
		if to.host {
			f.nics[m.pipe].filled += m.n
			continue
		}
		fl.queue[m.hop.at+1] += m.n
		f.pipes[m.pipe].held += m.n
		to.used += m.n
	}
	// Receivers decide whether to pause.
	for i := range f.pipes {
		p := &f.pipes[i]
		p.paused = p.wish
		to := &f.boxes[p.to.device]
		on, off := false, false
		if nic := f.nics[i]; nic != nil {
			nic.filled = max(0, nic.filled-nic.drain(t)*tick)
			on = nic.stuck || nic.filled > 0.6*nic.size
			off = !nic.stuck && nic.filled < 0.3*nic.size
		} else {
			limit := f.alpha * max(0, to.buffer-to.used)
			on, off = p.held > limit, p.held < limit-2*packet && p.held < 0.9*limit
		}
		before := p.wish
		p.wish = on || p.wish && !off
		p.refresh -= tick
		// A pause frame is sent when the pause begins and ends, and again before its time is
		// over.
		if sent := p.wish != before || p.wish && p.refresh <= 0; sent {
			p.refresh = 0.5 * quanta / (8 * p.rate)
			if f.record {
				p.frames++
			}
		}
		if f.record && p.paused {
			p.pausedTime += tick
		}
	}
	// Senders react to marks every 50 us.
	if f.obey && f.ticks%25 == 0 {
		for i := range f.flows {
			fl := &f.flows[i]
			top := f.pipes[fl.path[0]].rate
			if fl.marked {
				fl.rate = max(fl.rate*0.75, top/200)
			} else {
				fl.rate = min(fl.rate+top/40, top)
			}
			fl.marked = false
		}
	}
}

// burst returns a demand that is active for a fraction of each period.
func burst(r *rand.Rand, rate, period, duty float64) func(float64) float64 {
	shift := r.Float64() * period
	return func(t float64) float64 {
		x := (t + shift) / period
		if x-float64(int(x)) < duty {
			return rate / duty
		}
		return 0
	}
}
