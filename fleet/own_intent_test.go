package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// ownErrors are the errors of the corpus by the intents that import writes, as testdata/adopt/own-intent.txt
// lists them by case and check.
func ownErrors(t *testing.T) map[string]bool {
	t.Helper()
	b, err := os.ReadFile("testdata/adopt/own-intent.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+/\S+ \S+): \S.*$`).FindAllStringSubmatch(string(b), -1) {
		out[m[1]] = true
	}
	return out
}

// The intent that import writes from a sound configuration has no errors, without that configuration
// and compared with it.
func TestOwnIntentsHaveNoErrors(t *testing.T) {
	known, seen, pauseAlone, tried := ownErrors(t), map[string]bool{}, 0, 0
	for _, system := range systems {
		for _, c := range corpus(t, system) {
			if strings.Contains("\n"+c.comment, "\nunsound:") {
				continue
			}
			got, err := adopted(t, system, c.config)
			if err != nil {
				continue
			}
			tried++
			for _, f := range ownFindings(t, got.Text, c.config) {
				key := system + "/" + c.name + " " + f.ID
				seen[key] = true
				switch {
				case f.Severity != checks.Error:
				case f.ID == "ECN-01":
					pauseAlone++
				case !known[key]:
					t.Errorf("%s: %s [%s]", key, f.Told(), f.Where)
				}
			}
		}
	}
	for key := range known {
		if !seen[key] && !testing.Short() {
			t.Errorf("%s is listed and not found", key)
		}
	}
	t.Logf("%d configurations: %d errors of PFC without ECN; %d others are listed", tried, pauseAlone, len(known))
	if !testing.Short() && tried < 250 {
		t.Errorf("only %d configurations", tried)
	}
}

// ownFindings checks an intent, and the configuration from which it was imported.
func ownFindings(t *testing.T, text, config []byte) []checks.Finding {
	t.Helper()
	dir := t.TempDir()
	file, saved := filepath.Join(dir, "fabric.yaml"), filepath.Join(dir, "running.cfg")
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(saved, config, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Load(t.Context(), file, fleet.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := fleet.Check(t.Context(), f, fleet.CheckOptions{Configs: []fleet.Saved{{Switch: "sw1", File: saved}}})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
