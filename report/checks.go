package report

import (
	"strings"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Checks writes a table of checks, one line per check.
func (t *Text) Checks(all []*checks.Check) {
	w := tabwriter.NewWriter(&errWriter{t}, 0, 8, 2, ' ', 0)
	line := func(cols ...string) { _, _ = w.Write([]byte(strings.Join(cols, "\t") + "\n")) }
	line("CHECK", "SEVERITY", "SCOPE", "READS", "WHAT IS WRONG")
	for _, c := range all {
		var severities []string
		for _, r := range c.Rules {
			severities = append(severities, string(r.Severity))
		}
		title := c.Title
		if !c.Made() {
			title += notMade(c)
		}
		line(c.ID, strings.Join(severities, "/"), string(c.Scope), c.Reads.String(), title)
	}
	_ = w.Flush() // the first error is kept in t
}

// notMade returns the suffix for a check that this program does not perform, naming the checks
// that replace it.
func notMade(c *checks.Check) string {
	if len(c.FoldedIn) > 0 {
		return " (see " + strings.Join(c.FoldedIn, ", ") + ")"
	}
	return " (not checked)"
}

// errWriter is an io.Writer that writes through a Text, which keeps the first error.
type errWriter struct{ t *Text }

func (w *errWriter) Write(p []byte) (int, error) {
	w.t.printf("%s", p)
	return len(p), w.t.err
}

// Check writes the description of one check.
func (t *Text) Check(c *checks.Check) {
	t.printf("%s: %s\n", t.S.Bold(c.ID), c.Title)
	row := func(name, value string) {
		if value != "" {
			t.printf("  %-9s %s\n", name, value)
		}
	}
	row("severity", c.Rule())
	row("scope", string(c.Scope))
	row("reads", c.Reads.String())
	row("why", c.Why)
	row("fix", c.Fix)
	if !c.Made() {
		row("checked", "no: "+c.Absent)
	}
	row("folded in", strings.Join(c.FoldedIn, ", "))
	for i, s := range c.Sources {
		name := ""
		if i == 0 {
			name = "sources"
		}
		t.printf("  %-9s %s\n", name, s)
	}
}
