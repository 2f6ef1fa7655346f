package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page without faults passes. For a page with faults, each fault is reported with its place.
func TestFaults(t *testing.T) {
	source := Axe(t)
	b := Start(t)
	file := filepath.Join(t.TempDir(), "page.html")
	open := func(body string) []string {
		t.Helper()
		page := `<!DOCTYPE html><html lang="en"><head><title>page</title></head><body><main><h1>page</h1>` + body + `</main></body></html>`
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		b.Open(file)
		return b.Faults(source)
	}
	if got := open(`<p>text</p>`); len(got) > 0 {
		t.Errorf("a page without faults has %q", got)
	}
	got := strings.Join(open(`<p id="pale" style="color: #ccc">text</p><input id="nameless">`), "\n")
	for _, want := range []string{"color-contrast (serious)", "#pale", "label (critical)", "#nameless"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	b.Quiet()
}
