package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// WriteRuns writes runs as a table: when each began, who started it, and the state of its
// devices.
func WriteRuns(out io.Writer, runs []*fleet.Past) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tBEGUN\tBY\tDEVICES")
	for _, p := range runs {
		var by ordered.Groups[string, string]
		for _, d := range p.Devices {
			state := string(d.State)
			switch {
			case state == "" && p.AtWork:
				state = "changing"
			case state == "":
				state = "cut off on"
			}
			by.Add(state, d.Name)
		}
		var states []string
		for state, names := range by.All() {
			states = append(states, state+" "+natural.Fold(names))
		}
		if cut := p.CutOff(); cut != "" {
			states = append(states, cut)
		}
		text := strings.Join(states, "; ")
		if classes, impact := p.Changed(); len(classes) > 0 {
			text += fmt.Sprintf("; %s: %s, impact %s", words.Plural(len(classes), "class", "classes"), strings.Join(classes, ", "), impact)
		}
		if p.Of != "" {
			text += " (rolled back " + p.Of + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.ID, p.Begun.Local().Format("2006-01-02 15:04:05"), term.CleanLine(p.By), term.CleanLine(text))
	}
	return w.Flush()
}
