package forms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Layout tells a parser what it must know of a system to put the lines of a text into blocks.
type Layout struct {
	// Top is the mode of lines outside blocks.
	Top Mode
	// Opens tells which block a line opens in a section, as [lines.Grammar.Opens] does.
	Opens func(section, line string) (id string, at Mode, ok bool)
	// Table describes the lines of the system. Elsewhere describes further lines, which only show
	// in which block a line stands; in a mode other than Top, a line that Table has at Top is not
	// one of them.
	Table, Elsewhere func() *Table
	// Full writes out the words that people abbreviate when they type a line.
	Full func(line string) string
	// Raw returns a function that recognizes the last line of the free text that a line begins;
	// nil if it begins none.
	Raw func(line string) func(line string) bool
	// Keeps reports whether an unknown line, after which lines without indentation leave a block
	// with this mode, is the last line of the block and not one outside it.
	Keeps func(at Mode, line string) bool
	// Removes tells what a line with "no" or "default" does to a block in a section that the text has
	// opened before; text is the line without that word, and header the one that opened the block.
	Removes func(section, verb, text, header string) Removal
	// Several reports whether a header stands for several blocks, as that of a range of ports does.
	Several func(header string) bool
	// Inside reports whether a prompt with this mode belongs to a block: "config-if".
	Inside func(mode string) bool
	// Separator is a line that says nothing, and that the system prints between blocks; "" if it
	// prints none.
	Separator string
	// Ends is set if the system prints "end" as the last line.
	Ends bool
}

// Outermost is the command that a printed configuration uses to leave all blocks.
const Outermost = "configure terminal"

// Parse reads a configuration into c, which is empty: a running configuration, generated text,
// or a pasted session with prompts, with any indentation. It fails on text that cannot be
// configuration: NUL bytes, long lines, deep nesting. Time and memory are linear in the size of
// the text.
//
// Indentation proposes the block of a line, and the modes decide. A line that is not indented
// below an open block belongs to the innermost one that knows it; if lines were indented below
// that block, only if the block outside does not know the line. Blank lines and comments end no
// block. A line that nothing knows belongs to the block of its two neighbours, if they share
// one, or to the block before it, if that keeps it.
func (y *Layout) Parse(c *lines.Config, text []byte) error {
	p := parser{Layout: y, table: y.Table(), cfg: c, blocks: map[blockKey]*block{}}
	c.Whole = len(text) > 0 && text[len(text)-1] == '\n'
	if err := lines.Each(text, p.line); err != nil {
		return err
	}
	p.settle(p.outer)
	c.Whole = c.Whole && p.raw == nil && !p.paged
	return nil
}

// frame is a line that other lines may stand below.
type frame struct {
	*block
	own           block // the block, unless the frame opens it again
	indent, depth int
	at            Mode // mode of the lines below it
	// header is set if the line opens a block, indented if a line is indented below it, and flat if
	// the line is not indented below the header of its section.
	header, indented, flat bool
	// opened is set if the frame is or was among the open blocks.
	opened bool
}

// block is a line and the last block below it. All frames of a block share it.
type block struct {
	line, last *lines.Line
}

// blockKey identifies a block: the line it stands below, and its identity.
type blockKey struct {
	above *lines.Line
	id    string
}

type parser struct {
	*Layout
	table  *Table
	cfg    *lines.Config
	stack  []*frame // by indentation
	open   []*frame // open blocks, the outermost first
	blocks map[blockKey]*block
	// nodes holds lines that are allocated and not yet read, and spare a frame to use again.
	nodes []node
	spare *frame
	// waiting holds unknown lines that belong to block inner if the next line does, else to
	// block outer; nil is the top level.
	waiting      []*lines.Line
	inner, outer *frame
	// raw is the line whose free text is being read, and ends recognizes its last line.
	raw  *lines.Line
	ends func(line string) bool
	// paged is set if the text contains a pager prompt.
	paged bool
}

func (p *parser) line(s string, no int) error {
	if p.raw != nil {
		p.raw.Sub = append(p.raw.Sub, &lines.Line{Text: s, No: no})
		if p.ends(s) {
			p.raw = nil
		}
		return nil
	}
	text, indent := strings.TrimSpace(s), lines.Width(s)
	if text == "" || text == p.Separator {
		return nil
	}
	l := p.newLine(p.Full(text), no)
	p.paged = p.paged || strings.HasPrefix(l.Text, "--More--")
	if l.Text[0] == '!' {
		p.comment(l, indent)
		return nil
	}
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].indent >= indent {
		p.pop()
	}
	if n := len(p.stack); n > 0 {
		f := p.stack[n-1]
		f.indented = true
		return p.place(f, l, indent, false)
	}
	return p.flat(l, indent)
}

// node is a line and the form that it keeps.
type node struct {
	lines.Line
	match
}

// newLine returns a line. Lines are allocated many at a time.
func (p *parser) newLine(text string, no int) *lines.Line {
	if len(p.nodes) == 0 {
		p.nodes = make([]node, 32)
	}
	n := &p.nodes[0]
	p.nodes = p.nodes[1:]
	n.Text, n.No, n.Match = text, no, &n.match
	return &n.Line
}

// newFrame returns the frame of a line.
func (p *parser) newFrame(l *lines.Line, indent, depth int) *frame {
	f := p.spare
	if p.spare = nil; f == nil {
		f = &frame{}
	}
	*f = frame{own: block{line: l}, indent: indent, depth: depth}
	f.block = &f.own
	return f
}

// pop removes the innermost frame of the stack, which is used again unless it is an open block.
func (p *parser) pop() {
	n := len(p.stack) - 1
	if f := p.stack[n]; !f.opened {
		p.spare = f
	}
	p.stack = p.stack[:n]
}

// takes reports whether a mode knows a line.
func (y *Layout) takes(at Mode, l *lines.Line) bool {
	t := y.Table()
	if _, ok := t.Lookup(at, l); ok {
		return true
	}
	if _, ok := y.Elsewhere().Find(at, l.Text); !ok || at == y.Top {
		return ok
	}
	_, ok := t.Lookup(y.Top, l)
	return !ok
}

// takes reports whether a mode knows a line. The line keeps the form that it has there.
func (p *parser) takes(at Mode, l *lines.Line) bool {
	p.table.keep(at, l)
	return p.Layout.takes(at, l)
}

// comment adds a comment at the level of its indentation.
func (p *parser) comment(l *lines.Line, indent int) {
	var f *frame
	for _, over := range slices.Backward(p.stack) {
		if over.indent < indent {
			f = over
			break
		}
	}
	switch {
	case f == p.outer && len(p.waiting) > 0:
		p.waiting = append(p.waiting, l)
		return
	case f == nil || p.outer != nil && f.depth < p.outer.depth:
		p.settle(p.outer)
	}
	if f == nil {
		p.cfg.Lines = append(p.cfg.Lines, l)
	} else {
		f.line.Sub = append(f.line.Sub, l)
	}
}

// flat places a line that is not indented below another line.
func (p *parser) flat(l *lines.Line, indent int) error {
	mode, typed := "", false
	for m, rest, ok := lines.CutPrompt(l.Text); ok; m, rest, ok = lines.CutPrompt(l.Text) {
		mode, typed, l.Text = m, true, p.Full(rest)
		if m == "" || rest == "" {
			// A prompt alone, or a show command.
			p.cfg.Whole = p.cfg.Whole || rest == ""
			return nil
		}
	}
	inside := typed && p.Inside(mode)
	if typed && !inside || l.Text == "end" || l.Text == Outermost {
		p.settle(p.outer)
		p.open = nil
	}
	switch {
	case l.Text == "end" && p.Ends && !typed:
		return p.put(nil, l, indent)
	case l.Text == "end" || l.Text == Outermost || l.Text == p.Separator:
		return nil
	case l.Text[0] == '!':
		p.comment(l, indent)
		return nil
	}
	return p.place(nil, l, indent, inside)
}

// within returns the open blocks below a frame; nil is the top level.
func (p *parser) within(f *frame) []*frame {
	if f == nil {
		return p.open
	}
	return p.open[slices.Index(p.open, f)+1:]
}

// place puts a line into block f, which its indentation proposes, or into an open block below f.
// inside is set if a prompt shows that the line was typed in an open block.
func (p *parser) place(f *frame, l *lines.Line, indent int, inside bool) error {
	if f != p.outer {
		p.leave(f)
	}
	if l.Text == "exit" && (f == nil || f.header) {
		p.settle(p.inner)
		p.open = p.open[:max(0, len(p.open)-1)]
		return nil
	}
	if f != nil && !slices.Contains(p.open, f) {
		if !f.header || f.depth > 1 {
			return p.put(f, l, indent)
		}
		p.enter(nil, f)
	}
	open := p.within(f)
	if f != nil && len(open) == 0 {
		p.settle(p.outer)
		return p.put(p.around(f, l), l, indent)
	}
	if f == nil && p.isTop(l) {
		open = nil
	}
	into, known := p.taker(open, l, false), true
	if into == nil {
		if into = f; !p.takesIn(f, l) {
			into = p.taker(open, l, true)
			known = into != nil
		}
	}
	inner := flatIn(open)
	switch {
	case known && slices.Contains(open, into):
		p.settle(p.inner)
	case known || inner == nil || p.Raw(l.Text) != nil:
		p.settle(p.outer)
		if into = f; f == nil && known {
			p.open = nil
		}
	case inside:
		p.settle(inner)
		into = inner
	default:
		p.wait(f, inner, l, indent)
		return nil
	}
	return p.put(into, l, indent)
}

// around returns the innermost block around f that knows a line, if f does not and the text does
// not indent the header of f below its section; else f.
func (p *parser) around(f *frame, l *lines.Line) *frame {
	if !f.flat || p.takes(f.at, l) {
		return f
	}
	for _, o := range slices.Backward(p.open[:slices.Index(p.open, f)]) {
		if p.takes(o.at, l) {
			return o
		}
	}
	return f
}

// flatIn returns the innermost block that has no line indented below it; nil if there is none.
func flatIn(open []*frame) *frame {
	for _, f := range slices.Backward(open) {
		if !f.indented {
			return f
		}
	}
	return nil
}

// taker returns the innermost open block that knows a line; nil if there is none. It considers
// only blocks with lines indented below them, or only those without.
func (p *parser) taker(open []*frame, l *lines.Line, indented bool) *frame {
	for _, f := range slices.Backward(open) {
		if f.indented == indented && p.takes(f.at, l) {
			return f
		}
	}
	return nil
}

// takesIn reports whether a block knows a line; nil is the top level.
func (p *parser) takesIn(f *frame, l *lines.Line) bool {
	if f != nil {
		return p.takes(f.at, l)
	}
	return p.isTop(l) || p.takes(p.Top, l)
}

// isTop reports whether a line opens a block of the top level, or removes one.
func (p *parser) isTop(l *lines.Line) bool {
	text, negated := CutNegation(l.Text)
	id, _, header := p.Opens("", text)
	return header && (!negated || p.blocks[blockKey{nil, id}] != nil)
}

// wait keeps an unknown line until the next line shows its block.
func (p *parser) wait(f, inner *frame, l *lines.Line, indent int) {
	depth := 1
	if f != nil {
		depth = f.depth + 1
	}
	p.waiting, p.inner, p.outer = append(p.waiting, l), inner, f
	p.stack = append(p.stack, p.newFrame(l, indent, depth))
}

// settle adds the waiting lines to a block; nil is the top level. Lines that the inner block keeps
// stay in it.
func (p *parser) settle(f *frame) {
	keeps := f == nil
	for _, l := range p.waiting {
		into := f
		if keeps = keeps && p.inner != nil && l.Text[0] != '!' && p.Keeps(p.inner.at, l.Text); keeps {
			into = p.inner
		}
		if into == nil {
			p.cfg.Lines = append(p.cfg.Lines, l)
		} else {
			b := p.home(into, l).line
			b.Sub = append(b.Sub, l)
		}
	}
	p.waiting, p.inner, p.outer = nil, nil, nil
}

// leave adds the waiting lines to the outer block, before a line below frame f is placed. If f is
// one of them, it is a block of its own, and no block before it takes further lines.
func (p *parser) leave(f *frame) {
	if o := p.outer; o != nil && f != nil && slices.Contains(p.waiting, f.line) {
		p.open = p.open[:slices.Index(p.open, o)+1]
	}
	p.settle(p.outer)
}

// home returns the last block in f if that knows a line and f does not; else f.
func (p *parser) home(f *frame, l *lines.Line) *frame {
	if f.last == nil || p.takes(f.at, l) {
		return f
	}
	if _, at, _ := p.Opens(f.line.Text, f.last.Text); !p.takes(at, l) {
		return f
	}
	return p.reopened(f)
}

// reopened returns the frame of the last block in f, which the text left before.
func (p *parser) reopened(f *frame) *frame {
	_, at, _ := p.Opens(f.line.Text, f.last.Text)
	o := p.newFrame(f.last, f.indent, f.depth+1)
	o.at, o.header, o.indented = at, true, len(f.last.Sub) > 0
	return o
}

// put adds a line to a block; nil is the top level. A header that the block already has opens
// the existing block again.
func (p *parser) put(f *frame, l *lines.Line, indent int) error {
	own := p.newFrame(l, indent, 1)
	at := p.Top
	if f != nil {
		own.flat = !slices.Contains(p.stack, f)
		f = p.home(f, l)
		at = f.at
	}
	above, section, into := (*lines.Line)(nil), "", &p.cfg.Lines
	if f != nil {
		own.depth, above, section, into = f.depth+1, f.line, f.line.Text, &f.line.Sub
	}
	if own.depth > lines.MaxDepth {
		return fmt.Errorf("more than %d levels", lines.MaxDepth)
	}
	p.remove(f, l)
	id, opened, header := p.Opens(section, l.Text)
	header = header && own.depth <= 2
	var same *block
	if header {
		same = p.blocks[blockKey{above, id}]
	}
	if same != nil {
		own.block = same
		if m, ok := same.line.Match.(*match); ok {
			m.again = append(m.again, l.No)
		}
	} else {
		*into = append(*into, l)
		if header && f != nil {
			f.last = l
		}
	}
	if f == nil || f.header {
		p.table.keep(at, l)
	}
	if ends := p.Raw(l.Text); ends != nil {
		p.raw, p.ends = own.line, ends
		return nil
	}
	p.stack = append(p.stack, own)
	if header {
		own.at, own.header, p.blocks[blockKey{above, id}] = opened, true, own.block
		p.enter(f, own)
	}
	return nil
}

// enter opens a block in block f; nil is the top level. The last block in it is open as well, if
// the text opens it again.
func (p *parser) enter(f, own *frame) {
	switch {
	case f == nil:
		p.open = append(p.open[:0], own)
	case slices.Contains(p.open, f):
		p.open = append(p.open[:slices.Index(p.open, f)+1], own)
	default:
		f.opened = true
		p.open = append(p.open[:0], f, own)
	}
	own.opened = true
	if own.last != nil {
		p.open = append(p.open, p.reopened(own))
	}
}
