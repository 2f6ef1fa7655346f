package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var controlRuns = flag.Int("control.runs", sharedtest.Sized(2, 25), "how often TestControl validates each small fabric")

// A fabric that runs as applied validates without findings above info, in whatever order, at
// whatever time and with whatever optional lines its devices answer. Each run uses other devices
// of the same kinds. The configuration is applied through the same devices. The test uses the example
// "mixed", which has three systems; make nightly adds the others, including rail-512 with its 512
// hosts, and has a hundred runs.
func TestControl(t *testing.T) {
	t.Parallel()
	runs := map[string]int{"mixed": *controlRuns}
	if sharedtest.Nightly() {
		runs = map[string]int{"quickstart": *controlRuns, "eos-clos": *controlRuns, "nxos-clos": *controlRuns, "mixed": *controlRuns, "rail-512": 2}
	}
	seed := uint64(0)
	for _, example := range []string{"quickstart", "eos-clos", "nxos-clos", "mixed", "rail-512"} {
		n := runs[example]
		if n == 0 {
			continue
		}
		seed++
		first := seed
		seed += uint64(n)
		t.Run(example, func(t *testing.T) {
			p := newControl(t, example, first)
			for i := range n {
				seed := first + uint64(i) + 1
				p.Shuffle(seed)
				if fs := p.aboveInfo(); len(fs) > 0 {
					t.Fatalf("run %d, seed %d: %s", i, seed, spell(fs[:min(len(fs), 20)]))
				}
			}
			// A fabric without findings needs no change.
			p.must("plan", "--exit-code")
			p.must("nic", "plan", "--exit-code")
		})
	}
}

// validate opens at most one gNMI and one SSH connection per device, however many devices it
// reads in parallel.
func TestValidateSessions(t *testing.T) {
	type counter interface{ MostSessions() (gnmi, ssh int) }
	check := func(name string, c counter) {
		if gnmi, ssh := c.MostSessions(); gnmi > 1 || ssh > 1 || gnmi+ssh == 0 {
			t.Errorf("%s: up to %d gNMI and %d SSH connections at once", name, gnmi, ssh)
		}
	}
	for _, parallel := range []string{"1", "64"} {
		// Use a new lab, because a server may notice the end of one run's connection only after
		// the next run has connected.
		p := startProof(t, "mixed", lab.Options{})
		if status, _, errOut := p.run("validate", "--parallel", parallel); status != exitDiffers {
			t.Fatalf("status %d: %s", status, errOut)
		}
		for name, s := range p.Switches {
			check(name, s)
		}
		for name, h := range p.Servers {
			check(name, h)
		}
	}
}

// newControl starts an example, applies it to switches and hosts, and reboots the hosts, so that
// the settings stored in their cards take effect.
func newControl(t *testing.T, example string, seed uint64) *proof {
	t.Helper()
	p := startProof(t, example, lab.Options{Shuffle: seed})
	gate := "off"
	if sharedtest.Nightly() || example == "mixed" { // "mixed" has three systems
		gate = "full"
	}
	p.must("apply", "--gate", gate, "--only", "!role:host", "--yes", "--allow", "traffic-loss", "--state", p.state())
	// JSON output prints no progress, which hosts worked on in parallel would write into one
	// buffer.
	p.must("nic", "apply", "--gate", gate, "--yes", "--allow", "traffic-loss", "--parallel", "16", "--output", "json", "--state", p.state())
	install := []string{"nic", "unit", "install", "--yes"}
	if len(p.Servers) > 100 {
		// Copies of this program for all hosts would need 20 GB.
		install = append(install, "--binary", "/opt/roce-fabric")
		for _, h := range p.Servers {
			dir := filepath.Join(filepath.Dir(h.Kernel().Roots.Etc), "opt")
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "roce-fabric"), nil, 0o755)); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.must(install...)
	for name, h := range p.Servers {
		if err := h.Reboot(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return p
}

// aboveInfo returns validate's findings above info; if there are none, the exit status must be
// 0.
func (p *proof) aboveInfo() []checks.Finding {
	p.t.Helper()
	status, out, errOut := p.run("validate", "--output", "json")
	var r struct{ Findings []checks.Finding }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		p.t.Fatalf("status %d: %v\n%s%s", status, err, out, errOut)
	}
	fs := slices.DeleteFunc(r.Findings, func(f checks.Finding) bool { return f.Severity == checks.Info })
	if len(fs) == 0 && status != exitOK {
		p.t.Fatalf("status %d\n%s%s", status, out, errOut)
	}
	return fs
}
