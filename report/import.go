package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// ImportDocument is the JSON form of an import. Format counts up when a reader of an
// older one would misread it.
type ImportDocument struct {
	Format      int                 `json:"format"`
	Fabric      string              `json:"fabric"`
	File        string              `json:"file,omitempty"`
	Intent      string              `json:"intent"`
	Assumed     []derive.Note       `json:"assumed"`
	LeftOut     []derive.Note       `json:"left_out"`
	Accounts    []fleet.Account     `json:"accounts"`
	WouldChange []derive.Difference `json:"would_change"`
}

// WriteImport writes an import as JSON. file is where its intent was written to, ""
// for standard output.
func WriteImport(w io.Writer, r *fleet.Imported, file string) error {
	return WriteJSON(w, ImportDocument{Format, r.Fabric.Name, file, string(r.Text), list(r.Assumed), list(r.LeftOut), list(r.Accounts), list(r.Differs)})
}

// list is never null in JSON.
func list[T any](l []T) []T { return append([]T{}, l...) }

// ImportSaid is an account of an import for people.
type ImportSaid struct {
	Lines         []string
	Warning, Hint string // "" for none
}

// ImportText says what of an import is assumed, left out or not understood, what a
// plan of its intent would change, and how much came in.
func ImportText(r *fleet.Imported, file string) (out ImportSaid) {
	say := func(kind string, lines ...string) {
		for _, l := range lines {
			out.Lines = append(out.Lines, kind+": "+term.Clean(l)) // much of it is what a device said
		}
	}
	for _, n := range r.Assumed {
		say("assumed", n.Where+": "+n.What)
	}
	for _, n := range r.LeftOut {
		say("left out", n.Where+": "+n.What)
	}
	say("not understood", foldLost(r.Accounts)...)
	say("a plan would change", foldChanges(r.Differs)...)
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
	if len(r.Differs) == 0 {
		out.Lines = append(out.Lines, "a plan of this intent is empty")
	} else {
		out.Hint = "a plan would change settings that an intent cannot express, and exceptions that the new intent has no place for; 'roce-fabric plan' shows the lines"
	}
	return out
}

// foldLost writes each thing that is not understood once, with all switches
// that have it.
func foldLost(accounts []fleet.Account) (out []string) {
	type lost struct{ place, text, why string }
	var by ordered.Groups[lost, string]
	for _, a := range accounts {
		for _, l := range a.Lines {
			if l.Fate == render.Unknown {
				by.Add(lost{l.Place(), l.Text, l.Why}, a.Device)
			}
		}
	}
	for l, devices := range by.All() {
		text := ""
		if l.text != "" {
			text = " [" + l.text + "]"
		}
		out = append(out, fewNames(devices)+" "+l.place+text+": "+l.why)
	}
	return out
}

// fewNames folds names, and cuts a list that nobody reads.
func fewNames(names []string) string {
	const most = 160
	s := natural.Fold(names)
	if len(s) <= most {
		return s
	}
	return s[:strings.LastIndexByte(s[:most], ',')+1] + fmt.Sprintf("... (%d in all)", len(names))
}

// foldChanges writes equal changes once, with their ports and switches.
func foldChanges(ds []derive.Difference) (out []string) {
	type change struct{ field, was, want string }
	type place struct {
		change
		ports string
	}
	var devices ordered.Groups[place, string]
	for _, d := range ds {
		var ports ordered.Groups[change, string]
		for _, c := range d.Changes {
			k := change{c.Field.String(), c.Old, c.New}
			if ports.Add(k); c.Port != "" {
				ports.Add(k, c.Port)
			}
		}
		for k, names := range ports.All() {
			devices.Add(place{k, fewNames(names)}, d.Device)
		}
	}
	for p, names := range devices.All() {
		out = append(out, fmt.Sprintf("%s %s %s -> %s", strings.TrimSpace(fewNames(names)+" "+p.ports), p.field, p.was, p.want))
	}
	return out
}
