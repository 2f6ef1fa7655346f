package main

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// The lab takes each sound configuration of systems that refuse lines as a whole, and a plan of the
// imported intent changes nothing there, as the import says. Its checks find no errors on Cumulus
// Linux and in the files of public forms. A line "refused: ..." in the comment of
// a configuration says what a switch refuses in it.
func TestLabTakesTheCorpus(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("FABRIC_USER", "admin")
	t.Setenv("FABRIC_PASSWORD", "x")
	for system, least := range map[string]int{"cumulus": 46, "eos": 120, "nxos": 120, "sonic": 120} {
		files, err := filepath.Glob("../../fleet/testdata/adopt/" + system + "/*.txtar")
		if err != nil || len(files) < least {
			t.Fatal("no corpus: ", err)
		}
		planned := 0
		for i, file := range files {
			if testing.Short() && i%8 != 0 {
				continue
			}
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			says := func(word string) bool { return strings.Contains("\n"+string(a.Comment), "\n"+word+":") }
			if says("unsound") {
				continue
			}
			switch got := tryAgreement(t, savedText{filepath.Base(file), system, a.Files[0].Data}); {
			case says("refused"):
				if !strings.Contains(got.skipped, "refuses") {
					t.Errorf("%s: the lab takes it", file)
				}
			case got.skipped != "":
				t.Errorf("%s: %s\n%s", file, got.skipped, got.detail)
			case got.imported > 0 || got.did > 0:
				t.Errorf("%s: the import says %d changes, the plan has %d\n%s", file, got.imported, got.did, got.detail)
			case (system == "cumulus" || strings.Contains(file, "public-")) && len(got.errors) > 0:
				t.Errorf("%s: errors with the intent of the import: %q", file, got.errors)
			default:
				planned++
			}
		}
		t.Logf("%s: %d plans are empty", system, planned)
	}
}

// Configurations of Cumulus Linux that were published have no errors with the intent of their import,
// unless the lab refuses a line or the intent changes something.
func TestPublishedHaveNoErrorsWithTheirIntent(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("FABRIC_USER", "admin")
	t.Setenv("FABRIC_PASSWORD", "x")
	a, err := txtar.ParseFile("../../render/cumulus/testdata/published.txtar")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, f := range sharedtest.Sample(a.Files, 20) {
		got := tryAgreement(t, savedText{f.Name, "cumulus", f.Data})
		if got.skipped != "" || got.imported+got.did > 0 {
			continue
		}
		if tried++; len(got.errors) > 0 {
			t.Errorf("%s: %q", f.Name, got.errors)
		}
	}
	if tried < 15 {
		t.Errorf("only %d configurations were tried", tried)
	}
}
