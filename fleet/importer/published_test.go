package importer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
)

// Each published form of a Cumulus Linux configuration is recognised without the user stating
// the system.
func TestPublishedConfigurationsAreRecognised(t *testing.T) {
	a, err := txtar.ParseFile("../../render/cumulus/testdata/published.txtar")
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
		system, _ := systems.All.Find(c.os)
		drv, err := system.Saved(c.text, drivers.Target{})
		if err != nil || c.os != "cumulus" {
			t.Errorf("%s is %s, %v", f.Name, c.os, err)
			continue
		}
		if run, _ := drv.Decode(drv.Snapshot); len(run.Ports) == 0 {
			t.Errorf("%s has no ports", f.Name)
		}
	}
}
