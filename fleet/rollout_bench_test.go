package fleet

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// BenchmarkApply changes switches that each take some time, in 21 waves. It reports the wall
// time as a multiple of the sum of the slowest device of each wave, and the live memory per
// switch, and checks the journal. Times are real ones times -apply.scale divided by 1,000; a
// small scale makes the computing time for 1,000 switches visible.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{200, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(fmt.Sprintf(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod
classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf[1-%d]: {os: sonic, role: leaf, address: "leaf[1-%d].example.net", model: ACS-MSN4700}
rollout: {maxUnavailable: %d}
`, n, n, n/20))})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				applyAll(b, f, n)
			}
		})
	}
}

var applyScale = flag.Int("apply.scale", 1, "milliseconds that stand for a second of a switch in BenchmarkApply")

func applyAll(b *testing.B, f *intent.Fabric, n int) {
	takes := map[string]time.Duration{}
	var devices []Device
	for i, sw := range f.Switches {
		takes[sw.Name] = time.Duration(20+i*7%160) * time.Millisecond * time.Duration(*applyScale)
		dev := &enginetest.Box{Mask: qos.Priorities(3, 4), During: func() { time.Sleep(takes[sw.Name]) }}
		devices = append(devices, Device{Name: sw.Name, OS: sw.OS,
			Open: func(context.Context) (drivers.Driver, error) { return dev, nil }, Desired: func() drivers.Desired { return enginetest.Holding(qos.Priorities(3)) }})
	}
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	s := store.Dir(b.TempDir())
	plan, err := Prepare(b.Context(), devices, PlanOptions{Fabric: f, Workers: 64})
	if err != nil {
		b.Fatal(err)
	}
	defer plan.Close()
	var floor time.Duration
	for _, w := range plan.Rollout.Waves {
		slowest := time.Duration(0)
		for _, name := range w.Devices {
			slowest = max(slowest, takes[name])
		}
		floor += slowest
	}
	start := time.Now()
	res, err := Apply(b.Context(), devices, plan, ApplyOptions{RunOptions: RunOptions{Fabric: f, Store: s, Workers: 64, Writers: 64}, Allow: qos.ImpactLoss})
	took := time.Since(start)
	if err != nil || res.Count()[Applied] != n {
		b.Fatalf("%v, %v", res.Count(), err)
	}
	b.ReportMetric(took.Seconds()/floor.Seconds(), "x-slowest")
	b.ReportMetric(float64(live()-min(live(), before))/float64(n)/1024, "KiB/switch")
	for p, err := range Runs(s) {
		if err != nil || len(p.Devices) != n || !p.Ended || p.Devices[n-1].State != Applied {
			b.Fatalf("the journal tells %d devices, %v", len(p.Devices), err)
		}
	}
}
