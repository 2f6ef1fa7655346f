package forms

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Claim is the fate of a line and the reason for it.
type Claim struct {
	Fate render.Fate
	Why  string
	// Check is the ID of the check that the line fails whatever the intent says; "" for none.
	Check string
	// Ports lists the ports on which the line sets the attributes Attrs, and Keys the map entries
	// that it sets; nil for all of them.
	Ports []string
	Attrs []qos.Attr
	Keys  []int
}

// Failing returns the claim of a line that fails a check whatever the intent says.
func (c Claim) Failing(check string) Claim {
	c.Check = check
	return c
}

// Inert returns the claim of a line that does nothing.
func Inert(format string, args ...any) Claim {
	return Claim{Fate: render.Inert, Why: fmt.Sprintf(format, args...)}
}

// Default returns the claim of a line that states the default.
func Default(format string, args ...any) Claim {
	return Claim{Fate: render.Default, Why: fmt.Sprintf(format, args...)}
}

// Left returns the claim of a line that is left alone.
func Left(format string, args ...any) Claim {
	return Claim{Fate: render.Left, Why: fmt.Sprintf(format, args...)}
}

// Unknown returns the claim of a line that is not understood.
func Unknown(format string, args ...any) Claim {
	return Claim{Fate: render.Unknown, Why: fmt.Sprintf(format, args...)}
}

// Sets returns the claim of a line that sets attributes of ports.
func Sets(ports []string, attrs ...qos.Attr) Claim {
	return Claim{Fate: render.Represented, Ports: ports, Attrs: attrs}
}

// Ledger holds what the readers of a configuration claim of its lines.
type Ledger struct {
	Table *Table
	// Top is the mode of lines outside blocks, and Opens tells which block a line opens.
	Top   Mode
	Opens func(section, line string) (id string, at Mode, ok bool)
	// Several reports whether a header stands for several blocks, as that of a range of ports does.
	Several func(header string) bool
	// Comment reports whether a line says nothing to the switch.
	Comment func(line string) bool
	// Join stands between the headers of two blocks in the place of a line.
	Join string
	// Listed reports whether an account lists a line that nothing claims. block is the header of
	// its section, and nil at the top level.
	Listed func(block, line *lines.Line) bool

	claims, whole map[*lines.Line]Claim
	doubts        map[*lines.Line]string
}

// Say claims a line. Of several claims, the last counts.
func (l *Ledger) Say(line *lines.Line, c Claim) {
	if l.claims == nil {
		l.claims = map[*lines.Line]Claim{}
	}
	l.claims[line] = c
}

// Claimed returns the claim of a line; ok is false if it has none.
func (l *Ledger) Claimed(line *lines.Line) (c Claim, ok bool) {
	c, ok = l.claims[line]
	return c, ok
}

// Whole claims a line and all lines below it that nothing else claims.
func (l *Ledger) Whole(block *lines.Line, c Claim) {
	if l.whole == nil {
		l.whole = map[*lines.Line]Claim{}
	}
	l.whole[block] = c
}

// NotUnderstood gives the reason why a line is not understood. It replaces any claim, except that
// the line does nothing.
func (l *Ledger) NotUnderstood(line *lines.Line, why string) {
	if l.doubts == nil {
		l.doubts = map[*lines.Line]string{}
	}
	l.doubts[line] = why
}

// Doubt returns the first line below a block that is not understood: one with a reason in why, or
// one that no form describes and for which counts holds; nil if there is none. Nobody knows what
// such a line does, so nothing may be concluded from the lines that the block does not have.
func (l *Ledger) Doubt(why map[*lines.Line]string, counts func(*lines.Line) bool, blocks ...*lines.Line) *lines.Line {
	for _, b := range blocks {
		if b == nil {
			continue
		}
		section := ""
		_, at, ok := l.Opens("", b.Text)
		if ok {
			section = b.Text
		}
		if d := l.doubt(why, counts, b, section, at); d != nil {
			return d
		}
	}
	return nil
}

func (l *Ledger) doubt(why map[*lines.Line]string, counts func(*lines.Line) bool, b *lines.Line, section string, at Mode) *lines.Line {
	for _, line := range b.Sub {
		if line.Text == "" || l.Comment(line.Text) {
			continue
		}
		if f, known := l.Table.Lookup(at, line); why[line] != "" || (!known || !f.Fits()) && counts(line) {
			return line
		}
		if len(line.Sub) == 0 {
			continue
		}
		_, inner, ok := l.Opens(section, line.Text)
		if !ok {
			inner = none
		}
		if d := l.doubt(why, counts, line, section, inner); d != nil {
			return d
		}
	}
	return nil
}

// Undecided returns the claim of a line whose effect depends on a line that is not understood.
func Undecided(d *lines.Line) Claim {
	return Left("what it does depends on a line that is not understood: %s", d.Text)
}

// NotKnown is the reason for a line that no form describes.
const NotKnown = "this tool does not know the line and leaves it"

// Account returns the account of a configuration, in the order of the text. A line without a claim
// gets the claim of its block. Without that, it is inert if a later line of the block overrides it,
// the default if it states the default, and else not understood.
func (l *Ledger) Account(c *lines.Config) []render.Line {
	w := walk{Ledger: l, seen: map[*lines.Line]bool{}, opened: map[Mode]bool{}, ranges: map[Mode]bool{}}
	for _, r := range c.Removed {
		l.Say(r.By, Default("it removes lines of this text"))
		w.removing = append(w.removing, r.By)
	}
	w.block(&lines.Line{Sub: c.Lines}, nil, l.Top, "", nil)
	for _, r := range c.Removed {
		w.removed(r)
	}
	// A block that the text opens twice has lines from both places.
	ordered.Sort(w.out, func(a, b render.Line) int { return cmp.Compare(a.No, b.No) })
	return w.out
}

// removed accounts for lines that a later line of the text removes.
func (w *walk) removed(r lines.Removed) {
	b, at, where := &lines.Line{Sub: r.Lines}, w.Top, ""
	if r.In != nil {
		_, at, _ = w.Opens("", r.In.Text)
		b.Text, where = r.In.Text, r.In.Text
	}
	gone := Inert("a later line removes it: line %d", r.By.No)
	w.block(b, r.In, at, where, &gone)
}

type walk struct {
	*Ledger
	out []render.Line
	// seen holds the first line of each block, as blocks may share their lines.
	seen map[*lines.Line]bool
	// removing lists the lines that remove others.
	removing []*lines.Line
	// opened holds the modes of blocks of the top level that the text has opened, and ranges those of
	// blocks that stand for several.
	opened, ranges map[Mode]bool
}

// block accounts for the lines of a block in a mode. section is the header of the outermost block
// that holds it; nil at the top level. where is its place for people, and inherited the claim of the
// block.
func (w *walk) block(b, section *lines.Line, at Mode, where string, inherited *Claim) {
	var last map[string]*lines.Line
	if len(b.Sub) == 0 || w.seen[b.Sub[0]] {
		return
	}
	w.seen[b.Sub[0]] = true
	header := ""
	if section != nil {
		header = b.Text
	}
	var opened map[string]bool
	for _, line := range b.Sub {
		if line.Text == "" || w.Comment(line.Text) {
			continue
		}
		own := inherited
		if c, ok := w.whole[line]; ok {
			own = &c
		}
		derived := func() Claim {
			if last == nil {
				last = w.Table.Last(at, b)
			}
			return w.derived(at, line, last)
		}
		if w.removes(header, line.Text, opened) && !slices.Contains(w.removing, line) {
			w.add(line, where, Unknown("it is not known whether the line removes a block of this text, which is read as if it were there"))
		} else if c, ok := w.claim(line, section, own, derived); ok {
			w.add(line, where, c)
		}
		if len(line.Sub) == 0 {
			continue
		}
		id, inner, ok := w.Opens(header, line.Text)
		if !ok {
			inner = none
		} else if opened == nil {
			opened = map[string]bool{id: true}
		} else {
			opened[id] = true
		}
		if section == nil && ok {
			w.opened[inner] = true
			w.ranges[inner] = w.ranges[inner] || w.Several(line.Text)
		}
		below := line.Text
		if section != nil {
			below = where + w.Join + line.Text
		}
		under := section
		if under == nil {
			under = line
		}
		w.block(line, under, inner, below, own)
	}
}

// claim returns the claim of a line: its own, that of its block, or what derived derives.
func (w *walk) claim(line, section *lines.Line, own *Claim, derived func() Claim) (c Claim, claimed bool) {
	c, claimed = w.claims[line]
	switch {
	case claimed:
	case own != nil:
		c, claimed = *own, true
	case w.Listed(section, line):
		c, claimed = derived(), true
	}
	if why := w.doubts[line]; why != "" && (!claimed || c.Fate != render.Inert) {
		return Claim{Fate: render.Unknown, Why: why, Check: c.Check}, true
	}
	return c, claimed
}

// removes reports whether a line below a header removes a block that the text has opened before, or
// may do so as one of them stands for several.
func (w *walk) removes(header, text string, opened map[string]bool) bool {
	text, negated := CutNegation(text)
	if !negated {
		return false
	}
	id, at, ok := w.Opens(header, text)
	return ok && (opened[id] || header == "" && (w.ranges[at] || w.Several(text) && w.opened[at]))
}

// add adds a line to the account, and again for each line that opens the same block.
func (w *walk) add(line *lines.Line, where string, c Claim) {
	out := render.Line{No: line.No, Where: where, Text: line.Text, Fate: c.Fate, Why: c.Why, Check: c.Check, Ports: c.Ports, Attrs: c.Attrs, Keys: c.Keys}
	w.out = append(w.out, out)
	if m, ok := line.Match.(*match); ok {
		for _, out.No = range m.again {
			w.out = append(w.out, out)
		}
	}
}

// none is the mode of lines below a line that opens no block.
const none = ^Mode(0)

// derived returns the claim that follows from the form of a line and from the other lines of its
// block, of which last holds the last one for each key.
func (w *walk) derived(at Mode, line *lines.Line, last map[string]*lines.Line) Claim {
	f, ok := w.Table.Lookup(at, line)
	switch {
	case !ok, !f.Fits() && !f.Other:
		return Unknown(NotKnown)
	case f.Other:
		return Claim{Fate: render.Represented}
	}
	by := override(f, line, last)
	switch {
	case by != nil:
		return Inert("a later line overrides it: line %d", by.No)
	case f.Usual():
		return Default("it is so without the line")
	case f.Why != "":
		return Unknown("%s", f.Why)
	}
	return Unknown(NotKnown)
}

// override returns the later line that overrides a line; nil if the line is in force, for a list
// with any of its entries.
func override(f Found, line *lines.Line, last map[string]*lines.Line) (by *lines.Line) {
	if !f.list {
		if by = last[f.Sets()]; by == line {
			return nil
		}
		return by
	}
	for _, id := range f.Entries() {
		if by = last[f.KeyOf(strconv.Itoa(id))]; by == line {
			return nil
		}
	}
	return by
}
