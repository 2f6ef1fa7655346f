package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// records is the content of support.json: what was tested, how, when and by whom.
type records struct {
	Evidence []evidence
	NICs     []struct{ Kind, Driver, Cards string }
	Reports  []userReport
}

// evidence lists tests that cover releases of a system, or a kind of NIC.
type evidence struct {
	Of       string
	Releases []string
	How      string // simulator, models, kernel or software
	When     string
	Tests    []string // such as "drivers/sonic.TestConformance"
}

// userReport is a report of a user with real hardware.
type userReport struct {
	Of, Release, Model string // Of has the same values as in evidence
	Did                string // such as "plan, apply, validate, rollback"
	When, Link         string
}

// support.md must match support.json, which must agree with the systems, releases, models and
// NICs in the program, and name existing tests.
func TestSupport(t *testing.T) {
	var r records
	b, err := os.ReadFile("support.json")
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&r)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.judge(t)
	generated(t, "support.md", "systems", r.systems())
	generated(t, "support.md", "models", r.models())
	generated(t, "support.md", "NICs", r.nics())
	generated(t, "support.md", "reports", r.reports())
	generated(t, "support.md", "tests", r.tests())
}

func (r *records) judge(t *testing.T) {
	t.Helper()
	systems := fleet.Systems.Names()
	var kinds []string
	for _, n := range r.NICs {
		kinds = append(kinds, n.Kind)
	}
	for _, k := range host.Kinds() {
		if !slices.Contains(kinds, k) {
			t.Errorf("support.json has no NIC %s", k)
		}
	}
	past := func(when, of string) {
		if d, err := time.Parse(time.DateOnly, when); err != nil || d.After(time.Now()) {
			t.Errorf("%s: %q is no day of the past", of, when)
		}
	}
	how := map[string][]string{}
	for _, e := range r.Evidence {
		how[e.Of] = append(how[e.Of], e.How)
		past(e.When, e.Of)
		if !slices.Contains(systems, e.Of) && !slices.Contains(kinds, e.Of) {
			t.Errorf("there is no system or NIC %s", e.Of)
		}
		if !slices.Contains([]string{"simulator", "models", "kernel", "software"}, e.How) || len(e.Tests) == 0 {
			t.Errorf("%s: evidence %q with %d tests", e.Of, e.How, len(e.Tests))
		}
		source := ""
		for _, test := range e.Tests {
			dir, name, _ := strings.Cut(test, ".")
			text := goText(t, dir)
			source += text
			if !regexp.MustCompile(`(?m)^func ` + name + `\(`).MatchString(text) {
				t.Errorf("%s: there is no test %s", e.Of, test)
			}
		}
		if slices.Contains(systems, e.Of) {
			source += goText(t, "testlab/sim/"+e.Of)
		}
		for _, rel := range e.Releases {
			if e.Of != intent.SONiC.Name && !strings.Contains(source, rel) {
				t.Errorf("%s %s: no test is about this release", e.Of, rel)
			}
		}
		if e.Of == intent.SONiC.Name && !slices.Equal(e.Releases, sonic.Releases()) {
			t.Errorf("%s %s: the releases are %v, and support.json has %v", e.Of, e.How, sonic.Releases(), e.Releases)
		}
	}
	for _, of := range append(systems, host.Kinds()...) {
		if !slices.Contains(how[of], "simulator") {
			t.Errorf("nothing says how %s was tested", of)
		}
	}
	for _, rep := range r.Reports {
		past(rep.When, rep.Of)
		if !slices.Contains(systems, rep.Of) && !slices.Contains(kinds, rep.Of) || rep.Link == "" || rep.Did == "" {
			t.Errorf("a report of %q with link %q: %q", rep.Of, rep.Link, rep.Did)
		}
		if _, known := catalog.ModelOf(rep.Of, rep.Model); slices.Contains(systems, rep.Of) && !known {
			t.Errorf("a report of a model %q that is not in the catalogue", rep.Model)
		}
	}
}

// goText returns the text of the Go files in a folder.
func goText(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no Go files: %v", dir, err)
	}
	var b strings.Builder
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// when returns the date of the newest evidence of one kind; "-" if there is none.
func (r *records) when(of, release, how string) string {
	out := ""
	for _, e := range r.Evidence {
		if e.Of == of && e.How == how && (release == "" || slices.Contains(e.Releases, release)) {
			out = max(out, e.When)
		}
	}
	return cmp.Or(out, "-")
}

// reported counts the user reports for a system, a release or a model.
func (r *records) reported(of string, is func(userReport) bool) string {
	n, last := 0, ""
	for _, rep := range r.Reports {
		if rep.Of == of && is(rep) {
			n++
			last = max(last, rep.When)
		}
	}
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d, last %s", n, last)
}

func (r *records) systems() string {
	var b strings.Builder
	b.WriteString("\n| system | release | simulator | YANG models | real software | hardware reports |\n|---|---|---|---|---|---|\n")
	for _, s := range fleet.Systems.Names() {
		var releases []string
		for _, e := range r.Evidence {
			for _, rel := range e.Releases {
				if e.Of == s && !slices.Contains(releases, rel) {
					releases = append(releases, rel)
				}
			}
		}
		for _, rel := range slices.Backward(releases) {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", s, rel, r.when(s, rel, "simulator"), r.when(s, rel, "models"), r.when(s, rel, "software"),
				r.reported(s, func(rep userReport) bool { return rep.Release == rel }))
		}
	}
	b.WriteString("\n")
	return b.String()
}

func (r *records) models() string {
	var b strings.Builder
	b.WriteString("\n| system | models | lossless in the lab | lossy in the lab | ports and form | hardware reports |\n|---|---|---|---|---|---|\n")
	for _, s := range fleet.Systems.Names() {
		n := map[catalog.Tested]int{}
		names := catalog.ModelsOf(s)
		for _, name := range names {
			m, _ := catalog.ModelOf(s, name)
			tested, _ := m.SelfTest()
			n[tested]++
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", s, len(names), n[catalog.TestedLossless], n[catalog.TestedLossy], n[catalog.TestedForm],
			r.reported(s, func(userReport) bool { return true }))
	}
	b.WriteString("\n")
	return b.String()
}

func (r *records) nics() string {
	var b strings.Builder
	b.WriteString("\n| driver | cards | simulator | Linux kernel | hardware reports |\n|---|---|---|---|---|\n")
	for _, n := range r.NICs {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", n.Driver, n.Cards, r.when(n.Kind, "", "simulator"), r.when(n.Kind, "", "kernel"),
			r.reported(n.Kind, func(userReport) bool { return true }))
	}
	b.WriteString("\n")
	return b.String()
}

func (r *records) reports() string {
	if len(r.Reports) == 0 {
		return "\nNone so far.\n\n"
	}
	var b strings.Builder
	b.WriteString("\n| when | of | release | model | what was done | report |\n|---|---|---|---|---|---|\n")
	for _, rep := range r.Reports {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | [report](%s) |\n", rep.When, rep.Of, rep.Release, rep.Model, cell(rep.Did), rep.Link)
	}
	b.WriteString("\n")
	return b.String()
}

func (r *records) tests() string {
	var b strings.Builder
	b.WriteString("\n| of | how | tests |\n|---|---|---|\n")
	for _, e := range r.Evidence {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", e.Of, e.How, strings.Join(e.Tests, "`, `"))
	}
	b.WriteString("\n")
	return b.String()
}
