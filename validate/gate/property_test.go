package gate

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// lived returns readings of a fabric with random counts. If clears is set, counters may be
// reset to 0 in between.
func lived(r *rand.Rand, n int, clears bool) []reading {
	var out []reading
	now := read(0)
	for i := range n {
		next := read(time.Duration(i) * span)
		for name, c := range now {
			for port, p := range c.Ports {
				cleared := clears && r.IntN(6) == 0
				for id, v := range p {
					if cleared {
						v = 0
					}
					if r.IntN(12) == 0 {
						v += uint64(r.IntN(300))
					}
					next[name].Ports[port][id] = v
				}
			}
		}
		out = append(out, next)
		now = next
	}
	return out
}

var opts = cmp.Options{cmpopts.IgnoreUnexported(PortWindow{})}

func TestOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		ds, ss := fabric(), samples(lived(r, 5, true)...)
		want := Judge(ds, ss, Options{AllHosts: true})
		r.Shuffle(len(ss), func(i, j int) { ss[i], ss[j] = ss[j], ss[i] })
		slices.Reverse(ds)
		if d := cmp.Diff(want, Judge(ds, ss, Options{AllHosts: true}), opts); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

// TestResetIsNeverAnEvent checks that counters that only fell count as reset, never as events.
func TestResetIsNeverAnEvent(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		before, after := read(0), read(span)
		for _, c := range after {
			for _, p := range c.Ports {
				for id, v := range p {
					if !id.Metric.Peak() {
						p[id] = v - min(v, uint64(r.IntN(2000)))
					}
				}
			}
		}
		for _, f := range Judge(fabric(), samples(before, after), Options{AllHosts: true}).Findings {
			if f.ID != CounterReset && f.ID != PauseBefore {
				t.Fatalf("seed %d: %v", seed, show([]Finding{f}))
			}
		}
	}
}

// TestStepsWithoutResetCount checks that a port whose counters went backwards in one step keeps
// the counts of the others.
func TestStepsWithoutResetCount(t *testing.T) {
	a, b, c := read(0), read(span), read(2*span)
	b.add("leaf1", "Ethernet0", drivers.GroupDrops, 3, 5)
	c["leaf1"].Ports["Ethernet0"][drivers.GroupDrops.Of(3)] = 2
	r := Judge(fabric(), samples(a, b, c), Options{})
	want := []string{
		"fail gate:lossless-drop leaf1 Ethernet0: priority group 3 of lossless class rdma dropped 5 packets",
		"inconclusive gate:counter-reset leaf1 Ethernet0: counters went backwards in 1 of 2 steps: their counts are unknown",
	}
	if d := cmp.Diff(want, show(r.Findings)); d != "" {
		t.Error(d)
	}
	i := slices.IndexFunc(r.Ports, func(p PortWindow) bool { return p.Port == "Ethernet0" })
	if p := r.Ports[i]; p.Span != span || p.Growth[drivers.GroupDrops.Of(3)] != 5 || p.Steps != 2 || p.Back != 1 {
		t.Errorf("%+v", p)
	}
}

// monotone lists the failures that further counting cannot undo.
var monotone = []string{LosslessDrop, Watchdog, NICStall, WrongPriority}

// TestLongerWindowsKeepFailures checks that a longer window keeps all monotone failures.
func TestLongerWindowsKeepFailures(t *testing.T) {
	type place struct{ id, device, port string }
	hard := func(ss []Sample) map[place]bool {
		out := map[place]bool{}
		for _, f := range Judge(fabric(), ss, Options{}).Findings {
			if f.Means == Fail && slices.Contains(monotone, f.ID) {
				out[place{f.ID, f.Device, f.Port}] = true
			}
		}
		return out
	}
	seen := 0
	for seed := range uint64(50) {
		rs := lived(rand.New(rand.NewPCG(seed, 3)), 6, seed%2 == 0)
		was := map[place]bool{}
		for n := 2; n <= len(rs); n++ {
			now := hard(samples(rs[:n]...))
			for p := range was {
				// A storm in the longer window explains the drops of its queue, and pause
				// frames that a NIC sent are reported on the switch once it has received them.
				explained := p.id == LosslessDrop && now[place{Watchdog, p.device, p.port}] ||
					p.id == WrongPriority && p.device == "gpu1" && now[place{WrongPriority, "leaf1", "Ethernet0"}]
				if !now[p] && !explained {
					t.Fatalf("seed %d: %v is gone with sample %d", seed, p, n)
				}
			}
			was = now
			seen += len(now)
		}
	}
	if seen == 0 {
		t.Error("nothing failed")
	}
}

// TestHostileValues checks values that no device sends.
func TestHostileValues(t *testing.T) {
	before, after := read(0), read(span)
	for _, p := range after["leaf1"].Ports {
		for id := range p {
			p[id] = 1<<64 - 1
		}
		p[drivers.CounterID{Metric: 255, Index: 255}] = 1
	}
	if r := Judge(fabric(), samples(before, after), Options{AllHosts: true}); r.Verdict != Fail {
		t.Errorf("%v", show(r.Findings))
	}
	for _, ss := range [][]Sample{nil, {{Device: "leaf1"}}, {{Device: "nobody", Counters: &drivers.Counters{}}}, samples(before, before)} {
		if r := Judge(fabric(), ss, Options{}); r.Verdict != Inconclusive {
			t.Errorf("%v", show(r.Findings))
		}
	}
}
