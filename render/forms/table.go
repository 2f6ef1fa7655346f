// Package forms reads the lines of systems that are configured by command lines.
//
// A system describes each kind of line once, in a [Table] of forms. The parser puts each line into
// the block whose mode has a form for it. A [Ledger] holds what the readers of a system claim of
// each line, and derives the account of a configuration by walking its text, so that a line that
// no reader claims is reported and not lost. The package contains nothing specific to a system.
package forms

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Mode is the kind of block in which a line stands.
type Mode = lines.Place

// Form describes a kind of line.
type Form struct {
	// In lists the modes in which the line may stand.
	In []Mode
	// Key is the first words of the line. Lines with the same key set the same thing.
	Key string
	// Args reports whether the text after the key is understood; nil for any text. A line whose
	// key matches and whose arguments do not is in force, but not understood.
	Args func(text string) bool
	// Many is set if several such lines may stand in one block, each a setting of its own.
	Many bool
	// Unset is the command that removes the line; "" means "no" and the line itself.
	Unset string
	// Absent is the line that means the same as no line.
	Absent string
	// Why is the reason why the model cannot represent the line; "" if it can.
	Why string
	// Open is set if the handling of traffic may depend on a line that the model cannot represent.
	Open bool
	// Kinds lists the attributes that the line may change.
	Kinds []qos.Kind
}

// Found is a line that a form describes.
type Found struct {
	*Form
	Text string
	// Rest is the text after the key.
	Rest string
	// Negated is set if the line begins with "no".
	Negated bool
}

// Fits reports whether the arguments of the line are understood.
func (f Found) Fits() bool { return f.Negated || f.Args == nil || f.Args(f.Rest) }

// Sets returns what the line sets: its key, or the whole line if several may stand in a block.
func (f Found) Sets() string {
	if f.Many {
		return f.Text
	}
	return f.Key
}

// Usual reports whether the line means the same as no line.
func (f Found) Usual() bool { return f.Negated || f.Absent != "" && f.Text == f.Absent }

// Table finds the form of a line.
type Table struct {
	forms map[Mode]map[string][]*Form // by mode and first word, in the order of the table
}

// NewTable returns a table of forms. Of two forms with keys that begin alike, the longer key must
// come first.
func NewTable(forms []Form) *Table {
	t := &Table{forms: map[Mode]map[string][]*Form{}}
	for i := range forms {
		f := &forms[i]
		word, _, _ := strings.Cut(f.Key, " ")
		for _, at := range f.In {
			if t.forms[at] == nil {
				t.forms[at] = map[string][]*Form{}
			}
			t.forms[at][word] = append(t.forms[at][word], f)
		}
	}
	return t
}

// Find returns the form of a line in a mode; ok is false if no key matches. Of forms with the same
// key, it is the first whose arguments match, else the first.
func (t *Table) Find(at Mode, line string) (found Found, ok bool) {
	text, negated := strings.CutPrefix(line, "no ")
	word, _, _ := strings.Cut(text, " ")
	for _, f := range t.forms[at][word] {
		rest, has := CutWords(text, f.Key)
		if !has || ok && f.Key != found.Key {
			continue
		}
		g := Found{Form: f, Text: line, Rest: rest, Negated: negated}
		if !ok || g.Fits() {
			found, ok = g, true
		}
		if found.Fits() {
			break
		}
	}
	return found, ok
}

// Last returns the last line of a block for each thing that its lines set, by [Found.Sets].
func (t *Table) Last(at Mode, block *lines.Line) map[string]*lines.Line {
	out := make(map[string]*lines.Line, len(block.Sub))
	for _, l := range block.Sub {
		if f, ok := t.Find(at, l.Text); ok {
			out[f.Sets()] = l
		}
	}
	return out
}

// InForce calls do with the lines of a block that are in force and whose arguments are understood:
// the last of each key, none negated.
func (t *Table) InForce(at Mode, block *lines.Line, do func(*lines.Line, Found)) {
	if block == nil {
		return
	}
	last := t.Last(at, block)
	for _, l := range block.Sub {
		if f, ok := t.Find(at, l.Text); ok && last[f.Sets()] == l && !f.Negated && f.Fits() {
			do(l, f)
		}
	}
}

// CutWords removes leading words from a line.
func CutWords(text, words string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, words)
	if !ok || rest != "" && rest[0] != ' ' {
		return "", false
	}
	return strings.TrimLeft(rest, " "), true
}

// Word returns a function that takes one of the words.
func Word(words ...string) func(string) bool {
	return func(text string) bool { return slices.Contains(words, text) }
}

// Number returns a function that takes a number of at most max.
func Number(max int) func(string) bool {
	return func(text string) bool {
		_, ok := lines.Number(text, max)
		return ok
	}
}

// Nothing takes no arguments.
func Nothing(text string) bool { return text == "" }
