package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jstemmer/go-junit-report/v2/junit"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/validate/gate/origin"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const fabricFile = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma:    {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: off}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf[1-12]: {os: sonic, role: leaf, address: "192.0.2.[11-22]:8080"}
  spine1:     {os: sonic, role: spine, address: "192.0.2.31:8080"}
hosts:
  gpu1: {nics: {ens1f0np0: {rdma: mlx5_0}}}
links:
  - {a: leaf1/Ethernet0, b: gpu1/ens1f0np0, cable: 5m, speed: 400G}
`

func loadFabric(t testing.TB, text string) *intent.Fabric {
	t.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(text), Name: "net/fabric.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// rich returns a report with every kind of content.
func rich(t testing.TB) Report {
	t.Helper()
	f := loadFabric(t, fabricFile)
	ports := []string{"Ethernet0", "Ethernet8", "Ethernet16"}
	var fs []checks.Finding
	for _, sw := range f.Switches[:12] {
		if sw.Name != "leaf3" {
			fs = append(fs, checks.Finding{ID: "ECN-01", Severity: checks.Error, Device: sw.Name, Ports: ports, What: "lossless class rdma has no ECN", Fix: "give the class 'ecn: auto' or thresholds", Where: "net/fabric.yaml:5:3"})
		}
	}
	accepted := &checks.Suppressed{Reason: "old cards until the move", Until: "2026-12-31", Where: "net/fabric.yaml:2:1"}
	fs = append(fs,
		checks.Finding{ID: "READ", Severity: checks.Error, Device: "leaf3", What: "192.0.2.13:8080: connection refused", Where: "net/fabric.yaml:8:3", Fix: "start the gNMI server"},
		checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: "spine1", Ports: ports[:2], What: "pfc is {3,4}, the intent says {3}", Fix: "apply the intent", Where: "no class is lossless"},
		checks.Finding{ID: "PFC-01", Severity: checks.Error, Device: "leaf1", Ports: ports[:1], Peers: []string{"spine1/Ethernet0"}, What: "it pauses {3,4}, spine1 {3}", Where: "net/fabric.yaml:13:5 and 2 more classes"},
		checks.Finding{ID: "ECN-01", Severity: checks.Error, Device: "spine1", Ports: ports[:1], What: "lossless class rdma has no ECN", Fix: "give the class 'ecn: auto' or thresholds", Where: "net/fabric.yaml:5:3", Suppressed: accepted},
		checks.Finding{ID: "NIC-05", Severity: checks.Warning, Device: "gpu1", What: "no boot unit is installed", Fix: "install the boot unit", Where: "net/fabric.yaml:11:3"},
		checks.Finding{ID: "SUPPRESS", Severity: checks.Warning, What: "a suppression names check X-99, which there is not", Where: "net/fabric.yaml:3:1"},
		checks.Finding{ID: "CAT-01", Severity: checks.Info, Device: "leaf1", What: "no model is stated: ports, buffers and headroom are not checked"},
		checks.Finding{ID: "CAT-01", Severity: checks.Info, Device: "leaf2", What: "no model is stated: ports, buffers and headroom are not checked"},
		checks.Finding{ID: "UNKNOWN", Severity: checks.Info, Device: "leaf1", What: hostile + " <img src=x> | `x` @root #1 https://evil.example/ [a](b) ]]> {0}", Fix: "check it by hand"},
	)
	fs = checks.Sort(fs)
	return Report{
		Command: "validate", Version: "v1.2.3", Fabric: f.Name, Intent: f, Links: 1, Ports: 1,
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Devices: DevicesFrom(f.Switches, f.Hosts, FromRunning, fs), Findings: fs,
	}
}

var here = Options{Root: "/repo", Dir: "/repo/sub"}

func write(t testing.TB, form Form, r Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, form, r, here); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGoldenReports(t *testing.T) {
	for form, name := range map[Form]string{FormText: "rich.txt", FormJSON: "rich.json", FormJUnit: "rich.xml", FormSARIF: "rich.sarif", FormMarkdown: "rich.md"} {
		path := filepath.Join("testdata", name)
		r := rich(t)
		for i := range r.Devices {
			// Without devices to check, only checks with findings are listed, so that a new
			// check does not change the golden files.
			r.Devices[i].Source = FromNowhere
		}
		got := write(t, form, r)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s is not %s (go test ./report -update): %s", form, path, diff)
		}
	}
}

// spots lists, sorted, the parts of findings that all forms contain.
func spots(fs []checks.Finding) []string {
	var out []string
	for _, f := range fs {
		ports := f.Ports
		if len(ports) == 0 {
			ports = []string{""}
		}
		for _, p := range ports {
			out = append(out, spot(string(f.Severity), f.ID, f.Device, p, f.Suppressed != nil))
		}
	}
	slices.Sort(out)
	return out
}

func spot(severity, id, device, port string, suppressed bool) string {
	return fmt.Sprintf("%s %s on %q %q, suppressed %t", severity, id, device, port, suppressed)
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func readSARIF(t testing.TB, text string) *sarif.Report {
	t.Helper()
	log, err := sarif.FromString(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Validate(); err != nil {
		t.Fatalf("against the schema of the standard: %v", err)
	}
	// A field unknown to the reader is not part of the standard.
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(new(sarif.Report)); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestAllFormsAgreeOnTheFindings(t *testing.T) {
	r := rich(t)
	want := spots(r.Findings)

	t.Run("json", func(t *testing.T) {
		var doc document
		decode(t, write(t, FormJSON, r), &doc)
		if diff := cmp.Diff(want, spots(doc.Findings)); diff != "" {
			t.Error(diff)
		}
		var byCause []checks.Finding
		for _, c := range doc.Causes {
			for _, i := range c.Findings {
				f := doc.Findings[i]
				if f.ID != c.ID || f.Severity != c.Severity || (f.Suppressed == nil) != (c.Suppressed == nil) {
					t.Errorf("finding %+v is not of cause %+v", f, c)
				}
				byCause = append(byCause, f)
			}
		}
		if diff := cmp.Diff(want, spots(byCause)); diff != "" {
			t.Errorf("by cause: %s", diff)
		}
	})

	t.Run("sarif", func(t *testing.T) {
		var got []string
		run := readSARIF(t, write(t, FormSARIF, r)).Runs[0]
		severity := map[string]string{"error": "error", "warning": "warning", "note": "info"}
		for _, res := range run.Results {
			if rule := run.Tool.Driver.Rules[res.RuleIndex]; str(rule.ID) != str(res.RuleID) {
				t.Errorf("rule %d of a result of %s is %s", res.RuleIndex, str(res.RuleID), str(rule.ID))
			}
			for _, l := range res.Locations {
				if len(l.LogicalLocations) == 0 {
					got = append(got, spot(severity[res.Level], str(res.RuleID), "", "", len(res.Suppressions) > 0))
				}
				for _, at := range l.LogicalLocations {
					device, port, _ := strings.Cut(str(at.FullyQualifiedName), "/")
					got = append(got, spot(severity[res.Level], str(res.RuleID), device, port, len(res.Suppressions) > 0))
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("junit", func(t *testing.T) {
		var want, got []string
		for _, f := range r.Findings {
			at := f.Place()
			if at != "" {
				at = " " + at
			}
			want = append(want, fmt.Sprintf("%s %s%s: %s", f.Severity, f.ID, at, term.CleanLine(f.What)))
		}
		for _, s := range readJUnit(t, write(t, FormJUnit, r)).Suites {
			for _, c := range s.Testcases {
				for _, l := range strings.Split(caseText(c), "\n") {
					if l != "" && l[0] != ' ' {
						got = append(got, l)
					}
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("html", func(t *testing.T) {
		var got []string
		p := dataOf(t, write(t, FormHTML, r))
		for _, c := range p.Causes {
			suppressed := c.Suppressed != nil
			if len(c.Places) == 0 {
				got = append(got, spot(string(c.Severity), c.ID, "", "", suppressed))
			}
			for _, at := range c.Places {
				d := p.Devices[at[0][0]]
				if len(at[1]) == 0 {
					got = append(got, spot(string(c.Severity), c.ID, d.Name, "", suppressed))
				}
				for _, port := range at[1] {
					got = append(got, spot(string(c.Severity), c.ID, d.Name, p.Ports[d.Ports].Names[port], suppressed))
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("text and markdown", func(t *testing.T) {
		text, marked := write(t, FormText, r), write(t, FormMarkdown, r)
		head := regexp.MustCompile(`(?m)^(error|warning|info|accepted) ([A-Z]+(-[0-9]+)?)`)
		item := regexp.MustCompile(`(?m)^- \*\*([A-Z]+(-[0-9]+)?)\*\* `)
		var want, ids, got, listed []string
		for _, c := range checks.Causes(r.Findings) {
			label := string(c.Severity)
			if c.Suppressed != nil {
				label = "accepted"
			}
			want, ids = append(want, label+" "+c.ID), append(ids, c.ID)
			for _, p := range c.Places() {
				if c.Severity != checks.Info && !strings.Contains(strings.Join(strings.Fields(text), " "), p) {
					t.Errorf("text does not have %q", p)
				}
				if !strings.Contains(marked, p) {
					t.Errorf("markdown does not have %q", p)
				}
			}
		}
		for _, m := range head.FindAllStringSubmatch(text, -1) {
			got = append(got, m[1]+" "+m[2])
		}
		for _, m := range item.FindAllStringSubmatch(marked, -1) {
			listed = append(listed, m[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("text: %s", diff)
		}
		if diff := cmp.Diff(ids, listed); diff != "" {
			t.Errorf("markdown: %s", diff)
		}
	})
}

func readJUnit(t testing.TB, text string) junit.Testsuites {
	t.Helper()
	var out junit.Testsuites
	if err := xml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// caseText returns all the text of a test case.
func caseText(c junit.Testcase) string {
	var b strings.Builder
	for _, r := range []*junit.Result{c.Skipped, c.Error, c.Failure} {
		if r != nil {
			b.WriteString(r.Data)
		}
	}
	if c.SystemOut != nil {
		b.WriteString(c.SystemOut.Data)
	}
	return b.String()
}

// A report with hostile text from a device is still one valid document of its form, and one line
// of text has no control characters.
func TestHostileFindings(t *testing.T) {
	r := rich(t)
	evil := hostile + "]]></failure>\x00\xff\ufffe \"'<script>alert(1)</script>|`@root`"
	r.Findings = append(r.Findings, checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: "leaf1" + evil, Ports: []string{evil}, What: evil, Fix: evil, Where: evil, Suppressed: nil},
		checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: "leaf1", What: evil, Where: evil + ":1:1", Suppressed: &checks.Suppressed{Reason: evil, Where: evil}},
		checks.Finding{ID: evil, Severity: checks.Warning, What: evil})
	r.Devices = append(r.Devices, Device{Name: evil, Kind: SwitchDevice, Source: FromNowhere, Error: evil, Hint: evil})
	r.Fabric = evil
	for _, form := range []Form{FormText, FormMarkdown, FormJUnit} {
		if s := write(t, form, r); term.Clean(s) != s || strings.Contains(s, "\nsecond") {
			t.Errorf("%s is not clean: %q", form, s)
		}
	}
	readJUnit(t, write(t, FormJUnit, r))
	readSARIF(t, write(t, FormSARIF, r))
	checkSchema(t, write(t, FormJSON, r))
}

func checkSchema(t testing.TB, text string) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(schema)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaIDs+"report.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(schemaIDs + "report.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Error(err)
	}
}

// closeObjects makes a schema reject properties that it does not name, so that undescribed
// fields are found.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			closeObjects(x)
		}
	case []any:
		for _, x := range v {
			closeObjects(x)
		}
	}
}

func TestReportsHoldAgainstTheirSchema(t *testing.T) {
	checkSchema(t, write(t, FormJSON, rich(t)))
	checkSchema(t, write(t, FormJSON, Report{Command: "check"}))
	if bytes.Contains(Schema(), []byte(`"":`)) {
		t.Error("a field has no name")
	}
}

// Every field has a description, because authors of other programs have only the schema.
func TestSchemaDescribesEveryField(t *testing.T) {
	var doc map[string]any
	decode(t, string(Schema()), &doc)
	walk := func(at string, v any) {
		m, _ := v.(map[string]any)
		props, _ := m["properties"].(map[string]any)
		for name, p := range props {
			p, _ := p.(map[string]any)
			if p["description"] == nil && p["enum"] == nil && at != "counts" && at != "tool" {
				t.Errorf("%s.%s is not described", at, name)
			}
		}
	}
	walk("report", doc)
	defs, _ := doc["$defs"].(map[string]any)
	if len(defs) == 0 {
		t.Error("the schema has no definitions")
	}
	for name, d := range defs {
		walk(name, d)
	}
}

func TestToApply(t *testing.T) {
	f := func(severity checks.Severity, device, fix string) checks.Finding {
		return checks.Finding{ID: "DRIFT", Severity: severity, Device: device, Fix: fix}
	}
	apply := checks.ApplyIntent + ", or change the intent"
	for name, c := range map[string]struct {
		found []checks.Finding
		want  string
	}{
		"errors only, each device once": {[]checks.Finding{f(checks.Error, "leaf2", apply), f(checks.Error, "leaf1", apply), f(checks.Error, "leaf1", apply), f(checks.Warning, "spine1", apply)}, "leaf1 leaf2"},
		"the worst has another fix":     {[]checks.Finding{f(checks.Error, "leaf2", "replace the cable"), f(checks.Error, "leaf1", apply)}, ""},
		"warnings":                      {[]checks.Finding{f(checks.Warning, "leaf2", apply), f(checks.Info, "leaf1", apply)}, "leaf2"},
		"nothing":                       {nil, ""},
	} {
		if got := strings.Join(Report{Findings: c.found}.ToApply(), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A window that shows who pauses whom says so first, with what to do, and once.
func TestSourcesOfPausesComeFirst(t *testing.T) {
	source := gate.Source{Class: "rdma", Kind: origin.Storm, Device: "gpu1", Port: "ens1f0np0", Paused: []string{"leaf1/Ethernet0"}, What: "pauses of class rdma on 1 link lead to gpu1/ens1f0np0, which stormed"}
	other := gate.Source{Class: "rdma", Kind: origin.Congestion, Device: "leaf1", What: "pauses of class rdma on 2 links lead to leaf1/Ethernet8"}
	r := Report{
		Command: "validate", Fabric: "pod1", Intent: loadFabric(t, fabricFile), Pauses: []gate.Source{source, other, other, other},
		Findings: []checks.Finding{{ID: gate.Storm, Severity: checks.Error, Device: "gpu1", Ports: []string{"ens1f0np0"}, What: source.What, Fix: source.Fix()}},
	}
	var b bytes.Buffer
	if err := Write(&b, FormText, r, Options{}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if !strings.HasPrefix(text, source.What+" stopped: leaf1/Ethernet0 fix: "+source.Fix()+" ") {
		t.Errorf("begins with %.200s", text)
	}
	for _, once := range []string{source.What, source.Fix(), "PFC storm at gpu1 ens1f0np0, 1 error", "error gate:storm gpu1 ens1f0np0: where the pauses come from, above", "more sources of pauses: " + other.What} {
		if n := strings.Count(text, once); n != 1 {
			t.Errorf("%q is there %d times in\n%s", once, n, b.String())
		}
	}
}
