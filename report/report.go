// Package report writes results for people and for programs.
//
// Text is for people and may change in any release. JSON is versioned
// ([Format]); fields are added, not changed, within one version. Text is
// written from the same values as JSON, so that the two cannot disagree.
// Whatever comes from a device or a file is cleaned of control characters
// before it reaches a terminal.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/plan"
	"github.com/roce-fabric/roce-fabric/rollout"
	"github.com/roce-fabric/roce-fabric/validate"
)

// Format is the version of the JSON form.
const Format = 1

// WriteJSON writes one JSON document.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Text writes results for people.
type Text struct {
	W io.Writer
	S term.Styler
	// Steps shows the native steps of a plan as well.
	Steps bool

	err error
}

// Err returns the first error of writing.
func (t *Text) Err() error { return t.err }

func (t *Text) printf(format string, a ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.W, format, a...)
	}
}

func (t *Text) impact(i qos.Impact) string {
	switch {
	case i >= qos.ImpactLoss:
		return t.S.Red(i.String())
	case i >= qos.ImpactPortFlap:
		return t.S.Yellow(i.String())
	}
	return t.S.Dim(i.String())
}

// Plan writes the plan of one device.
func (t *Text) Plan(d *plan.Device) {
	name := t.S.Bold(d.Name)
	switch {
	case d.Error != "":
		t.printf("%s  %s\n", name, t.S.Red("failed: ")+term.CleanLine(strings.TrimPrefix(d.Error, d.Name+": ")))
		return
	case len(d.Changes) == 0:
		t.printf("%s  no changes\n", name)
	default:
		n := 0
		for _, g := range d.Changes {
			n += max(1, len(g.Ports))
		}
		t.printf("%s  %s, impact %s, %s\n", name, count(n, "change"), t.impact(d.Impact()), count(len(d.Steps), "request"))
	}
	t.printf("  %s\n", t.S.Dim(facts(d)))
	for _, g := range d.Changes {
		t.change(g)
	}
	for _, n := range d.Notes {
		t.printf("  %s %s\n", t.S.Yellow("note:"), term.CleanLine(n))
	}
	for i, u := range d.Unknown {
		if i == 3 {
			t.printf("  %s %d more rows are not understood and left alone\n", t.S.Dim("left alone:"), len(d.Unknown)-i)
			break
		}
		t.printf("  %s %s: %s\n", t.S.Dim("left alone:"), term.CleanLine(u.Where), u.Why)
	}
	if t.Steps {
		t.steps(d)
	}
}

func facts(d *plan.Device) string {
	s := d.Facts.Model + ", " + d.OS + " " + d.Facts.Release + "; undo: " + d.Facts.Caps.Undo
	return term.CleanLine(s)
}

func (t *Text) change(g plan.Group) {
	where := natural.Fold(g.Ports)
	if where == "" {
		where = "device"
	}
	mark := t.S.Green("~")
	if g.Blocked != "" {
		mark = t.S.Red("!")
	}
	t.printf("  %s %s %s: %s -> %s  %s %s\n", mark, where, g.Field, term.CleanLine(g.Old), g.New, t.impact(g.Impact), t.S.Dim(g.Reason))
	if g.Blocked != "" {
		t.printf("      %s %s\n", t.S.Red("blocked:"), term.CleanLine(g.Blocked))
	}
}

func (t *Text) steps(d *plan.Device) {
	for i, s := range d.Steps {
		t.printf("  %d. %s: %s\n", i+1, s.Via, s.What)
	}
}

// PlanSummary sums up a plan.
type PlanSummary struct {
	Devices, Changed, Failed, BlockedDevices, Changes int
	Impact                                            qos.Impact
}

// Add counts a device.
func (s *PlanSummary) Add(d *plan.Device) {
	s.Devices++
	if d.Error != "" {
		s.Failed++
		return
	}
	if len(d.Changes) > 0 {
		s.Changed++
	}
	if d.Blocked() {
		s.BlockedDevices++
	}
	for _, g := range d.Changes {
		s.Changes += max(1, len(g.Ports))
	}
	s.Impact = max(s.Impact, d.Impact())
}

// Summary writes the last line of a plan.
func (t *Text) Summary(s PlanSummary) {
	if s.Changed == 0 && s.Failed == 0 {
		t.printf("%s %s as the intent says, no changes\n", t.S.Green("ok:"), are(s.Devices, "device"))
		return
	}
	t.printf("%s on %d of %s, impact %s", count(s.Changes, "change"), s.Changed, count(s.Devices, "device"), t.impact(s.Impact))
	if s.BlockedDevices > 0 {
		t.printf(", %s", t.S.Red(count(s.BlockedDevices, "device")+" with blocked changes"))
	}
	if s.Failed > 0 {
		t.printf(", %s", t.S.Red(fmt.Sprintf("%d failed", s.Failed)))
	}
	t.printf("\n")
}

// Findings writes findings, worst first, and a summary. clean is the sentence
// for none.
func (t *Text) Findings(fs []validate.Finding, clean string) {
	n := map[validate.Severity]int{}
	for _, f := range fs {
		n[f.Severity]++
		sev := string(f.Severity)
		switch f.Severity {
		case validate.Error:
			sev = t.S.Red(sev)
		case validate.Warning:
			sev = t.S.Yellow(sev)
		}
		t.printf("%s %s %s: %s\n", sev, t.S.Bold(f.ID), f.Place(), term.CleanLine(f.What))
		if f.Where != "" {
			t.printf("      %s\n", t.S.Dim("intent: "+f.Where))
		}
		if f.Fix != "" {
			t.printf("      %s\n", t.S.Dim("fix: "+f.Fix))
		}
	}
	if len(fs) == 0 {
		t.printf("%s %s\n", t.S.Green("ok:"), clean)
		return
	}
	t.printf("%s, %s, %d info\n", count(n[validate.Error], "error"), count(n[validate.Warning], "warning"), n[validate.Info])
}

// Outcomes writes what became of each device.
func (t *Text) Outcomes(outs []rollout.Outcome) {
	n := map[rollout.State]int{}
	var order []rollout.State
	for _, o := range outs {
		if n[o.State] == 0 {
			order = append(order, o.State)
		}
		n[o.State]++
		state := string(o.State)
		switch o.State {
		case rollout.Applied, rollout.Unchanged:
			state = t.S.Green(state)
		case rollout.Skipped:
			state = t.S.Dim(state)
		default:
			state = t.S.Red(state)
		}
		t.printf("%s  %s", t.S.Bold(o.Device), state)
		if o.Steps > 0 {
			t.printf(", %s", count(o.Steps, "request"))
		}
		if o.Error != "" {
			t.printf(": %s", term.CleanLine(strings.TrimPrefix(o.Error, o.Device+": ")))
		}
		t.printf("\n")
	}
	var parts []string
	for _, s := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
	}
	t.printf("%s\n", strings.Join(parts, ", "))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func are(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return count(n, what) + " are"
}
