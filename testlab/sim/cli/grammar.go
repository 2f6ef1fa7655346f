// Package cli holds what simulated switches with a command line share: the SSH and gNMI servers,
// terminals with a pager, tables of commands, a grammar of keywords and parameters per mode, the
// tree of blocks and lines that makes up a configuration, faults, and the world around a box.
//
// It is only for the simulators of testlab/sim. The commands and outputs of a vendor's box stay in
// the package of that box.
package cli

import "strings"

// Grammar is a tree of keywords and parameters for each mode. A pattern such as
//
//	qos map dscp <from=dscps> to traffic-class <to=0-7> [drop-precedence <dp=0-2>]
//
// adds its path to the tree. Plain words are keywords, which may be abbreviated as long as they
// stay unambiguous; <name=type> is a parameter (see Param); <name=a|b> is a choice of keywords;
// and words in brackets are optional.
//
// X is the type with which an action receives the command that it executes.
type Grammar[X any] struct {
	// Modes holds the trees by the name of their mode.
	Modes map[string]*Tree[X]
	types map[string]Param
}

// Tree holds the commands of one mode: Set without and Neg with a leading "no" or "default".
type Tree[X any] struct{ Set, Neg *Node[X] }

// Node is a position in a tree. It holds what may follow the words that lead to it.
type Node[X any] struct {
	Words  map[string]*Node[X]
	Params []Edge[X]
	Run    Action[X] // nil if the command is incomplete here
}

// Edge is a parameter that may occur at a position.
type Edge[X any] struct {
	Name, Type string
	Next       *Node[X]
	parse      Param
}

// Action executes a matched command and returns the box's output. If the output is an error,
// nothing has changed.
type Action[X any] func(x X) string

// NewGrammar returns an empty grammar with the parameter types of a box, in addition to the common
// ones.
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

// Set adds a command to modes. If the same pattern is added twice, the first action is kept.
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

// add adds a pattern. Patterns are part of the program, so an invalid one panics when the first
// switch is created.
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

// Words holds the words of a line, with the index at which each one begins.
type Words struct {
	Line string
	At   []int
	Word []string
}

// Tokenize splits a line at spaces and tabs.
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

// Match is a command that was parsed.
type Match[X any] struct {
	Run  Action[X]
	Vals map[string]string // parameters in canonical form
	Line string            // the complete command in canonical form, without no/default
}

// Misfit says why a line was not parsed: At is the number of words that were, and the other fields
// say what is wrong with the next word.
type Misfit struct {
	At        int
	Ambiguous bool
	Range     string // "0-7" if a number is outside this range
}

// Parse parses the command that begins at word i. Exact keywords take precedence over abbreviated
// ones, and keywords over parameters.
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

// keyword finds the keyword that equals the word or begins with it. many is set if the word
// abbreviates several keywords.
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
