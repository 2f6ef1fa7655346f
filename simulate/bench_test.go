package simulate

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// podScenario is the all-to-all of the oracle, f-dt-pfc, with marking and DCQCN.
func podScenario() *lab {
	d := Mlx5()
	s := dynamic(9, headroom.Alpha{Num: 1, Den: 8}, 100*gbps, wire100, load100, 37_500)
	s.ecn = ECN{Min: 100_000, Max: 400_000, Probability: 0.2}
	s.control, s.ack = &d, false
	return allToAll(s, 1, 1_000_000)
}

// allToAll has 16 hosts at 4 leaves below 4 spines, and a flow from each host to each other one.
func allToAll(s setup, seed uint64, size int64) *lab {
	l := &lab{Network: Network{Classes: []string{"data", "acks"}}}
	for range 8 {
		l.node("switch", false, s.shared)
	}
	for i := range 16 {
		l.link(l.node("host", true, 0), i/4, s)
	}
	for leaf := range 4 {
		for spine := range 4 {
			l.link(leaf, 4+spine, s)
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for a := range 16 {
		for b := range 16 {
			if a == b {
				continue
			}
			path := []int{8 + a, a / 4, 8 + b}
			if a/4 != b/4 {
				path = []int{8 + a, a / 4, 4 + r.IntN(4), b / 4, 8 + b}
			}
			l.flow(s, path...).Size = size
		}
	}
	return l
}

// BenchmarkHops runs the all-to-all with dynamic thresholds, marking and DCQCN, and compares its
// hops with a bare event queue: the standard library's heap with the times of two events a hop.
func BenchmarkHops(b *testing.B) {
	l := podScenario()
	b.ReportAllocs()
	var hops, events uint64
	begin := processor(b)
	for b.Loop() {
		r, err := Run(context.Background(), &l.Network, Options{For: 2 * Millisecond, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		hops += r.Hops
		events += r.Events
	}
	took := processor(b) - begin
	b.ReportMetric(float64(hops)/took.Seconds()/1e6, "Mhops/s")
	b.ReportMetric(float64(events)/float64(hops), "events/hop")
	b.ReportMetric(took.Seconds()/float64(hops)/bareQueue(b, 200), "ratio")
}

// processor returns the processor time of this process, which others on the machine do not change
// much.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type times []Time

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(Time)) }
func (t *times) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}

// bareQueue returns the seconds that one event takes in a heap of n events that hold nothing.
func bareQueue(b *testing.B, n int) float64 {
	r := rand.New(rand.NewPCG(1, 1))
	q := &times{}
	for range n {
		heap.Push(q, Time(r.Int64N(1000)))
	}
	const rounds = 1_000_000
	begin := processor(b)
	for range rounds {
		at := (*q)[0]
		(*q)[0] = at + Time(r.Int64N(1000))
		heap.Fix(q, 0)
	}
	return (processor(b) - begin).Seconds() / rounds
}
