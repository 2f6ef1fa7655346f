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
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/operations"
)

const base = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
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
	c, err := render.New(f, render.Fits{"sonic": sonic.Fit})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// static returns the findings of the checks that need no device.
func static(t *testing.T, text string) []checks.Finding {
	t.Helper()
	fs, err := Intent(t.Context(), compile(t, text), today, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// TestHeadroomFloor checks that a headroom row below the bytes in the cable is an error, and
// one below the standard's formula a warning, each with the arithmetic.
func TestHeadroomFloor(t *testing.T) {
	text := func(model, ports, cable, speed string) string {
		return strings.NewReplacer("model: DellEMC-Z9332f-O32", "bufferModel: traditional, model: "+model, "Ethernet[0,8]", ports, "cable: 40m", "cable: "+cable, "speed: 400G", "speed: "+speed).Replace(base)
	}
	for _, c := range []struct {
		name     string
		text     string
		severity checks.Severity
		says     string
	}{
		{"as shipped", text("ACS-MSN2700", "Ethernet[0,4]", "5m", "100G"), checks.Info, "below the ieee-quanta model (43306 B): it is enough only if the peer stops sending faster than the standard asks; the platform ships no more"},
		{"a late peer", strings.Replace(text("ACS-MSN2700", "Ethernet[0,4]", "5m", "100G"), "links:", "buffers: {pauseResponse: 700q}\nlinks:", 1), checks.Warning, "below the ieee-quanta model"},
		{"sound", text("ACS-SN5600", "Ethernet[0,8]", "5m", "400G"), "", ""},
	} {
		fs := static(t, c.text)
		i := slices.IndexFunc(fs, func(f checks.Finding) bool { return f.ID == "BUF-01" })
		if (i >= 0) != (c.severity != "") {
			t.Errorf("%s: findings %v", c.name, fs)
		}
		if i >= 0 && (fs[i].Severity != c.severity || !strings.Contains(fs[i].What, c.says)) {
			t.Errorf("%s: %v", c.name, fs[i])
		}
	}
}

// TestNoWatchdogTowardsAHost checks that a disabled watchdog to a host is an error.
func TestNoWatchdogTowardsAHost(t *testing.T) {
	text := strings.NewReplacer(`b: "leaf2/Ethernet[0,8]"`, `b: "gpu[1-2]/eth0"`, "links:", "hosts: {\"gpu[1-2]\": {nics: {eth0: {}}}}\npfc: {watchdog: off}\nlinks:").Replace(base)
	fs := beyondPeers(static(t, text))
	if len(fs) != 1 || fs[0].ID != "WD-01" || fs[0].Severity != checks.Error || fs[0].Place() != "leaf1 Ethernet0,Ethernet8" {
		t.Errorf("findings %v", fs)
	}
}

func TestHeadroomPool(t *testing.T) {
	for ratio, found := range map[string]bool{"3": true, "4": false} {
		text := strings.NewReplacer("DellEMC-Z9332f-O32", "Arista-7050CX3-32S-C32", "Ethernet[0,8]", "Ethernet[0-124:4]", "400G", "100G", "links:", "buffers: {overSubscription: "+ratio+"}\nlinks:").Replace(base)
		fs := static(t, text)
		i := slices.IndexFunc(fs, func(f checks.Finding) bool { return f.ID == "BUF-05" })
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
	if !slices.ContainsFunc(fs, func(f checks.Finding) bool {
		return f.ID == "PFC-06" && f.What == "3 lossless classes: priorities {3,4,5}"
	}) {
		t.Errorf("findings %v", fs)
	}
}

// ran returns the findings for running switches after edit.
func ran(t *testing.T, c *render.Compiler, edit func(*qos.Device), inForce ...drivers.Mismatch) []checks.Finding {
	t.Helper()
	run := NewRun(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		d := c.Device(sw)
		have := c.Device(sw).Desired
		var st checks.State
		if sw.Name == "leaf1" {
			edit(have)
			st.InForce = inForce
		}
		run.Add(Switch(d, have, checks.Running, &st))
	}
	return run.Findings(today)
}

func TestRunningState(t *testing.T) {
	c := compile(t, base)
	for _, x := range []struct {
		name    string
		edit    func(*qos.Device)
		inForce []drivers.Mismatch
		want    []string
	}{
		{"nothing differs", func(*qos.Device) {}, nil, nil},
		{"a port is not there", func(d *qos.Device) { delete(d.Ports, "Ethernet0") }, nil,
			[]string{"DRIFT leaf1 Ethernet0: the device has no such port"}},
		{"one cause on two ports, at both ends of two links", func(d *qos.Device) {
			d.Ports["Ethernet0"].PFC = qos.Of(qos.Priorities(3, 4))
			d.Ports["Ethernet8"].PFC = qos.Of(qos.Priorities(3, 4))
		}, nil, []string{"PFC-01 leaf1 Ethernet0,Ethernet8: PFC is on for priorities 3 and 4; on leaf2 it is on for priority 3"}},
		{"what no check knows", func(d *qos.Device) { d.Ports["Ethernet0"].Queues[0].Scheduler = qos.Of(qos.Scheduler{Weight: 7}) }, nil,
			[]string{"DRIFT leaf1 Ethernet0: queues[0].scheduler is weight 7, the intent says weight 40"}},
		{"configured and not in force", func(*qos.Device) {}, []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindECN.At(3), Want: "150KB", Have: "off"}},
			[]string{"OPS-02 leaf1 Ethernet0: queues[3].ecn is configured as 150KB and in force as off"}},
		{"needed and not configured", func(*qos.Device) {}, []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindGroupBinding.At(3), Part: "groups[3].xoff", Want: "more than 0 B", Have: "0 B", Needed: true}},
			[]string{"BUF-15 leaf1 Ethernet0: groups[3].xoff: the configuration needs more than 0 B, in force is 0 B"}},
		{"not even configured", func(d *qos.Device) {
			d.Ports["Ethernet0"].Queues[3].ECN = qos.Of(qos.ECN{})
		}, []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindECN.At(3), Want: "150KB", Have: "off"}},
			[]string{"ECN-01 leaf1 Ethernet0: queue 3 of lossless class rdma has no ECN"}},
		{"both ends of a cable that goes elsewhere", func(d *qos.Device) {
			d.Ports["Ethernet0"].PFC = qos.Of(qos.Priorities(3, 4))
			d.Ports["Ethernet0"].Neighbor = qos.Of(qos.Neighbor{Device: "leaf2", Port: "Ethernet8"})
		}, nil, []string{"PFC-01 leaf1 Ethernet0: PFC is on for priorities 3 and 4; on leaf2 it is on for priority 3; LLDP shows leaf1/Ethernet0 cabled to leaf2/Ethernet8, so these may not be the two ends",
			"TOP-07 leaf1 Ethernet0: LLDP shows leaf2/Ethernet8, the intent says leaf2/Ethernet0"}},
		{"the driver knows the cure", func(*qos.Device) {}, []drivers.Mismatch{{Port: "Ethernet0", Field: qos.KindPFC.Attr(), Want: "priority 3 paused", Have: "the PFC mode is auto", Fix: "interface Ethernet0 / priority-flow-control mode on"}},
			[]string{"PFC-10 leaf1 Ethernet0: pfc: priority 3 paused is not in force: the PFC mode is auto"}},
	} {
		var got []string
		for _, f := range ran(t, c, x.edit, x.inForce...) {
			if f.Severity == checks.Error {
				got = append(got, f.ID+" "+f.Place()+": "+f.What)
			}
		}
		if len(got) != len(x.want) {
			t.Errorf("%s: found %q", x.name, got)
			continue
		}
		for i := range got {
			if got[i] != x.want[i] {
				t.Errorf("%s: %s, want %s", x.name, got[i], x.want[i])
			}
		}
	}
}

func TestRefusedIsOneFindingACause(t *testing.T) {
	c := compile(t, base)
	sw := c.Fabric().Switch("leaf1")
	fs := operations.Refused(sw, []render.Refusal{
		{Place: qos.Place{Port: "Ethernet0", Field: qos.KindWatchdog.Attr()}, Why: "too long"}, {Place: qos.Place{Port: "Ethernet8", Field: qos.KindWatchdog.Attr()}, Why: "too long"},
		{Place: qos.Place{Field: qos.KindWatchdogPoll.Attr()}, Why: "too slow"}, {Place: qos.Place{Port: "Ethernet0", Field: qos.KindMTU.Attr()}, Why: "too big"},
	})
	var got []string
	for _, f := range fs {
		got = append(got, f.ID+" "+f.Place()+" "+f.What)
	}
	if want := []string{"WD-04 leaf1 Ethernet0,Ethernet8 too long", "WD-04 leaf1 too slow", "OPS-04 leaf1 Ethernet0 too big"}; !slices.Equal(got, want) {
		t.Errorf("findings %q", got)
	}
}

func TestSortPutsTheWorstFirstAndDropsRepetitions(t *testing.T) {
	w := checks.Finding{ID: "B", Severity: checks.Warning, Device: "leaf1", What: "w"}
	e10 := checks.Finding{ID: "A", Severity: checks.Error, Device: "leaf10", What: "e"}
	e2 := checks.Finding{ID: "A", Severity: checks.Error, Device: "leaf2", What: "e"}
	got := checks.Sort([]checks.Finding{w, e10, e2, e10})
	if len(got) != 3 || got[0].Device != "leaf2" || got[1].Device != "leaf10" || got[2].ID != "B" {
		t.Errorf("sorted: %v", got)
	}
	if !checks.Worst(got) || checks.Worst([]checks.Finding{w}) {
		t.Error("the worst is not seen")
	}
}

// TestExamplesHaveNoFindings checks that the fabric in the README and each example have no
// findings.
func TestExamplesHaveNoFindings(t *testing.T) {
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
		if fs := beyondPeers(static(t, text)); len(fs) > 0 {
			t.Errorf("%s: %v", name, fs)
		}
	}
	if n := strings.Count(texts["../examples/rail-512/fabric.yaml"], "\n"); n >= 120 {
		t.Errorf("rail-512 has %d lines", n)
	}
}

// TestSuppressCovered checks that a suppression of a check accepts findings that cover the
// check, like findings of the check itself.
func TestSuppressCovered(t *testing.T) {
	for id, accepted := range map[string]bool{"PFC-02": true, "PFC-04": true, "PFC-07": true, "PFC-03": false, "PFC-02, unchecked: false": true, "PFC-02, unchecked: true": false} {
		c := compile(t, closBase+"suppress:\n  - {check: "+id+", reason: known}\n")
		d := c.Device(c.Fabric().Switch("leaf1"))
		have := decoded(t, saved(d))
		have.Ports["Ethernet0"].PFC.V = 0
		run := NewRun(c.Fabric())
		run.Add(Switch(d, have, checks.Running, nil))
		i := slices.IndexFunc(run.Findings(today), func(f checks.Finding) bool { return f.ID == "PFC-02" })
		if i < 0 {
			t.Fatal("no PFC-02")
		}
		f := run.Findings(today)[i]
		if !slices.Equal(f.Covers, []string{"PFC-04", "PFC-07"}) || (f.Suppressed != nil) != accepted {
			t.Errorf("%s: covers %v, accepted %v", id, f.Covers, f.Suppressed)
		}
	}
}
