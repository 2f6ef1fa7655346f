package report

import (
	"fmt"
	"slices"
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// DiffForms are the output formats of a diff.
var DiffForms = []string{"text", "json"}

// DiffSummary counts the devices that were compared.
type DiffSummary struct{ Devices, Differing, Failed int }

// String returns the summary as a sentence: "2 of 24 devices differ".
func (s DiffSummary) String() string {
	text := fmt.Sprintf("%d of %s %s", s.Differing, words.Count(s.Devices, "device"), map[bool]string{true: "differs", false: "differ"}[s.Differing == 1])
	if s.Differing == 0 {
		text = words.Count(s.Devices-s.Failed, "device") + ", no differences"
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	return text
}

// DiffLine is a removed or added line of a device's configuration.
type DiffLine struct {
	Op string `json:"op"` // "+", "-"
	// In lists the enclosing lines, outermost first.
	In   []string `json:"in,omitempty"`
	Text string   `json:"text"`
}

// deviceDiff is the JSON form of a device.
type deviceDiff struct {
	Device  string        `json:"device"`
	OS      string        `json:"os"`
	Differs bool          `json:"differs"`
	Lines   []DiffLine    `json:"lines"`
	Blocked []fleet.Group `json:"blocked,omitempty"`
	*fleet.Error
}

// DiffLines returns the removed and added lines, each with its enclosing lines.
func DiffLines(running, intended string) []DiffLine {
	out := []DiffLine{}
	// Equal lines in different blocks count as different lines.
	for _, l := range diff.Edits(withParents(running), withParents(intended)) {
		op, text := "-", l.X
		switch l.Op {
		case diff.Match:
			continue
		case diff.Insert:
			op, text = "+", l.Y
		}
		in := strings.Split(text, "\n")
		out = append(out, DiffLine{Op: op, In: in[: len(in)-1 : len(in)-1], Text: in[len(in)-1]})
	}
	return pairChanges(out)
}

// withParents returns the lines of a text, each prefixed with its enclosing lines, separated by
// "\n".
func withParents(text string) (lines []string) {
	type outer struct {
		depth int // indentation of the line
		lines string
	}
	var open []outer
	for line := range strings.Lines(text) {
		bare := strings.Trim(line, " \n")
		depth := len(line) - len(strings.TrimLeft(line, " "))
		for len(open) > 0 && open[len(open)-1].depth >= depth {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			bare = open[len(open)-1].lines + "\n" + bare
		}
		open, lines = append(open, outer{depth, bare}), append(lines, bare)
	}
	return lines
}

// pairChanges moves each added line next to the removed line that sets the same thing. Removed
// lines keep their order, and so do added lines.
func pairChanges(lines []DiffLine) []DiffLine {
	out := make([]DiffLine, 0, len(lines))
	for len(lines) > 0 {
		n := opsOf(lines, "-")
		m := n + opsOf(lines[n:], "+")
		removed, added := lines[:n], lines[n:m]
		lines = lines[m:]
		at := make(map[string]int, len(added)) // index of the last added line for each setting
		for i, l := range added {
			at[l.settingKey()] = i
		}
		done := 0
		for _, l := range removed {
			out = append(out, l)
			if i, ok := at[l.settingKey()]; ok && i >= done {
				out, done = append(out, added[done:i+1]...), i+1
			}
		}
		added = added[done:]
		out = append(out, added...)
	}
	return out
}

// opsOf counts the leading lines with the given op.
func opsOf(lines []DiffLine, op string) int {
	if n := slices.IndexFunc(lines, func(l DiffLine) bool { return l.Op != op }); n >= 0 {
		return n
	}
	return len(lines)
}

// settingKey identifies the setting of a line: its enclosing lines and its first word.
func (l DiffLine) settingKey() string {
	word, _, _ := strings.Cut(l.Text, " ")
	return strings.Join(append(l.In, word), "\n")
}

// Diff writes the differences of the devices that each emits: as JSON, as a unified diff, or in
// the devices' own configuration lines.
func (c *Console) Diff(fabric string, unified bool, each func(emit func(*fleet.DeviceDiff) error) error) (sum DiffSummary, err error) {
	var doc *JSONList
	if c.Output == "json" {
		doc = NewJSONList(c.Out, "devices", Field{Name: "fabric", Value: fabric})
	}
	err = each(func(d *fleet.DeviceDiff) error {
		sum.Devices++
		switch {
		case d.Err != nil:
			sum.Failed++
		case d.Differs():
			sum.Differing++
		}
		switch {
		case doc != nil:
			doc.Add(deviceDiff{d.Device, d.OS, d.Differs(), DiffLines(d.Running, d.Intended), d.Blocked, d.Err})
			return nil
		case d.Err != nil:
			c.Error(d.Err)
			return nil
		case unified:
			err = c.UnifiedDiff("running/"+d.Device, "intended/"+d.Device, d.Running, d.Intended)
		case d.Running != d.Intended:
			err = c.nativeDiff(d)
		}
		if n := len(d.Blocked); n > 0 {
			c.Talk("%s: %s not shown because this tool cannot make %s; see 'roce-fabric plan'", d.Device, words.Count(n, "change"), map[bool]string{true: "it", false: "them"}[n == 1])
		}
		return err
	})
	if err == nil && doc != nil {
		err = doc.Close()
	}
	return sum, err
}

// nativeDiff writes one device's name, followed by its changed lines.
func (c *Console) nativeDiff(d *fleet.DeviceDiff) error {
	s, lines := c.Styler(), DiffLines(d.Running, d.Intended)
	added := 0
	for _, l := range lines {
		if l.Op == "+" {
			added++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d added, %d removed\n", s.Bold(d.Device), s.Dim("("+d.OS+")"), added, len(lines)-added)
	var shown []string
	for _, l := range lines {
		same := 0
		for same < len(l.In) && same < len(shown) && l.In[same] == shown[same] {
			same++
		}
		for i, outer := range l.In[same:] {
			fmt.Fprintf(&b, "  %s%s\n", strings.Repeat("  ", same+i), term.CleanLine(outer))
		}
		text := l.Op + " " + strings.Repeat("  ", len(l.In)) + term.CleanLine(l.Text)
		if l.Op == "+" {
			text = s.Green(text)
		} else {
			text = s.Red(text)
		}
		b.WriteString(text + "\n")
		shown = append(l.In[:len(l.In):len(l.In)], l.Text)
	}
	_, err := fmt.Fprintln(c.Out, b.String())
	return err
}

// UnifiedDiff writes the difference of two texts as 'diff -u' does, in colour on a terminal, and
// nothing if they are equal. nameA and nameB name the texts in the header.
func (c *Console) UnifiedDiff(nameA, nameB, a, b string) error {
	hunks := textdiff.Unified(a, b, textdiff.IndentHeuristic())
	if hunks == "" {
		return nil
	}
	s := c.Styler()
	for l := range strings.Lines("--- " + nameA + "\n+++ " + nameB + "\n" + hunks) {
		l = strings.TrimSuffix(l, "\n")
		l, cr := strings.CutSuffix(l, "\r")
		l = strings.ReplaceAll(term.Clean(l), "\n", " ")
		switch {
		case strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "+++ "):
			l = s.Bold(l)
		case strings.HasPrefix(l, "@@"):
			l = s.Dim(l)
		case strings.HasPrefix(l, "-"):
			l = s.Red(l)
		case strings.HasPrefix(l, "+"):
			l = s.Green(l)
		}
		if cr {
			l += "\r"
		}
		if _, err := fmt.Fprintln(c.Out, l); err != nil {
			return err
		}
	}
	return nil
}
