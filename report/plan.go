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

// held is a plan that several devices share but for the lines of the intent behind
// it: it is written once, under all their names.
type held struct {
	names []string
	plan  fleet.DevicePlan
	text  string // without the lines of the intent
}

// andOthers ends the line of the intent behind a change of the first of several
// devices, each of which has a line of its own.
const andOthers = " and others"

// Plan writes the plan of one device. Devices that follow one another with
// equal plans share one text, so a device is written when the next one differs,
// or by [Text.Summary].
func (t *Text) Plan(d *fleet.DevicePlan) {
	bare := *d
	bare.Changes = slices.Clone(d.Changes)
	for i := range bare.Changes {
		bare.Changes[i].Reason = ""
	}
	text := t.plan(&bare)
	if len(t.held.names) > 0 && t.held.text == text {
		for i := range d.Changes {
			if had := &t.held.plan.Changes[i].Reason; d.Changes[i].Reason != *had && !strings.HasSuffix(*had, andOthers) {
				*had += andOthers
			}
		}
	} else {
		t.release()
		t.held.plan, t.held.text = *d, text
		t.held.plan.Changes = slices.Clone(d.Changes)
	}
	t.held.names = append(t.held.names, d.Name)
	if n, _ := count(d); d.Error != nil || n == 0 {
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
		t.printf("%s  %s", t.S.Bold(spaced(natural.Fold(t.held.names))), t.plan(&t.held.plan))
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
	facts := t.S.Dim(term.CleanLine("(" + strings.TrimPrefix(d.Facts.Model+", ", ", ") + strings.TrimSpace(d.OS+" "+d.Facts.Release) + ")"))
	n, open := count(d)
	stay := ""
	if open > 0 {
		stay = ", " + differences(open)
	}
	if n == 0 {
		p("no changes%s %s\n", stay, facts)
	} else {
		p("%s, impact %s, %s%s %s\n", words.Count(n, "change"), t.impact(d.Impact()), words.Count(len(d.Steps), "request"), stay, facts)
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

// count returns how many values a plan changes, and how many differ and are no work
// for a run.
func count(d *fleet.DevicePlan) (changes, open int) {
	for _, g := range d.Changes {
		n := max(1, len(g.Ports))
		if g.Open {
			open += n
		} else {
			changes += n
		}
	}
	return changes, open
}

// differences counts what differs and is no work for a run.
func differences(n int) string {
	return words.Count(n, "difference") + " that apply leaves"
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
		switch {
		case g.Open:
			mark = t.S.Yellow("!")
		case g.Blocked != "":
			mark = t.S.Red("!")
		}
		name, one := g.Field.String(), oneLine(g.Change)
		if width(one) > maxValues {
			fmt.Fprintf(&b, "    %s %s  %s\n", mark, pad(name, field), term.CleanLine(g.Old))
			one, mark = "-> "+term.CleanLine(g.New), " "
			name = ""
		}
		fmt.Fprintf(&b, "    %s %s  %s  %s%s  %s\n", mark, pad(name, field), pad(one, values), what, end, t.S.Dim(term.CleanLine(strings.Join(slices.DeleteFunc([]string{g.Reason, g.Note}, func(s string) bool { return s == "" }), ", "))))
		switch {
		case g.Open && g.Blocked != "":
			fmt.Fprintf(&b, "      %s\n", t.S.Dim("left: "+term.CleanLine(g.Blocked)))
		case g.Blocked != "":
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
	// Open is how many values differ and are no work for a run.
	Open   int
	Impact qos.Impact
}

// Add counts a device.
func (s *PlanSummary) Add(d *fleet.DevicePlan) {
	s.Devices++
	if d.Error != nil {
		s.Failed++
		return
	}
	n, open := count(d)
	if n > 0 {
		s.Changed++
	}
	if d.Blocked() {
		s.BlockedDevices++
	}
	s.Changes, s.Open = s.Changes+n, s.Open+open
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
	switch {
	case s.Changed == 0 && s.Failed == 0 && s.Open > 0:
		t.printf("no changes on %s, %s\n", words.Count(s.Devices, "device"), differences(s.Open))
		return
	case s.Changed == 0 && s.Failed == 0:
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
