package eos

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rule is a compiled statement.
type rule struct {
	*statement
	rank   int // index in the printed order
	tokens []token
	list   bool // the first capture is a list of entries
	about  *key
}

// key holds what the rows of one key have in common.
type key struct {
	tokens []string // "$1" stands for a capture
	unset  string
	form   []token // parsed form of unset, without "no" or "default"
	usual  string
	rank   int
	in     place
}

// index finds the statements and keys of the grammar.
type index struct {
	rules  map[string][]*rule // by first word, without "no" and "default"
	keys   map[string]*key    // by template and place
	unsets map[string][]*key  // by first word of the unset form, without "no" and "default"
	// words holds the keys by their first word, which is never a capture.
	words map[string][]*key
}

// indexed builds the index on first use; commands without an EOS switch never need it.
var indexed = sync.OnceValue(func() *index {
	x := &index{map[string][]*rule{}, map[string]*key{}, map[string][]*key{}, map[string][]*key{}}
	for i := range grammar {
		st := &grammar[i]
		r := &rule{statement: st, rank: i, tokens: compile(st.line)}
		r.list = slices.ContainsFunc(r.tokens, func(t token) bool { return t.kind == tokList })
		if st.key != "" {
			r.about = x.keyOf(r)
		}
		for _, w := range firstWords(r.tokens) {
			x.rules[w] = append(x.rules[w], r)
		}
	}
	return x
})

// firstWords returns the words that may begin a match of the tokens, after "no".
func firstWords(ts []token) []string {
	if negates(ts[0].words[0]) {
		ts = ts[1:]
	}
	return ts[0].words
}

// negates reports whether a line that begins with word removes something.
func negates(word string) bool { return word == "no" || word == "default" }

func (x *index) keyOf(r *rule) *key {
	id := r.key + "\x00" + strconv.Itoa(int(r.in))
	if k := x.keys[id]; k != nil {
		return k
	}
	k := &key{tokens: strings.Fields(r.key), unset: cmp.Or(r.unset, "no "+r.key), usual: r.usual, rank: r.rank, in: r.in}
	x.keys[id] = k
	x.words[k.tokens[0]] = append(x.words[k.tokens[0]], k)
	if verb, rest, _ := strings.Cut(k.unset, " "); negates(verb) && rest != "$line" {
		k.form = compile(rest)
		for i, t := range k.form {
			if strings.HasPrefix(t.words[0], "$") {
				k.form[i] = between(0, 63)
			}
		}
		w := k.form[0].words[0]
		x.unsets[w] = append(x.unsets[w], k)
	}
	return k
}

// hit is a line that matches the grammar.
type hit struct {
	*rule
	args  []string
	text  string
	unset bool // the line states that nothing is configured
}

// match returns the statement that matches a line; false if the line is not known at that place.
func match(text string, at place) (hit, bool) {
	first, rest, _ := strings.Cut(text, " ")
	negated := negates(first)
	if negated {
		first, _, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
	}
	candidates := indexed().rules[first]
	if candidates == nil {
		return hit{}, false
	}
	words := strings.Fields(text)
	text = canonical(text)
	among := func(words []string, unset bool) (hit, bool) {
		for _, r := range candidates {
			if r.in&at == 0 {
				continue
			}
			if left, a, ok := consume(r.tokens, words, nil); ok && len(left) == 0 {
				return hit{rule: r, args: a, text: text, unset: unset}, true
			}
		}
		return hit{}, false
	}
	if h, ok := among(words, false); ok || !negated {
		return h, ok
	}
	for _, k := range indexed().unsets[first] {
		if k.in&at == 0 {
			continue
		}
		if left, a, ok := consume(k.form, words[1:], nil); ok && len(left) == 0 {
			return hit{rule: k.rule(candidates), args: a, text: text, unset: true}, true
		}
	}
	return among(words[1:], true)
}

// rule returns the first rule of the key.
func (k *key) rule(among []*rule) *rule {
	for _, r := range among {
		if r.about == k {
			return r
		}
	}
	return nil
}

// keyText returns the key with the captures filled in; id is the entry of a list.
func (h hit) keyText(id int) string {
	if !strings.Contains(h.key, "$") {
		return h.key
	}
	var b strings.Builder
	for i, t := range h.about.tokens {
		if i > 0 {
			b.WriteByte(' ')
		}
		if t[0] != '$' {
			b.WriteString(t)
			continue
		}
		n := int(t[1] - '1')
		if n == 0 && h.list {
			b.WriteString(strconv.Itoa(id))
		} else if n < len(h.args) {
			b.WriteString(h.args[n])
		}
	}
	return b.String()
}

// entries returns the list entries that a line names.
func (h hit) entries() []int {
	for _, t := range h.tokens {
		if t.kind == tokList {
			ids, _ := t.list(h.args[0])
			return ids
		}
	}
	return nil
}

// entry returns the line for a single entry of a list: "qos map dscp 26 to ...".
func (h hit) entry(id string) string {
	return strings.Replace(h.text, " "+h.args[0]+" ", " "+id+" ", 1)
}

// unsetOf returns the command that unsets a key; held is the present line of the key.
func unsetOf(at place, keyText, held string) string {
	words := strings.Fields(keyText)
	for _, k := range indexed().words[words[0]] {
		if k.in&at == 0 || len(k.tokens) != len(words) {
			continue
		}
		line := strings.Replace(k.unset, "$line", held, 1)
		same := true
		for i, t := range k.tokens {
			if t[0] == '$' {
				line = strings.Replace(line, t, words[i], 1)
			} else if t != words[i] {
				same = false
			}
		}
		if same {
			return line
		}
	}
	return ""
}

// roce reports whether a line belongs to a family of lines that RoCE depends on. Such a line
// must always be reported if it is not understood.
func roce(text string) bool {
	first, rest, _ := strings.Cut(text, " ")
	if negates(first) {
		first, _, _ = strings.Cut(rest, " ")
	}
	switch first {
	case "qos", "priority-flow-control", "random-detect", "dcbx", "service-profile", "bandwidth", "priority", "shape",
		"flowcontrol", string(TxQueue), string(UCTxQueue), multicastQueue:
		return true
	}
	return strings.HasPrefix(text, "service-policy type qos ")
}

// placesOf returns the places at which a line is known; 0 for an unknown line.
func placesOf(text string) place {
	var at place
	for _, p := range []place{inGlobal, inProfile, inInterface, inQueue} {
		if _, ok := match(text, p); ok {
			at |= p
		}
	}
	return at
}

// rankOf returns the position of a line in the order in which EOS prints lines; false if it is
// not known. Lines of the same rank are ordered by their numbers.
func rankOf(at place, text string) (rank int, ok bool) {
	h, ok := match(text, at)
	switch {
	case !ok:
		return 0, false
	case h.about != nil:
		return h.about.rank, true
	}
	return h.rank, true
}
