package cli

import "strings"

// Place is the position of a block in its parent.
type Place struct {
	Key, Head string
	Rank      int
}

// At returns the place of a block whose key is its head.
func At(head string, rank int) Place { return Place{Key: head, Head: head, Rank: rank} }

// Frame is one step from the global mode into a sub-mode.
type Frame struct {
	Mode   string
	Places []Place // several for a range of interfaces
	Line   string  // the line that opened the sub-mode
	Prompt string
}

// Exec is a command being executed. Each system embeds it in its own type.
type Exec struct {
	Root   *Block
	Client *[]Frame // the client's current mode
	Stack  []Frame  // the mode that knows the command
	Verb   string   // "", "no" or "default"
}

// executor is a system's command type.
type executor interface {
	// Command returns the command and its line in canonical form.
	Command() (x *Exec, line string)
}

// Blocks returns the blocks that the command applies to: the block of its mode, or one per
// interface of a range.
func (x *Exec) Blocks() []*Block {
	in := []*Block{x.Root}
	for _, f := range x.Stack {
		var next []*Block
		for _, b := range in {
			for _, p := range f.Places {
				next = append(next, b.Open(p.Key, p.Head, f.Mode, p.Rank))
			}
		}
		in = next
	}
	return in
}

// Enter opens a sub-mode of the command's mode.
func (x *Exec) Enter(f Frame) {
	*x.Client = append((*x.Client)[:len(x.Stack):len(x.Stack)], f)
	x.Stack = *x.Client
	x.Blocks()
}

// Put sets a line in every block that the command applies to.
func (x *Exec) Put(key string, v Value) {
	for _, b := range x.Blocks() {
		b.Put(key, v)
	}
}

// Drop removes the value of a key.
func (x *Exec) Drop(key string) {
	for _, b := range x.Blocks() {
		delete(b.Vals, key)
	}
}

// ModeAt returns the mode at a depth of a stack; global is the mode at depth 0.
func ModeAt(stack []Frame, depth int, global string) string {
	if depth == 0 {
		return global
	}
	return stack[depth-1].Mode
}

// Find looks up a line in the current mode, then in its parents, starting at the word with index
// first. If negated is set, it looks up the "no" form. It returns the depth of the mode that knows
// the line.
func (g Grammar[X]) Find(stack []Frame, global string, w Words, first int, negated bool) (m *Match[X], depth int, worst Misfit) {
	worst = Misfit{At: -1}
	for depth := len(stack); depth >= 0; depth-- {
		t := g.Modes[ModeAt(stack, depth, global)]
		node := t.Set
		if negated {
			node = t.Neg
		}
		m, f := node.Parse(w, first)
		if m != nil {
			return m, depth, Misfit{}
		}
		if f.At > worst.At {
			worst = f
		}
	}
	return nil, 0, worst
}

// AddLines adds commands that are stored as text. A line replaces an earlier one with the same
// first keyWords words; with 0, all different lines are kept.
func AddLines[X executor](g Grammar[X], modes []string, rank, keyWords int, patterns ...string) {
	for _, p := range patterns {
		g.Set(modes, p, func(c X) string {
			x, line := c.Command()
			x.Put(firstWords(line, keyWords), Value{Line: line, Plain: line, Rank: rank})
			return ""
		})
		fixed, _, _ := strings.Cut(p, "<")
		fixed, _, _ = strings.Cut(fixed, "[")
		fixed = strings.TrimSpace(fixed)
		tail := " [<rest=text>]"
		switch {
		case fixed == p:
			tail = ""
		case keyWords == 0: // "no ip route" alone would remove all routes
			tail = " <rest=text>"
		}
		g.Neg(modes, strings.TrimSpace(fixed+tail), removeLines)
	}
}

// removeLines removes the lines and blocks that begin with the command's words.
func removeLines[X executor](c X) string {
	x, line := c.Command()
	for _, b := range x.Blocks() {
		b.RemoveLines(line)
	}
	return ""
}

func firstWords(line string, n int) string {
	if n == 0 {
		return line
	}
	f := strings.Fields(line)
	return strings.Join(f[:min(n, len(f))], " ")
}

// AddFlags adds commands whose "no" form is stored and shown too.
func AddFlags[X executor](g Grammar[X], modes []string, rank int, patterns ...string) {
	for _, p := range patterns {
		g.Set(modes, p, func(c X) string {
			x, line := c.Command()
			x.Put(line, Value{Line: line, Plain: line, Rank: rank})
			return ""
		})
		g.Neg(modes, p, func(c X) string {
			_, line := c.Command()
			return Opposite[X](line, rank)(c)
		})
	}
}

// Opposite stores "no LINE" as a setting; "default LINE" resets it.
func Opposite[X executor](key string, rank int) Action[X] {
	return func(c X) string {
		x, line := c.Command()
		if x.Verb == "default" {
			x.Drop(key)
			return ""
		}
		x.Put(key, Value{Line: "no " + line, Plain: "no " + line, Rank: rank})
		return ""
	}
}

// ClearKey resets a key.
func ClearKey[X executor](key string) Action[X] {
	return func(c X) string {
		x, _ := c.Command()
		x.Drop(key)
		return ""
	}
}

// DropBlock removes the block that a command opens.
func DropBlock[X executor](c X) string {
	x, line := c.Command()
	for _, b := range x.Blocks() {
		delete(b.Subs, line)
	}
	return ""
}
