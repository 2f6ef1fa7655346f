package containerlab

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// simulated is a rig of simulated switches.
type simulated struct{ lab *lab.Lab }

func (r *simulated) start(_ context.Context, f *fleet.Fabric) (*fleet.Access, error) {
	l, err := lab.Start(f.Fabric(), "", lab.Options{})
	if err != nil {
		return nil, err
	}
	r.lab = l
	return &fleet.Access{At: l.At, Scale: 0.001}, nil
}

func (r *simulated) ssh(sw *intent.Switch) (ssh.Config, error) {
	return ssh.Config{Address: r.lab.Devices[sw.Name].SSH, User: r.lab.Username, Password: secret.Secret(r.lab.Password), KnownHosts: r.lab.KnownHosts}, nil
}

func (r *simulated) image(sw *intent.Switch) string { return "simulator of " + sw.OS }

func (r *simulated) collect(_ context.Context, dir string) error {
	if r.lab == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(r.lab.KnownHosts)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "known_hosts"), text, 0o644)
}

func (r *simulated) stop(context.Context) error {
	if r.lab == nil {
		return nil
	}
	return r.lab.Close()
}

// keptOf returns the results about images that are stored in a folder, by kind.
func keptOf(t *testing.T, results string) map[string][]accepted {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "accepted", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]accepted{}
	for _, file := range files {
		var a accepted
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil {
			t.Fatal(err)
		}
		out[a.Kind] = append(out[a.Kind], a)
	}
	return out
}

// TestSuiteOnSimulators runs the suite for real images against simulators.
func TestSuiteOnSimulators(t *testing.T) {
	results := t.TempDir()
	b := bounds{every: 100 * time.Millisecond, start: time.Minute, work: 5 * time.Minute, all: sharedtest.Nightly()}
	runSuite(t, &simulated{}, ofExample(t, "mixed"), b, results)
	kept := keptOf(t, results)
	for kind, least := range map[string]int{"sonic-vm": 0, "arista_ceos": 20, "cisco_n9kv": 20} {
		if of := kept[kind]; len(of) != 1 || len(of[0].Refused) > 0 || of[0].Lines < least || of[0].Version == "" {
			t.Errorf("%s: %+v", kind, of)
		}
	}
}

// TestRejectedLinesAreStored checks that a switch whose image rejects a line is read but not
// changed, and that the rejected lines are found without leaving a trace on the switch.
func TestRejectedLinesAreStored(t *testing.T) {
	l, err := newLab(t, head+`  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%}
switches:
  leaf[1-2]: {os: eos, model: DCS-7060DX5-64S, release: 4.34.2F}
  spine[1-2]: {os: nxos, model: N9K-C9332D-GX2B, release: 10.4(3)}
links:
  - {a: "leaf[1-2]/Ethernet[1,2]/1", b: "spine[1-2]/Ethernet1/[1,2]", pattern: mesh, cable: 5m, speed: 400G}
`, "pod.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := l.Write("."); err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Load(t.Context(), IntentFile, fleet.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, results := &simulated{}, t.TempDir()
	defer func() {
		if err := r.stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	s := &suite{t: t, rig: r, b: bounds{every: 100 * time.Millisecond, start: time.Minute}, f: f, state: store.Dir(t.TempDir()), sound: map[string]bool{}}
	if err := s.deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	leaf, spine := r.lab.Switches["leaf1"].(*eos.EOS), r.lab.Switches["spine2"].(*nxos.NXOS)
	// Skip the comment with the time at which the configuration is shown.
	running := func() []string {
		return slices.DeleteFunc(strings.Split(leaf.Running()+spine.Running(), "\n"), func(l string) bool { return strings.HasPrefix(l, "!") })
	}
	before := running()
	leaf.Faults().RefuseLine(regexp.MustCompile("^priority-flow-control"))
	spine.Faults().RefuseLine(regexp.MustCompile("^pause"))
	if err := s.probe(t.Context(), filepath.Join(results, "accepted")); err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"leaf1": false, "leaf2": true, "spine1": true, "spine2": false}; !maps.Equal(s.sound, want) {
		t.Errorf("switches that are changed: %v", s.sound)
	}
	for kind, line := range map[string]string{"arista_ceos": "priority-flow-control", "cisco_n9kv": "pause"} {
		var lines []string
		for _, a := range keptOf(t, results)[kind] {
			for _, no := range a.Refused {
				lines = append(lines, no.Line)
				if no.Words == "" {
					t.Errorf("%s: nothing is said about %q", kind, no.Line)
				}
			}
		}
		if len(lines) == 0 || slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, line) }) {
			t.Errorf("%s refuses %q", kind, lines)
		}
	}
	if d := gocmp.Diff(before, running()); d != "" {
		t.Errorf("the probe left (-before +after):\n%s", d)
	}
}
