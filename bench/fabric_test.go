package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

const (
	model64 = "Arista-7260CX3-C64" // 64 ports of 100G, Ethernet0 to Ethernet252
	model32 = "ACS-MSN2700"        // 32 ports of 100G, Ethernet0 to Ethernet124
)

const header = `apiVersion: roce-fabric/v1
kind: Fabric
name: bench
classes:
  rdma:    {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp:     {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
`

// ranges returns the intent of n switches (an even number) with the given number of ports in use,
// as a person would write it: leaf i and spine i are linked on every port.
func ranges(model string, n, ports int) string {
	last := 4 * (ports - 1)
	return fmt.Sprintf(`%sswitches:
  leaf[1-%[2]d]:  {os: sonic, role: leaf, model: %[3]s, release: 202511}
  spine[1-%[2]d]: {os: sonic, role: spine, model: %[3]s, release: 202511}
links:
  - {a: "leaf[1-%[2]d]/Ethernet[0-%[4]d:4]", b: "spine[1-%[2]d]/Ethernet[0-%[4]d:4]", cable: 5m, speed: 100G}
`, header, n/2, model, last)
}

// explicit returns the same intent with one line per switch and per link, as a program would
// write it.
func explicit(model string, n, ports int) string {
	var b strings.Builder
	b.WriteString(header + "switches:\n")
	for _, role := range []string{"leaf", "spine"} {
		for i := range n / 2 {
			fmt.Fprintf(&b, "  %s%d: {os: sonic, role: %[1]s, model: %[3]s, release: 202511}\n", role, i+1, model)
		}
	}
	b.WriteString("links:\n")
	for i := range n / 2 {
		for p := range ports {
			fmt.Fprintf(&b, "  - {a: leaf%d/Ethernet%d, b: spine%[1]d/Ethernet%[2]d, cable: 5m, speed: 100G}\n", i+1, 4*p)
		}
	}
	return b.String()
}

// save writes an intent to a file for [load].
func save(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "fabric.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// load reads an intent and creates its compiler.
func load(tb testing.TB, path string) *render.Compiler {
	tb.Helper()
	f, err := intent.Load(path, intent.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := render.New(f, render.Fits{"sonic": sonic.Fit})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}
