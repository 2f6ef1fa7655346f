package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Each configuration of Cumulus Linux in a form that is published is recognised as one,
// without a word of the user.
func TestPublishedConfigurationsAreRecognised(t *testing.T) {
	a, err := txtar.ParseFile("../render/cumulus/testdata/published.txtar")
	if err != nil || len(a.Files) < 40 {
		t.Fatalf("%d configurations: %v", len(a.Files), err)
	}
	for _, f := range a.Files {
		file := filepath.Join(t.TempDir(), f.Name)
		if err := os.WriteFile(file, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := readConfig("", file)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		system, _ := Systems.Find(c.os)
		run, _, err := system.Decode(c.text)
		if err != nil || c.os != "cumulus" || len(run.Ports) == 0 {
			t.Errorf("%s is %s, %v", f.Name, c.os, err)
		}
	}
}
