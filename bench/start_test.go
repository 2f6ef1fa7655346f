package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStart runs `roce-fabric --help` and a Go program with an empty main in turns, both
// built as in README.md.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	tool, empty := filepath.Join(dir, "roce-fabric"), filepath.Join(dir, "empty")
	for _, args := range [][]string{{"-tags", "grpcnotrace,nethttpomithttp2", "-ldflags", "-s -w", "-o", tool, "../cmd/roce-fabric"}, {"-o", empty, source}} {
		if out, err := exec.Command("go", append([]string{"build"}, args...)...).CombinedOutput(); err != nil {
			b.Fatalf("go build: %v\n%s", err, out)
		}
	}
	start := func(name string, args ...string) {
		if err := exec.Command(name, args...).Run(); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(tool)
	if err != nil {
		b.Fatal(err)
	}
	var r race
	for b.Loop() {
		r.run("tool", func() { start(tool, "--help") })
		r.run("empty", func() { start(empty) })
	}
	report(b, map[string]float64{
		"ms":         r.median("tool").Seconds() * 1000,
		"empty-ms":   r.median("empty").Seconds() * 1000,
		"MiB":        float64(info.Size()) / (1 << 20),
		"x-empty-go": r.ratio("tool", "empty"),
	})
}
