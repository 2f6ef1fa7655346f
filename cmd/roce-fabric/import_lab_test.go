package main

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// The lab takes each sound configuration of line-configured systems as a whole, and a plan of the
// imported intent changes nothing there, as the import says. A line "refused: ..." in the comment of
// a configuration says what a switch refuses in it.
func TestLabTakesTheCorpus(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("FABRIC_USER", "admin")
	t.Setenv("FABRIC_PASSWORD", "x")
	for _, system := range []string{"eos", "nxos"} {
		files, err := filepath.Glob("../../fleet/testdata/adopt/" + system + "/*.txtar")
		if err != nil || len(files) < 100 {
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
			default:
				planned++
			}
		}
		t.Logf("%s: %d plans are empty", system, planned)
	}
}
