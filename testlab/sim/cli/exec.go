package cli

import "strings"

// Place is where a block stands in its parent.
type Place struct {
	Key, Head string
	Rank      int
}

// At is the place of a block whose key is its head.
func At(head string, rank int) Place { return Place{Key: head, Head: head, Rank: rank} }

// Frame is one step from the global mode into a sub-mode.
type Frame struct {
	Mode   string
	Places []Place // several for a range of interfaces
	Line   string  // that opened it
	Prompt string
}

// Exec is one command that is being carried out; that of a system embeds it.
type Exec struct {
	Root   *Block
	Client *[]Frame // the mode that the client is in
	Stack  []Frame  // of the mode that knows the command
	Verb   string   // "", "no" or "default"
}

// executor is the command of a system.
type executor interface {
	// Command is what is carried out, and its line in canonical form.
	Command() (x *Exec, line string)
}

// Blocks returns what the command is about: the block of its mode, or one per
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

// Put sets a line in every block that the command is about.
func (x *Exec) Put(key string, v Value) {
	for _, b := range x.Blocks() {
		b.Put(key, v)
	}
}

// Drop removes what is set under a key.
func (x *Exec) Drop(key string) {
	for _, b := range x.Blocks() {
		delete(b.Vals, key)
	}
}

// ModeAt is the mode at a depth of a stack; global is that of depth 0.
func ModeAt(stack []Frame, depth int, global string) string {
	if depth == 0 {
		return global
	}
	return stack[depth-1].Mode
}

// Find looks a line up in the current mode, then in its parents, from its word
// first on; negated takes its "no" form. It returns the depth of the mode that
// knows it.
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

// AddLines adds commands that are kept as text. Of lines that agree in the first
// keyWords words the last one stands; with 0 all different lines stand.
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

// removeLines removes the lines and blocks that begin with the words of a
// command.
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

// AddFlags adds commands whose "no" form is a state that is printed.
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

// Opposite keeps "no LINE" as a state of its own; "default LINE" resets it.
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
