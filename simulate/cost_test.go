package simulate

import (
	"context"
	"testing"
	"unsafe"
)

// A run allocates for its network, not for its packets; and a packet in flight takes little memory.
func TestCostOfPackets(t *testing.T) {
	l := podScenario()
	hops := map[Time]uint64{}
	allocations := func(end Time) float64 {
		return testing.AllocsPerRun(1, func() {
			r, err := Run(context.Background(), &l.Network, Options{For: end, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			hops[end] = r.Hops
		})
	}
	short, long := allocations(300*Microsecond), allocations(Millisecond)
	if hops[Millisecond]-hops[300*Microsecond] < 100_000 || long-short > 10 {
		t.Errorf("%d more hops make %v more allocations", hops[Millisecond]-hops[300*Microsecond], long-short)
	}
	// A packet, its event, and one event of the port that sends it; growing doubles the lists.
	if n := 2 * (unsafe.Sizeof(packet{}) + 2*(unsafe.Sizeof(event{})+unsafe.Sizeof(int64(0)))); n > 400 {
		t.Errorf("%d B a packet in flight", n)
	}
}

// The same network and seed give the same result, another seed another one.
func TestSameSeedSameResult(t *testing.T) {
	l := podScenario()
	run := func(seed uint64) *Result { return l.run(t, Options{For: 500 * Microsecond, Seed: seed}) }
	marks := func(r *Result) (n int64) {
		for _, p := range r.Ports {
			n += p[bulk].Marks
		}
		return n
	}
	a, b, c := run(1), run(1), run(2)
	if a.Events != b.Events || marks(a) != marks(b) || marks(a) == 0 {
		t.Errorf("%d events and %d marks, then %d and %d", a.Events, marks(a), b.Events, marks(b))
	}
	if a.Events == c.Events && marks(a) == marks(c) {
		t.Error("another seed gives the same result")
	}
}

// A run that is stopped says what it knows, and impossible networks are refused.
func TestRunStopsAndRefuses(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	l := podScenario()
	r, err := Run(ctx, &l.Network, Options{For: 10 * Millisecond, Progress: func(Time) { stop() }})
	if err != nil || !r.Stopped || r.End <= 0 || r.End >= 10*Millisecond || r.Hops == 0 {
		t.Errorf("stopped %v at %v after %d hops: %v", r.Stopped, r.End, r.Hops, err)
	}
	for what, change := range map[string]func(*Network){
		"path":    func(n *Network) { n.Flows[0].Path = n.Flows[0].Path[:1] },
		"class":   func(n *Network) { n.Flows[0].Class = 5 },
		"rate":    func(n *Network) { n.Ports[3].Rate = 0 },
		"memory":  func(n *Network) { n.Nodes[0].Slices = nil },
		"payload": func(n *Network) { n.Flows[1].Payload = 0 },
		"classes": func(n *Network) { n.Classes = nil },
	} {
		l := podScenario()
		change(&l.Network)
		if _, err := Run(context.Background(), &l.Network, Options{For: 1}); err == nil {
			t.Errorf("a network with an impossible %s runs", what)
		}
	}
}

// Losses are sent again: go-back-N, and the timeout where the last packet is lost.
func TestLossesAreSentAgain(t *testing.T) {
	s := static(100*gbps, wire100, load100, 0)
	s.group.Fixed = 60_000
	l := star(8, s)
	for i := range l.Ports {
		l.Ports[i].Classes[bulk].Lossless = false
	}
	for i := range l.Flows {
		l.Flows[i].Size, l.Flows[i].Timeout = 400_000, 200*Microsecond
	}
	r := l.run(t, Options{For: 50 * Millisecond})
	resent := int64(0)
	for i, f := range r.Flows {
		resent += f.Resent
		if f.Delivered != 400_000 || f.End < 0 {
			t.Errorf("flow %d delivered %d B", i, f.Delivered)
		}
	}
	if r.Drop.At < 0 || resent == 0 {
		t.Errorf("dropped %v, %d B sent again", r.Drop, resent)
	}
}

// A slow receiver pauses its switch, and one that storms stops its flows for ever.
func TestSlowAndStormingReceivers(t *testing.T) {
	s := static(100*gbps, wire100, load100, 1<<20)
	s.ack = false
	l := star(1, s)
	to := &l.Nodes[len(l.Nodes)-1]
	to.Slices, to.Cell, to.Drain = []SliceSize{{Shared: 1 << 30}}, 1, 10*gbps
	r := l.run(t, Options{For: 10 * Millisecond, Warm: 5 * Millisecond})
	near(t, "goodput, Gb/s", r.Flows[0].Rate/gbps, 10*load100/float64(wire100), 0.01)
	near(t, "share of time paused", float64(r.Ports[l.egress()][bulk].Paused)/float64(5*Millisecond), 0.9, 0.01)
	to.Drain, to.Storm = 0, true
	r = l.run(t, Options{For: 10 * Millisecond})
	if r.Flows[0].Delivered > 100*load100 || r.Stuck != nil {
		t.Errorf("delivered %d B to a storming host, deadlock %v", r.Flows[0].Delivered, r.Stuck)
	}
}

// A broken link stops its flows and loses what is on it.
func TestBrokenLink(t *testing.T) {
	l := star(2, static(100*gbps, wire100, load100, 1<<20))
	l.Fail = []Failure{{Port: 0, At: Millisecond}}
	r := l.run(t, Options{For: 3 * Millisecond})
	near(t, "what the broken flow delivered", float64(r.Flows[0].Delivered), 50e9/8*0.001*load100/wire100, 0.05)
	if r.Flows[1].Delivered < 2*r.Flows[0].Delivered {
		t.Errorf("the other flow delivered %d B, the broken one %d", r.Flows[1].Delivered, r.Flows[0].Delivered)
	}
}

// A flow of chunks waits for the flow before it, as the steps of a ring do.
func TestChunksWait(t *testing.T) {
	l := star(2, static(100*gbps, wire100, load100, 1<<20))
	l.Flows[1].Chunk, l.Flows[1].After, l.Flows[1].Size = 50*load100, 0, 100*load100
	l.Flows[0].Size, l.Flows[0].Start = 100*load100, 100*Microsecond
	r := l.run(t, Options{For: Millisecond})
	if f := r.Flows[1]; f.End < r.Flows[0].Start || f.End < 0 {
		t.Errorf("the second chunk arrived at %v, before the flow that it waits for began", f.End)
	}
}
