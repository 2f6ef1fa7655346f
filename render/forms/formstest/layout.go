// Package formstest has what the tests of text systems share: published configurations, and the
// layouts in which people paste them. Only tests import it.
package formstest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// System says how the configurations of a system are laid out.
type System struct {
	// Indent is the number of spaces per level.
	Indent int
	// Raw reports whether the lines below a line are text that is copied as it stands, such as
	// that of a banner.
	Raw func(text string) bool
	// InBlock reports whether the lines above the last one of a path are headers of blocks whose
	// lines the system reads by their modes.
	InBlock func(path []*lines.Line) bool
	// Inner reports whether a line of a block is the header of a block in it.
	Inner func(l *lines.Line) bool
}

// Published returns the configurations of a system in the import corpus, by name. It fails if
// there are fewer than least.
func Published(t testing.TB, system string, least int) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../fleet/testdata/adopt/" + system + "/*.txtar")
	if err != nil || len(files) < least {
		t.Fatalf("%d files: %v", len(files), err)
	}
	out := map[string]string{}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name == "config" {
				out[strings.TrimSuffix(filepath.Base(file), ".txtar")] = string(f.Data)
			}
		}
	}
	return out
}

// Text returns a configuration as text, with each line at the level and after the separator that
// place gives. Banners and lines below unknown lines keep their indentation.
func (s System) Text(c *lines.Config, place func(path []*lines.Line) (level int, before string)) string {
	var b strings.Builder
	var write func(path, ls []*lines.Line)
	write = func(path, ls []*lines.Line) {
		for _, l := range ls {
			own := append(slices.Clip(path), l)
			level, before := len(path), ""
			if s.InBlock(own) {
				level, before = place(own)
			}
			b.WriteString(before + s.Spaces(level) + l.Text + "\n")
			if s.Raw(l.Text) {
				for _, raw := range l.Sub {
					b.WriteString(raw.Text + "\n")
				}
				continue
			}
			write(own, l.Sub)
		}
	}
	write(nil, c.Lines)
	return b.String()
}

// Spaces returns the indentation of a level.
func (s System) Spaces(level int) string { return strings.Repeat(" ", s.Indent*level) }

// layouts are ways in which people paste a configuration. None changes its meaning.
var layouts = map[string]func(s System, path []*lines.Line) (level int, before string){
	"blank lines":           func(_ System, path []*lines.Line) (int, string) { return len(path) - 1, "\n" },
	"flat":                  func(System, []*lines.Line) (int, string) { return 0, "" },
	"flat with blank lines": func(System, []*lines.Line) (int, string) { return 0, "\n" },
	"flat with separators":  func(System, []*lines.Line) (int, string) { return 0, "!\n" },
	"separators":            func(_ System, path []*lines.Line) (int, string) { return len(path) - 1, "!\n" },
	"inner blocks in column 0": func(s System, path []*lines.Line) (int, string) {
		if len(path) > 1 && s.Inner(path[1]) {
			return len(path) - 2, ""
		}
		return len(path) - 1, ""
	},
	"inner blocks at the column of their lines": func(_ System, path []*lines.Line) (int, string) { return min(len(path)-1, 1), "" },
}

// MeanTheSame checks that configurations mean the same in every layout. compare compares one with
// its text in another layout: whether both are the same device, and how many lines of its account
// that of the other text does not have.
func (s System) MeanTheSame(t *testing.T, configs map[string]*lines.Config, compare func(c *lines.Config, laid string) (same bool, lost int)) {
	for name, place := range layouts {
		t.Run(name, func(t *testing.T) {
			devices, missing := 0, 0
			for file, c := range configs {
				laid := s.Text(c, func(path []*lines.Line) (int, string) { return place(s, path) })
				if same, lost := compare(c, laid); !same || lost > 0 {
					devices, missing = devices+1, missing+lost
					t.Logf("%s: same device: %v, lines lost: %d", file, same, lost)
				}
			}
			if devices > 0 {
				t.Errorf("%d of %d configurations are read differently; %d lines are missing from the accounts", devices, len(configs), missing)
			}
		})
	}
}
