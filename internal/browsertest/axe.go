package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// axe is where 'npm ci' installs axe-core, relative to the module root.
const axe = "tools/node_modules/axe-core/axe.min.js"

// Axe returns the source of axe-core, as pinned in tools/package-lock.json. It skips the test if
// axe-core is not installed.
func Axe(t testing.TB) string {
	t.Helper()
	root, ok := sharedtest.ModuleRoot(t)
	if !ok {
		t.Skip("skipped: needs axe-core, and there is no go.mod above the test")
	}
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(axe)))
	if err != nil {
		t.Skip("skipped: needs axe-core (npm ci --prefix tools)")
	}
	return string(source)
}

// axeRun runs all rules of axe-core, including the best-practice rules.
const axeRun = `const done = arguments[0];
	axe.run(document, {resultTypes: ["violations"]}).then(r => done({
		version: r.testEngine.version, passes: r.passes.length,
		faults: r.violations.flatMap(v => v.nodes.map(n => v.id + " (" + v.impact + "): " + v.help + ": " + n.target.join(" ") + "\n  " + n.html.slice(0, 200) + "\n  " + n.failureSummary)),
	}), e => done({error: String(e)}))`

// Faults returns the problems that axe-core finds in the page as currently shown. source comes
// from [Axe].
func (b *Browser) Faults(source string) []string {
	b.T.Helper()
	var found struct {
		Version string
		Passes  int
		Faults  []string
		Error   string
	}
	b.Eval(nil, source)
	b.Call(http.MethodPost, "/execute/async", map[string]any{"script": axeRun, "args": []any{}}, &found)
	if found.Error != "" || found.Passes == 0 {
		b.T.Fatalf("axe-core %s checked nothing: %s", found.Version, found.Error)
	}
	return found.Faults
}

// Accessible fails the test if axe-core finds a problem.
func (b *Browser) Accessible(source, what string) {
	b.T.Helper()
	const most = 20 // limit for a problem that every row of a table has
	faults := b.Faults(source)
	if n := len(faults); n > most {
		faults = append(faults[:most], fmt.Sprintf("and %d more", n-most))
	}
	if len(faults) > 0 {
		b.T.Errorf("%s: axe-core finds:\n%s", what, strings.Join(faults, "\n"))
	}
}
