package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// PlanMarkdown builds the plan as a comment for a pull request. Devices that do not fit are only
// counted.
type PlanMarkdown struct {
	fold planFold
	body markdown
	left []string // devices that did not fit
}

// NewPlanMarkdown returns an empty comment.
func NewPlanMarkdown() *PlanMarkdown {
	m := &PlanMarkdown{body: markdown{left: maxMarkdown - 4096 - maxWaves*700}} // reserve for the heading, the waves and the end
	m.fold.release = func(names []string, d *fleet.DevicePlan) {
		if len(m.left) > 0 || !m.body.appendIfFits(planItem(names, d)) {
			m.left = append(m.left, names...)
		}
	}
	return m
}

// Add adds a device.
func (m *PlanMarkdown) Add(d *fleet.DevicePlan) { m.fold.add(d, (&Text{}).plan) }

// maxWaves is the number of waves listed in a comment.
const maxWaves = 40

// Write writes the comment. digest identifies the saved plan, "" if it was not saved.
func (m *PlanMarkdown) Write(w io.Writer, fabric, digest string, s PlanSummary, r *fleet.Rollout) error {
	m.fold.flush()
	plain := func(s string) string { return s }
	text := fmt.Sprintf("## %s plan: %s\n\n%s.\n", toolName, markdownText(fabric), markdownText(s.verdict(qos.Impact.String, plain, plain)))
	if digest != "" {
		text += "\ndigest: " + markdownCode(digest) + "\n"
	}
	if r != nil && r.Interim != nil {
		now, _ := Interim(r.Interim)
		text += fmt.Sprintf("\n**run %d of %d:** %s\n", r.Interim.Run, r.Interim.Runs, markdownText(now))
	}
	if r != nil && (len(r.Waves) > 1 || r.Impact() > 0) {
		text += "\n" + markdownText(rolloutHead(r)) + "\n\n"
		for i, wave := range r.Waves[:min(len(r.Waves), maxWaves)] {
			text += fmt.Sprintf("%d. %s\n", i+1, markdownText(brief(strings.Join(append([]string{waveLine(wave)}, interimFaults(i, wave)...), "; between: "), 500)))
		}
		if n := len(r.Waves) - maxWaves; n > 0 {
			text += fmt.Sprintf("\nand %s\n", words.Count(n, "wave"))
		}
		if note := parallelSaving(r); note != "" {
			text += "\n" + markdownText(note) + "\n"
		}
	}
	text += m.body.b.String()
	if n := len(m.left); n > 0 {
		text += fmt.Sprintf("\n**%s left out:** the comment is full. The text and json forms have all devices.\n", words.Are(n, "device"))
	}
	_, err := io.WriteString(w, text)
	return err
}

// planItem formats the changes of devices that share a plan, collapsed.
func planItem(names []string, d *fleet.DevicePlan) string {
	of := html.EscapeString(brief(spaced(natural.Fold(names)), 1000))
	if d.Error != nil {
		return fmt.Sprintf("\n- **%s** failed: %s\n", of, markdownText(brief(d.Error.Text, 1000)))
	}
	head := headline(d, qos.Impact.String)
	if len(d.Changes) == 0 && len(d.Notes) == 0 {
		return fmt.Sprintf("\n- **%s** %s\n", of, markdownText(head+" "+facts(d)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><b>%s</b> %s %s</summary>\n\n| at | setting | now | planned | impact | because of |\n|---|---|---|---|---|---|\n", of, html.EscapeString(head), html.EscapeString(facts(d)))
	for _, s := range sections(d.Changes) {
		for _, g := range s.changes {
			impact := g.Impact.String()
			if g.Blocked != "" {
				impact = "blocked: " + g.Blocked
			}
			cells := []string{s.place(), g.Title(), g.Old, g.New, impact, g.Reason}
			for i, c := range cells {
				cells[i] = markdownText(brief(c, 500))
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	for i, n := range d.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", markdownText(brief(n, 2000)))
	}
	b.WriteString("\n</details>\n")
	return b.String()
}
