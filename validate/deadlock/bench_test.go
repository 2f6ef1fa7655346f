package deadlock

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// sizes are numbers of leaves; the last one makes 20,480 links between switches.
var sizes = []int{64, 128, 256, 512}

// BenchmarkClos searches three-tier fabrics without failures and with every failure of one link
// or one switch. It reports the exponent b of time ~ (links x destinations)^b between the
// sizes.
func BenchmarkClos(b *testing.B) {
	for _, c := range []struct {
		name, routing string
		search, all   bool
	}{
		{"proved", "", false, false},
		{"searched", "", true, false},
		{"shortest", "routing: {model: shortest}\n", false, false},
		{"each", "routing: {model: shortest}\n", false, true},
		{"default-up", "routing: {exceptions: [{kind: default-up, switches: [role:spine]}]}\n", false, false},
		{"up-again-remap", "routing: {exceptions: [{kind: up-again, switches: [role:leaf], remap: [{class: rdma, as: bounce}]}]}\n", false, false},
	} {
		var smaller, own struct{ per, work float64 }
		for _, n := range sizes {
			smaller = own
			f := load(b, clos(n, c.routing))
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				var a *Analysis
				for b.Loop() {
					a = search1(b, f, c.search, c.all)
				}
				own.per, own.work = float64(b.Elapsed())/float64(b.N), float64(len(f.Links)*len(a.n.dests))
				if smaller.per > 0 {
					b.ReportMetric(math.Log(own.per/smaller.per)/math.Log(own.work/smaller.work), "exponent")
				}
			})
		}
	}
}

func search1(b *testing.B, f *intent.Fabric, search, all bool) *Analysis {
	b.Helper()
	a, err := Of(context.Background(), topology.New(f))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := a.run(context.Background(), search || !a.proven, all); err != nil {
		b.Fatal(err)
	}
	return a
}

// BenchmarkNew analyses fabrics of 1,408 and 4,480 switches and reports the exponent b of time
// ~ links^b between the two.
func BenchmarkNew(b *testing.B) {
	var smaller, own float64
	for _, leaves := range []int{512, 2048} {
		smaller = own
		f := load(b, clos(leaves, ""))
		b.Run(fmt.Sprintf("%d-switches", len(f.Switches)), func(b *testing.B) {
			for b.Loop() {
				if _, err := Of(context.Background(), topology.New(f)); err != nil {
					b.Fatal(err)
				}
			}
			own = float64(b.Elapsed()) / float64(b.N)
			if smaller > 0 {
				b.ReportMetric(math.Log(own/smaller)/math.Log(4), "exponent")
			}
		})
	}
}

// BenchmarkMemory reports the memory per link that an analysis of the largest fabric keeps, in
// addition to the intent.
func BenchmarkMemory(b *testing.B) {
	f := load(b, clos(sizes[len(sizes)-1], ""))
	var before, after runtime.MemStats
	var kept float64
	links := 0
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		a, err := New(context.Background(), f)
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept = float64(after.HeapAlloc) - float64(before.HeapAlloc)
		links = 0
		for i := range a.Graph.Bundles {
			links += len(a.Graph.Bundles[i].Links)
		}
		runtime.KeepAlive(a)
	}
	b.ReportMetric(kept/float64(links), "B/link")
	b.ReportMetric(kept/(1<<20), "MiB")
}
