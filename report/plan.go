package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// planFold merges consecutive devices whose plans differ only in the intent lines that cause the
// changes.
type planFold struct {
	// release is called with each plan and the names of the devices that share it.
	release func(names []string, d *fleet.DevicePlan)

	names []string
	plan  fleet.DevicePlan
	text  string // the plan without intent lines
}

// andOthers is appended to the intent line of a change when the merged devices have different
// lines.
const andOthers = " and others"

func (f *planFold) add(d *fleet.DevicePlan, text func(*fleet.DevicePlan) string) {
	bare := *d
	bare.Changes = slices.Clone(d.Changes)
	for i := range bare.Changes {
		bare.Changes[i].Reason = ""
	}
	plain := text(&bare)
	if len(f.names) > 0 && f.text == plain {
		for i := range d.Changes {
			if had := &f.plan.Changes[i].Reason; d.Changes[i].Reason != *had && !strings.HasSuffix(*had, andOthers) {
				*had += andOthers
			}
		}
	} else {
		f.flush()
		f.plan, f.text = *d, plain
		f.plan.Changes = slices.Clone(d.Changes)
	}
	f.names = append(f.names, d.Name)
}

func (f *planFold) flush() {
	if len(f.names) > 0 {
		f.release(f.names, &f.plan)
	}
	f.names = nil
}

// Plan adds the plan of one device. Consecutive devices with equal plans share one text, so a
// device is written only when the next one differs, or by [Text.Summary].
func (t *Text) Plan(d *fleet.DevicePlan) {
	t.fold.release = func(names []string, d *fleet.DevicePlan) {
		t.printf("%s  %s", t.S.Bold(spaced(natural.Fold(names))), t.plan(d))
	}
	t.fold.add(d, t.plan)
	t.resets.add(d.Name, d.Resets)
	for _, n := range d.Notes {
		t.notes.Add(n, d.Name)
	}
	if n, _ := countChanges(d); d.Error == nil && n > 0 {
		t.undo.Add(d.Facts.Caps.Undo, d.Name)
	}
}

// spaced adds spaces after the commas of a folded list, so that a terminal can wrap it.
func spaced(folded string) string { return strings.ReplaceAll(folded, ",", ", ") }

// headline says how many values change on a device, and the impact.
func headline(d *fleet.DevicePlan, impact func(qos.Impact) string) string {
	n, open := countChanges(d)
	var parts []string
	if n == 0 {
		parts = append(parts, "no changes")
	} else {
		parts = append(parts, words.Count(n, "change"), "impact "+impact(d.Impact()), words.Count(len(d.Steps), "request"))
	}
	if down := len(d.Down()); down > 0 {
		parts = append(parts, goDown(down))
	}
	if open > 0 {
		parts = append(parts, differences(open))
	}
	return strings.Join(parts, ", ")
}

func goDown(ports int) string {
	if ports == 1 {
		return "1 port goes down"
	}
	return fmt.Sprintf("%d ports go down", ports)
}

// facts returns the model, OS and release of a device in parentheses.
func facts(d *fleet.DevicePlan) string {
	return term.CleanLine("(" + strings.TrimPrefix(d.Facts.Model+", ", ", ") + strings.TrimSpace(d.OS+" "+d.Facts.Release) + ")")
}

// plan returns the text that follows the device's name.
func (t *Text) plan(d *fleet.DevicePlan) string {
	if d.Error != nil {
		return fmt.Sprintf("%s %s\n", t.S.Red("failed:"), term.CleanLine(d.Error.Text))
	}
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format, a...) }
	p("%s %s\n", headline(d, t.impact), t.S.Dim(facts(d)))
	for _, s := range sections(d.Changes) {
		b.WriteString(t.changes(s))
	}
	for i, u := range d.Unknown {
		if i == 3 {
			p("  %s %s not understood either\n", t.S.Dim("left alone:"), words.Are(len(d.Unknown)-i, "more row"))
			break
		}
		p("%s", t.wrapNote("  "+t.S.Dim("left alone:")+" ", u.Where+": "+u.Why))
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

// wrapNote formats a sentence after a mark, wrapped at the terminal's width.
func (t *Text) wrapNote(mark, text string) string {
	text = term.CleanLine(text)
	if t.Width == 0 {
		return mark + text + "\n"
	}
	return mark + strings.Join(wrap(text, max(t.Width-14, 40), 0), "\n      ") + "\n"
}

// section holds the changes of one set of ports; no ports means the whole device.
type section struct {
	ports   []string
	changes []fleet.Group
}

// sections groups changes by their ports, those with the largest impact first.
func sections(all []fleet.Group) (out []section) {
	var by ordered.Groups[string, fleet.Group]
	for _, g := range all {
		by.Add(strings.Join(g.Ports, ","), g)
	}
	most := func(s section) qos.Impact { return s.changes[0].Impact }
	for _, gs := range by.All() {
		ordered.Sort(gs, func(a, b fleet.Group) int { return cmp.Compare(b.Impact, a.Impact) })
		out = append(out, section{gs[0].Ports, gs})
	}
	ordered.Sort(out, func(a, b section) int { return cmp.Compare(most(b), most(a)) })
	return out
}

func (s section) place() string {
	if len(s.ports) == 0 {
		return "the device"
	}
	return spaced(natural.Fold(s.ports))
}

// countChanges returns how many values a plan changes, and how many differ but are not changed by
// apply.
func countChanges(d *fleet.DevicePlan) (changes, open int) {
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

// differences counts the values that differ but are not changed by apply.
func differences(n int) string {
	return words.Count(n, "difference") + " that apply does not change"
}

// maxValues is the widest "old -> new" that is printed on the line of its change.
const maxValues = 38

// changes formats the changes of one set of ports in columns.
func (t *Text) changes(s section) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", t.S.Bold(s.place()))
	title, values, impact := 0, 0, 0
	for _, g := range s.changes {
		title = max(title, width(g.Title()))
		if n := width(oneLine(g.Change)); n <= maxValues {
			values = max(values, n)
		}
		impact = max(impact, len(g.Impact.String()))
	}
	for _, g := range s.changes {
		mark := t.S.Green("~")
		switch {
		case g.Open:
			mark = t.S.Yellow("!")
		case g.Blocked != "":
			mark = t.S.Red("!")
		}
		why := term.CleanLine(strings.Join(slices.DeleteFunc([]string{g.Reason, g.Note}, func(s string) bool { return s == "" }), ", "))
		one := oneLine(g.Change)
		level := pad("", impact-len(g.Impact.String()))
		fits := width(one) <= maxValues && (t.Width == 0 || 10+title+values+impact+width(why) < t.Width)
		if fits {
			fmt.Fprintf(&b, "    %s %s  %s  %s%s  %s\n", mark, pad(g.Title(), title), pad(one, values), t.impact(g.Impact), level, t.S.Dim(why))
		} else {
			room := values
			if t.Width > 0 {
				room = max(0, min(values, t.Width-10-title-impact-width(why)))
			}
			fmt.Fprintf(&b, "    %s %s  %s  %s%s  %s\n", mark, pad(g.Title(), title), pad("", room), t.impact(g.Impact), level, t.S.Dim(why))
			b.WriteString(t.value("         ", g.Old) + t.value("      -> ", g.New))
		}
		switch {
		case g.Open && g.Blocked != "":
			b.WriteString(t.wrapNote("      "+t.S.Dim("left:")+" ", g.Blocked))
		case g.Blocked != "":
			b.WriteString(t.wrapNote("      "+t.S.Red("blocked:")+" ", g.Blocked))
		}
	}
	return b.String()
}

// value formats the old or the new value of a change on lines of its own.
func (t *Text) value(mark, text string) string {
	text = term.CleanLine(text)
	if t.Width == 0 {
		return mark + text + "\n"
	}
	return mark + strings.Join(wrap(text, max(t.Width-10, 40), 0), "\n         ") + "\n"
}

func oneLine(c qos.Change) string { return term.CleanLine(c.Old) + " -> " + term.CleanLine(c.New) }

func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

// PlanSummary counts the devices and changes of a plan.
type PlanSummary struct {
	Devices, Changed, Failed, BlockedDevices, Changes int
	// Open is the number of values that differ but are not changed by apply, Down the number of
	// ports that go down.
	Open, Down int
	Impact     qos.Impact
	// Inconclusive is set if something could not be checked or proven.
	Inconclusive bool
}

// Add adds a device to the summary.
func (s *PlanSummary) Add(d *fleet.DevicePlan) {
	s.Devices++
	if d.Error != nil {
		s.Failed++
		return
	}
	n, open := countChanges(d)
	if n > 0 {
		s.Changed++
	}
	if d.Blocked() {
		s.BlockedDevices++
	}
	s.Changes, s.Open, s.Down = s.Changes+n, s.Open+open, s.Down+len(d.Down())
	s.Impact = max(s.Impact, d.Impact())
}

// verdict summarises a plan in one sentence. impact, good and bad colour their argument.
func (s PlanSummary) verdict(impact func(qos.Impact) string, good, bad func(string) string) string {
	switch {
	case s.Changed == 0 && s.Failed == 0 && s.Open > 0:
		return fmt.Sprintf("no changes on %s, %s", words.Count(s.Devices, "device"), differences(s.Open))
	case s.Changed == 0 && s.Failed == 0:
		return fmt.Sprintf("%s no changes, %s as intended", good("ok:"), words.Are(s.Devices, "device"))
	}
	var parts []string
	if s.Changed > 0 || s.Failed < s.Devices {
		parts = append(parts, fmt.Sprintf("%s on %d of %s", words.Count(s.Changes, "change"), s.Changed, words.Count(s.Devices, "device")), "impact "+impact(s.Impact))
	}
	if s.Down > 0 {
		parts = append(parts, goDown(s.Down))
	}
	if s.BlockedDevices > 0 {
		parts = append(parts, bad(words.Count(s.BlockedDevices, "device")+" with blocked changes"))
	}
	if s.Failed > 0 {
		parts = append(parts, bad(fmt.Sprintf("%d of %s could not be planned", s.Failed, words.Count(s.Devices, "device"))))
	}
	return strings.Join(parts, ", ")
}

// Summary writes the last lines of a plan: how it is undone, resets, and the verdict.
func (t *Text) Summary(s PlanSummary) {
	t.fold.flush()
	several := len(t.undo.Keys()) > 1
	for how, names := range t.undo.All() {
		if how == "" {
			continue // a rollback does not ask the devices how they undo changes
		}
		of := ""
		if several {
			of = " of " + spaced(natural.Fold(names))
		}
		t.printf("%s\n", t.S.Dim("undo"+of+": "+term.CleanLine(how)))
	}
	t.printf("%s", t.resets.table())
	t.printf("%s\n", s.verdict(t.impact, t.S.Green, t.S.Red))
}
