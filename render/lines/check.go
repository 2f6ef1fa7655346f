package lines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Check returns an error unless each setting of an edit is one that the system makes
// ([Grammar.Known]), of an interface that is managed or of none. An edit that was read
// from a file may hold anything. A nil managed takes every interface.
func (g *Grammar) Check(e Edit, managed func(port string) bool) error {
	for i, s := range e {
		port, ok := g.Known(s)
		if !ok || s.At < 0 {
			return fmt.Errorf("setting %d: this tool never writes it: %s", i+1, s)
		}
		if port != "" && managed != nil && !managed(port) {
			return fmt.Errorf("setting %d: interface %s is not in the intent: key %q, line %q", i+1, port, s.Key, s.Line)
		}
	}
	return nil
}

// String says a setting to a person: key "mtu", line "mtu 9100", section ....
func (s Setting) String() string {
	text := fmt.Sprintf("key %q, line %q", s.Key, s.Line)
	if s.Section != "" {
		text += fmt.Sprintf(", section %q", s.Section)
	}
	if s.Block != "" {
		text += fmt.Sprintf(", block %q", s.Block)
	}
	return text
}

// CheckUndo returns an error unless undo is at the places of the edit, as [Edit.Undo]
// makes it.
func (e Edit) CheckUndo(undo Edit) error {
	at := map[Setting]bool{} // with Line: a section or block that goes as a whole
	for _, s := range e {
		at[s.spot()] = true
		if s.Section != "" {
			at[Setting{Section: s.Section}] = true
			at[Setting{Section: s.Section, Block: s.Block}] = true
		}
		if s.Key == "" && s.Line == "" {
			at[Setting{Section: s.Section, Block: s.Block, Line: "gone"}] = true
		}
	}
	for i, s := range undo {
		whole := func(block string) bool { return at[Setting{Section: s.Section, Block: block, Line: "gone"}] }
		if !at[s.spot()] && !whole(s.Block) && !whole("") {
			return fmt.Errorf("setting %d: the run wrote nothing there: %s", i+1, s)
		}
	}
	return nil
}

// Plain reports whether a text is made of what commands are made of: one line
// that ends and begins no command, asks for no help and redirects nothing.
func Plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(";|<>?!\"'`\\$", r)
	})
}

// Loss is what ports lose with a block that is in force on them no longer: the
// lines in it that the model does not hold. The block itself keeps them.
type Loss struct {
	Block string   // its header
	Ports []string // in natural order; none where the whole device had it
	Lines []string // in the order of the text
}

// Move is the block that ports had in force, and the one that they get.
type Move struct{ From, To string }

// Losses returns what ports lose, by their move, in natural order; before and
// after are the lines of a block that the model does not hold. A line that is
// also in the new block is not lost.
func Losses(moves map[Move][]string, before, after func(block string) []string) []Loss {
	var out []Loss
	for m, ports := range moves {
		if m.From == m.To {
			continue
		}
		kept := after(m.To)
		lines := slices.DeleteFunc(before(m.From), func(l string) bool { return slices.Contains(kept, l) })
		if len(lines) > 0 {
			out = append(out, Loss{m.From, natural.Sorted(ports), lines})
		}
	}
	ordered.Sort(out, func(a, b Loss) int {
		return cmp.Or(natural.Compare(a.Block, b.Block), slices.CompareFunc(a.Ports, b.Ports, natural.Compare))
	})
	return out
}
