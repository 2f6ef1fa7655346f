package bench

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/validate"
)

// BenchmarkCheck runs all checks that need no device on 1,000 switches of 64 ports. One floor
// compiles the same switches and walks over every port, the other only walks.
func BenchmarkCheck(b *testing.B) {
	c := load(b, save(b, ranges(model64, switches, ports)))
	fabric := c.Fabric()
	devices := make([]*qos.Device, len(fabric.Switches))
	for i, sw := range fabric.Switches {
		devices[i] = c.Device(sw).Desired
	}
	walk := func(d *qos.Device) (n int) {
		for _, p := range d.Ports {
			for i := range p.Queues {
				if p.Queues[i].ECN.V.Enabled || p.Groups[i].Lossless.V {
					n++
				}
			}
		}
		return n
	}
	var r race
	found, seen := 0, 0
	for b.Loop() {
		r.run("check", func() {
			fs, err := validate.Intent(b.Context(), c, time.Now(), nil)
			if err != nil {
				b.Fatal(err)
			}
			found = len(fs)
		})
		r.run("compile", func() {
			seen = 0
			err := pool.Ordered(b.Context(), runtime.GOMAXPROCS(0), fabric.Switches, func(_ context.Context, sw *intent.Switch) int {
				return walk(c.Device(sw).Desired)
			}, func(n int) error { seen += n; return nil })
			if err != nil {
				b.Fatal(err)
			}
		})
		r.run("walk", func() {
			for _, d := range devices {
				seen += walk(d)
			}
		})
	}
	if found > 0 || seen == 0 {
		b.Fatalf("%d findings in a sound fabric, %d queues", found, seen)
	}
	runtime.GC()
	report(b, map[string]float64{
		"x-compile+walk": r.ratio("check", "compile"),
		"x-walk":         r.ratio("check", "walk"),
		"µs/switch":      float64(r.median("check").Microseconds()) / switches,
	})
}
