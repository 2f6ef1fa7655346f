package simulate

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// congested returns the scenario of the oracle at 40G: marking from 5 KB to 200 KB with 1 %.
func congested(n int) (setup, DCQCN) {
	s := dynamic(n+1, headroom.Alpha{Num: 1, Den: 8}, 40*gbps, wire100, load100, 37_500)
	s.ecn = ECN{Min: 5000, Max: 200_000, Probability: 0.01, Leaving: true}
	return s, SIGCOMM()
}

// figures are what the oracle lists: the mean and the 99th percentile of the queue, cuts a flow and
// second, the used part of the link, and Jain's index of fairness.
type figures struct {
	mean, p99, cuts, used, fair float64
	r                           *Result
}

// steady runs a star and measures it between two times, in milliseconds.
func steady(t *testing.T, n int, s setup, d DCQCN, from, end Time) figures {
	t.Helper()
	s.control = &d
	l := star(n, s)
	r := l.run(t, Options{For: end * Millisecond, Warm: from * Millisecond, Every: Microsecond, Seed: 1})
	half, err := Run(t.Context(), &l.Network, Options{For: from * Millisecond, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var sum, square, all float64
	for i, f := range r.Flows {
		sum += f.Rate
		square += f.Rate * f.Rate
		all += float64(f.Cuts - half.Flows[i].Cuts)
	}
	at := slices.Index(r.Series.Ports, l.egress())
	samples := slices.Sorted(slices.Values(r.Series.Queues[at][int(from*1000):]))
	line := float64(s.rate) * float64(s.payload) / float64(s.wire)
	return figures{
		mean: r.Ports[l.egress()][bulk].Mean, p99: float64(samples[len(samples)*99/100]),
		cuts: all / float64(n) / float64(end-from) * 1000, used: sum / line, fair: sum * sum / float64(n) / square, r: r,
	}
}

// O10, O2: the mean queue, the cuts and the shares of DCQCN at 40G, compared with the fluid model of
// "ECN or Delay" (CoNEXT 2016) for the queue and the cuts, and with ns3-rdma, which DCQCN's authors
// wrote, for the 99th percentile and the use of the link.
func TestDCQCNFixedPoint(t *testing.T) {
	for _, c := range []struct {
		id                string
		n                 int
		change            func(*DCQCN)
		q, cuts, cutsWide float64
		p99, used         float64
	}{
		{"a-40-2", 2, nil, 20_530, 1852, 0.25, 86_100, 0.985},
		{"a-40-4", 4, nil, 42_728, 2228, 0.07, 134_275, 0.985},
		{"g-40-8-timer300", 8, func(d *DCQCN) { d.RateTimer = 300 * Microsecond }, 29_225, 744, 0.07, 100_450, 0.985},
		// With g 1/16 the rates swing so much that ns3-rdma uses 0.9708 of the link; the fluid model
		// does not show that, and its queue is 1.5 times that of ns3-rdma.
		{"g-40-8-g16", 8, func(d *DCQCN) { d.G = 1.0 / 16 }, 63_791, 2658, 0.07, 214_225, 0.9708 - 0.02},
	} {
		t.Run(c.id, func(t *testing.T) {
			s, d := congested(c.n)
			if c.change != nil {
				c.change(&d)
			}
			m := steady(t, c.n, s, d, 50, 100)
			if m.mean < 0.8*c.q || m.mean > 1.35*c.q {
				t.Errorf("mean queue %.0f, the oracle says 0.8 to 1.35 times %.0f", m.mean, c.q)
			}
			near(t, "cuts a flow and second", m.cuts, c.cuts, c.cutsWide)
			near(t, "p99 of the queue", m.p99, c.p99, 0.25)
			if m.used < c.used || m.fair < 0.99 {
				t.Errorf("use of the link %.4f, at least %.4f; fairness %.4f, at least 0.99", m.used, c.used, m.fair)
			}
		})
	}
}

// O10: over a loop of 85 us DCQCN of two flows still uses the link.
func TestDCQCNLongLoop(t *testing.T) {
	s, d := congested(2)
	s.delay = 21 * Microsecond
	if m := steady(t, 2, s, d, 50, 100); m.used < 0.97 {
		t.Errorf("use of the link %.4f, the oracle says at least 0.97", m.used)
	}
}

// O10: with its cut polled each 50 us and hyper increase by the timer alone, ns-3 (HPCC) behaves in
// another way than the paper; with both options this model can be compared with it.
func TestDCQCNPolled(t *testing.T) {
	for _, c := range []struct {
		id       string
		n        int
		rate     int64
		ecn      ECN
		g        float64
		q, used  float64
		mark     float64
		certain  bool    // else the first mark is a matter of chance
		pause    float64 // the first one, in microseconds; 0 for none
		from, to Time
	}{
		{"a-100-2", 2, 100, ECN{400_000, 1_600_000, 0.2, true}, 256, 107_735, 0.9791, 35.608, false, 0, 30, 60},
		{"a-100-32", 32, 100, ECN{400_000, 1_600_000, 0.2, true}, 256, 340_956, 0.9076, 3.436, true, 75.256, 30, 60},
		{"a-400-8", 8, 400, ECN{1_600_000, 6_400_000, 0.2, true}, 256, 658_582, 0.9622, 6.022, true, 47.008, 30, 60},
		{"g-40-2-cut40", 2, 40, ECN{40_000, 40_000, 1, true}, 256, 8697, 0.9627, 9.19, true, 0, 50, 100},
		{"g-40-2-k40", 2, 40, ECN{40_000, 400_000, 0.01, true}, 256, 76_323, 0.9864, 41.74, false, 0, 50, 100},
		{"g-40-2-g1024", 2, 40, ECN{5000, 200_000, 0.01, true}, 1024, 23_045, 0.974, 34.6, false, 0, 50, 100},
	} {
		t.Run(c.id, func(t *testing.T) {
			wire, load, room := int64(wire100), int64(load100), int64(37_500)
			if c.rate == 400 {
				wire, load, room = wire400, load400, 150_000
			}
			s := dynamic(c.n+1, headroom.Alpha{Num: 1, Den: 8}, c.rate*gbps, wire, load, room)
			s.ecn = c.ecn
			d := SIGCOMM()
			d.G, d.ByteCounter, d.Monitor, d.TimerAlone, d.CNPInterval = 1/c.g, 0, 50*Microsecond, true, 0
			if c.rate != 40 {
				d.Additive, d.Hyper, d.AlphaTimer = 20e6*float64(c.rate)/100, 200e6*float64(c.rate)/100, 50*Microsecond
			}
			m := steady(t, c.n, s, d, c.from, c.to)
			near(t, "mean queue", m.mean, c.q, 0.15)
			within(t, "use of the link", m.used, c.used, 0.02)
			if m.fair < 0.99 || (m.r.Pause.At >= 0) != (c.pause > 0) {
				t.Errorf("fairness %.4f, first pause %.3f us, the oracle has one at %.3f us (0 for none)", m.fair, micros(m.r.Pause.At), c.pause)
			}
			if c.pause > 0 {
				near(t, "first pause, us", micros(m.r.Pause.At), c.pause, 0.02)
			}
			if c.certain {
				within(t, "first mark, us", micros(m.r.Mark.At), c.mark, 5)
			}
		})
	}
}

// O3, the study of DCQCN+: with the parameters of the paper, so many flows into one port that the
// increases of all together exceed what a cut takes back are no longer drained, and the queue rises
// until the switch pauses: at 10G from about 80 flows on. Here it happens between 64 and 68, and at 40G
// between 240 and 280, where the study has it at about 160; its curve and packet size are not known.
func TestDCQCNTooManyFlows(t *testing.T) {
	for _, c := range []struct {
		rate   int64
		flows  int
		pauses bool
	}{{10, 56, false}, {10, 88, true}, {40, 152, false}, {40, 320, true}} {
		s := dynamic(9, headroom.Alpha{Num: 1, Den: 8}, c.rate*gbps, wire100, load100, 37_500)
		s.ecn = ECN{Min: 500 * c.rate, Max: 200_000, Probability: 0.01}
		d := SIGCOMM()
		s.control = &d
		l := star(8, s)
		for i := 8; i < c.flows; i++ {
			f := l.Flows[i%8]
			f.Start = Time(i) * Microsecond
			l.Flows = append(l.Flows, f)
		}
		r := l.run(t, Options{For: 40 * Millisecond, Warm: 30 * Millisecond, Seed: 1})
		paused := Time(0)
		for _, p := range r.Ports {
			paused += p[bulk].Paused
		}
		if (paused > 0) != c.pauses {
			t.Errorf("%d flows at %dG: paused for %.0f us between 30 and 40 ms, mean queue %.0f B", c.flows, c.rate, micros(paused), r.Ports[l.egress()][bulk].Mean)
		}
	}
}
