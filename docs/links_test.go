package docs

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns the Markdown files of the repository by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && (strings.HasPrefix(name, ".") && name != ".github" || slices.Contains([]string{"bin", "node_modules", "testdata"}, name)):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		out[filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))] = string(b)
		return err
	})
	if err != nil || len(out) < 20 {
		t.Fatalf("%d pages, %v", len(out), err)
	}
	return out
}

var (
	fenced  = regexp.MustCompile("(?ms)^[ \t]*(```|~~~).*?^[ \t]*(```|~~~)")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// noAnchor matches the characters that GitHub removes from heading anchors.
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_\- ]`)
)

func anchors(text string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		out = append(out, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
	}
	return out
}

// Every link within the repository must lead to an existing file and heading.
func TestLinks(t *testing.T) {
	all, n := pages(t), 0
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			n++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), file))
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s: dead link %s", page, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s: dead anchor %s", page, m[1])
			}
		}
	}
	if n < 100 {
		t.Errorf("%d links, and there are more", n)
	}
}

// Every page in this folder must be in the site navigation exactly once.
func TestNavigation(t *testing.T) {
	var groups []struct {
		Pages []struct{ File, Title string }
	}
	b, err := os.ReadFile("site/nav.json")
	if err == nil {
		err = json.Unmarshal(b, &groups)
	}
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, g := range groups {
		for _, p := range g.Pages {
			have = append(have, p.File)
			if p.Title == "" {
				t.Errorf("%s has no title", p.File)
			}
		}
	}
	var want []string
	for page := range pages(t) {
		if filepath.Dir(page) == "docs" {
			want = append(want, page)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("docs/site/nav.json has\n%s\nand this folder\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
