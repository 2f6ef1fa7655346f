package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkComplete runs shell completion for 1,000 switches of 64 ports: the devices of --only
// and the ports of a switch, with and without the cache. The floor is starting the same program.
func BenchmarkComplete(b *testing.B) {
	tool := filepath.Join(b.TempDir(), "roce-fabric")
	if out, err := exec.Command("go", "build", "-tags", "grpcnotrace,nethttpomithttp2", "-ldflags", "-s -w", "-o", tool, "../cmd/roce-fabric").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	for _, c := range []struct{ name, text string }{{"ranges", ranges(model64, 1000, 64)}, {"explicit", explicit(model64, 1000, 64)}} {
		b.Run(c.name, func(b *testing.B) {
			path, cache := save(b, c.text), b.TempDir()
			cpu := map[string][]time.Duration{}
			start := func(way string, words int, args ...string) {
				cmd := exec.Command(tool, args...)
				cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
				out, err := cmd.Output()
				if err != nil {
					b.Fatal(err)
				}
				if n := strings.Count(string(out), "\n"); n < words {
					b.Fatalf("%v: %d lines", args, n)
				}
				cpu[way] = append(cpu[way], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			}
			only := []string{"__complete", "check", "-f", path, "--only", ""}
			ports := []string{"__complete", "explain", "-f", path, "leaf500", ""}
			var r race
			for b.Loop() {
				if err := os.RemoveAll(filepath.Join(cache, "roce-fabric")); err != nil {
					b.Fatal(err)
				}
				r.run("new", func() { start("new", 1000, only...) })
				r.run("only", func() { start("only", 1000, only...) })
				r.run("ports", func() { start("ports", 64, ports...) })
				r.run("start", func() { start("start", 1, "--version") })
			}
			median := func(way string) float64 {
				return slices.Sorted(slices.Values(cpu[way]))[len(cpu[way])/2].Seconds() * 1000
			}
			report(b, map[string]float64{
				"ms-new": r.median("new").Seconds() * 1000, "cpu-ms-new": median("new"), "x-start-new": r.ratio("new", "start"),
				"ms-devices": r.median("only").Seconds() * 1000, "cpu-ms-devices": median("only"), "x-start-devices": r.ratio("only", "start"),
				"ms-ports": r.median("ports").Seconds() * 1000, "cpu-ms-ports": median("ports"),
				"ms-start": r.median("start").Seconds() * 1000,
			})
		})
	}
}
