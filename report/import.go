package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// ImportDocument is the JSON form of an import. Format increases when readers of an older
// version would misread the document.
type ImportDocument struct {
	Format  int           `json:"format"`
	Fabric  string        `json:"fabric"`
	File    string        `json:"file,omitempty"`
	Intent  string        `json:"intent"`
	Assumed []derive.Note `json:"assumed"`
	LeftOut []derive.Note `json:"left_out"`
	// Contradictions, Unrecorded and Cables come from an inventory.
	Contradictions []derive.Contradiction `json:"contradictions"`
	Unrecorded     []derive.Note          `json:"not_in_inventory"`
	Cables         *derive.Recorded       `json:"cables,omitempty"`
	NotUnderstood  []NotUnderstood        `json:"not_understood"`
	WouldChange    []fleet.Difference     `json:"would_change"`
	Accounts       []ImportAccount        `json:"accounts"`
}

// NotUnderstood is a line of a switch configuration that the import does not understand.
type NotUnderstood struct {
	Device string `json:"device"`
	Where  string `json:"where"`
	Text   string `json:"text,omitempty"`
	Why    string `json:"why"`
}

// ImportAccount counts a switch's lines by their fate. It lists the lines themselves only if
// coverage was requested.
type ImportAccount struct {
	fleet.Account
	Count map[render.Fate]int `json:"count"`
}

// WriteImport writes an import as JSON. file is the path of the written intent, "" for standard
// output; coverage adds every line of every switch.
func WriteImport(w io.Writer, r *fleet.Imported, file string, coverage bool) error {
	doc := ImportDocument{Format: Format, Fabric: r.Fabric.Name, File: file, Intent: string(r.Text), Assumed: list(r.Assumed), LeftOut: list(r.LeftOut),
		Contradictions: list(r.Contradictions), Unrecorded: list(r.Unrecorded),
		NotUnderstood: []NotUnderstood{}, WouldChange: list(r.Differs), Accounts: []ImportAccount{}}
	if r.Cables != (derive.Recorded{}) {
		doc.Cables = &r.Cables
	}
	for _, a := range r.Accounts {
		for _, l := range a.Lines {
			if l.Fate == render.Unknown {
				doc.NotUnderstood = append(doc.NotUnderstood, NotUnderstood{a.Device, l.Place(), l.Text, l.Why})
			}
		}
		count := countFates(a)
		if !coverage {
			a.Lines = nil
		}
		doc.Accounts = append(doc.Accounts, ImportAccount{a, count})
	}
	return WriteJSON(w, doc)
}

// list returns a copy of l that is never nil, so that JSON has [] and not null.
func list[T any](l []T) []T { return append([]T{}, l...) }

// ImportSummary is the summary of an import for people.
type ImportSummary struct {
	Lines         []string
	Warning, Hint string // "" for none
}

// mostLines is the number of lines shown per kind.
const mostLines = 12

// ImportText summarises an import: how many lines it adopted, left alone or could not decide,
// which decisions remain, what it assumed or left out, and what a plan of the new intent would
// change. Long lists are cut unless all is set.
func ImportText(r *fleet.Imported, file string, all bool) (out ImportSummary) {
	say := func(kind string, lines []string) {
		for i, l := range lines {
			if i == mostLines && len(lines) > mostLines+1 && !all {
				out.Lines = append(out.Lines, fmt.Sprintf("%s: %d more; --coverage lists them", kind, len(lines)-i))
				break
			}
			out.Lines = append(out.Lines, kind+": "+term.CleanLine(l)) // much of this text comes from devices
		}
	}
	count := map[render.Fate]int{}
	for _, a := range r.Accounts {
		for fate, n := range countFates(a) {
			count[fate] += n
		}
	}
	changes := 0
	for _, d := range r.Differs {
		changes += len(d.Changes)
	}
	if len(r.Accounts) > 0 {
		out.Lines = append(out.Lines,
			parts("adopted", count[render.Represented]+count[render.Default], part{count[render.Represented], "represented"}, part{count[render.Default], "as by default"}),
			parts("left alone", count[render.Inert]+count[render.Left], part{count[render.Inert], "without effect"}, part{count[render.Left], "outside the intent"}),
			parts("needs a decision", count[render.Unknown]+count[render.Differs], part{count[render.Unknown], "not understood"}, part{count[render.Differs], "the intent says otherwise"})+inPlan(changes))
	}
	if c := r.Cables; c.Cables > 0 {
		out.Lines = append(out.Lines, summed("inventory", words.Count(c.Cables, "cable"), part{c.Confirmed, "confirmed by LLDP"}, part{c.Contradicted, "contradicted"},
			part{c.Unseen, "not seen by LLDP"}, part{c.Unchecked, "not checked"}))
	}
	if n := len(r.Fabric.Switches) - len(r.Accounts); n > 0 {
		out.Lines = append(out.Lines, summed("not read", words.Plural(n, "switch", "switches")))
	}
	say("contradiction", contradictions(r.Contradictions))
	say("not in the inventory", notes(r.Unrecorded))
	say("not understood", foldLines(r.Accounts, render.Unknown))
	say("a plan would change", foldChanges(r.Differs))
	say("assumed", notes(r.Assumed))
	say("left out", notes(r.LeftOut))
	ports := 0
	for _, s := range r.Fabric.Switches {
		ports += len(s.Ports)
	}
	to := ""
	if file != "" {
		to = ", written to " + file
	}
	out.Lines = append(out.Lines, fmt.Sprintf("%s, %s, %s, %s%s", words.Plural(len(r.Fabric.Switches), "switch", "switches"), words.Count(ports, "port"),
		words.Count(len(r.Fabric.Links), "link"), words.Plural(len(r.Fabric.Settings.Classes), "class", "classes"), to))
	if ports == 0 {
		out.Warning = "nothing was found to manage: no port of these switches is in the intent"
	}
	unknown := count[render.Unknown]
	switch {
	case len(r.Accounts) == 0:
		out.Hint = "'roce-fabric check' judges the design, 'roce-fabric plan' what it changes on the switches, which were not read"
	case changes > 0:
		out.Hint = "the switches do not run all that this intent says; 'roce-fabric plan' shows the changes with their impact and lines"
	case unknown > 0:
		out.Lines = append(out.Lines, fmt.Sprintf("this intent changes nothing, and leaves alone %s that this tool does not understand", words.Count(unknown, "line")))
		out.Hint = "compare these with what the intent says before the first apply"
	case len(r.Accounts) < len(r.Fabric.Switches):
		out.Lines = append(out.Lines, "this intent changes nothing on the switches that were read")
	default:
		out.Lines = append(out.Lines, "this intent changes nothing on the switches")
	}
	return out
}

// inPlan returns the number of changes in a plan as a suffix; "" for 0.
func inPlan(changes int) string {
	if changes == 0 {
		return ""
	}
	return ", " + words.Count(changes, "change") + " in a plan"
}

type part struct {
	n    int
	what string
}

// parts formats a summary line: a number of lines and its breakdown.
func parts(name string, n int, of ...part) string {
	return summed(name, words.Count(n, "line"), of...)
}

// summed formats a named count and its breakdown.
func summed(name, n string, of ...part) string {
	var made []string
	for _, p := range of {
		if p.n > 0 {
			made = append(made, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	s := fmt.Sprintf("%-17s %s", name+":", n)
	if len(made) > 0 {
		s += " (" + strings.Join(made, ", ") + ")"
	}
	return s
}

// contradictions writes contradictions that differ only in their place as one, with the first
// places.
func contradictions(of []derive.Contradiction) (out []string) {
	var alike ordered.Groups[derive.Contradiction, derive.Contradiction]
	for _, c := range of {
		k := c
		k.Where, k.Place = "", ""
		alike.Add(k, c)
	}
	for _, all := range alike.All() {
		c := all[0]
		if n := len(all); n > 1 {
			var wheres []string
			for _, one := range all {
				wheres = append(wheres, one.Where)
			}
			c.Where = fewNames(wheres, 80)
			c.Place += fmt.Sprintf(" (and %s)", words.Plural(n-1, "more place", "more places"))
		}
		out = append(out, c.String())
	}
	return out
}

func notes(of []derive.Note) (out []string) {
	for _, n := range of {
		out = append(out, n.Where+": "+n.What)
	}
	return out
}

// countFates counts the lines of a switch by fate.
func countFates(a fleet.Account) map[render.Fate]int {
	out := map[render.Fate]int{}
	for _, l := range a.Lines {
		out[l.Fate]++
	}
	return out
}
