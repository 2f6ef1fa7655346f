package validate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

const base = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf1: {os: sonic, address: "192.0.2.1:8080", model: DellEMC-Z9332f-O32}
  leaf2: {os: sonic, address: "192.0.2.2:8080", model: DellEMC-Z9332f-O32}
links:
  - {a: "leaf1/Ethernet[0,8]", b: "leaf2/Ethernet[0,8]", cable: 40m, speed: 400G}
`

func compile(t *testing.T, text string) *render.Compiler {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func static(t *testing.T, text string) []Finding {
	c := compile(t, text)
	fs := StaticLinks(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		fs = append(fs, Static(c.Device(sw))...)
	}
	return Sort(fs)
}

// Each check has a fabric that trips it; base, which differs in one place, is
// the twin that does not.
func TestStatic(t *testing.T) {
	if fs := static(t, base); len(fs) > 0 {
		t.Fatalf("the sound fabric has findings: %v", fs)
	}
	for _, c := range []struct {
		id        string
		severity  Severity
		old, new  string
		place     string
		says, fix string
	}{
		{"BUF-03", Error, "cable: 40m", "cable: 20km", "leaf1 Ethernet0,Ethernet8", "no headroom row of DellEMC-Z9332f-O32 for 400G and 20000m", "longest cable it can carry lossless is"},
		{"CAT-01", Warning, "model: DellEMC-Z9332f-O32}\n  leaf2", "model: Z9332f-O32}\n  leaf2", "leaf1", "model Z9332f-O32 is not in the catalogue", "did you mean DellEMC-Z9332f-O32?"},
		{"CAT-01", Info, ", model: DellEMC-Z9332f-O32}\n  leaf2", "}\n  leaf2", "leaf1", "no model is stated", "state the model"},
		{"ECN-01", Error, "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: off", "leaf1 Ethernet0,Ethernet8", "lossless class rdma has no ECN", "ecn: auto"},
		{"ECN-06", Warning, "max: 1500KB", "max: 20MB", "leaf1 Ethernet0,Ethernet8", "a queue of 3µs to 400µs at 400G", "scale"},
		{"PFC-12", Warning, "rdma: {priority: 3,", "rdma: {priority: 6,", "leaf1 Ethernet0,Ethernet8", "class rdma makes priority 6 lossless", "1 to 5"},
		{"WD-02", Warning, "links:", "pfc: {watchdog: off}\nlinks:", "leaf1 Ethernet0,Ethernet8", "watchdog is off", "breaker"},
		{"PFC-01", Error, "leaf2: {os: sonic,", "leaf2: {os: sonic, classes: {rdma: {lossless: false}},", "leaf1 Ethernet0", "leaf1/Ethernet0 pauses {3}, leaf2/Ethernet0 pauses {}", "both ends"},
		{"MTU-01", Error, "leaf2: {os: sonic,", "leaf2: {os: sonic, mtu: {fabric: 9000},", "leaf1 Ethernet0", "leaf1/Ethernet0 carries packets of 9100 B, leaf2/Ethernet0 of 9000 B", "one mtu.fabric"},
	} {
		text := strings.Replace(base, c.old, c.new, 1)
		if text == base {
			t.Fatalf("%s: nothing replaced", c.id)
		}
		fs := static(t, text)
		i := slices.IndexFunc(fs, func(f Finding) bool { return f.ID == c.id })
		if i < 0 {
			t.Errorf("%s is not found: %v", c.id, fs)
			continue
		}
		if f := fs[i]; f.Severity != c.severity || f.Place() != c.place || !strings.Contains(f.What, c.says) || !strings.Contains(f.Fix, c.fix) {
			t.Errorf("%s: %s at %s: %s; fix: %s", c.id, f.Severity, f.Place(), f.What, f.Fix)
		}
	}
}

// A row below the bytes in the cable is an error, one below the standard's
// formula a warning, and both say the arithmetic.
func TestHeadroomFloor(t *testing.T) {
	text := func(model, ports, cable, speed string) string {
		return strings.NewReplacer("model: DellEMC-Z9332f-O32", "bufferModel: traditional, model: "+model, "Ethernet[0,8]", ports, "cable: 40m", "cable: "+cable, "speed: 400G", "speed: "+speed).Replace(base)
	}
	for _, c := range []struct {
		name     string
		text     string
		severity Severity
		says     string
	}{
		{"warning", text("ACS-MSN2700", "Ethernet[0,4]", "5m", "100G"), Warning, "below the ieee-quanta model"},
		{"sound", text("ACS-SN5600", "Ethernet[0,8]", "5m", "400G"), "", ""},
	} {
		fs := static(t, c.text)
		i := slices.IndexFunc(fs, func(f Finding) bool { return f.ID == "BUF-01" })
		if (i >= 0) != (c.severity != "") {
			t.Errorf("%s: findings %v", c.name, fs)
		}
		if i >= 0 && (fs[i].Severity != c.severity || !strings.Contains(fs[i].What, c.says)) {
			t.Errorf("%s: %v", c.name, fs[i])
		}
	}
}

// Towards a host, a watchdog that is off is worse.
func TestNoWatchdogTowardsAHost(t *testing.T) {
	text := strings.NewReplacer(`b: "leaf2/Ethernet[0,8]"`, `b: "gpu[1-2]/eth0"`, "links:", "hosts: {\"gpu[1-2]\": {nics: {eth0: {}}}}\npfc: {watchdog: off}\nlinks:").Replace(base)
	fs := static(t, text)
	if len(fs) != 1 || fs[0].ID != "WD-01" || fs[0].Severity != Error || fs[0].Place() != "leaf1 Ethernet0,Ethernet8" {
		t.Errorf("findings %v", fs)
	}
}

func TestHeadroomPool(t *testing.T) {
	for ratio, found := range map[string]bool{"3": true, "4": false} {
		text := strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7050CX3-32S-C32", "Ethernet[0,8]", "Ethernet[0-124:4]", "400G", "100G", "links:", "buffers: {overSubscription: "+ratio+"}\nlinks:").Replace(base)
		fs := static(t, text)
		i := slices.IndexFunc(fs, func(f Finding) bool { return f.ID == "BUF-05" })
		if (i >= 0) != found {
			t.Errorf("ratio %s: %v", ratio, fs)
		}
		if i >= 0 && !strings.Contains(fs[i].What, "the headroom of 32 lossless groups is 5120000 B, 3.16 times the pool of 1622016 B; declared is 3.00") {
			t.Errorf("%s", fs[i].What)
		}
	}
}

func TestMoreThanTwoLosslessClasses(t *testing.T) {
	text := strings.Replace(base, "  default:", "  b: {priority: 4, dscp: [34], lossless: true, ecn: auto}\n  c: {priority: 5, dscp: [35], lossless: true, ecn: auto}\n  default:", 1)
	text = strings.ReplaceAll(text, "bandwidth: 60%", "bandwidth: 20%")
	fs := static(t, text)
	if !slices.ContainsFunc(fs, func(f Finding) bool { return f.ID == "PFC-06" && f.What == "3 lossless classes: priorities {3,4,5}" }) {
		t.Errorf("findings %v", fs)
	}
}

func TestClassesThatChangeBetweenTwoEnds(t *testing.T) {
	// The intent has one DSCP map for all, so only hand-made settings differ.
	a, b := *compile(t, base).Fabric().Settings, *compile(t, base).Fabric().Settings
	k := *b.Classes[1]
	k.Priority.V = 4
	b.Classes = []*intent.Class{b.Classes[0], &k}
	if d, x, y := classDiffers(&a, &b); d != 26 || x != 3 || y != 4 {
		t.Errorf("DSCP %d has %d and %d", d, x, y)
	}
	if d, _, _ := classDiffers(&a, &a); d != -1 {
		t.Errorf("one setting differs from itself at DSCP %d", d)
	}
}

func running(c *render.Compiler, name string) (*intent.Switch, *qos.Device, *qos.Device) {
	sw := c.Fabric().Switch(name)
	return sw, c.Device(sw).Desired, c.Device(sw).Desired
}

func TestDevice(t *testing.T) {
	c := compile(t, base)
	sw, have, want := running(c, "leaf1")
	if fs := Device(sw, have, want, nil); len(fs) > 0 {
		t.Fatalf("no drift, and findings: %v", fs)
	}
	less := *have
	less.Ports = map[string]*qos.Port{"Ethernet8": have.Ports["Ethernet8"]}
	if fs := Device(sw, &less, want, nil); len(fs) != 1 || fs[0].Place() != "leaf1 Ethernet0" || fs[0].What != "the device has no such port" {
		t.Errorf("a port that is not there: %v", fs)
	}
	// One broken value on two ports is one finding that lists them.
	have.Ports["Ethernet0"].PFC = qos.Of(qos.Priorities(3, 4))
	have.Ports["Ethernet8"].PFC = qos.Of(qos.Priorities(3, 4))
	fs := Device(sw, have, want, []drivers.Mismatch{
		{Port: "Ethernet0", Field: "pfc", Want: "{3}", Have: "{3,4}"}, // the same cause
		{Port: "Ethernet0", Field: "queues[3].ecn", Want: "150KB", Have: "off"},
	})
	if len(fs) != 2 {
		t.Fatalf("%d findings: %v", len(fs), fs)
	}
	if f := fs[0]; f.ID != "DRIFT" || f.Place() != "leaf1 Ethernet0,Ethernet8" || f.What != "pfc is {3,4}, the intent says {3}" || !strings.Contains(f.Where, "fabric.yaml:5:3") {
		t.Errorf("drift: %+v", f)
	}
	if f := fs[1]; f.ID != "OPS-02" || f.Place() != "leaf1 Ethernet0" || f.What != "queues[3].ecn is configured as 150KB and in force as off" {
		t.Errorf("in force: %+v", f)
	}
}

// What the driver knows a cure for is told beside the difference that it comes
// of.
func TestMismatchWithItsFix(t *testing.T) {
	c := compile(t, base)
	sw := c.Fabric().Switch("leaf1")
	want := c.Device(sw).Desired
	fs := Device(sw, want, want, []drivers.Mismatch{{Port: "Ethernet0", Field: "pfc", Want: "priority 3 paused", Have: "the PFC mode is auto", Fix: "interface Ethernet0 / priority-flow-control mode on"}})
	if len(fs) != 1 || fs[0].What != "pfc: priority 3 paused is not in force: the PFC mode is auto" || fs[0].Fix != "interface Ethernet0 / priority-flow-control mode on" {
		t.Errorf("%+v", fs)
	}
}

func TestRefusedIsOneFindingACause(t *testing.T) {
	c := compile(t, base)
	sw := c.Fabric().Switch("leaf1")
	fs := Refused(sw, []Refusal{{"Ethernet0", "watchdog", "too long"}, {"Ethernet8", "watchdog", "too long"}, {"", "watchdog_poll", "too slow"}, {"Ethernet0", "mtu", "too big"}})
	var got []string
	for _, f := range fs {
		got = append(got, f.ID+" "+f.Place()+" "+f.What)
	}
	if want := []string{"WD-04 leaf1 Ethernet0,Ethernet8 too long", "WD-04 leaf1 too slow", "OPS-04 leaf1 Ethernet0 too big"}; !slices.Equal(got, want) {
		t.Errorf("findings %q", got)
	}
}

func TestLinks(t *testing.T) {
	c := compile(t, base)
	good := End{PFC: qos.Priorities(3), MTU: 9100, Known: true}
	ends := map[intent.Endpoint]End{}
	for _, l := range c.Fabric().Links {
		ends[l.A], ends[l.B] = good, good
	}
	check := func() []Finding { return Links(c.Fabric(), func(e intent.Endpoint) End { return ends[e] }) }
	if fs := check(); len(fs) > 0 {
		t.Fatalf("ends that agree: %v", fs)
	}
	b := c.Fabric().Links[1].B
	ends[b] = End{PFC: 0, MTU: 1500, Known: true}
	fs := check()
	if len(fs) != 2 || fs[0].ID != "PFC-01" || fs[1].ID != "MTU-01" || !strings.Contains(fs[1].What, "leaf1/Ethernet8 runs an MTU of 9100 B, leaf2/Ethernet8 of 1500 B") {
		t.Errorf("findings %v", fs)
	}
	ends[b] = End{} // an end that was not read says nothing
	if fs := check(); len(fs) > 0 {
		t.Errorf("an unread end: %v", fs)
	}
}

func TestEveryFindingIsListedAsACheck(t *testing.T) {
	var ids []string
	for _, c := range Checks() {
		if c.Title == "" || c.Why == "" {
			t.Errorf("%s says too little", c.ID)
		}
		ids = append(ids, c.ID)
	}
	if !slices.IsSorted(ids) {
		t.Errorf("checks are not in order: %v", ids)
	}
	src := ""
	for _, f := range []string{"static.go", "running.go", "host.go", "host_port.go", "host_fleet.go"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		src += string(b)
	}
	for _, id := range ids {
		if id == "READ" || id == "UNKNOWN" || id == "YANG" {
			continue // made by the commands
		}
		if !strings.Contains(src, `"`+id+`"`) {
			t.Errorf("no code finds %s", id)
		}
	}
}

func TestSortPutsTheWorstFirstAndDropsRepetitions(t *testing.T) {
	w := Finding{ID: "B", Severity: Warning, Device: "leaf1", What: "w"}
	e10 := Finding{ID: "A", Severity: Error, Device: "leaf10", What: "e"}
	e2 := Finding{ID: "A", Severity: Error, Device: "leaf2", What: "e"}
	got := Sort([]Finding{w, e10, e2, e10})
	if len(got) != 3 || got[0].Device != "leaf2" || got[1].Device != "leaf10" || got[2].ID != "B" {
		t.Errorf("sorted: %v", got)
	}
	if !Worst(got) || Worst([]Finding{w}) {
		t.Error("the worst is not seen")
	}
}

// The fabric that the README shows is sound, and so is each example.
func TestShownFabricsAreSound(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(readme), "```yaml\n")
	text, _, ok2 := strings.Cut(text, "```")
	if !ok || !ok2 {
		t.Fatal("the README shows no fabric")
	}
	texts := map[string]string{"README.md": text}
	for _, file := range []string{"../examples/quickstart/fabric.yaml", "../examples/rail-512/fabric.yaml"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(b)
	}
	for name, text := range texts {
		if fs := static(t, text); len(fs) > 0 {
			t.Errorf("%s: %v", name, fs)
		}
	}
	if n := strings.Count(texts["../examples/rail-512/fabric.yaml"], "\n"); n >= 120 {
		t.Errorf("rail-512 has %d lines", n)
	}
}
