// Package site tests the site that 'make site' builds from the Markdown files in docs: links,
// search and accessibility. It contains no code besides the tests.
package site

import (
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/roce-fabric/roce-fabric/internal/browsertest"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// siteEnv names the environment variable with the folder of the site. The step site of .ci/run
// builds the site and sets it.
const siteEnv = "ROCE_FABRIC_SITE"

func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(siteEnv)
	if dir == "" {
		t.Skipf("skipped: needs a site (bash .ci/run site), %s", siteEnv)
	}
	return dir
}

// page holds the parts of a page that affect links.
type page struct {
	ids   []string
	links []string // targets of <a>
	loads []string // resources that a browser loads
}

// pagesOf parses every page of the site.
func pagesOf(t *testing.T, dir string) map[string]*page {
	t.Helper()
	out := map[string]*page{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".html" {
			return err
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		root, err := html.Parse(f)
		if err != nil {
			return err
		}
		p := &page{}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				switch {
				case a.Key == "id":
					p.ids = append(p.ids, a.Val)
				case a.Key == "href" && n.Data == "a":
					p.links = append(p.links, a.Val)
				case a.Key == "href", a.Key == "src", a.Key == "action":
					p.loads = append(p.loads, a.Val)
				}
			}
		}
		out[filepath.ToSlash(strings.TrimPrefix(file, dir+string(filepath.Separator)))] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if out["index.html"] == nil || len(out) < 20 {
		t.Fatalf("the site has %d pages, and there are more", len(out))
	}
	return out
}

// Every link must lead to a file of the site and to an existing anchor. Nothing is loaded from
// other sites, and links to other sites use https.
func TestLinks(t *testing.T) {
	dir := folder(t)
	pages := pagesOf(t, dir)
	n := 0
	for name, p := range pages {
		if twice := duplicates(p.ids); len(twice) > 0 {
			t.Errorf("%s: the ids %v stand twice", name, twice)
		}
		for i, link := range slices.Concat(p.loads, p.links) {
			n++
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.IsAbs() {
				if i < len(p.loads) || u.Scheme != "https" {
					t.Errorf("%s: %s is loaded from elsewhere, or is not https", name, link)
				}
				continue
			}
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(target))); err != nil || path.IsAbs(u.Path) {
				t.Errorf("%s: dead link %s", name, link)
				continue
			}
			if u.Fragment != "" && (pages[target] == nil || !slices.Contains(pages[target].ids, u.Fragment)) {
				t.Errorf("%s: dead anchor %s", name, link)
			}
		}
	}
	if n < 500 {
		t.Errorf("%d links, and there are more", n)
	}
}

func duplicates(ids []string) []string {
	var out []string
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			out = append(out, ids[i])
		}
	}
	return out
}

// sample has one page of each layout, for the tests before a change lands.
var sample = []string{"index.html", "quickstart.html", "arithmetic.html", "troubleshooting.html", "reports.html", "checks.html", "intent-keys.html", "commands.html", "go-api.html", "import.html",
	"files/examples/quickstart/index.html", "files/examples/quickstart/fabric.yaml.html"}

// The pages must be accessible and print nothing on the console: a sample before a change, all
// pages at night. They load nothing from other sites: the browser resolves no name.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	axe := browsertest.Axe(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	b := browsertest.Start(t)
	names := sample
	if sharedtest.Nightly() {
		names = slices.Sorted(maps.Keys(pagesOf(t, dir)))
	}
	for _, name := range names {
		b.Open(server.URL + "/" + name)
		// Remove most table rows: they are alike, and axe-core takes half a minute for thousands.
		b.Eval(nil, `document.querySelectorAll("tbody tr:nth-child(n+6)").forEach(row => row.remove())`)
		b.Accessible(axe, name)
	}
	b.Quiet()
	b.Media(map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": "dark"}}})
	b.Open(server.URL + "/adopt.html")
	b.Accessible(axe, "adopt.html, dark")
	b.Keep("site-dark.png")
	b.Media(nil)
}

// The search must find sections, both from disk and from a server, using only the keyboard.
func TestSearch(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	axe := browsertest.Axe(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	b := browsertest.Start(t)
	for _, base := range []string{server.URL, "file://" + dir} {
		b.Open(base + "/files/examples/quickstart/index.html")
		b.Press("/")
		b.Press(strings.Split("pfc-02", "")...)
		b.Until("the search has results", `document.querySelector("#results").dataset.for === "pfc-02"`)
		var hrefs []string
		b.Eval(&hrefs, `return [...document.querySelectorAll("#results a")].map(a => a.href)`)
		if want := base + "/checks.html#pfc-02"; !slices.Contains(hrefs, want) {
			t.Errorf("a search for pfc-02 finds %v, want %s", hrefs, want)
		}
		if base == server.URL { // axe-core reads style sheets, which a browser does not allow for file URLs
			b.Accessible(axe, "search results")
		}
		b.Keep("site-search.png")
		b.Press(browsertest.KeyEnter)
		b.Press(browsertest.KeyEnter)
		b.Until("the first result is open", `location.href === arguments[0]`, hrefs[0])

		b.Open(base + "/index.html?q=nosuchword")
		b.Until("the search says that there is nothing", `document.querySelector("#results h1")?.textContent.startsWith("Nothing")`)
		b.Press("/") // nothing has the focus
		b.Press(browsertest.KeyEscape)
		b.Until("the page is back", `!document.querySelector("article").hidden`)
	}
	b.Quiet()
}
