// Package cli holds what simulated switches with a command line of their own
// have in common: the SSH and gNMI servers that clients reach, terminals with
// their pager, tables of commands, a grammar of keywords and parameters per
// mode, the tree of blocks and lines that a configuration is, faults, and the
// world around a box.
//
// It is for the simulators of testlab/sim alone. The commands and outputs of a
// vendor's box stay in the package of that box.
package cli

import "strings"

// Grammar is one tree of keywords and parameters per mode. A pattern such as
//
//	qos map dscp <from=dscps> to traffic-class <to=0-7> [drop-precedence <dp=0-2>]
//
// adds its path to the tree: plain words are keywords, which may be shortened
// as long as they stay unambiguous, <name=type> is a parameter (see Param),
// <name=a|b> a choice of keywords, and what stands in brackets may be left out.
//
// X is what an action needs to know of the command that it carries out.
type Grammar[X any] struct {
	// Modes are the trees by the name of their mode.
	Modes map[string]*Tree[X]
	types map[string]Param
}

// Tree holds the commands of one mode: as they are, and behind "no" and
// "default".
type Tree[X any] struct{ Set, Neg *Node[X] }

// Node is a place in a tree: what may follow the words that lead to it.
type Node[X any] struct {
	Words  map[string]*Node[X]
	Params []Edge[X]
	Run    Action[X] // nil: the command is not complete here
}

// Edge is a parameter that may stand at a place.
type Edge[X any] struct {
	Name, Type string
	Next       *Node[X]
	parse      Param
}

// Action carries a matched command out and returns the box's output. Where
// that is an error it has changed nothing.
type Action[X any] func(x X) string

// NewGrammar makes an empty grammar that knows the types of a box, besides
// those that all have.
func NewGrammar[X any](types map[string]Param) Grammar[X] {
	return Grammar[X]{Modes: map[string]*Tree[X]{}, types: types}
}

func newNode[X any]() *Node[X] { return &Node[X]{Words: map[string]*Node[X]{}} }

func (g Grammar[X]) tree(mode string) *Tree[X] {
	t := g.Modes[mode]
	if t == nil {
		t = &Tree[X]{Set: newNode[X](), Neg: newNode[X]()}
		g.Modes[mode] = t
	}
	return t
}

// Set adds a command to modes. Of two actions for the same pattern the first
// stands.
func (g Grammar[X]) Set(modes []string, pattern string, run Action[X]) {
	for _, m := range modes {
		g.add(g.tree(m).Set, strings.Fields(pattern), run)
	}
}

// Neg adds the "no" and "default" forms of a command to modes.
func (g Grammar[X]) Neg(modes []string, pattern string, run Action[X]) {
	for _, m := range modes {
		g.add(g.tree(m).Neg, strings.Fields(pattern), run)
	}
}

// add files a pattern. Patterns are part of the program: a wrong one panics
// when the first switch is made.
func (g Grammar[X]) add(n *Node[X], words []string, run Action[X]) {
	if len(words) == 0 {
		if n.Run == nil {
			n.Run = run
		}
		return
	}
	w := words[0]
	if strings.HasPrefix(w, "[") {
		depth := 0
		for i := range words {
			depth += strings.Count(words[i], "[") - strings.Count(words[i], "]")
			if depth > 0 {
				continue
			}
			in := append([]string{}, words[:i+1]...)
			in[0] = in[0][1:]
			in[i] = in[i][:len(in[i])-1]
			g.add(n, append(in, words[i+1:]...), run)
			g.add(n, words[i+1:], run)
			return
		}
		panic("pattern without a closing bracket: " + strings.Join(words, " "))
	}
	if !strings.HasPrefix(w, "<") {
		next := n.Words[w]
		if next == nil {
			next = newNode[X]()
			n.Words[w] = next
		}
		g.add(next, words[1:], run)
		return
	}
	name, typ, ok := strings.Cut(strings.Trim(w, "<>"), "=")
	if !ok {
		panic("parameter without a type: " + w)
	}
	for _, e := range n.Params {
		if e.Name == name && e.Type == typ {
			g.add(e.Next, words[1:], run)
			return
		}
	}
	next := newNode[X]()
	n.Params = append(n.Params, Edge[X]{Name: name, Type: typ, Next: next, parse: paramOf(g.types, typ)})
	g.add(next, words[1:], run)
}

// Words are the words of a line, with where each one begins in it.
type Words struct {
	Line string
	At   []int
	Word []string
}

// Tokenize cuts a line at spaces and tabs.
func Tokenize(line string) Words {
	w := Words{Line: line}
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' {
			i++
			continue
		}
		j := i
		for j < len(line) && line[j] != ' ' && line[j] != '\t' {
			j++
		}
		w.At, w.Word = append(w.At, i), append(w.Word, line[i:j])
		i = j
	}
	return w
}

// Match is a line that was understood.
type Match[X any] struct {
	Run  Action[X]
	Vals map[string]string // parameters, in canonical form
	Line string            // the whole command in canonical form, without no/default
}

// Misfit is why a line was not understood: how many words were, and what is
// wrong with the next.
type Misfit struct {
	At        int
	Ambiguous bool
	Range     string // "0-7" where a number was to be in that range and was not
}

// Parse finds the command that the words from i on are. Exact keywords win
// over shortened ones, keywords over parameters.
func (n *Node[X]) Parse(w Words, i int) (*Match[X], Misfit) {
	if i == len(w.Word) {
		if n.Run == nil {
			return nil, Misfit{At: i}
		}
		return &Match[X]{Run: n.Run, Vals: map[string]string{}}, Misfit{}
	}
	worst := Misfit{At: i}
	try := func(next *Node[X], used int, canon string) *Match[X] {
		m, f := next.Parse(w, i+used)
		if m == nil {
			if f.At > worst.At {
				worst = f
			}
			return nil
		}
		if m.Line != "" {
			canon += " " + m.Line
		}
		m.Line = canon
		return m
	}
	kw, next, many := n.keyword(strings.ToLower(w.Word[i]))
	if next != nil {
		if m := try(next, 1, kw); m != nil {
			return m, Misfit{}
		}
	}
	for _, e := range n.Params {
		used, canon, ok := e.parse(w, i)
		if !ok {
			if worst.At == i && isRange(e.Type) && isNumber(w.Word[i]) {
				worst.Range = e.Type
			}
			continue
		}
		if m := try(e.Next, used, canon); m != nil {
			m.Vals[e.Name] = canon
			return m, Misfit{}
		}
	}
	if many && worst.At == i {
		worst.Ambiguous = true
	}
	return nil, worst
}

// keyword finds the keyword that the word is or begins. many reports that it
// begins several.
func (n *Node[X]) keyword(word string) (kw string, next *Node[X], many bool) {
	if next := n.Words[word]; next != nil {
		return word, next, false
	}
	for k, v := range n.Words {
		if strings.HasPrefix(k, word) {
			if next != nil {
				return "", nil, true
			}
			kw, next = k, v
		}
	}
	return kw, next, false
}
