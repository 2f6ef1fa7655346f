package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// curve matches the thresholds of an example.
var curve = regexp.MustCompile(`ecn: (auto|\{min: [^,]+, max: [^,]+, probability: 10%\})`)

// ECN thresholds in each unit are either rendered so that reading the text back matches the
// intent, or rejected by check at their place.
func TestThresholdUnits(t *testing.T) {
	pairs := []string{"150KB..1500KB", "1MiB..2MiB", "100 segments..1000 segments", "500 cells..5000 cells", "100 packets..1000 packets", "20%..50%", "1ms..2ms", "6us..60us"}
	for _, example := range []string{"quickstart", "eos-clos", "nxos-clos", "cumulus-clos"} {
		t.Run(example, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "examples", example, "fabric.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			rendered := 0
			for _, pair := range pairs {
				lower, upper, _ := strings.Cut(pair, "..")
				dir := t.TempDir()
				file := filepath.Join(dir, "fabric.yaml")
				edited := curve.ReplaceAllString(string(text), "ecn: {min: "+lower+", max: "+upper+", probability: 10%}")
				if !strings.Contains(edited, "{min: "+lower+", max: "+upper) {
					t.Fatal("the example has no thresholds")
				}
				if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
					t.Fatal(err)
				}
				status, out, errOut := runHere(t, "check", "-f", file)
				if status != exitOK {
					if status != exitDiffers && status != exitUsage || !strings.Contains(out+errOut, "fabric.yaml:") {
						t.Errorf("%s: check ends with %d and no place:\n%s%s", pair, status, out, errOut)
					}
					continue
				}
				rendered++
				config := filepath.Join(dir, "leaf1.txt")
				status, out, errOut = runHere(t, "render", "-f", file, "--only", "leaf1")
				if status != exitOK {
					t.Fatalf("%s: render ends with %d: %s", pair, status, errOut)
				}
				if err := os.WriteFile(config, []byte(out), 0o600); err != nil {
					t.Fatal(err)
				}
				if status, out, errOut := runHere(t, "diff", "-f", file, "--config", "leaf1="+config, "--exit-code"); status != exitOK {
					t.Errorf("%s: what was rendered is not what was asked for (%d):\n%s%s", pair, status, out, errOut)
				}
			}
			if rendered < 2 {
				t.Errorf("%d units were rendered", rendered)
			}
		})
	}
}
