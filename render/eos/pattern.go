package eos

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// token is one word of a pattern.
type token struct {
	kind  tokenKind
	words []string               // the literal or the alternatives
	fits  func(word string) bool // for a literal or a capture
	hi    int                    // maximum of a list entry
	group []token                // for an optional group, which begins with a literal
}

type tokenKind int

const (
	tokLiteral  tokenKind = iota
	tokCapture            // a|b, <lo-hi>, or one of wordKinds
	tokList               // <list:hi>, up to the next literal
	tokOptional           // [ ... ]; its captures are "" if it does not match
	tokRest               // *: anything or nothing
)

// wordKinds holds the placeholders in a pattern and the words that they match.
var wordKinds = map[string]func(word string) bool{
	"<seconds>":  isSeconds,
	"<interval>": func(word string) bool { return word == "auto" || isSeconds(word) },
	"<unit>":     func(word string) bool { return slices.Contains(thresholdUnits, word) },
	"<word>":     printable,
}

// thresholdUnits lists the units of queue thresholds (aristanetworks/avd,
// qos_profiles.schema.yml).
var thresholdUnits = []string{"bytes", "kbytes", "mbytes", "segments", "milliseconds", "microseconds"}

// compile turns a pattern into tokens.
func compile(pattern string) []token {
	var out []token
	words := strings.Fields(pattern)
	for i := 0; i < len(words); i++ {
		w := words[i]
		if strings.HasPrefix(w, "[") {
			j := i
			for !strings.HasSuffix(words[j], "]") {
				j++
			}
			inner := strings.Trim(strings.Join(words[i:j+1], " "), "[]")
			out = append(out, token{kind: tokOptional, group: compile(inner)})
			i = j
			continue
		}
		out = append(out, compileWord(w))
	}
	return out
}

func compileWord(w string) token {
	if w == "*" {
		return token{kind: tokRest}
	}
	if fits := wordKinds[w]; fits != nil {
		return token{kind: tokCapture, fits: fits}
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic("pattern word " + w)
		}
		return n
	}
	if s, ok := strings.CutPrefix(w, "<list:"); ok {
		return token{kind: tokList, hi: number(strings.TrimSuffix(s, ">"))}
	}
	if lo, hi, ok := strings.Cut(strings.Trim(w, "<>"), "-"); ok && w[0] == '<' {
		return between(number(lo), number(hi))
	}
	t := token{words: strings.Split(w, "|")}
	t.fits = func(word string) bool { return slices.Contains(t.words, word) }
	if len(t.words) > 1 {
		t.kind = tokCapture
	}
	return t
}

// between returns a token that captures a number between lo and hi.
func between(lo, hi int) token {
	return token{kind: tokCapture, fits: func(word string) bool {
		n, ok := lines.Number(word, hi)
		return ok && n >= lo
	}}
}

// args holds the captures of a line.
type args struct {
	line string
	w    []string
	id   int // the list entry concerned
}

// word returns capture i, from 1; "" if its optional group is missing.
func (a args) word(i int) string { return a.w[i-1] }

// num returns capture i as a number; 0 if it is missing.
func (a args) num(i int) int {
	n, _ := strconv.Atoi(a.word(i)) // digits, within the bounds of the pattern
	return n
}

// seconds returns capture i as a duration; 0 for "auto".
func (a args) seconds(i int) time.Duration {
	f, _ := strconv.ParseFloat(a.word(i), 64) // digits and a decimal point
	return time.Duration(math.Round(f*1e6)) * time.Microsecond
}

// consume matches words against tokens and returns the captures.
func consume(ts []token, words, w []string) (rest, captured []string, ok bool) {
	for i, t := range ts {
		if t.kind == tokRest {
			return nil, w, true
		}
		if t.kind == tokOptional {
			if r, c, ok := consume(t.group, words, w); ok {
				words, w = r, c
				continue
			}
			for range captures(t.group) {
				w = append(w, "")
			}
			continue
		}
		if len(words) == 0 {
			return nil, nil, false
		}
		if t.kind == tokList {
			n := slices.Index(words, ts[i+1].words[0])
			if n < 1 {
				return nil, nil, false
			}
			list := strings.Join(words[:n], " ")
			if _, ok := t.list(list); !ok {
				return nil, nil, false
			}
			w, words = append(w, list), words[n:]
			continue
		}
		if !t.fits(words[0]) {
			return nil, nil, false
		}
		if t.kind != tokLiteral {
			w = append(w, words[0])
		}
		words = words[1:]
	}
	return words, w, true
}

// captures returns the number of words that tokens capture. A literal captures none.
func captures(ts []token) int {
	n := 0
	for _, t := range ts {
		if t.kind != tokLiteral {
			n++
		}
	}
	return n
}

func isSeconds(word string) bool {
	whole, part, _ := strings.Cut(word, ".")
	digits := func(s string, most int) bool { return len(s) <= most && strings.Trim(s, "0123456789") == "" }
	return whole+part != "" && digits(whole, 5) && digits(part, 6)
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}

// list parses the entries of a list.
func (t token) list(s string) ([]int, bool) {
	return lines.Numbers(s, func(n string) (int, bool) { return lines.Number(n, t.hi) })
}
