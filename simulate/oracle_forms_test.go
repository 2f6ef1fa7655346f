package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// O9: packets that come at random wait rho / (2 (1 - rho)) service times on average (M/D/1).
func TestRandomArrivals(t *testing.T) {
	const service = 84.08 // nanoseconds
	n := sharedtest.Sized(200_000, 3_000_000)
	for rho, want := range map[float64]float64{0.5: 42.0, 0.8: 168.2, 0.9: 378.4} {
		s := static(100*gbps, wire100, load100, 1<<30)
		s.group.Fixed, s.ack = 1<<40, false
		s.slow = map[string]int64{"s0-switch": 1_000_000 * gbps} // arrivals do not wait
		l := star(1, s)
		one := l.Flows[0]
		one.Size = load100
		r := rand.New(rand.NewPCG(1, 1))
		l.Flows = nil
		at := 0.0
		for range n {
			at += r.ExpFloat64() * service / rho
			one.Start = Time(at * 1000)
			l.Flows = append(l.Flows, one)
		}
		end := Time(at * 1000)
		mean := l.run(t, Options{For: end}).Ports[l.egress()][bulk].Mean
		near(t, fmt.Sprintf("wait at load %v, ns", rho), mean/wire100/float64(n)*float64(end)/1000, want, 0.06)
	}
}

// O9: weights share what strict traffic leaves, and what one class does not use goes to the others.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		offer int64 // of the first weighted class, Gb/s
		want  []float64
	}{{100, []float64{54, 36, 10}}, {20, []float64{20, 70, 10}}} {
		s := dynamic(5, headroom.Alpha{Num: 1, Den: 8}, 100*gbps, wire100, wire100, 37_500)
		s.ack = false
		s.slow = map[string]int64{"s0-switch": c.offer * gbps, "s2-switch": 10 * gbps}
		l := star(3, s)
		l.Classes = []string{"a", "b", "strict"}
		for i := range l.Ports {
			p := &l.Ports[i]
			p.Classes[1], p.Classes[2] = p.Classes[0], p.Classes[0]
			p.Classes[0].Weight, p.Classes[1].Weight, p.Classes[2].Strict = 60, 40, true
		}
		for i := range l.Flows {
			l.Flows[i].Class = i
		}
		r := l.run(t, Options{For: 10 * Millisecond, Warm: 2 * Millisecond})
		for i, f := range r.Flows {
			near(t, fmt.Sprintf("class %s", l.Classes[i]), f.Rate/gbps, c.want[i], 0.01)
		}
	}
}

// A shaper limits its queue, and the others take the rest.
func TestShaper(t *testing.T) {
	s := dynamic(4, headroom.Alpha{Num: 1, Den: 8}, 100*gbps, wire100, wire100, 37_500)
	s.ack = false
	l := star(2, s)
	for i := range l.Ports {
		l.Ports[i].Classes[acks] = l.Ports[i].Classes[bulk]
	}
	l.Ports[l.egress()].Classes[bulk].MaxRate = 30 * gbps
	l.Flows[1].Class = acks
	r := l.run(t, Options{For: 5 * Millisecond, Warm: Millisecond})
	near(t, "shaped class", r.Flows[0].Rate/gbps, 30, 0.01)
	near(t, "other class", r.Flows[1].Rate/gbps, 70, 0.01)
}

// O2: 32 ports of 40G, 12 MB, 22.4 KB of headroom for each of 8 priorities: with the dynamic
// threshold of the paper (beta 8), marking precedes the first pause only below 21.75 KB, if each
// priority fills 32 queues from one port.
func TestEdgeOfThePaper(t *testing.T) {
	first := func(mark int64) bool {
		l := &lab{Network: Network{Classes: make([]string, MaxClasses)}}
		sw := l.node("switch", false, 12_000_000-8*32*22_400)
		s := setup{rate: 40 * gbps, delay: Nanosecond}
		const receivers, payload = 32, 100
		for i := range MaxClasses + receivers {
			l.link(sw, l.node(fmt.Sprint("h", i), true, 0), s)
			if i >= MaxClasses { // these ports hardly drain
				l.Ports[2*i].Rate, l.Ports[2*i+1].Rate = 1_000_000, 1_000_000
			}
		}
		for i := range l.Ports {
			for c := range MaxClasses {
				l.Ports[i].Classes[c] = PortClass{
					Lossless: true, Weight: 1, ECN: ECN{Min: mark, Max: mark, Probability: 1},
					Group: headroom.GroupSize{Alpha: headroom.Alpha{Num: 1, Den: 1}, Headroom: 22_400},
				}
			}
		}
		for c := range MaxClasses {
			for to := range receivers {
				l.flow(setup{wire: payload, payload: payload}, 1+c, sw, 1+MaxClasses+to).Class = c
			}
		}
		r := l.run(t, Options{For: 2 * Millisecond})
		return r.Mark.At >= 0 && (r.Pause.At < 0 || r.Mark.At < r.Pause.At)
	}
	low, high := int64(10_000), int64(40_000)
	for high-low > 100 {
		if mid := (low + high) / 2; first(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	near(t, "largest threshold that marks before a pause, bytes", float64(low), 21_756, 0.02)
}

// O10: the all-to-all of 16 hosts, with PFC alone, over five seeds of the hash.
func TestAllToAll(t *testing.T) {
	s := dynamic(9, headroom.Alpha{Num: 1, Den: 8}, 100*gbps, wire100, load100, 37_500)
	var p50, p99 []float64
	for seed := range uint64(5) {
		r := allToAll(s, seed, 1_000_000).run(t, Options{For: 10 * Millisecond})
		var took []float64
		for _, f := range r.Flows {
			took = append(took, micros(f.End-f.Start))
		}
		slices.Sort(took)
		p50, p99 = append(p50, took[len(took)/2]), append(p99, took[len(took)*99/100])
		if r.Pause.At >= 0 || took[0] < 0 {
			t.Errorf("seed %d: pause at %v, first completion %v us", seed, r.Pause.At, took[0])
		}
	}
	slices.Sort(p50)
	slices.Sort(p99)
	if p50[0] < 1300 || p50[4] > 1440 || p99[0] < 1400 || p99[4] > 1900 {
		t.Errorf("p50 %.0f to %.0f us, the oracle says 1300 to 1440; p99 %.0f to %.0f us, it says 1400 to 1900", p50[0], p50[4], p99[0], p99[4])
	}
}
