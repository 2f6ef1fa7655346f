package lines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Check returns an error unless the tool could have made each setting of an edit
// ([Grammar.Known]), and unless its interface, if it has one, is managed. It guards against
// edits that were read from a file and may hold anything. If managed is nil, every interface is.
func (g *Grammar) Check(e Edit, managed func(port string) bool) error {
	for i, s := range e {
		port, ok := g.Known(s)
		if !ok || s.At < 0 {
			return fmt.Errorf("setting %d is not one that this tool writes: %s", i+1, s)
		}
		if port != "" && managed != nil && !managed(port) {
			return fmt.Errorf("setting %d: interface %s is not in the intent: key %q, line %q", i+1, port, s.Key, s.Line)
		}
	}
	return nil
}

// String returns a setting as text for people: key "mtu", line "mtu 9100", section ....
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

// CheckUndo returns an error unless each setting of undo is at a place of the edit, as in the
// result of [Edit.Undo].
func (e Edit) CheckUndo(undo Edit) error {
	at := map[Setting]bool{} // with Line: a section or block that is removed as a whole
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

// Plain reports whether a text holds only printable ASCII that is safe in a command: no line
// end, command separator, help request, quote or redirection.
func Plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(";|<>?!\"'`\\$", r)
	})
}

// Loss describes the lines that ports lose when a block no longer applies to them: lines that
// the model does not represent. The block itself keeps the lines.
type Loss struct {
	Block string   // header of the block
	Ports []string // in natural order; empty if the block applied to the whole device
	Lines []string // in the order of the text
}

// Move names the block that applied to ports and the block that replaces it.
type Move struct{ From, To string }

// Losses returns what ports lose by each move, in natural order. before and after return the
// lines of a block that the model does not represent. A line that is also in the new block is
// not lost.
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
