package forms

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// token is one word of a pattern, or an optional group of words. Patterns are written as in the
// manuals of the systems:
//
//	mtu           the word itself
//	on|off        one of several words
//	<68-65535>    a number in a range
//	<decimal>     a number that may have a decimal point
//	<word>        any word
//	<list:63>     a list of numbers of at most 63, with ranges and commas, up to the next word of the
//	              pattern
//	<dscps>       such a list of DSCPs, by number or name
//	[weight <0-15>]   words that may be missing
//	*             any text or none, at the end
//
// Each word that can have several values is a value of the line.
type token struct {
	kind          tokenKind
	words         []string // the word, or the alternatives
	low, high     int      // range of a number, or of the entries of a list; high is 0 without one
	decimal, word bool     // takes a number with a decimal point, or any word
	names         bool     // entries of a list may be names of DSCPs
	group         []token  // for an optional group, which begins with a literal
}

type tokenKind int

const (
	tokLiteral  tokenKind = iota
	tokValue              // a word with several values
	tokList               // a list, up to the next literal
	tokOptional           // [ ... ]; its values are "" if it is missing
	tokRest               // *: anything or nothing
)

// compile turns a pattern into tokens. It panics on a pattern that is not well formed.
func compile(pattern string) []token {
	var out []token
	words := strings.Fields(pattern)
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "[") {
			out = append(out, compileWord(words[i]))
			continue
		}
		j := i
		for !strings.HasSuffix(words[j], "]") {
			j++
		}
		out = append(out, token{kind: tokOptional, group: compile(strings.Trim(strings.Join(words[i:j+1], " "), "[]"))})
		i = j
	}
	return out
}

func compileWord(w string) token {
	if w == "*" {
		return token{kind: tokRest}
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic("pattern word " + w)
		}
		return n
	}
	t := token{}
	alternatives := strings.Split(w, "|")
	for _, a := range alternatives {
		name, placeholder := strings.CutPrefix(a, "<")
		name = strings.TrimSuffix(name, ">")
		list, isList := strings.CutPrefix(name, "list:")
		low, high, isRange := strings.Cut(name, "-")
		switch {
		case !placeholder:
			t.words = append(t.words, a)
		case name == "word":
			t.kind, t.word = tokValue, true
		case name == "decimal":
			t.kind, t.decimal = tokValue, true
		case name == "dscps":
			t.kind, t.high, t.names = tokList, qos.NumDSCP-1, true
		case isList:
			t.kind, t.high = tokList, number(list)
		case isRange:
			t.kind, t.low, t.high = tokValue, number(low), number(high)
		default:
			panic("pattern word " + w)
		}
	}
	if len(alternatives) > 1 {
		t.kind = tokValue
	}
	return t
}

// fits reports whether the token takes a word.
func (t *token) fits(word string) bool {
	if slices.Contains(t.words, word) || t.decimal && isDecimal(word) || t.word && IsWord(word) {
		return true
	}
	n, ok := 0, false
	if t.high > 0 {
		n, ok = lines.Number(word, t.high)
	}
	return ok && n >= t.low
}

// list parses the entries of a list.
func (t *token) list(s string) ([]int, bool) {
	return lines.Numbers(s, func(n string) (int, bool) {
		if t.names {
			return lines.CodePoint(n)
		}
		return lines.Number(n, t.high)
	})
}

// consume matches the beginning of a text against tokens. It appends the values to values.
func consume(ts []token, text string, values []string) (rest string, read []string, ok bool) {
	for i := range ts {
		t := &ts[i]
		switch t.kind {
		case tokRest:
			return "", values, true
		case tokOptional:
			if r, v, ok := consume(t.group, text, values); ok {
				text, values = r, v
				continue
			}
			for range count(t.group) {
				values = append(values, "")
			}
			continue
		case tokList:
			list, after := cutList(text, ts[i+1:])
			if _, ok := t.list(list); !ok {
				return "", nil, false
			}
			text, values = after, append(values, list)
			continue
		}
		word, after, _ := strings.Cut(text, " ")
		if word == "" || !t.fits(word) {
			return "", nil, false
		}
		if t.kind == tokValue {
			values = append(values, word)
		}
		text = after
	}
	return text, values, true
}

// cutList cuts a text after a list: at the next word of the pattern, or at its end.
func cutList(text string, next []token) (list, after string) {
	if len(next) == 0 {
		return text, ""
	}
	n := strings.Index(text, " "+next[0].words[0]+" ")
	if n < 1 {
		return "", ""
	}
	return text[:n], text[n+1:]
}

// count returns the number of values of tokens.
func count(ts []token) int {
	n := 0
	for _, t := range ts {
		switch t.kind {
		case tokValue, tokList:
			n++
		case tokOptional:
			n += count(t.group)
		}
	}
	return n
}

// write appends tokens with their values to words, and returns the values that are left. An
// optional group without its first value is left out.
func write(ts []token, values, words []string) (written, left []string) {
	for _, t := range ts {
		switch t.kind {
		case tokLiteral:
			words = append(words, t.words[0])
		case tokValue, tokList:
			words, values = append(words, values[0]), values[1:]
		case tokOptional:
			n := count(t.group)
			if n > 0 && values[0] != "" {
				words, _ = write(t.group, values, words)
			}
			values = values[n:]
		}
	}
	return words, values
}

// isDecimal reports whether a word is a number of at most five digits, with at most six decimals.
func isDecimal(word string) bool {
	whole, part, _ := strings.Cut(word, ".")
	digits := func(s string, most int) bool { return len(s) <= most && strings.Trim(s, "0123456789") == "" }
	return whole+part != "" && digits(whole, 5) && digits(part, 6)
}

// IsWord reports whether a text is one word of printable characters.
func IsWord(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}
