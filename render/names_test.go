package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/eos"
	"github.com/roce-fabric/roce-fabric/render/nxos"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

// alike holds, per case, eight class names by priority that are easily confused, equal after
// truncation, or special names of an OS.
var alike = map[string][qos.NumPriorities]string{
	"long": {
		strings.Repeat("x", 31) + "1", strings.Repeat("x", 31) + "2", strings.Repeat("x", 18), strings.Repeat("x", 19),
		strings.Repeat("x", 28), strings.Repeat("x", 27) + "-2", strings.Repeat("X", 32), strings.Repeat("x", 32),
	},
	"look alike": {"rdma", "RDMA", "rd-ma", "rd_ma", "rdma-2", "rdma_2", "RD-MA", "rdma-"},
	"reserved":   {"other", "AZURE", "AZURE_LOSSLESS", "in", "OUT", "nq", "TC1", "class-default"},
}

// shaped returns an intent in which each class has its own values, and the last port overrides
// the values of each class.
func shaped(names [qos.NumPriorities]string) string {
	var classes, port strings.Builder
	for i, n := range names {
		dscp := fmt.Sprintf("[%d]", 8*i+1)
		if i == 0 {
			dscp = "rest"
		}
		share, other := fmt.Sprintf("bandwidth: %d%%, ", 8+i%2), fmt.Sprintf("bandwidth: %d%%, ", 9+i%3)
		if i == qos.NumPriorities-1 {
			share, other = "strict: true, ", ""
		}
		fmt.Fprintf(&classes, "  %q: {priority: %d, dscp: %s, lossless: %t, %smaxRate: %dG, ecn: {min: %[6]dKB, max: %dKB, probability: 5%%}}\n",
			n, i, dscp, i == 3, share, 10+i, 1000+i)
		fmt.Fprintf(&port, "%q: {%smaxRate: %dG, ecn: {min: %[3]dKB, max: %dKB, probability: 5%%}}, ", n, other, 20+i, 2000+i)
	}
	return fmt.Sprintf(`apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
%[1]sswitches:
  s1: {os: sonic, address: "192.0.2.1:8080", model: ACS-MSN4700, ports: {"Ethernet[0,8]": {speed: 400G, cable: 5m}, Ethernet16: {speed: 400G, cable: 5m, classes: {%[2]s}}}}
  e1: {os: eos, address: "192.0.2.2:6030", ports: {"Ethernet[1-2]/1": {}, Ethernet3/1: {classes: {%[2]s}}}}
  n1: {os: nxos, address: "192.0.2.3:50051", ports: {"Ethernet1/[1-2]": {}, Ethernet1/3: {classes: {%[2]s}}}}
`, classes.String(), port.String())
}

func devices(t *testing.T, text string) map[string]*render.Device {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, render.Fits{"sonic": sonic.Fit, "eos": eos.Fit, "nxos": nxos.Fit})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*render.Device{}
	for _, sw := range f.Switches {
		out[sw.Name] = c.Device(sw)
	}
	return out
}

// Different objects get different names, whatever the classes are called: the rendered
// configuration decodes to the desired state, and the system accepts each name.
func TestNamesAreDistinctAndLegal(t *testing.T) {
	cases := map[string][qos.NumPriorities]string{}
	for what, names := range alike {
		cases[what] = names
	}
	// A class named like the variant of another class's object.
	names := [qos.NumPriorities]string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for name := range sonic.Encode(devices(t, shaped(names))["s1"].Desired)[sonic.TWRED] {
		if mark, ok := strings.CutPrefix(name, "ROCE_a_"); ok {
			names[1] = "a_" + mark
		}
	}
	if names[1] == "b" {
		t.Fatal("the odd port has no WRED profile of its own")
	}
	cases["variant"] = names
	for what, names := range cases {
		t.Run(what, func(t *testing.T) {
			ds := devices(t, shaped(names))
			onSONiC(t, ds["s1"], names)
			onEOS(t, ds["e1"].Desired)
			onNXOS(t, ds["n1"].Desired)
		})
	}
}

func onSONiC(t *testing.T, d *render.Device, names [qos.NumPriorities]string) {
	doc := sonic.Document(d.Desired, d.Model)
	roundTrip(t, "s1", doc, d.Desired)
	if n := len(doc[sonic.TScheduler]); n != 2*len(names) {
		t.Errorf("%d schedulers for %d classes of two kinds: %v", n, len(names), doc[sonic.TScheduler])
	}
	if n := len(doc[sonic.TWRED]); n != 2*len(names) {
		t.Errorf("%d WRED profiles for %d classes of two kinds: %v", n, len(names), doc[sonic.TWRED])
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9_]{0,31}$`)
	for _, tn := range []string{sonic.TWRED, sonic.TDSCPToTC, sonic.TTCToQueue, sonic.TTCToGroup, sonic.TPFCToQueue, sonic.TPFCToGroup} {
		for name := range doc[tn] {
			if !legal.MatchString(name) {
				t.Errorf("%s has no name %q", tn, name)
			}
		}
	}
}

func onEOS(t *testing.T, d *qos.Device) {
	if rs := eos.Refusals(d); len(rs) > 0 {
		t.Fatalf("e1 refuses %v", rs)
	}
	cfg := eos.Encode(d, eos.UCTxQueue)
	parsed, err := eos.Parse(cfg.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := eos.Decode(parsed)
	same(t, "e1", got, d)
	blocks(t, string(cfg.Append(nil)), regexp.MustCompile(`(?m)^qos profile (\S+)$`), 2, regexp.MustCompile(`^[A-Z][A-Z0-9-]{0,31}$`))
}

func onNXOS(t *testing.T, d *qos.Device) {
	if rs := append(nxos.Refusals(d), nxos.EightQueue.Refusals(d)...); len(rs) > 0 {
		t.Fatalf("n1 refuses %v", rs)
	}
	cfg := nxos.Encode(d, nxos.EightQueue)
	parsed, err := nxos.Parse(cfg.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := nxos.Decode(parsed, nxos.EightQueue)
	same(t, "n1", got, d)
	legal := regexp.MustCompile(`^[A-Z][A-Z0-9_-]{0,39}$`)
	blocks(t, string(cfg.Append(nil)), regexp.MustCompile(`(?m)^class-map type qos match-any (\S+)$`), qos.NumPriorities-1, legal)
	blocks(t, string(cfg.Append(nil)), regexp.MustCompile(`(?m)^policy-map type \S+ (\S+)$`), 4, legal)
	if e := nxos.Change(parsed, d, nxos.EightQueue); len(e) > 0 {
		t.Errorf("n1: a second change: %v", e)
	}
}

func same(t *testing.T, name string, got, want *qos.Device) {
	t.Helper()
	for _, c := range qos.Diff(got, want) {
		t.Errorf("%s: %s: %s after a round trip, %s before", name, c.Path(), c.Old, c.New)
	}
}

// blocks checks the names of the blocks in a text: their number, that they differ, and that they
// are legal.
func blocks(t *testing.T, text string, head *regexp.Regexp, want int, legal *regexp.Regexp) {
	t.Helper()
	var names []string
	for _, m := range head.FindAllStringSubmatch(text, -1) {
		if slices.Contains(names, m[1]) || !legal.MatchString(m[1]) {
			t.Errorf("two blocks or a bad name: %s", m[0])
		}
		names = append(names, m[1])
	}
	if len(names) != want {
		t.Errorf("%d blocks of %s, want %d: %v", len(names), head, want, names)
	}
}

// Renaming a colliding class leaves the names of the others unchanged, so that no port loses its
// binding.
func TestNamesAreStable(t *testing.T) {
	names := alike["long"]
	all := sonic.Encode(devices(t, shaped(names))["s1"].Desired)
	for range 20 {
		if again := sonic.Encode(devices(t, shaped(names))["s1"].Desired); string(again.AppendJSON(nil)) != string(all.AppendJSON(nil)) {
			t.Fatal("the names of one intent differ")
		}
	}
	names[7] = "short" // replaces the name of the last class
	fewer := sonic.Encode(devices(t, shaped(names))["s1"].Desired)
	for key, row := range all[sonic.TQueue] {
		if other := fewer.Row(sonic.TQueue, key); !strings.HasSuffix(key, "|7") && (other["wred_profile"] != row["wred_profile"] || other["scheduler"] != row["scheduler"]) {
			t.Errorf("%s is bound to %v, and to %v with another class", key, row, other)
		}
	}
	if p := all.Row(sonic.TQueue, "Ethernet0|2")["wred_profile"]; p != "ROCE_"+names[2] {
		t.Errorf("a name that fits became %s", p)
	}
}
