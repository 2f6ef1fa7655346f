package render_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGoldenChain takes each case in testdata/chain from intent to model to native configuration
// and back to an equal model. The golden files model.txt and config_db.json stand next to the
// intent.
func TestGoldenChain(t *testing.T) {
	files, err := filepath.Glob("testdata/chain/*/fabric.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			c := compiler(t, file)
			for _, sw := range c.Fabric().Switches {
				d := c.Device(sw)
				dir := filepath.Join(filepath.Dir(file), sw.Name)
				golden(t, filepath.Join(dir, "model.txt"), modelText(d.Desired))
				doc := sonic.Document(d.Desired, d.Model)
				golden(t, filepath.Join(dir, "config_db.json"), doc.AppendJSON(nil))
				roundTrip(t, sw.Name, doc, d.Desired)
			}
		})
	}
}

func compiler(t testing.TB, file string) *render.Compiler {
	t.Helper()
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, render.Fits{"sonic": sonic.Fit})
	if err != nil {
		t.Fatal(err)
	}
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
	if *update {
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

// roundTrip decodes native text as a switch that accepted it would show it, and compares the
// result with want.
func roundTrip(t *testing.T, name string, doc sonic.Config, want *qos.Device) {
	t.Helper()
	cfg, err := sonic.Parse(doc.AppendJSON(nil), sonic.WantTable)
	if err != nil {
		t.Fatal(err)
	}
	model := "traditional"
	if want.Platform.DynamicBuffers {
		model = "dynamic"
	}
	cfg.Put(sonic.TMetadata, "localhost", sonic.Row{"buffer_model": model})
	got, unknown := sonic.Decode(cfg)
	for _, u := range unknown {
		t.Errorf("%s: not understood: %s: %s", name, u.Where(), u.Why)
	}
	for _, c := range qos.Diff(got, want) {
		// In the traditional buffer model the switch creates these rows itself.
		if (c.Field.Kind == qos.KindLossless && c.New == "true" || c.Field.Kind == qos.KindDerivedFrom) && !want.Platform.DynamicBuffers {
			continue
		}
		t.Errorf("%s: %s: %s after a round trip, %s before", name, c.Path(), c.Old, c.New)
	}
}

// The configurations rendered for the examples, and for classes with rate limits and unusual
// names, validate with yanglint against the SONiC YANG models of every release.
func TestExamplesAreValidYANG(t *testing.T) {
	tool := sharedtest.Dir(t, "tools", "sonic-yang-check")
	if _, err := exec.LookPath("yanglint"); err != nil {
		t.Skip("skipped: yanglint is not installed (Debian package libyang2-tools)")
	}
	var files []string
	dir := t.TempDir()
	write := func(name string, d *render.Device) {
		file := filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, sonic.Document(d.Desired, d.Model).AppendJSON(nil), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for name, classes := range alike {
		write(strings.ReplaceAll(name, " ", "-"), devices(t, shaped(classes))["s1"])
	}
	for _, example := range []string{"quickstart", "rail-512"} {
		c := compiler(t, filepath.Join("..", "examples", example, "fabric.yaml"))
		for _, sw := range c.Fabric().Switches {
			write(example+"-"+sw.Name, c.Device(sw))
		}
	}
	for _, rel := range sonic.Releases() {
		t.Run(rel, func(t *testing.T) {
			t.Parallel()
			use := files
			if rel != "master" && !sharedtest.Nightly() {
				use = files[:len(alike)+5] // the switches of a large example are all alike
			}
			args := append([]string{"-y", sharedtest.YANG(t, rel)}, use...)
			out, err := exec.Command(tool, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), ": valid"); n != len(use) {
				t.Errorf("%d of %d files valid:\n%s", n, len(use), out)
			}
		})
	}
}

func TestPortsAreCheckedAgainstTheModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes: {default: {priority: 0, dscp: rest}}
switches:
  leaf1: {os: sonic, address: "192.0.2.1:8080", model: DellEMC-Z9332f-O32, ports: {Ethernet3: {speed: 400G, cable: 5m}, Ethernet8: {speed: 400G, cable: 5m}}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = render.New(f, render.Fits{"sonic": sonic.Fit})
	if err == nil || !strings.Contains(err.Error(), ":6:84: DellEMC-Z9332f-O32 has no port Ethernet3") || strings.Contains(err.Error(), "Ethernet8 ") {
		t.Errorf("got %v", err)
	}
}

func TestExplainSumsUp(t *testing.T) {
	c := compiler(t, "../examples/quickstart/fabric.yaml")
	for _, name := range []string{"leaf1", "spine1"} {
		sw := c.Fabric().Switch(name)
		e := render.Explain(c.Device(sw), sw.Port("Ethernet0"))
		var dscps int
		for _, k := range sw.Settings.Classes {
			dscps += len(k.DSCP.V)
		}
		if dscps != 64 || len(e.Classes) != 3 || len(e.Headroom) != 2 {
			t.Errorf("%s: %d DSCPs decided, %d classes, %d headrooms", name, dscps, len(e.Classes), len(e.Headroom))
		}
		for _, h := range e.Headroom {
			if h.Result == nil {
				continue
			}
			var sum float64
			for _, term := range h.Result.Terms {
				sum += term.Bytes
			}
			if int64(sum+0.5) != h.Result.XOFF {
				t.Errorf("%s %s: the terms sum to %.1f, xoff is %d", name, h.Result.Model, sum, h.Result.XOFF)
			}
		}
		own, ref := e.Headroom[0], e.Headroom[1]
		xoff := int64(0)
		if own.Row != nil {
			xoff = own.Row.XOFF
		} else {
			xoff = own.Result.XOFF
		}
		if ref.Margin == nil || ref.Result.XOFF+*ref.Margin != xoff {
			t.Errorf("%s: xoff is %d, the reference %d and a margin of %v", name, xoff, ref.Result.XOFF, ref.Margin)
		}
		for _, v := range e.Values {
			if v.From == "" {
				t.Errorf("%s: %s has no origin", name, v.Name)
			}
		}
	}
}
