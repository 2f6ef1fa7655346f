// Package forms reads the lines of systems that are configured by command lines.
//
// A system describes each kind of line once, in a [Table] of forms. The parser puts each line into
// the block whose mode has a form for it. A [Ledger] holds what the readers of a system claim of
// each line, and derives the account of a configuration by walking its text, so that a line that
// no reader claims is reported and not lost. The package contains nothing specific to a system.
package forms

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	// Key is the first words of the line. Lines with the same key set the same thing. If it is a
	// pattern with placeholders, such as "priority <0-7>", each of their values is a key of its own.
	Key string
	// Args is the pattern of the text after the key: [Nothing] for no text, "" for any. A line whose
	// key matches and whose arguments do not is not understood. A line that begins with "no" states
	// the key alone, or with arguments that a pattern describes: what the switch takes as any text is
	// not known.
	Args string
	// No is set if the line begins with "no" and still sets something.
	No bool
	// Many is set if several such lines may stand in one block, each a setting of its own.
	Many bool
	// Unset is the command that removes the line, in which $line stands for the line; "" means "no"
	// and the line itself or, in a strict table, its key. Absent is the line that means the same as
	// no line. In a strict table, the first form of a key gives both.
	Unset, Absent string
	// Other is set for a line of another feature, which the table holds only for its block and its
	// place in the printed order.
	Other bool
	// Why is the reason why the model cannot represent the line; "" if it can.
	Why string
	// Open is set if the handling of traffic may depend on a line that the model cannot represent.
	Open bool
	// Kinds lists the attributes that the line may change, and Attrs those of a port that it sets if
	// it has any effect.
	Kinds []qos.Kind
	Attrs []qos.Attr
	// Written is set if the tool writes such lines.
	Written bool

	compiled
}

// Nothing is the pattern of a line without arguments.
const Nothing = "[]"

// compiled holds what a table has read from the patterns of a form.
type compiled struct {
	index int
	first *Form   // first form of the same key
	key   []token // nil if the key is plain words
	line  []token // key and arguments; only the arguments if the key is plain words
	list  bool    // the first value is a list, and each entry has a key of its own
	one   []token // the key, with a single entry in place of a list
	// unset is what removes the line after "no" or "default": the key, or the text of Unset; "" if
	// only the line itself does.
	unset string
}

// Index returns the position of the form in its table.
func (f *Form) Index() int { return f.index }

// Rank returns the position in its table of the first form with the same key.
func (f *Form) Rank() int { return f.first.index }

// First returns the first form with the same key.
func (f *Form) First() *Form { return f.first }

// List reports whether the key ends in a list. Each entry of the list is then a key of its own.
func (f *Form) List() bool { return f.list }

// Values returns the number of values of a line.
func (f *Form) Values() int { return count(f.line) }

// Write returns the line with the given values, "" for those of a part that is missing.
func (f *Form) Write(values ...string) string {
	var words []string
	if f.No {
		words = append(words, "no")
	}
	if f.key == nil {
		words = append(words, f.Key)
	}
	words, _ = write(f.line, values, words)
	return strings.Join(words, " ")
}

// Read returns the values of a line; ok is false if the form does not describe the line.
func (f *Form) Read(line string) (values []string, ok bool) {
	text, no := strings.CutPrefix(line, "no ")
	if no != f.No {
		return nil, false
	}
	found, ok := f.read(text)
	return found.Values, ok && found.fits
}

// read matches a line without "no". ok is false if the key does not match.
func (f *Form) read(text string) (found Found, ok bool) {
	found = Found{Form: f}
	if f.key == nil {
		if text, ok = CutWords(text, f.Key); !ok {
			return Found{}, false
		}
	}
	var room [8]string
	rest, values, ok := consume(f.line, text, room[:0])
	if ok && rest == "" {
		found.fits, found.Values = true, append(found.Values, values...)
	}
	return found, found.fits || f.key == nil
}

// Found is a line that a form describes.
type Found struct {
	*Form
	Text string
	// Negated is set if the line begins with "no" or "default" and removes what the form describes.
	Negated bool
	fits    bool
	// Values holds the values of the words that can have several: those of the key first, and ""
	// for missing ones.
	Values []string
}

// Rest returns the text after a key of plain words; "" if the key has placeholders.
func (f Found) Rest() string {
	text, _ := CutNegation(f.Text)
	rest, _ := CutWords(text, f.Key)
	return rest
}

// Fits reports whether the arguments of the line are understood.
func (f Found) Fits() bool { return f.fits }

// Sets returns what the line sets or removes: its key, or the whole line if several may stand in a
// block.
func (f Found) Sets() string {
	switch {
	case f.Many && f.Negated:
		text, _ := CutNegation(f.Text)
		return text
	case f.Many:
		return f.Text
	case f.key == nil:
		return f.Key
	}
	return f.KeyOf("")
}

// Word returns value i of the line, from 0; "" if it is missing.
func (f Found) Word(i int) string {
	if i >= len(f.Values) {
		return ""
	}
	return f.Values[i]
}

// KeyOf returns the key of the line; entry is the entry of a list.
func (f Found) KeyOf(entry string) string {
	if f.key == nil {
		return f.Key
	}
	values := f.Values
	if f.list {
		values = []string{entry}
	}
	words, _ := write(f.key, values, make([]string, 0, len(f.key)))
	return strings.Join(words, " ")
}

// Entries returns the entries of the list in the line; nil if it has none.
func (f Found) Entries() []int {
	if !f.list {
		return nil
	}
	ids, _ := f.listToken().list(f.Values[0])
	return ids
}

func (f *Form) listToken() *token {
	return &f.key[slices.IndexFunc(f.key, func(t token) bool { return t.kind == tokList })]
}

// Entry returns the line for a single entry of its list: "qos map dscp 26 to ...".
func (f Found) Entry(id string) string {
	return strings.Replace(f.Text, " "+f.Values[0]+" ", " "+id+" ", 1)
}

// Usual reports whether the line means the same as no line.
func (f Found) Usual() bool {
	return f.Negated || f.Text != "" && (f.Text == f.Absent || f.Text == f.first.Absent)
}

// Table finds the form of a line.
type Table struct {
	// Plain returns a line in the words that the forms describe: with single spaces, without a
	// sequence number. nil if lines are in these words already.
	Plain func(at Mode, line string) string

	// Strict is set if the system refuses a line whose arguments do not match, so that another line
	// stays in force. Such a line has no form, and a line with "no" only if it states a key or a
	// line of the table.
	Strict bool

	list []Form
	// modes holds the forms by mode and first word, in the order of the table.
	modes []map[string][]*Form
}

// Form returns the form at a position of the table.
func (t *Table) Form(index int) *Form { return &t.list[index] }

// NewTable returns a table of forms. Of two forms with keys that begin alike, the longer key must
// come first, unless the table is strict.
func NewTable(forms []Form) *Table {
	t := &Table{list: forms}
	firsts := map[string]*Form{}
	for i := range forms {
		f := &forms[i]
		f.compile(i)
		id := fmt.Sprint(f.In, f.Key)
		if firsts[id] == nil {
			firsts[id] = f
		}
		f.first = firsts[id]
		word, _, _ := strings.Cut(f.Key, " ")
		for _, at := range f.In {
			for len(t.modes) <= int(at) {
				t.modes = append(t.modes, map[string][]*Form{})
			}
			for w := range strings.SplitSeq(word, "|") {
				t.modes[at][w] = append(t.modes[at][w], f)
			}
		}
	}
	return t
}

func (f *Form) compile(index int) {
	f.compiled = compiled{index: index}
	args := f.Args
	switch args {
	case "":
		args = "*"
	case Nothing:
		args = ""
	}
	if strings.ContainsAny(f.Key, "<|") {
		f.key = compile(f.Key)
		args = f.Key + " " + args
		f.list = slices.ContainsFunc(f.key, func(t token) bool { return t.kind == tokList })
	}
	f.line, f.one = compile(args), compile(strings.ReplaceAll(f.Key, "<list:", "<0-"))
	verb, rest, _ := strings.Cut(f.Unset, " ")
	switch {
	case f.Unset == "":
		f.unset = f.Key
	case verb == "no" && rest != "$line" || verb == "default":
		f.unset = rest
	}
}

// forms returns the forms in a mode of lines that begin with a word.
func (t *Table) forms(at Mode, word string) []*Form {
	if int(at) >= len(t.modes) {
		return nil
	}
	return t.modes[at][word]
}

// Find returns the form of a line in a mode; ok is false if no key matches. Of forms with the same
// key, it is the first whose arguments match, else the first.
func (t *Table) Find(at Mode, line string) (found Found, ok bool) {
	if t.Plain != nil {
		line = t.Plain(at, line)
	}
	if t.Strict {
		return t.findStrict(at, line)
	}
	return t.find(at, line)
}

// match is the form of a line, which its node keeps.
type match struct {
	table *Table
	at    Mode
	ok    bool
	line  string
	found Found
	// again lists the numbers of the lines that open the same block again.
	again []int
}

// isOf reports whether m was found in this table, for this mode and the text that the line has.
func (m *match) isOf(t *Table, at Mode, l *lines.Line) bool {
	return m.table == t && m.at == at && m.line == l.Text
}

// Lookup returns the form of a line of a configuration in a mode, as [Table.Find] does. The parser
// has found it already for the mode of the line's block.
func (t *Table) Lookup(at Mode, l *lines.Line) (Found, bool) {
	if m, ok := l.Match.(*match); ok && m.isOf(t, at, l) {
		return m.found, m.ok
	}
	return t.Find(at, l.Text)
}

// Misfits reports whether the parser found that a line has the key of a form but not its arguments.
// A switch refuses such a line, and the one before it stays in force.
func Misfits(l *lines.Line) bool {
	m, ok := l.Match.(*match)
	return ok && m.line == l.Text && m.ok && !m.found.Fits()
}

// keep finds the form of a line in the mode of its block, unless the line has it already.
func (t *Table) keep(at Mode, l *lines.Line) {
	if m, ok := l.Match.(*match); ok && !m.isOf(t, at, l) {
		m.table, m.at, m.line = t, at, l.Text
		m.found, m.ok = t.Find(at, l.Text)
	}
}

func (t *Table) find(at Mode, line string) (found Found, ok bool) {
	text, negated := CutNegation(line)
	word, _, _ := strings.Cut(text, " ")
	for _, f := range t.forms(at, word) {
		if ok && f.Key != found.Key {
			continue
		}
		g, has := f.read(text)
		if !has {
			continue
		}
		g.Text, g.Negated = line, negated
		if negated {
			g.fits = g.negates()
		}
		if !ok || g.Fits() {
			found, ok = g, true
		}
		if found.Fits() {
			break
		}
	}
	return found, ok
}

// negated matches a line with "no" or "default", of which text is the rest.
func (f *Form) negated(line, text string) (g Found, ok bool) {
	g, ok = f.read(text)
	g.Text, g.Negated = line, true
	return g, ok && g.fits && g.negates()
}

// negates reports whether the switch takes the line after "no", as far as the form tells.
func (f Found) negates() bool {
	return f.Other || f.fits && f.Args != "" || f.key == nil && f.Rest() == ""
}

func (t *Table) findStrict(at Mode, line string) (Found, bool) {
	verb, text, _ := strings.Cut(line, " ")
	negated := verb == "no" || verb == "default"
	if !negated {
		verb, text = "", line
	}
	word, _, _ := strings.Cut(text, " ")
	candidates := t.forms(at, word)
	for _, f := range candidates {
		if f.No == (verb == "no") && verb != "default" {
			if g, ok := f.read(text); ok && g.fits {
				g.Text = line
				return g, true
			}
		}
	}
	if !negated {
		return Found{}, false
	}
	for _, f := range candidates {
		if f.first != f || f.Other || f.unset == "" {
			continue
		}
		if f.key == nil && text == f.unset {
			return Found{Form: f, Text: line, Negated: true, fits: true}, true
		}
		if f.key == nil || f.unset != f.Key {
			continue
		}
		if rest, values, ok := consume(f.one, text, nil); ok && rest == "" {
			return Found{Form: f, Text: line, Negated: true, Values: values, fits: true}, true
		}
	}
	for _, f := range candidates {
		if g, ok := f.negated(line, text); ok && !f.No {
			return g, true
		}
	}
	return Found{}, false
}

// Unset returns the command that removes what a key sets; held is the present line of the key. It
// is "" for a key that the table does not have.
func (t *Table) Unset(at Mode, key, held string) string {
	word, _, _ := strings.Cut(key, " ")
	for _, f := range t.forms(at, word) {
		if rest, _, ok := consume(f.one, key, nil); !ok || rest != "" || f.Other || f.first != f {
			continue
		}
		return strings.Replace(cmp.Or(f.Unset, "no "+key), "$line", held, 1)
	}
	return ""
}

// Last returns the last line of a block for each thing that its lines set, by [Found.Sets]. Lines
// whose arguments are not understood are left out: the switch refuses them.
func (t *Table) Last(at Mode, block *lines.Line) map[string]*lines.Line {
	out := make(map[string]*lines.Line, len(block.Sub))
	for _, l := range block.Sub {
		f, ok := t.Lookup(at, l)
		switch {
		case !ok, !f.Fits():
		case f.list:
			for _, id := range f.Entries() {
				out[f.KeyOf(strconv.Itoa(id))] = l
			}
		default:
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
		if f, ok := t.Lookup(at, l); ok && last[f.Sets()] == l && !f.Negated && f.Fits() {
			do(l, f)
		}
	}
}
