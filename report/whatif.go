package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// comparison writes how a changed fabric differs from the present one.
func (t *Text) comparison(c *whatif.Comparison) {
	t.printf("\n%s\n", t.S.Bold("compared with the present fabric:"))
	point := func(text string) { t.indented("  ", "", text, 2) }
	for _, l := range reach(c) {
		point(l)
	}
	same := true
	for _, m := range c.Measures {
		if m.Changed() {
			same = false
			point(measured(m))
		}
	}
	if same && len(reach(c)) == 0 {
		point("the same paths, fan-in and oversubscription")
	}
	for i, v := range c.Values {
		if i == maxPlaces {
			point(fmt.Sprintf("and %s (--output json lists all)", words.Count(len(c.Values)-i, "more value")))
			break
		}
		point(fmt.Sprintf("%s at %s", valueOf(v), words.Some(v.Places, maxWheres)))
	}
	switch {
	case len(c.Values) == 0:
		point("the intent computes the same thresholds, headroom and MTU for what is left")
	case len(c.Without) > 0:
		point("switches keep their present values until the next apply")
	}
	for _, l := range findingsOf(c) {
		point(l)
	}
}

// reach says which hosts and switches a change cuts off.
func reach(c *whatif.Comparison) (out []string) {
	if n := len(c.CutOff); n > 0 {
		out = append(out, "no link left at "+natural.Fold(c.CutOff))
	}
	if n := len(c.Reduced); n > 0 {
		out = append(out, "fewer links at "+natural.Fold(c.Reduced))
	}
	if n := len(c.Unreachable); n > 0 {
		out = append(out, fmt.Sprintf("no path joins %s any more", words.Some(c.Unreachable, maxWheres)))
	}
	return out
}

func valueOf(v whatif.Value) string { return fmt.Sprintf("%s: %s -> %s", v.Field, v.Old, v.New) }

// measured returns a measure as text: "fan-in of rdma at leaf, ports to hosts: 5 -> 4".
func measured(m whatif.Measure) string {
	number := func(n float64) string {
		text := strconv.FormatFloat(n, 'f', 2, 64)
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		if m.Ratio {
			text += ":1"
		}
		return text
	}
	text := fmt.Sprintf("%s: %s -> %s", m.What, number(m.Before), number(m.After))
	if m.Worse {
		text += " (worse)"
	}
	return text
}

// findingsOf lists new findings, and those that are gone.
func findingsOf(c *whatif.Comparison) (out []string) {
	for _, part := range []struct {
		what string
		list []whatif.Judged
	}{{"new", c.New}, {"gone", c.Gone}} {
		for _, j := range part.list {
			text := fmt.Sprintf("%s: %s %s", part.what, j.Severity, j.ID)
			if len(j.Places) > 0 {
				text += " " + words.Some(j.Places, maxWheres)
			}
			out = append(out, text+": "+j.What)
		}
	}
	if len(c.New) == 0 {
		out = append(out, "no new findings")
	}
	return out
}

// failureItem is the JSON form of an outcome of failures.
type failureItem struct {
	Failures []string `json:"failures" doc:"what fails, each by itself"`
	Errors   bool     `json:"errors" doc:"whether what remains has errors"`
	// The comparison is that of the first failure.
	*whatif.Comparison
}

// Failures writes what each of several failures does, failures with the same outcome together. It
// reports whether any leaves a fabric with errors.
func (c *Console) Failures(fabric, each string, changes whatif.Changes, all []fleet.FailureOutcome) (failing bool, err error) {
	n := 0
	items := []failureItem{}
	for _, o := range all {
		n += len(o.Failures)
		failing = failing || o.Errors
		items = append(items, failureItem{o.Failures, o.Errors, o.If})
	}
	if c.Output == "json" {
		return failing, WriteJSON(c.Out, struct {
			Format   int            `json:"format"`
			Fabric   string         `json:"fabric"`
			Each     string         `json:"each"`
			If       whatif.Changes `json:"if"`
			Outcomes []failureItem  `json:"outcomes"`
		}{Format, fabric, each, changes, items})
	}
	t := c.Text()
	head := fmt.Sprintf("%s without %s: %s, one at a time, with %s", fabric, each, words.Count(n, "failure"), words.Count(len(all), "outcome"))
	t.indented("", "", term.CleanLine(head), 2)
	for _, o := range all {
		t.printf("\n")
		t.failure(o)
	}
	return failing, t.Err()
}

// consequences lists what an outcome changes besides findings.
func consequences(o fleet.FailureOutcome) []string {
	const few = 2
	parts := reach(o.If)
	if len(o.Failures) > 1 && len(parts) > 0 {
		parts[0] = "for " + o.Failures[0] + ", " + parts[0]
	}
	for _, m := range o.If.Measures {
		if m.Changed() {
			parts = append(parts, measured(m))
		}
	}
	for i, v := range o.If.Values {
		if i == few {
			parts = append(parts, words.Count(len(o.If.Values)-i, "more value"))
			break
		}
		parts = append(parts, valueOf(v)+" from the next apply on")
	}
	if len(parts) == 0 {
		parts = []string{"the same paths, fan-in and oversubscription"}
	}
	return parts
}

func (t *Text) failure(o fleet.FailureOutcome) {
	const few = 2
	name, style := natural.Fold(o.Failures), t.S.Green
	if strings.Contains(name, " - ") { // cables
		name = words.Some(o.Failures, few)
	}
	if n := len(o.Failures); n > 1 {
		name = fmt.Sprintf("each of %d (%s)", n, shortPlace(name))
	}
	switch worst, any := o.If.Worst(); {
	case o.Errors || any && worst == checks.Error:
		style = t.S.Red
	case any && worst == checks.Warning, slices.ContainsFunc(o.If.Measures, func(m whatif.Measure) bool { return m.Worse }):
		style = t.S.Yellow
	}
	t.indented("", style(name), name+": "+strings.Join(consequences(o), "; "), 2)
	for _, l := range findingsOf(o.If) {
		t.indented("  ", "", l, 2)
	}
}
