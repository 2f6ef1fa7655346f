package eos

import (
	"fmt"
	"strings"
)

// A grammar is one tree of keywords and parameters per mode. A pattern such as
//
//	qos map dscp <from=dscps> to traffic-class <to=0-7> [drop-precedence <dp=0-2>]
//
// adds its path to the tree: plain words are keywords, which may be shortened
// as long as they stay unambiguous, <name=type> is a parameter (see params),
// <name=a|b> a choice of keywords, and what stands in brackets may be left out.
type grammar map[string]*tree

// tree holds the commands of one mode: as they are, and behind "no" and
// "default".
type tree struct{ set, neg *node }

type node struct {
	words  map[string]*node
	params []edge
	run    action // nil: the command is not complete here
}

type edge struct {
	name, typ string
	parse     param
	next      *node
}

// action carries a matched command out. It returns "", "! " and a warning, or
// "% " and an error, in which case it has changed nothing.
type action func(x *exec) string

func newNode() *node { return &node{words: map[string]*node{}} }

func (g grammar) tree(mode string) *tree {
	t := g[mode]
	if t == nil {
		t = &tree{set: newNode(), neg: newNode()}
		g[mode] = t
	}
	return t
}

// set adds a command to modes, neg its "no" and "default" forms.
func (g grammar) set(modes []string, pattern string, run action) {
	for _, m := range modes {
		g.tree(m).set.add(strings.Fields(pattern), run)
	}
}

func (g grammar) neg(modes []string, pattern string, run action) {
	for _, m := range modes {
		g.tree(m).neg.add(strings.Fields(pattern), run)
	}
}

// add files a pattern. Patterns are part of the program: a wrong one panics
// when the first switch is made.
func (n *node) add(words []string, run action) {
	if len(words) == 0 {
		if n.run == nil {
			n.run = run
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
			n.add(append(in, words[i+1:]...), run)
			n.add(words[i+1:], run)
			return
		}
		panic("pattern without a closing bracket: " + strings.Join(words, " "))
	}
	if !strings.HasPrefix(w, "<") {
		next := n.words[w]
		if next == nil {
			next = newNode()
			n.words[w] = next
		}
		next.add(words[1:], run)
		return
	}
	name, typ, ok := strings.Cut(strings.Trim(w, "<>"), "=")
	if !ok {
		panic("parameter without a type: " + w)
	}
	for _, e := range n.params {
		if e.name == name && e.typ == typ {
			e.next.add(words[1:], run)
			return
		}
	}
	next := newNode()
	n.params = append(n.params, edge{name, typ, paramOf(typ), next})
	next.add(words[1:], run)
}

// words of a line, with where each one begins in it.
type words struct {
	line string
	at   []int
	word []string
}

func tokenize(line string) words {
	w := words{line: line}
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' {
			i++
			continue
		}
		j := i
		for j < len(line) && line[j] != ' ' && line[j] != '\t' {
			j++
		}
		w.at, w.word = append(w.at, i), append(w.word, line[i:j])
		i = j
	}
	return w
}

// match is a line that was understood.
type match struct {
	run  action
	vals map[string]string // parameters, in canonical form
	line string            // the whole command in canonical form, without no/default
}

// misfit is why a line was not understood: how many words were, and what is
// wrong with the next.
type misfit struct {
	at        int
	ambiguous bool
}

// parse finds the command that the words from i on are. Exact keywords win
// over shortened ones, keywords over parameters.
func (n *node) parse(w words, i int) (*match, misfit) {
	if i == len(w.word) {
		if n.run == nil {
			return nil, misfit{at: i}
		}
		return &match{run: n.run, vals: map[string]string{}}, misfit{}
	}
	worst := misfit{at: i}
	try := func(next *node, used int, canon string) *match {
		m, f := next.parse(w, i+used)
		if m == nil {
			if f.at > worst.at {
				worst = f
			}
			return nil
		}
		if m.line != "" {
			canon += " " + m.line
		}
		m.line = canon
		return m
	}
	kw, next, many := n.keyword(strings.ToLower(w.word[i]))
	if next != nil {
		if m := try(next, 1, kw); m != nil {
			return m, misfit{}
		}
	}
	for _, e := range n.params {
		used, canon, ok := e.parse(w, i)
		if !ok {
			continue
		}
		if m := try(e.next, used, canon); m != nil {
			m.vals[e.name] = canon
			return m, misfit{}
		}
	}
	if many && worst.at == i {
		worst.ambiguous = true
	}
	return nil, worst
}

// keyword finds the keyword that the word is or begins. many reports that it
// begins several.
func (n *node) keyword(word string) (kw string, next *node, many bool) {
	if next := n.words[word]; next != nil {
		return word, next, false
	}
	for k, v := range n.words {
		if strings.HasPrefix(k, word) {
			if next != nil {
				return "", nil, true
			}
			kw, next = k, v
		}
	}
	return kw, next, false
}

// say is the box's answer to a line that it does not understand.
func (f misfit) say(w words) string {
	switch {
	case f.at >= len(w.word):
		return "% Incomplete command"
	case f.ambiguous:
		return fmt.Sprintf("%% Ambiguous command (at token %d: '%s')", f.at, clip(w.word[f.at]))
	}
	return fmt.Sprintf("%% Invalid input (at token %d: '%s')", f.at, clip(w.word[f.at]))
}
