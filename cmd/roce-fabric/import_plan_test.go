package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

var (
	agreeSeed  = flag.Uint64("agree.seed", 0, "the first text of TestImportAgreesWithPlan; 0 is 1, in nightly runs random")
	agreeTexts = flag.Int("agree.texts", sharedtest.Sized(24, 3000), "how many texts TestImportAgreesWithPlan tries")
)

// savedText is a switch configuration: published, rendered or invented.
type savedText struct {
	name, system string
	text         []byte
}

// savedTexts returns all available configurations.
func savedTexts(t testing.TB) (out []savedText) {
	t.Helper()
	archive := func(file string) *txtar.Archive {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	cases, err := filepath.Glob("../../fleet/testdata/adopt/*/*.txtar")
	if err != nil || len(cases) < 50 {
		t.Fatal("no corpus: ", err)
	}
	for _, file := range cases {
		system := filepath.Base(filepath.Dir(file))
		out = append(out, savedText{system + "/" + filepath.Base(file), system, archive(file).Files[0].Data})
	}
	for _, f := range archive("../../render/cumulus/testdata/published.txtar").Files {
		out = append(out, savedText{"cumulus/" + f.Name, "cumulus", f.Data})
	}
	for _, f := range archive("testdata/virtual/import_plan.txtar").Files {
		switch filepath.Ext(f.Name) {
		case ".json":
			out = append(out, savedText{"sonic/" + f.Name, "sonic", f.Data})
		case ".cfg":
			system := map[bool]string{true: "eos", false: "nxos"}[bytes.Contains(f.Data, []byte("qos profile"))]
			out = append(out, savedText{system + "/" + f.Name, system, f.Data})
		}
	}
	for _, name := range examples.Names() {
		text, err := examples.Intent(name)
		if err != nil {
			t.Fatal(err)
		}
		c := compilerOf(t, name, text)
		s := c.Fabric().Switches[0]
		d := c.Device(s)
		_, native := fleet.SystemOf(d).Encode(d)
		out = append(out, savedText{s.OS + "/rendered " + name, s.OS, native})
	}
	return out
}

// agreement compares what an import predicted for a plan with what a plan in the lab did.
type agreement struct {
	skipped       string // why the comparison was skipped
	imported, did int    // numbers of changes
	differs       bool   // according to diff of the text
	detail        string
	// errors lists the errors that check and validate find with the intent of the import.
	errors []string
}

// tryAgreement imports a configuration and plans the resulting intent on a simulated switch with
// that configuration.
func tryAgreement(t *testing.T, x savedText) (a agreement) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config := "sw1:" + x.system + "=" + write("running.cfg", x.text)
	// NX-OS can be planned only over SSH.
	known := write("switches.yaml", []byte("apiVersion: roce-fabric/v1\nkind: Fabric\nname: agree\nswitches:\n  sw1: {os: "+x.system+", address: 192.0.2.1}\ncredentials: {switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {}}}\n"))
	made := filepath.Join(dir, "fabric.yaml")
	status, stdout, stderr := runHere(t, "import", "-f", known, "--config", config, "--out", made, "--output", "json")
	if status != exitOK {
		a.skipped = "the text is not imported: " + firstError(stdout+stderr)
		return a
	}
	var doc report.ImportDocument
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	for _, d := range doc.WouldChange {
		a.imported += len(d.Changes)
		for _, c := range d.Changes {
			a.detail += fmt.Sprintf("import: %s %s -> %s %s\n", c.Path(), c.Old, c.New, c.Blocked)
		}
	}
	status, stdout, stderr = runHere(t, "diff", "-f", made, "--config", "sw1="+filepath.Join(dir, "running.cfg"), "--exit-code")
	a.differs = status != exitOK
	a.detail += fmt.Sprintf("diff: status %d\n%s%s", status, stdout, stderr)
	f, running, refused, err := lab.Configured(nil, []string{config})
	if err != nil {
		a.skipped = "no lab: " + err.Error()
		return a
	}
	// A SONiC switch keeps rows in its database that its models reject.
	if len(refused) > 0 && x.system != "sonic" {
		a.skipped = "the simulator refuses a line"
		a.detail = strings.Join(refused, "\n")
		return a
	}
	l, err := lab.Start(f, filepath.Join(dir, "lab"), lab.Options{Running: running})
	if err != nil {
		a.skipped = "the simulator does not start"
		a.detail = err.Error()
		return a
	}
	defer func() { _ = l.Close() }()
	status, stdout, stderr = runHere(t, "plan", "-f", made, "--output", "json", "--lab", l.Path())
	var plan struct {
		Devices []struct {
			Changes []struct {
				Ports                    []string
				Field, Old, New, Blocked string
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil || status != exitOK || len(plan.Devices) != 1 {
		a.did, a.detail = -1, a.detail+fmt.Sprintf("plan: status %d\n%s%s", status, stdout, stderr)
		return a
	}
	a.errors = append(errorsOf(t, "check", "-f", made), errorsOf(t, "validate", "-f", made, "--lab", l.Path())...)
	for _, c := range plan.Devices[0].Changes {
		a.did += max(1, len(c.Ports))
		a.detail += fmt.Sprintf("plan: %v %s %s -> %s %s\n", c.Ports, c.Field, c.Old, c.New, c.Blocked)
	}
	return a
}

// errorsOf returns the findings of severity error of a command, but for ECN-01: guides have PFC
// without ECN, and that is an error in them, too.
func errorsOf(t *testing.T, args ...string) (out []string) {
	t.Helper()
	_, stdout, stderr := runHere(t, append(args, "--output", "json")...)
	var doc struct {
		Findings []struct{ ID, Severity, What string }
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		return []string{args[0] + ": " + stdout + stderr}
	}
	for _, f := range doc.Findings {
		if f.Severity == "error" && f.ID != "ECN-01" {
			out = append(out, args[0]+": "+f.ID+" "+f.What)
		}
	}
	return out
}

// mayBePart reports whether diff treats a text as a partial configuration, as written by render,
// whereas an import treats it as the whole startup configuration.
func mayBePart(x savedText) bool {
	switch x.system {
	case "eos":
		return !bytes.HasSuffix(bytes.TrimSpace(x.text), []byte("\nend"))
	case "sonic":
		return !bytes.Contains(x.text, []byte("DEVICE_METADATA"))
	}
	return false
}

func firstError(s string) string {
	_, s, _ = strings.Cut(s, `"error": "`)
	s, _, _ = strings.Cut(s, "\n")
	if len(s) > 60 {
		s = s[:60]
	}
	return s
}

// An import predicts the same changes that a plan of its intent makes on a switch with the same
// configuration, and diff reports a difference if the plan has a change. The test covers
// published, rendered and invented configurations and variants of them. Texts that cannot be
// compared are counted by reason.
func TestImportAgreesWithPlan(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("FABRIC_USER", "admin")
	t.Setenv("FABRIC_PASSWORD", "x")
	seed := sharedtest.Seed(*agreeSeed)
	by := map[string][]savedText{}
	for _, x := range savedTexts(t) {
		by[x.system] = append(by[x.system], x)
	}
	systems := slices.Sorted(maps.Keys(by))
	skipped, empty, compared := map[string]int{}, 0, 0
	for n := range *agreeTexts {
		seed := seed + uint64(n)
		rnd := rand.New(rand.NewPCG(seed, 0))
		of := by[systems[rnd.IntN(len(systems))]]
		x := of[rnd.IntN(len(of))]
		var done []string
		for range rnd.IntN(4) {
			m := variants[x.system][rnd.IntN(len(variants[x.system]))]
			x.text = m.change(rnd, x.text)
			done = append(done, m.name)
		}
		a := tryAgreement(t, x)
		switch {
		case a.skipped != "":
			skipped[x.system+": "+a.skipped]++
			if os.Getenv("SHOW") != "" {
				t.Logf("SKIP %s %v: %s %.300s", x.name, done, a.skipped, a.detail)
			}
			continue
		case a.imported != a.did:
			t.Errorf("go test ./cmd/roce-fabric -run TestImportAgreesWithPlan -agree.seed %d -agree.texts 1: %s %v: the import says %d changes, the plan has %d\n%s", seed, x.name, done, a.imported, a.did, a.detail)
		case !mayBePart(x) && a.differs != (a.did > 0):
			t.Errorf("go test ./cmd/roce-fabric -run TestImportAgreesWithPlan -agree.seed %d -agree.texts 1: %s %v: diff finds differences: %t, the plan has %d changes\n%s", seed, x.name, done, a.differs, a.did, a.detail)
		}
		compared++
		if a.did == 0 {
			empty++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		t.Logf("%d not compared, %s", skipped[why], why)
	}
	t.Logf("seed %d: %d texts compared, %d plans empty", seed, compared, empty)
	if compared*2 < *agreeTexts {
		t.Errorf("only %d of %d texts were compared", compared, *agreeTexts)
	}
}
