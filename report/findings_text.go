package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// Limits of the text form; the JSON form lists everything.
const (
	maxPlaces = 8   // places listed per cause
	maxWheres = 3   // intent lines listed per cause
	maxPlace  = 240 // bytes per place
	maxPauses = 3   // sources of pauses before the verdict; the others follow the findings
)

// writeText writes where the pauses of a window come from, the verdict, and then each cause once.
func writeText(w io.Writer, r Report, o Options) error {
	t := Text{W: w, S: o.S}
	most := min(maxPauses, len(r.Pauses))
	t.pauses(r.Pauses[:most])
	if most > 0 {
		t.printf("\n")
	}
	t.verdict(r)
	if r.If != nil {
		t.comparison(r.If)
	}
	causes := checks.Causes(r.Findings)
	section := ""
	blocks := shared(causes)
	for i, c := range causes {
		if all, told := blocks[i]; told {
			if len(all) > 0 {
				t.printf("\n")
				t.causeBlock(r, all)
			}
			section = ""
			continue
		}
		// A cause that takes more than one line is separated by a blank line.
		next := string(c.Severity)
		if c.Suppressed != nil {
			next = "accepted"
		}
		if next != section || next == string(checks.Error) || next == string(checks.Warning) {
			t.printf("\n")
		}
		section = next
		t.cause(r, c)
	}
	if rest := r.Pauses[most:]; len(rest) > 0 {
		t.printf("\n%s\n", t.S.Bold("more sources of pauses:"))
		t.pauses(rest)
	}
	t.watermarks(r)
	for i, d := range r.Devices {
		if i == 0 && d.Looked != "" && len(causes) > 0 {
			t.printf("\n")
		}
		if d.Looked != "" {
			t.printf("%s\n", t.S.Dim(term.CleanLine(d.Looked)))
		}
	}
	return t.Err()
}

// shared groups causes that are printed as one block: errors or warnings on at least three
// devices with the same places and the same fix, such as hosts that nobody has configured. The
// result maps the index of the first cause to the whole block, and those of the others to nil.
func shared(causes []checks.Cause) map[int][]checks.Cause {
	const few = 3 // minimum number of causes, and of devices
	type fault struct {
		severity    checks.Severity
		fix, places string
	}
	var faults ordered.Groups[fault, int]
	for i, c := range causes {
		if c.Suppressed == nil && c.Severity != checks.Info && len(c.Devices()) >= few {
			faults.Add(fault{c.Severity, c.Fix, strings.Join(c.Places(), "; ")}, i)
		}
	}
	out := map[int][]checks.Cause{}
	for _, at := range faults.All() {
		if len(at) < few {
			continue
		}
		for _, i := range at {
			out[i] = nil
			out[at[0]] = append(out[at[0]], causes[i])
		}
	}
	return out
}

// causeBlock writes the causes that share their places and their fix as one block.
func (t *Text) causeBlock(r Report, all []checks.Cause) {
	c := all[0]
	style := t.S.Yellow
	if c.Severity == checks.Error {
		style = t.S.Red
	}
	places, more := shortPlaces(c, maxPlaces)
	at := strings.Join(places, "; ")
	if more > 0 {
		at += " and " + words.Count(more, "more place")
	}
	t.indented("", style(string(c.Severity)), fmt.Sprintf("%s %s: %d faults with one fix", c.Severity, at, len(all)), 6)
	for _, c := range all {
		id := term.CleanLine(c.ID)
		text := fmt.Sprintf("%s%s: %s", id, also(c), term.CleanLine(c.What))
		if where := shortWheres(c); where != "" {
			text += "; " + r.whereLabel(c.Wheres()...) + ": " + term.CleanLine(where)
		}
		t.indented("      ", t.S.Bold(id), text, 2)
	}
	if c.Fix != "" {
		t.dim("fix: " + c.Fix)
	}
}

// pauses writes where the PFC pauses of the window come from and which ports they stop.
// pauses writes who pauses whom, and what to do about it.
func (t *Text) pauses(sources []gate.Source) {
	for _, s := range sources {
		what := term.CleanLine(s.What)
		t.indented("", t.S.Bold(what), what, 2)
		t.indented("  ", "", "stopped: "+term.CleanLine(words.Some(s.Paused, maxPlaces)), 2)
		t.indented("  ", "", "fix: "+s.Fix(), 2)
	}
}

// isSource reports whether a cause is a source of pauses that the report states as such.
func (r Report) isSource(c checks.Cause) bool {
	return slices.ContainsFunc(r.Pauses, func(s gate.Source) bool { return s.What == c.What })
}

func (t *Text) verdict(r Report) {
	style := t.S.Green
	switch {
	case r.Status() == Failing:
		style = t.S.Red
	case r.Status() == Inconclusive, r.Counts().Warning > 0:
		style = t.S.Yellow
	}
	headline, _, _ := r.headline()
	t.indented("", style(term.CleanLine(headline)), term.CleanLine(r.Verdict()), 2)
	var failed []string
	for _, d := range r.Failed() {
		failed = append(failed, d.Name)
	}
	if len(failed) > 0 {
		t.indented("", t.S.Red("not read:"), "not read: "+term.CleanLine(natural.Fold(failed)), 2)
	}
}

// also lists the checks that a cause covers: " (also PFC-04)".
func also(c checks.Cause) string {
	return alsoOf(c.Covers())
}

func alsoOf(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return " (also " + term.CleanLine(strings.Join(ids, ", ")) + ")"
}

func (t *Text) cause(r Report, c checks.Cause) {
	label, style := string(c.Severity), t.S.Dim
	switch {
	case c.Suppressed != nil:
		label = "accepted"
	case c.Severity == checks.Error:
		style = t.S.Red
	case c.Severity == checks.Warning:
		style = t.S.Yellow
	}
	places, more := shortPlaces(c, maxPlaces)
	short := c.Severity == checks.Info || c.Suppressed != nil
	at := ""
	switch {
	case len(places) == 1 && more == 0:
		at = " " + places[0]
	case short && len(places) > 0:
		at = " " + devicesOf(c)
	}
	id, what := term.CleanLine(c.ID), term.CleanLine(c.What)
	if r.isSource(c) {
		what = "where the pauses come from, above"
	}
	t.indented("", style(label)+" "+t.S.Bold(id), fmt.Sprintf("%s %s%s%s: %s", label, id, also(c), at, what), 6)
	if c.Suppressed != nil {
		t.dim(acceptedBecause(c.Suppressed))
		return
	}
	if !short {
		t.details(r, c, places, more)
	}
}

// details writes the places of a cause, of which more are left out, where the intent states what it is
// about, and the fix.
func (t *Text) details(r Report, c checks.Cause, places []string, more int) {
	if len(places) > 1 || more > 0 {
		for _, p := range places {
			t.indented("      ", "", "at "+p, 3)
		}
		if more > 0 {
			t.dim("and " + words.Count(more, "more place"))
		}
	}
	if addresses := c.Addresses(); len(addresses) > 0 {
		t.dim("address: " + words.Some(addresses, maxWheres))
	}
	if where := shortWheres(c); where != "" {
		t.dim(r.whereLabel(c.Wheres()...) + ": " + where)
	}
	if c.Fix != "" && !r.isSource(c) {
		t.dim("fix: " + c.Fix)
	}
}

// indented writes text wrapped and indented; lines after the first are indented by hang more
// columns. If text starts with the uncoloured form of styled, that part is written as styled.
func (t *Text) indented(indent, styled, text string, hang int) {
	for i, l := range wrap(text, textWidth-len(indent), hang) {
		plain := term.Clean(styled)
		switch {
		case i > 0:
			t.printf("%s%s%s\n", indent, strings.Repeat(" ", hang), l)
		case plain != "" && strings.HasPrefix(l, plain):
			t.printf("%s%s%s\n", indent, styled, l[len(plain):])
		default:
			t.printf("%s%s\n", indent, l)
		}
	}
}

// dim writes a dimmed detail line below a cause.
func (t *Text) dim(text string) {
	for i, l := range wrap(term.CleanLine(text), textWidth-6, 2) {
		indent := "      "
		if i > 0 {
			indent = "        "
		}
		t.printf("%s%s\n", indent, t.S.Dim(l))
	}
}

// devicesOf names the devices of a cause, or counts them if the list is too long.
func devicesOf(c checks.Cause) string {
	all := c.Devices()
	if names := term.CleanLine(natural.Fold(all)); len(names) <= textWidth/2 {
		return names
	}
	return words.Count(len(all), "device")
}

// shortPlaces returns about limit places of a cause, and the number of places left out.
func shortPlaces(c checks.Cause, limit int) (places []string, more int) {
	all := c.Places()
	if len(all) > limit+1 {
		all, more = all[:limit], len(all)-limit
	}
	for _, p := range all {
		places = append(places, shortPlace(term.CleanLine(p)))
	}
	return places, more
}

// shortPlace cuts a long list of ports and says how many it leaves out.
func shortPlace(p string) string {
	names := strings.Split(p, ",")
	n := 0
	for i, name := range names {
		n += len(name) + 1
		if n > maxPlace && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(names[:i], ","), len(names)-i)
		}
	}
	return p
}

// shortWheres lists the first intent lines of a cause.
func shortWheres(c checks.Cause) string {
	wheres := c.Wheres()
	for i := range wheres {
		wheres[i] = natural.FoldLists(wheres[i])
	}
	return words.Some(wheres, maxWheres)
}
