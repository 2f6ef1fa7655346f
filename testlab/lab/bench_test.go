package lab

import (
	"runtime"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/intent"
)

// BenchmarkStart starts a lab of 48 switches and 64 hosts with 8 NICs each, and then one of 512
// hosts with one NIC each. It reports what each kind of device costs before its first request, in
// milliseconds and KiB.
func BenchmarkStart(b *testing.B) {
	text, err := examples.Intent("rail-512")
	if err != nil {
		b.Fatal(err)
	}
	rail := string(text)
	many := "apiVersion: roce-fabric/v1\nkind: Fabric\nname: many\nclasses:\n  default: {priority: 0, dscp: rest}\n" +
		"switches:\n  leaf1: {os: sonic, address: \"192.0.2.1\", model: ACS-MSN4700}\nhosts:\n  gpu[1-512]: {nics: {ens1f0np0: {rdma: mlx5_0}}}\n"
	for name, c := range map[string]struct {
		text string
		drop func(*intent.Fabric)
	}{
		"switches-48":   {rail, func(f *intent.Fabric) { f.Hosts = nil }},
		"hosts-64x8":    {rail, func(f *intent.Fabric) { f.Switches = nil }},
		"hosts-512x1":   {many, func(f *intent.Fabric) { f.Switches = nil }},
		"rail-512-both": {rail, func(*intent.Fabric) {}},
	} {
		b.Run(name, func(b *testing.B) {
			f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(c.text)})
			if err != nil {
				b.Fatal(err)
			}
			c.drop(f)
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				l, err := Start(f, b.TempDir(), Options{})
				if err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				used := after.HeapAlloc + after.StackInuse - before.HeapAlloc - before.StackInuse
				b.ReportMetric(float64(used)/1024/float64(len(f.Switches)+len(f.Hosts)), "KiB/device")
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(len(f.Switches)+len(f.Hosts)), "ms/device")
		})
	}
}
