package forms

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Leave returns the lines of the top level that a printed configuration must precede with
// [Outermost]: without it, they would be read as lines of the block before them.
func (y *Layout) Leave(top []*lines.Line) map[*lines.Line]bool {
	var out map[*lines.Line]bool
	var open []printed
	for _, l := range top {
		if _, at, header := y.Opens("", l.Text); header {
			open = y.blocks(l, at)
			continue
		}
		known := y.takes(y.Top, l)
		if slices.ContainsFunc(open, func(b printed) bool {
			return (b.empty || !known) && y.takes(b.at, l) || b.empty && !known && y.Keeps(b.at, l.Text)
		}) {
			if out == nil {
				out = map[*lines.Line]bool{}
			}
			out[l], open = true, nil
		}
		if known {
			open = nil
		}
	}
	return out
}

// printed is a printed block, which may take the lines after it.
type printed struct {
	at    Mode
	empty bool
}

// blocks returns a block and the last block in it.
func (y *Layout) blocks(l *lines.Line, at Mode) []printed {
	out := []printed{{at, flat(l)}}
	for _, s := range slices.Backward(l.Sub) {
		if _, in, ok := y.Opens(l.Text, s.Text); ok {
			return append(out, printed{in, flat(s)})
		}
	}
	return out
}

// flat reports whether a block has no lines but comments, which leave it open.
func flat(l *lines.Line) bool {
	return !slices.ContainsFunc(l.Sub, func(s *lines.Line) bool { return s.Text != "" && s.Text[0] != '!' })
}
