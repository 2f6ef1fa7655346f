package forms

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Removal is what a line does to a block that the text has opened before it.
type Removal int

// The removals.
const (
	RemovesNothing Removal = iota // the switch refuses the line, or nothing is known of it
	RemovesUnused                 // removes the block, unless another line names it
	RemovesBlock
	EmptiesBlock // brings back the defaults of all its lines
)

// maxRemovals limits how often one text removes a block: each removal reads what came before it.
const maxRemovals = 64

// remove takes the block out of the configuration that a line in block f removes, if it removes
// one; f is nil for the top level.
func (p *parser) remove(f *frame, l *lines.Line) {
	text, negated := CutNegation(l.Text)
	if !negated || p.Removes == nil || len(p.cfg.Removed) == maxRemovals {
		return
	}
	above, section, from := (*lines.Line)(nil), "", &p.cfg.Lines
	if f != nil {
		above, section, from = f.line, f.line.Text, &f.line.Sub
	}
	id, _, ok := p.Opens(section, text)
	b := p.blocks[blockKey{above, id}]
	if !ok || b == nil {
		return
	}
	verb, _, _ := strings.Cut(l.Text, " ")
	switch p.Removes(section, verb, text, b.line.Text) {
	case RemovesNothing:
		return
	case RemovesUnused:
		if p.names(text[strings.LastIndexByte(text, ' ')+1:]) {
			return
		}
	case EmptiesBlock:
		if slices.ContainsFunc(p.cfg.Lines, func(l *lines.Line) bool { return p.Several(l.Text) }) {
			return // a range may hold other lines of the same port
		}
		p.cfg.Removed = append(p.cfg.Removed, lines.Removed{In: b.line, Lines: b.line.Sub, By: l})
		p.forget(b.line)
		b.line.Sub, b.last = nil, nil
		return
	}
	p.cfg.Removed = append(p.cfg.Removed, lines.Removed{In: above, Lines: []*lines.Line{b.line}, By: l})
	if i := slices.Index(*from, b.line); i >= 0 {
		*from = slices.Delete(*from, i, i+1)
	}
	p.forget(b.line)
	delete(p.blocks, blockKey{above, id})
	if f != nil {
		p.close(f, b.line)
	}
}

// close leaves the blocks that are open in block f, of which the text has removed one.
func (p *parser) close(f *frame, removed *lines.Line) {
	if f.last == removed {
		f.last = nil
	}
	if i := slices.Index(p.open, f); i >= 0 {
		p.open = p.open[:i+1]
	}
}

// forget removes the blocks below a line, so that the text opens them anew.
func (p *parser) forget(above *lines.Line) {
	for k := range p.blocks {
		if k.above == above {
			delete(p.blocks, k)
		}
	}
}

// names reports whether a line in a block names an object, and no later line removes that line.
func (p *parser) names(name string) bool {
	return slices.ContainsFunc(p.cfg.Lines, func(block *lines.Line) bool { return nameIn(block.Sub, name) })
}

func nameIn(ls []*lines.Line, name string) bool {
	removed := map[string]bool{}
	for _, l := range slices.Backward(ls) {
		text, negated := CutNegation(l.Text)
		switch {
		case negated:
			removed[text] = true
		case !removed[text] && slices.Contains(strings.Fields(text), name), nameIn(l.Sub, name):
			return true
		}
	}
	return false
}
