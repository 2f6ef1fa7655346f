package cumulus_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/cumulus"
)

// TestGoldenChain takes each case in testdata/chain from intent to model to native configuration
// and back to an equal model. The golden files hold, for each switch, the model, the
// configuration for a switch that has none, and the commands of a plan and its undo for a switch
// with the preset.
func TestGoldenChain(t *testing.T) {
	files, err := filepath.Glob("testdata/chain/*/fabric.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			f, err := intent.Load(file, intent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := render.New(f, render.Fits{intent.Cumulus.Name: cumulus.Fit})
			if err != nil {
				t.Fatal(err)
			}
			for _, sw := range f.Switches {
				d := c.Device(sw).Desired
				rel, ok := cumulus.ReleaseOf(sw.Release.V)
				if !ok {
					rel = cumulus.Newest()
				}
				if refused := cumulus.Refusals(d, rel); len(refused) > 0 {
					t.Fatal(refused)
				}
				compare := func(name string, got []byte) {
					golden(t, filepath.Join(filepath.Dir(file), sw.Name, name), got)
				}
				compare("model.txt", modelText(d))
				native := cumulus.Encode(d, rel)
				compare("nvue.yaml", native.Tree.YAML())
				preset := "state enabled"
				if rel.Minor < 15 {
					preset = "enable on"
				}
				have := parse(t, rel, "nv set interface "+strings.Join(natural.Keys(d.Ports), ",")+" type swp\nnv set qos roce "+preset)
				e := cumulus.Change(have, d)
				compare("plan.txt", []byte(strings.Join(e.Lines(), "\n")+"\n\n# the undo\n"+strings.Join(e.Undo(have).Within(e.Apply(have)).Lines(), "\n")+"\n"))
				for what, cfg := range map[string]*cumulus.Config{"encoded": parse(t, rel, string(native.Tree.YAML())), "changed": e.Apply(have)} {
					got, _ := cumulus.Decode(cfg)
					for _, c := range qos.Diff(got, d) {
						t.Errorf("%s, %s: %s: %s after a round trip, want %s", sw.Name, what, c.Path(), c.Old, c.New)
					}
				}
			}
		})
	}
}

func parse(t *testing.T, rel cumulus.Release, text string) *cumulus.Config {
	t.Helper()
	c, err := cumulus.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Release = rel
	return c
}

// modelText lists every value of a model, one per line.
func modelText(d *qos.Device) []byte {
	var b bytes.Buffer
	bare := &qos.Device{Ports: map[string]*qos.Port{}}
	for name := range d.Ports {
		bare.Ports[name] = &qos.Port{}
	}
	for _, c := range qos.Diff(bare, d) {
		fmt.Fprintf(&b, "%s = %s\n", c.Path(), c.New)
	}
	return b.Bytes()
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; refresh with -update and review:\n%s", path, diff.Diff("want", want, "got", got))
	}
}
