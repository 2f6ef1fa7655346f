package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

func decode(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func TestTextFitsAndIsColouredAlone(t *testing.T) {
	r := rich(t)
	plain := write(t, FormText, r)
	for _, l := range strings.Split(plain, "\n") {
		if utf8.RuneCountInString(l) > textWidth {
			t.Errorf("wider than %d: %q", textWidth, l)
		}
	}
	var b strings.Builder
	if err := Write(&b, FormText, r, Options{S: term.NewStyler(true)}); err != nil {
		t.Fatal(err)
	}
	if b.String() == plain || term.Clean(b.String()) != plain {
		t.Errorf("in colour: %q", b.String())
	}
}

func TestVerdict(t *testing.T) {
	f := loadFabric(t, fabricFile)
	failing := []checks.Finding{{ID: "READ", Severity: checks.Error, Device: "leaf1", What: "refused"}}
	warned := []checks.Finding{{ID: "X", Severity: checks.Warning}}
	drifted := []checks.Finding{{ID: "DRIFT", Severity: checks.Error, Device: "leaf1"}}
	accepted := []checks.Finding{{ID: "DRIFT", Severity: checks.Error, Suppressed: &checks.Suppressed{}}}
	told := []checks.Finding{{ID: "X", Severity: checks.Info}}
	hidden := []checks.Finding{{ID: "NIC-10", Severity: checks.Error, Device: "gpu1"}}
	virtual := []checks.Finding{{ID: "NIC-10", Severity: checks.Warning, Device: "gpu1", Unchecked: "pfc"}}
	partly := []checks.Finding{
		{ID: "CAT-01", Severity: checks.Info, Device: "leaf2", Unchecked: "ports, buffers and headroom", Because: "the model is unknown"},
		{ID: "CAT-01", Severity: checks.Info, Device: "leaf1", Unchecked: "ports, buffers and headroom", Because: "the model is unknown"},
		{ID: "TOP-09", Severity: checks.Info, Unchecked: "links"},
	}
	both := []checks.Finding{{ID: "X", Severity: checks.Info, Unchecked: "losses"}, {ID: "X", Severity: checks.Info, Device: "leaf1", Unchecked: "losses"}}
	left := []checks.Finding{{ID: "CAT-01", Severity: checks.Info, Device: "leaf2", Unchecked: "headroom", Suppressed: &checks.Suppressed{}}}
	open := []checks.Finding{{ID: gate.WindowTooShort, Severity: checks.Warning, Device: "leaf1"}}
	known := []checks.Finding{{ID: gate.NotCounted, Severity: checks.Warning, Device: "leaf1", Suppressed: &checks.Suppressed{}}}
	for _, c := range []struct {
		command string
		fs      []checks.Finding
		passed  bool
		want    string
	}{
		{"check", nil, true, "pod1: nothing wrong; 2 switches, 3 links checked"},
		{"check", told, true, "pod1: nothing wrong, 1 info; 2 switches, 3 links checked"},
		{"check", warned, true, "pod1: 1 warning, no errors; 2 switches, 3 links checked"},
		{"check", accepted, true, "pod1: no errors or warnings, 1 accepted; 2 switches, 3 links checked"},
		{"check", drifted, false, "pod1: 1 error; 2 switches, 3 links checked"},
		{"validate", nil, true, "pod1 runs as the intent says: 2 switches and 1 host read, and both ends of every link between them agree"},
		{"validate", told, true, "pod1 runs as the intent says: 2 switches and 1 host read, and both ends of every link between them agree; 1 info"},
		{"validate", warned, true, "pod1: 1 warning, no errors; 2 switches and 1 host read"},
		{"validate", drifted, false, "pod1: 1 error; 2 switches and 1 host read"},
		{"validate", hidden, false, "pod1: 1 error, not everything could be verified; 2 switches and 1 host read"},
		{"validate", append(hidden, drifted...), false, "pod1: 2 errors; 2 switches and 1 host read"},
		{"nic validate", virtual, false, "the NICs of pod1: 1 warning, no errors; 2 switches read; 1 of 1 host (gpu1): pfc not checked"},
		{"check", partly, false, "pod1: no errors or warnings, 3 info; 2 switches, 3 links checked; 2 of 2 switches (leaf1,leaf2): ports, buffers and headroom not checked, the model is unknown; links not checked"},
		{"check", append(partly, drifted...), false, "pod1: 1 error, 3 info; 2 switches, 3 links checked; 2 of 2 switches (leaf1,leaf2): ports, buffers and headroom not checked, the model is unknown; links not checked"},
		{"check", both, false, "pod1: no errors or warnings, 2 info; 2 switches, 3 links checked; losses not checked"},
		{"check", left, true, "pod1: no errors or warnings, 1 accepted; 2 switches, 3 links checked"},
		{"validate", failing, false, "pod1: 1 error; 1 of 2 switches and 1 host read"},
		{"validate", open, false, "pod1: 1 warning, no errors, not enough counters to call it a pass; 2 switches and 1 host read"},
		{"validate", append(open, drifted...), false, "pod1: 1 error, 1 warning; 2 switches and 1 host read"},
		{"validate", known, true, "pod1: no errors or warnings, 1 accepted; 2 switches and 1 host read"},
	} {
		r := Report{Command: c.command, Fabric: "pod1", Links: 3, Findings: c.fs, Devices: DevicesFrom(f.Switches[:2], nil, FromIntent, c.fs)}
		if c.command == "validate" {
			r.Devices = DevicesFrom(f.Switches[:2], f.Hosts, FromRunning, c.fs)
		}
		if got := r.Verdict(); got != c.want || r.Passed() != c.passed {
			t.Errorf("%s with %v: %q, passed %t", c.command, c.fs, got, r.Passed())
		}
	}
}

// A check has a test case whether or not it has findings.
func TestJUnitCountsChecksAndNotFindings(t *testing.T) {
	r := rich(t)
	full := readJUnit(t, write(t, FormJUnit, r))
	r.Findings = nil
	r.Devices = DevicesFrom(r.Intent.Switches, r.Intent.Hosts, FromRunning, nil)
	clean := readJUnit(t, write(t, FormJUnit, r))
	if full.Failures == 0 || full.Errors == 0 || clean.Failures+clean.Errors != 0 {
		t.Errorf("%d failures, %d errors; clean %d, %d", full.Failures, full.Errors, clean.Failures, clean.Errors)
	}
	r.Findings = []checks.Finding{{ID: "NIC-10", Severity: checks.Error, Device: "gpu1", What: "could not be read: pfc"}}
	if open := readJUnit(t, write(t, FormJUnit, r)); open.Errors != 1 || open.Failures != 0 {
		t.Errorf("what is not proven is %d errors and %d failures", open.Errors, open.Failures)
	}
	// SUPPRESS checks the intent, which validate does not do.
	if more := full.Tests - clean.Tests; clean.Tests < 100 || more != 1 {
		t.Errorf("%d cases with findings, %d without", full.Tests, clean.Tests)
	}
	byName := map[string]string{}
	for _, s := range full.Suites {
		tests, failures := 0, 0
		for _, c := range s.Testcases {
			tests++
			state := "passed"
			switch {
			case c.Error != nil:
				state = "error"
			case c.Failure != nil:
				state, failures = "failed", failures+1
			case c.Skipped != nil:
				state = "skipped"
			}
			id, _, _ := strings.Cut(c.Name, " ")
			key := s.Name + " " + id
			if byName[key] != "" {
				t.Errorf("two cases are %s", key)
			}
			byName[key] = state
		}
		if tests != s.Tests || failures != s.Failures {
			t.Errorf("%s has %d cases and %d failures, and says %d and %d", s.Name, tests, failures, s.Tests, s.Failures)
		}
	}
	for key, want := range map[string]string{
		"leaf1 ECN-01": "failed", "leaf3 READ": "error", "leaf3 ECN-01": "skipped", "leaf3 DRIFT": "skipped",
		"spine1 ECN-01": "skipped", "spine1 DRIFT": "failed", "leaf2 DRIFT": "passed", "gpu1 NIC-05": "passed", "gpu1 READ": "passed", "pod1 SUPPRESS": "passed",
	} {
		if byName[key] != want {
			t.Errorf("%s is %q, want %s", key, byName[key], want)
		}
	}
}

// A window that proves nothing counts as passed in no form.
func TestInconclusiveIsNotPassed(t *testing.T) {
	r := rich(t)
	r.Findings = []checks.Finding{
		{ID: gate.WindowTooShort, Severity: checks.Warning, Device: "leaf1", What: "the window is 3s", Where: "net/fabric.yaml:8:3"},
		{ID: gate.PauseRatio, Severity: checks.Warning, Device: "leaf1", What: "paused for long"},
	}
	r.Devices = DevicesFrom(r.Intent.Switches, nil, FromRunning, r.Findings)
	r.Counted = []gate.PortWindow{{Device: "leaf1", Port: "Ethernet0"}}
	says := func(form Form, want string) {
		t.Helper()
		if got := write(t, form, r); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%.2000s", form, want, got)
		}
	}
	says(FormText, "pod1: 2 warnings, no errors, not enough counters to call it a pass")
	says(FormMarkdown, "## pod1: 2 warnings, no errors, not enough counters to call it a pass\n\nroce-fabric validate failed; ")
	says(FormJSON, `"passed": false`)
	says(FormHTML, `<header class="failed">`)
	says(FormHTML, "not enough counters to call it a pass")

	suites := readJUnit(t, write(t, FormJUnit, r))
	if suites.Errors != 1 || suites.Failures != 0 {
		t.Errorf("JUnit has %d errors and %d failures", suites.Errors, suites.Failures)
	}
	for _, s := range suites.Suites {
		for _, c := range s.Testcases {
			open := s.Name == "pod1" && strings.HasPrefix(c.Name, gate.WindowTooShort+" ")
			if open && (c.Error == nil || c.Error.Message != "leaf1: the window is 3s") || !open && c.Error != nil {
				t.Errorf("case %s of %s has error %v", c.Name, s.Name, c.Error)
			}
		}
	}

	inv := readSARIF(t, write(t, FormSARIF, r)).Runs[0].Invocations[0]
	if notes := inv.ToolExecutionNotifications; *inv.ExecutionSuccessful || len(notes) != 1 || notes[0].Level != "error" ||
		str(notes[0].Message.Text) != "inconclusive: not enough counters to call it a pass: leaf1: the window is 3s" {
		t.Errorf("SARIF says %+v", inv)
	}
}

func TestSARIFPlaces(t *testing.T) {
	r := rich(t)
	run := readSARIF(t, write(t, FormSARIF, r)).Runs[0]
	uris := map[string]bool{}
	for _, res := range run.Results {
		for _, l := range res.Locations {
			p := l.PhysicalLocation
			if p == nil || *p.Region.StartLine < 1 {
				t.Fatalf("%s has no line in the intent", str(res.RuleID))
			}
			uris[str(p.ArtifactLocation.URI)+" "+str(p.ArtifactLocation.URIBaseID)] = true
		}
		if strings.ContainsAny(str(res.Message.Text), "{}") {
			t.Errorf("a reader may take %q for a placeholder", str(res.Message.Text))
		}
	}
	if len(uris) != 1 || !uris["sub/net/fabric.yaml %SRCROOT%"] {
		t.Errorf("files are named %v", uris)
	}
	inv := run.Invocations[0]
	if *inv.ExecutionSuccessful || len(inv.ToolExecutionNotifications) != 1 || !strings.Contains(str(inv.ToolExecutionNotifications[0].Message.Text), "leaf3 could not be read: 192.0.2.13:8080: connection refused") {
		t.Errorf("of the device that could not be read: %+v", inv)
	}
	for _, res := range run.Results {
		if len(res.Suppressions) == 0 {
			continue
		}
		if s := res.Suppressions[0]; str(s.Justification) != "old cards until the move (until 2026-12-31)" || s.Location == nil {
			t.Errorf("suppressed by %+v", s)
		}
	}
	// A file outside the repository is given with its absolute path.
	s := sarifWriter{o: Options{Root: "/repo/x", Dir: "/repo"}}
	pos, _ := parsePlace("a b/fabric.yaml:3:4")
	if p := s.physical(pos); p.Artifact.URI != "file:///repo/a%20b/fabric.yaml" || p.Artifact.Base != "" {
		t.Errorf("got %+v", p)
	}
}

// An alert keeps its fingerprint when lines move or more devices are affected; another cause has
// another fingerprint.
func TestSARIFFingerprints(t *testing.T) {
	prints := func(r Report) map[string]string {
		out := map[string]string{}
		for _, res := range readSARIF(t, write(t, FormSARIF, r)).Runs[0].Results {
			key := fmt.Sprint(str(res.RuleID), str(res.Message.Text), len(res.Suppressions))
			out[res.PartialFingerprints[githubFingerprint]] = key
		}
		return out
	}
	r := rich(t)
	before := prints(r)
	if want := len(checks.Causes(r.Findings)); len(before) != want {
		t.Errorf("%d causes have %d fingerprints", want, len(before))
	}
	moved := rich(t)
	moved.Intent = loadFabric(t, strings.Replace(fabricFile, "classes:", "\n\nclasses:", 1))
	moved.Findings = moved.Findings[1:] // one device of twelve
	for i := range moved.Findings {
		moved.Findings[i].Where = strings.Replace(moved.Findings[i].Where, ":5:3", ":7:3", 1)
	}
	after := prints(moved)
	for p, key := range before {
		if after[p] == "" {
			t.Errorf("the alert %s is lost", key)
		}
	}
}

func TestSARIFIsCut(t *testing.T) {
	r := rich(t)
	r.Findings = nil
	for i := range maxResults + 10 {
		r.Findings = append(r.Findings, checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: "leaf1", What: fmt.Sprint("value ", i)})
	}
	text := write(t, FormSARIF, r)
	var log sarifLog
	decode(t, text, &log)
	n := len(log.Runs[0].Results)
	left := fmt.Sprintf("%d results are left out", maxResults+10-n)
	if n > maxResults || n < 1000 || len(text) > 20e6 || !strings.Contains(text, left) {
		t.Errorf("%d results in %d bytes", n, len(text))
	}
}

// A result with more places than the limit says how many are left out.
func TestSARIFPlacesAreCut(t *testing.T) {
	r := rich(t)
	r.Findings = nil
	for i := range maxLocations + 7 {
		r.Findings = append(r.Findings, checks.Finding{ID: "DRIFT", Severity: checks.Error, Device: fmt.Sprint("leaf", i), What: "x", Where: fmt.Sprintf("net/fabric.yaml:%d:1", i+1)})
	}
	run := readSARIF(t, write(t, FormSARIF, r)).Runs[0]
	notes := run.Invocations[0].ToolExecutionNotifications
	if len(run.Results) != 1 || len(run.Results[0].Locations) != maxLocations || !strings.Contains(str(notes[len(notes)-1].Message.Text), ": 7 findings are left out") {
		t.Errorf("%d results, %d notes", len(run.Results), len(notes))
	}
}

func TestMarkdownIsCut(t *testing.T) {
	for _, n := range []int{300, 3000} {
		r := rich(t)
		r.Findings = nil
		for i := range n {
			r.Findings = append(r.Findings, checks.Finding{ID: "DRIFT", Severity: checks.Severities[i%3], Device: "leaf1", What: fmt.Sprint(strings.Repeat("long ", 20), i), Fix: "apply"})
		}
		text := write(t, FormMarkdown, r)
		listed := len(regexp.MustCompile(`(?m)^- \*\*DRIFT`).FindAllString(text, -1))
		if n := utf8.RuneCountInString(text); n > 65536 || n < 30000 {
			t.Errorf("%d characters", n)
		}
		if a, b := strings.Count(text, "<details>"), strings.Count(text, "</details>"); a != b {
			t.Errorf("%d parts are opened, %d closed", a, b)
		}
		if cut := fmt.Sprintf("**%d causes are left out of %d:**", n-listed, n); (listed < n) != strings.Contains(text, cut) {
			t.Errorf("%d of %d are listed, and nothing says so", listed, n)
		}
	}
}

func TestMarkdownTextHasNoMeaning(t *testing.T) {
	for in, want := range map[string]string{
		"a | b":                  `a \| b`,
		"`code` *b* _c_":         "\\`code\\` \\*b\\* \\_c\\_",
		"<img src=x>":            "&lt;img src=x&gt;",
		"&lt;":                   "&amp;<!-- -->lt;",
		"@root and a@b.c":        "@<!-- -->root and a@<!-- -->b.c",
		"see #12 and !3":         "see #<!-- -->12 and !<!-- -->3",
		"https://evil.example/x": "https:<!-- -->//evil.example/x",
		"www.evil.example":       "www.<!-- -->evil.example",
		"[a](b)":                 `\[a\]\(b\)`,
		"# head":                 `\# head`,
		"60% of it":              "60% of it",
		"one\ntwo":               "one two",
	} {
		if got := markdownText(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"a": "`a`", "": "", "a`b``c": "``` a`b``c ```"} {
		if got := markdownCode(in); got != want {
			t.Errorf("%q is %q as code, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text          string
		width, indent int
		want          string
	}{
		{"one two three", 7, 0, "one two|three"},
		{"one two three four", 8, 4, "one two|three|four"},
		{" a\n b ", 10, 0, "a b"},
		{"x aaaa,bbbb,cccc y", 10, 0, "x aaaa,|bbbb,cccc|y"},
		{"aaaaaaaaaaaaaaaa b", 5, 0, "aaaaaaaaaaaaaaaa|b"},
		{"", 5, 0, ""},
	} {
		if got := strings.Join(wrap(c.text, c.width, c.indent), "|"); got != c.want {
			t.Errorf("%q at %d is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// Every form mentions the checks that could not be made in its headline, and none counts as
// passed.
func TestInconclusive(t *testing.T) {
	f := loadFabric(t, fabricFile)
	fs := []checks.Finding{
		{ID: "CAT-01", Severity: checks.Info, Device: "leaf1", What: "no model is stated", Unchecked: "ports, buffers and headroom", Because: "the model is unknown", NotMade: []string{"BUF-01", "BUF-03"}},
	}
	r := Report{Command: "check", Fabric: f.Name, Intent: f, Links: 1, Findings: fs, Devices: DevicesFrom(f.Switches[:3], nil, FromIntent, fs)}
	const says = "1 of 3 switches (leaf1): ports, buffers and headroom not checked, the model is unknown"
	for _, form := range Forms {
		text := strings.Join(strings.Fields(write(t, form, r)), " ")
		if form == FormMarkdown {
			text = strings.ReplaceAll(text, "\\", "")
		}
		if !strings.Contains(text, says) {
			t.Errorf("%s does not say %q:\n%.600s", form, says, text)
		}
	}
	for form, want := range map[Form]string{
		FormText: "pod1: no errors or warnings, 1 info;", FormMarkdown: "roce-fabric check is inconclusive; ", FormJSON: `"status": "inconclusive"`, FormHTML: `<header class="inconclusive">`,
		FormSARIF: `"level": "warning"`, FormJUnit: `<skipped message="not checked: ports, buffers and headroom: leaf1: no model is stated"`,
	} {
		if text := write(t, form, r); !strings.Contains(text, want) {
			t.Errorf("%s has no %q", form, want)
		}
	}
	for form, want := range map[Form]string{FormSARIF: `"kind": "open",
          "level": "none"`, FormJSON: `"of": 3`} {
		if text := write(t, form, r); !strings.Contains(text, want) {
			t.Errorf("%s has no %q", form, want)
		}
	}
	r.Devices = r.Devices[:1]
	ids := func(r Report) (out []string) {
		for _, c := range r.Checks() {
			out = append(out, c.ID)
		}
		return out
	}
	if got := ids(r); slices.Contains(got, "BUF-01") || !slices.Contains(got, "CAT-01") || !slices.Contains(got, "ECN-01") {
		t.Errorf("checks made: %v", got)
	}
	// The check can be made on another switch.
	r.Devices = DevicesFrom(f.Switches[:2], nil, FromIntent, fs)
	if got := ids(r); !slices.Contains(got, "BUF-01") {
		t.Errorf("checks made with a second switch: %v", got)
	}
	suites := readJUnit(t, write(t, FormJUnit, r))
	for _, s := range suites.Suites {
		for _, c := range s.Testcases {
			if id, _, _ := strings.Cut(c.Name, " "); id == "BUF-01" && (c.Skipped != nil) != (s.Name == "leaf1") {
				t.Errorf("BUF-01 of %s: %+v", s.Name, c)
			}
		}
	}
}
