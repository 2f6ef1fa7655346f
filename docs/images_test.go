package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var bytesInText = regexp.MustCompile(`\b(\d+)(?:\.\d)? B\b`)

// The numbers in a drawing must be on the page, where another test compares them with the output
// of explain. Each drawing must be on a page and have a text description.
func TestDrawings(t *testing.T) {
	page, err := os.ReadFile("arithmetic.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, m := range bytesInText.FindAllStringSubmatch(strings.ReplaceAll(string(page), " bytes", " B"), -1) {
		said[m[1]] = true
	}
	names, err := filepath.Glob("images/*.svg")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d drawings, %v", len(names), err)
	}
	for _, name := range names {
		drawing, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "]("+filepath.ToSlash(name)+")") {
			t.Errorf("%s is on no page", name)
		}
		if !strings.Contains(string(drawing), "<title>") {
			t.Errorf("%s has no title", name)
		}
		for _, m := range bytesInText.FindAllStringSubmatch(string(drawing), -1) {
			if !said[m[1]] {
				t.Errorf("%s says %s, and its page does not", name, m[0])
			}
		}
	}
}
