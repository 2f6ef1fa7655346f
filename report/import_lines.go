package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
)

// fates are the fates whose lines are listed, those that need a decision first.
var fates = []render.Fate{render.Differs, render.Unknown, render.Left, render.Inert, render.Default}

// WriteCoverage writes the fate of every switch line: a table of counts, how each system was
// recognised, and, with place and reason, each line that is not represented or whose
// representation says more than the line itself.
func WriteCoverage(w io.Writer, r *fleet.Imported) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "SWITCH\tSYSTEM\tLINES\tREPRESENTED")
	for _, f := range slices.Backward(fates) {
		fmt.Fprint(table, "\t"+strings.ToUpper(string(f)))
	}
	fmt.Fprintln(table)
	var seen ordered.Groups[string, string]
	for _, a := range r.Accounts {
		count := countFates(a)
		fmt.Fprintf(table, "%s\t%s\t%d\t%d", a.Device, a.System, len(a.Lines), count[render.Represented])
		for _, f := range slices.Backward(fates) {
			fmt.Fprintf(table, "\t%d", count[f])
		}
		fmt.Fprintln(table)
		if a.Recognised != "" {
			seen.Add(a.Recognised, a.Device)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for why, devices := range seen.All() {
		fmt.Fprintf(&b, "\n%s: %s\n", fewNames(devices, 80), term.CleanLine(why))
	}
	for _, f := range append(slices.Clone(fates), render.Represented) {
		lines := foldLines(r.Accounts, f)
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", f)
		for _, l := range lines {
			fmt.Fprintf(&b, "  %s\n", term.CleanLine(l))
		}
	}
	if list := defaultsOf(r.Accounts); len(list) > 0 {
		fmt.Fprint(&b, "\ndecided by defaults of the system\n")
		for _, l := range list {
			fmt.Fprintf(&b, "  %s\n", term.CleanLine(l))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// defaultsOf lists the defaults that decide values, with their ports, sources and releases.
func defaultsOf(accounts []fleet.Account) (out []string) {
	type shared struct{ what, ports string }
	var by ordered.Groups[shared, string]
	for _, a := range accounts {
		for _, d := range a.Assumed {
			by.Add(shared{fmt.Sprintf("%s (%s; releases: %s)", d.What, d.Source, d.Releases), fewNames(d.Ports, 80)}, a.Device)
		}
	}
	for at, devices := range by.All() {
		out = append(out, strings.TrimSpace(fewNames(devices, 80)+" "+at.ports)+": "+at.what)
	}
	return out
}

// kind identifies lines that differ only in their numbers. Lines that need no decision are
// grouped by the reason and the type of block or table alone.
type kind struct{ why, where, text string }

func kindOf(l render.Line) kind {
	if l.Fate == render.Unknown || l.Fate == render.Differs {
		return kind{shape(l.Why), shape(l.Where), shape(l.Text)}
	}
	if table, _, ok := strings.Cut(l.Where, "|"); ok {
		return kind{why: shape(l.Why), where: table}
	}
	words := strings.Fields(l.Where)
	return kind{why: shape(l.Why), where: shape(strings.Join(words[:min(len(words), 2)], " "))}
}

// alike collects the lines of one kind on one switch.
type alike struct {
	wheres, texts []string // without duplicates
	why, check    string
	first, last   int // line numbers in the file; 0 if unknown
	n             int
	mixed         bool // the lines have different reasons
}

// foldLines writes the lines of one fate. Lines that differ only in their numbers become one
// entry that lists their places; switches with the same entry share it.
func foldLines(accounts []fleet.Account, fate render.Fate) (out []string) {
	type shared struct{ place, rest string }
	type on struct{ device, lines string }
	var by ordered.Groups[shared, on]
	for _, a := range accounts {
		var groups ordered.Map[kind, alike]
		for _, l := range a.Lines {
			if l.Fate == fate && (fate != render.Represented || l.Why != "") {
				groups.At(kindOf(l)).add(l)
			}
		}
		for _, g := range groups.All() {
			by.Add(shared{fewNames(g.wheres, 80), g.linesAndReason()}, on{a.Device, g.lines()})
		}
	}
	for at, list := range by.All() {
		var devices []string
		lines := list[0].lines
		for _, o := range list {
			devices = append(devices, o.device)
			if o.lines != lines {
				lines = ""
			}
		}
		place := strings.TrimSpace(fewNames(devices, 80) + " " + at.place)
		if lines != "" && at.place != "" {
			place += ","
		}
		out = append(out, strings.TrimSpace(place+" "+lines)+at.rest)
	}
	return out
}

// add adds a line to the group.
func (g *alike) add(l render.Line) {
	if g.n++; g.n == 1 {
		g.why, g.check, g.first = l.Why, l.Check, l.No
	}
	g.last = l.No
	g.mixed = g.mixed || l.Why != g.why
	if n, where := len(g.wheres), natural.FoldLists(l.Where); where != "" && (n == 0 || g.wheres[n-1] != where) {
		g.wheres = append(g.wheres, where)
	}
	const most = 4 // at most 4 texts are kept, of which 3 are shown
	if text := term.Clip(l.Text, 100); strings.Trim(text, ": ") != "" && len(g.texts) < most && !slices.Contains(g.texts, text) {
		g.texts = append(g.texts, text)
	}
}

// lines returns the line numbers of the group as text.
func (g *alike) lines() string {
	switch {
	case g.first == 0:
		return ""
	case g.n == 1:
		return "line " + strconv.Itoa(g.first)
	}
	return fmt.Sprintf("%s between %d and %d", words.Count(g.n, "line"), min(g.first, g.last), max(g.first, g.last))
}

// linesAndReason returns the text of the lines and the reason for their fate.
func (g *alike) linesAndReason() string {
	s := ""
	if len(g.texts) > 0 {
		s = " [" + strings.Join(g.texts[:min(len(g.texts), 3)], "; ")
		if len(g.texts) > 3 {
			s += "; ..."
		}
		s += "]"
	}
	if g.n > 1 && g.first == 0 {
		s += fmt.Sprintf(" (%d)", g.n)
	}
	if g.mixed {
		g.why = strings.ReplaceAll(shape(g.why), "0", "...")
	}
	if g.why != "" {
		s += ": " + g.why
	}
	if g.check != "" {
		s += " (" + g.check + ")"
	}
	return s
}

// shape replaces each number in a text with 0.
func shape(s string) string {
	if strings.IndexFunc(s, isDigit) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		switch digit := isDigit(rune(s[i])); {
		case !digit:
			b = append(b, s[i])
		case i == 0 || !isDigit(rune(s[i-1])):
			b = append(b, '0')
		}
	}
	return string(b)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// fewNames folds names into a list of at most about most bytes, and says how many names there
// are if it cuts the list.
func fewNames(names []string, most int) string {
	s := natural.Fold(slices.Compact(natural.Sorted(names)))
	if len(s) <= most {
		return s
	}
	cut := strings.LastIndexByte(s[:most], ',')
	if cut < 0 {
		cut = strings.IndexByte(s, ',')
	}
	if cut < 0 { // a single name
		return s
	}
	return s[:cut+1] + fmt.Sprintf("... (%d in all)", len(names))
}

// foldChanges writes equal changes once, with their switches, ports and the reason that blocks
// them.
func foldChanges(ds []fleet.Difference) (out []string) {
	type change struct{ field, was, want, blocked string }
	type place struct {
		change
		ports string
	}
	var devices ordered.Groups[place, string]
	for _, d := range ds {
		var ports ordered.Groups[change, string]
		for _, c := range d.Changes {
			k := change{c.Field.String(), c.Old, c.New, c.Blocked}
			if ports.Add(k); c.Port != "" {
				ports.Add(k, c.Port)
			}
		}
		for k, names := range ports.All() {
			devices.Add(place{k, fewNames(names, 160)}, d.Device)
		}
	}
	for p, names := range devices.All() {
		text := fmt.Sprintf("%s %s %s -> %s", strings.TrimSpace(fewNames(names, 160)+" "+p.ports), p.field, p.was, p.want)
		if p.blocked != "" {
			text += "; blocked: " + p.blocked
		}
		out = append(out, text)
	}
	return out
}
