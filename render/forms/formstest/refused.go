package formstest

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Reader says how a system reads its configurations.
type Reader struct {
	Table *forms.Table
	// Opens tells which block a line opens in a section, as [forms.Layout.Opens] does.
	Opens func(section, line string) (id string, at forms.Mode, ok bool)
	// Read returns a configuration, the device that it describes and its account.
	Read func(text string) (*lines.Config, *qos.Device, []render.Line)
}

// spot is a line of a configuration that a form describes, and its row of the text.
type spot struct {
	forms.Found
	at   forms.Mode
	line *lines.Line
	row  string
}

// text returns the row with another line in place of its own.
func (s spot) text(line string) string { return s.row[:strings.Index(s.row, s.line.Text)] + line }

// lines returns the lines below the headers of a text that forms describe, without abbreviated ones
// and those of several interfaces.
func (r Reader) lines(c *lines.Config, rows []string) (out []spot) {
	var walk func(section string, at forms.Mode, block *lines.Line)
	walk = func(section string, at forms.Mode, block *lines.Line) {
		for _, l := range block.Sub {
			if _, in, ok := r.Opens(section, l.Text); ok {
				walk(block.Text, in, l)
				continue
			}
			f, ok := r.Table.Find(at, l.Text)
			if !ok || f.Other || f.Negated || !f.Fits() || l.No == 0 {
				continue
			}
			if row := rows[l.No-1]; strings.TrimSpace(strings.TrimRight(row, "\r")) == l.Text {
				out = append(out, spot{f, at, l, row})
			}
		}
	}
	for _, l := range c.Lines {
		if _, at, ok := r.Opens("", l.Text); ok {
			walk(l.Text, at, l)
		}
	}
	return out
}

// refused returns lines of the key of a form that the switch refuses.
func (r Reader) refused(s spot) (out []string) {
	if s.Args == "" || s.Many || s.List() {
		return nil
	}
	key := s.KeyOf("")
	for _, line := range []string{key + " refused-here", "no " + key + " refused-here", "default " + key + " refused-here"} {
		if f, ok := r.Table.Find(s.at, line); !ok || !f.Fits() {
			out = append(out, line)
		}
	}
	return out
}

// original is a configuration, and what is read from it.
type original struct {
	file   string
	rows   []string
	device *qos.Device
	fates  map[string]render.Fate
}

// with returns the text with a row inserted.
func (o original) with(i int, row string) string {
	return strings.Join(slices.Insert(slices.Clone(o.rows), i, row), "\n")
}

// spots returns the lines of configurations that forms describe.
func (r Reader) spots(configs map[string]string) iter.Seq2[original, spot] {
	return func(yield func(original, spot) bool) {
		for _, file := range natural.Keys(configs) {
			c, device, account := r.Read(configs[file])
			o := original{file, strings.Split(configs[file], "\n"), device, fates(account, "")}
			for _, s := range r.lines(c, o.rows) {
				if !yield(o, s) {
					return
				}
			}
		}
	}
}

// RefusedLinesHideNothing checks that a line which the switch refuses changes neither the device nor
// the account of the lines beside it, before and after a line of the same key, and that it is not
// understood. One of every share lines is tried.
func (r Reader) RefusedLinesHideNothing(t *testing.T, configs map[string]string, share int) (tried int) {
	n := 0
	for o, s := range r.spots(configs) {
		for _, refused := range r.refused(s) {
			if n++; n%share != 0 {
				continue
			}
			tried++
			for _, i := range []int{s.line.No - 1, s.line.No} {
				_, got, account := r.Read(o.with(i, s.text(refused)))
				place := fmt.Sprintf("%s, line %d (%s)", o.file, i+1, refused)
				for _, change := range qos.Diff(got, o.device) {
					t.Errorf("%s: %s is %s, was %s", place, change.Path(), change.Old, change.New)
				}
				hides(t, place, fates(account, refused), o.fates, refused, s.line.Text)
			}
		}
	}
	return tried
}

// hides reports what a refused line changes in an account.
func hides(t *testing.T, place string, got, want map[string]render.Fate, refused, beside string) {
	t.Helper()
	// In a block without effect, every line is without effect.
	if got[refused] != render.Unknown && (got[refused] != render.Inert || !withoutEffect(want, beside)) {
		t.Errorf("%s: the account has it as %q", place, got[refused])
	}
	for at, fate := range want {
		// What is concluded from a missing line is not, beside one that is not understood.
		if got[at] != fate && fate != render.Inert {
			t.Errorf("%s: %s is %q in the account, was %q", place, at, got[at], fate)
		}
	}
}

// withoutEffect reports whether a line is without effect at some place.
func withoutEffect(fates map[string]render.Fate, text string) bool {
	for at, fate := range fates {
		if fate == render.Inert && strings.HasSuffix(at, ": "+text) {
			return true
		}
	}
	return false
}

// fates returns the fate of each line of an account, by place and text; that of refused by its text
// alone.
func fates(account []render.Line, refused string) map[string]render.Fate {
	out := map[string]render.Fate{}
	for _, l := range account {
		if l.Text == refused {
			out[refused] = l.Fate
		} else {
			out[l.Where+": "+l.Text] = l.Fate
		}
	}
	return out
}

// NegationsUndoTheirLine checks that a line and its negation after it mean the same as the negation
// alone, or that the negation is not understood. One of every share lines is tried.
func (r Reader) NegationsUndoTheirLine(t *testing.T, configs map[string]string, share int) (tried int) {
	n := 0
	for o, s := range r.spots(configs) {
		if strings.HasPrefix(s.line.Text, "no ") {
			continue
		}
		if n++; n%share != 0 {
			continue
		}
		tried++
		i, negation := s.line.No-1, "no "+s.line.Text
		alone := slices.Clone(o.rows)
		alone[i] = s.text(negation)
		_, want, _ := r.Read(strings.Join(alone, "\n"))
		_, got, account := r.Read(o.with(i+1, s.text(negation)))
		if fates(account, negation)[negation] == render.Unknown {
			continue
		}
		for _, change := range qos.Diff(got, want) {
			t.Errorf("%s, line %d (%s): %s is %s, without the line before it %s", o.file, i+2, negation, change.Path(), change.Old, change.New)
		}
	}
	return tried
}
