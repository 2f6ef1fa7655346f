package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Without an intent, the fault of a broken configuration is found. A line "want: ID PLACE" in
// the comment of a case names the finding and a pattern for its place, which is a row, or a
// line and the header of its block. There must be no other findings of severity error.
func TestBrokenConfigurationsAreNamed(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/broken/"), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var args []string
			for _, f := range a.Files {
				args = append(args, filepath.Join(dir, f.Name))
				if err := os.WriteFile(args[len(args)-1], f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found, _, err := fleet.CheckSaved(t.Context(), args)
			if err != nil {
				t.Fatal(err)
			}
			wanted := map[string]bool{}
			for _, m := range wantLine.FindAllStringSubmatch(string(a.Comment), -1) {
				wanted[m[1]] = true
				named := false
				for _, f := range found {
					named = named || f.ID == m[1] && regexp.MustCompile(m[2]).MatchString(placeText(t, f.Where))
				}
				if !named {
					t.Errorf("no %s at %s", m[1], m[2])
				}
			}
			if len(wanted) == 0 {
				t.Error("the case names no finding")
			}
			for _, f := range found {
				if f.Severity == checks.Error && !wanted[f.ID] {
					t.Errorf("an error besides: %s %s", f.ID, f.Told())
				}
			}
			if t.Failed() {
				t.Log(findingsText(t, found))
			}
		})
	}
}

var (
	wantLine  = regexp.MustCompile(`(?m)^want: (\S+) (.+)$`)
	linePlace = regexp.MustCompile(`^(.+):(\d+)$`)
)

// The broken configurations are of many kinds, each in several files: pauses that are half on or reach
// nothing, watchdogs, classification, marking, lines without effect, ports and their members.
func TestKindsOfBrokenConfigurations(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		of := map[string]bool{}
		for _, m := range wantLine.FindAllStringSubmatch(string(a.Comment), -1) {
			family, _, _ := strings.Cut(m[1], "-")
			of[strings.Replace(family, "MTU", "PRT", 1)] = true
		}
		for family := range of {
			kinds[family]++
		}
	}
	several := 0
	for _, n := range kinds {
		if n >= 3 {
			several++
		}
	}
	t.Logf("%d files: %v", len(files), kinds)
	if len(files) < 50 || several < 6 {
		t.Errorf("%d files of %v", len(files), kinds)
	}
}

// placeText returns the header of the block of a place and its line, for a place FILE:LINE;
// any other place it returns unchanged.
func placeText(t *testing.T, where string) string {
	m := linePlace.FindStringSubmatch(where)
	if m == nil {
		return where
	}
	text, err := os.ReadFile(m[1])
	if err != nil {
		t.Fatal(err)
	}
	no, _ := strconv.Atoi(m[2])
	lines := strings.Split(string(text), "\n")
	header := no - 1
	for header > 0 && strings.HasPrefix(lines[header], " ") {
		header--
	}
	return lines[header] + "\n" + lines[no-1]
}

func findingsText(t *testing.T, found []checks.Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s %s %s [%s] %q\n", f.Severity, f.ID, f.Told(), f.Where, placeText(t, f.Where))
	}
	return b.String()
}

// checkedAlone checks one configuration as check --config does.
func checkedAlone(t testing.TB, system string, config []byte) ([]checks.Finding, error) {
	file := filepath.Join(t.TempDir(), "running.cfg")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	found, _, err := fleet.CheckSaved(t.Context(), []string{"sw1:" + system + "=" + file})
	return found, err
}

// A sound configuration has no errors, and one without QoS has no findings above info.
func TestSoundConfigurationsHaveNoErrors(t *testing.T) {
	for _, system := range systems {
		for _, c := range corpus(t, system) {
			if strings.Contains("\n"+c.comment, "\nunsound:") {
				continue
			}
			t.Run(system+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				found, err := checkedAlone(t, system, c.config)
				if _, refused := adopted(t, system, c.config); refused != nil && err != nil {
					return // the case is a configuration that cannot be read at all
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range found {
					if f.Severity == checks.Error || f.Severity == checks.Warning && strings.HasPrefix(c.name, "plain-") {
						t.Errorf("%s %s %s [%s]", f.Severity, f.ID, f.Told(), f.Where)
					}
				}
			})
		}
	}
}
