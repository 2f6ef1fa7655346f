package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"znkr.io/diff"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// Explained is an explanation: a document that can also be printed as lines, or an
// [ExplainedPort].
type Explained interface{ Lines() []string }

// ExplainedPort explains the settings of one switch port.
type ExplainedPort struct{ render.Explanation }

// Lines returns the explanation as text.
func (p ExplainedPort) Lines() []string {
	lines, _ := linesOf(p, term.NewStyler(false), nil)
	return lines
}

// linesOf returns the lines of e and, for a port, the numbered sources: those passed in, then
// those that e adds.
func linesOf(e Explained, s term.Styler, sources []string) (lines, numbered []string) {
	p, ok := e.(ExplainedPort)
	if !ok {
		var out []string
		for _, l := range e.Lines() {
			text := strings.TrimLeft(l, " ")
			out = append(out, l[:len(l)-len(text)]+term.CleanLine(text))
		}
		return out, nil
	}
	var b bytes.Buffer
	t := Text{W: &b, S: s}
	sources = t.explain(p.Explanation, slices.Clone(sources))
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), sources
}

// Explained writes an explanation as JSON or text.
func (c *Console) Explained(e Explained) error {
	if c.Output == "json" {
		return WriteDocument(c.Out, e)
	}
	lines, _ := linesOf(e, c.Styler(), nil)
	return c.lines(lines)
}

func (c *Console) lines(lines []string) error {
	_, err := fmt.Fprintln(c.Out, strings.Join(lines, "\n"))
	return err
}

// ExplainedIf writes an explanation with changes applied, and how it differs from the one without
// them. was is nil if there is none.
func (c *Console) ExplainedIf(changes whatif.Changes, was, now Explained) error {
	if c.Output == "json" {
		text, err := json.Marshal(now)
		if err != nil {
			return err
		}
		more, err := json.Marshal(struct {
			whatif.Changes
			Was Explained `json:"was"`
		}{changes, was})
		if err != nil {
			return err
		}
		return WriteDocument(c.Out, json.RawMessage(string(text[:len(text)-1])+","+string(more[1:])))
	}
	s := c.Styler()
	var before, sources []string
	if was != nil {
		before, sources = linesOf(was, term.NewStyler(false), nil)
	}
	after, _ := linesOf(now, term.NewStyler(false), sources)
	if was == nil {
		before = after
	}
	title := whatif.Changes{Without: changes.Without}.String()
	if len(changes.Set) > 0 {
		title = strings.TrimSpace("if the intent said " + strings.Join(changes.Set, " and ") + " " + title)
	}
	out := []string{s.Bold(term.CleanLine(title))}
	differ := false
	for _, l := range diff.Edits(before, after) {
		text := "  " + l.X
		switch l.Op {
		case diff.Insert:
			text, differ = s.Green("+ "+l.Y), true
		case diff.Delete:
			text, differ = s.Red("- "+l.X), true
		}
		out = append(out, strings.TrimRight(text, " "))
	}
	if was != nil && !differ {
		c.Talk("this changes nothing that is shown here")
	}
	return c.lines(out)
}
