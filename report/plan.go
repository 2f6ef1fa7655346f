package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// held is the text of devices that have the same plan: it is written once,
// under all their names.
type held struct {
	names []string
	text  string
}

// Plan writes the plan of one device. Devices that follow one another with
// equal plans share one text, so a device is written when the next one differs,
// or by [Text.Summary].
func (t *Text) Plan(d *fleet.DevicePlan) {
	text := t.plan(d)
	if len(t.held.names) > 0 && t.held.text != text {
		t.release()
	}
	t.held.names, t.held.text = append(t.held.names, d.Name), text
	if d.Error != nil || len(d.Changes) == 0 {
		return
	}
	i := slices.IndexFunc(t.undo, func(u undo) bool { return u.how == d.Facts.Caps.Undo })
	if i < 0 {
		i = len(t.undo)
		t.undo = append(t.undo, undo{how: d.Facts.Caps.Undo})
	}
	t.undo[i].names = append(t.undo[i].names, d.Name)
}

// undo is a way to revert, and the devices that have it.
type undo struct {
	how   string
	names []string
}

// release writes the devices that are held back.
func (t *Text) release() {
	if len(t.held.names) > 0 {
		t.printf("%s  %s", t.S.Bold(spaced(natural.Fold(t.held.names))), t.held.text)
	}
	t.held = held{}
}

// spaced lets a folded list be read, and wrapped by a terminal.
func spaced(folded string) string { return strings.ReplaceAll(folded, ",", ", ") }

// plan is the text of a device after its name.
func (t *Text) plan(d *fleet.DevicePlan) string {
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format, a...) }
	if d.Error != nil {
		p("%s %s\n", t.S.Red("failed:"), term.CleanLine(d.Error.Text))
		return b.String()
	}
	facts := t.S.Dim(term.CleanLine("(" + strings.TrimPrefix(d.Facts.Model+", ", ", ") + d.OS + " " + d.Facts.Release + ")"))
	if len(d.Changes) == 0 {
		p("no changes %s\n", facts)
	} else {
		n := 0
		for _, g := range d.Changes {
			n += max(1, len(g.Ports))
		}
		p("%s, impact %s, %s %s\n", words.Count(n, "change"), t.impact(d.Impact()), words.Count(len(d.Steps), "request"), facts)
	}
	for len(d.Changes) > 0 {
		where := d.Changes[0].Ports
		same := func(g fleet.Group) bool { return slices.Equal(g.Ports, where) }
		n := len(d.Changes)
		if i := slices.IndexFunc(d.Changes, func(g fleet.Group) bool { return !same(g) }); i > 0 {
			n = i
		}
		b.WriteString(t.changes(where, d.Changes[:n]))
		rest := *d
		rest.Changes = d.Changes[n:]
		d = &rest
	}
	for _, n := range d.Notes {
		p("  %s %s\n", t.S.Yellow("note:"), term.CleanLine(n))
	}
	for i, u := range d.Unknown {
		if i == 3 {
			p("  %s %s not understood either\n", t.S.Dim("left alone:"), words.Are(len(d.Unknown)-i, "more row"))
			break
		}
		p("  %s %s: %s\n", t.S.Dim("left alone:"), term.CleanLine(u.Where), term.CleanLine(u.Why))
	}
	if t.Steps {
		for i, s := range d.Steps {
			p("  %d. %s: %s\n", i+1, term.CleanLine(s.Via), term.CleanLine(s.What))
			for _, l := range s.Lines {
				p("       %s\n", t.S.Dim(term.CleanLine(l)))
			}
		}
	}
	return b.String()
}

// maxValues is the widest "old -> new" that stays on one line with the rest.
const maxValues = 38

// changes are the changes of one set of ports, in columns.
func (t *Text) changes(ports []string, gs []fleet.Group) string {
	var b strings.Builder
	where := "the device"
	if len(ports) > 0 {
		where = spaced(natural.Fold(ports))
	}
	fmt.Fprintf(&b, "  %s\n", t.S.Bold(where))
	field, values, impact := 0, 0, 0
	for _, g := range gs {
		field = max(field, len(g.Field.String()))
		if n := width(oneLine(g.Change)); n <= maxValues {
			values = max(values, n)
		}
		impact = max(impact, len(g.Impact.String()))
	}
	for _, g := range gs {
		mark, what, end := t.S.Green("~"), t.impact(g.Impact), pad("", impact-len(g.Impact.String()))
		if g.Blocked != "" {
			mark = t.S.Red("!")
		}
		name, one := g.Field.String(), oneLine(g.Change)
		if width(one) > maxValues {
			fmt.Fprintf(&b, "    %s %s  %s\n", mark, pad(name, field), term.CleanLine(g.Old))
			one, mark = "-> "+term.CleanLine(g.New), " "
			name = ""
		}
		fmt.Fprintf(&b, "    %s %s  %s  %s%s  %s\n", mark, pad(name, field), pad(one, values), what, end, t.S.Dim(term.CleanLine(g.Reason)))
		if g.Blocked != "" {
			fmt.Fprintf(&b, "      %s %s\n", t.S.Red("blocked:"), term.CleanLine(g.Blocked))
		}
	}
	return b.String()
}

func oneLine(c qos.Change) string { return term.CleanLine(c.Old) + " -> " + term.CleanLine(c.New) }

func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

// PlanSummary sums up a plan.
type PlanSummary struct {
	Devices, Changed, Failed, BlockedDevices, Changes int
	Impact                                            qos.Impact
}

// Add counts a device.
func (s *PlanSummary) Add(d *fleet.DevicePlan) {
	s.Devices++
	if d.Error != nil {
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

// Summary writes the last lines of a plan.
func (t *Text) Summary(s PlanSummary) {
	t.release()
	for _, u := range t.undo {
		of := ""
		if len(t.undo) > 1 {
			of = " of " + spaced(natural.Fold(u.names))
		}
		t.printf("%s\n", t.S.Dim("undo"+of+": "+term.CleanLine(u.how)))
	}
	if s.Changed == 0 && s.Failed == 0 {
		t.printf("%s %s as the intent says, no changes\n", t.S.Green("ok:"), words.Are(s.Devices, "device"))
		return
	}
	if s.Changed > 0 || s.Failed < s.Devices {
		t.printf("%s on %d of %s, impact %s", words.Count(s.Changes, "change"), s.Changed, words.Count(s.Devices, "device"), t.impact(s.Impact))
		if s.BlockedDevices > 0 {
			t.printf(", %s", t.S.Red(words.Count(s.BlockedDevices, "device")+" with blocked changes"))
		}
		if s.Failed > 0 {
			t.printf(", ")
		}
	}
	if s.Failed > 0 {
		t.printf("%s", t.S.Red(fmt.Sprintf("%d of %s could not be planned", s.Failed, words.Count(s.Devices, "device"))))
	}
	t.printf("\n")
}
