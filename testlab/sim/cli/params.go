package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Param parses a parameter at word i of a line. It returns how many words the parameter takes and
// its canonical form.
type Param func(w Words, i int) (used int, canon string, ok bool)

// params holds the parameter types of every grammar, in addition to integer ranges ("0-7") and
// choices of keywords ("kbps|percent").
var params = map[string]Param{
	"word": One(lazyre.New(`^[^\s|]+$`).MatchString),
	"name": One(lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,99}$`).MatchString),
	"ipv4": One(lazyre.New(`^\d{1,3}(\.\d{1,3}){3}(/\d{1,2})?$`).MatchString),
	"text": func(w Words, i int) (int, string, bool) {
		return len(w.Word) - i, strings.TrimRight(w.Line[w.At[i]:], " \t"), true
	},
}

func paramOf(types map[string]Param, typ string) Param {
	if p := types[typ]; p != nil {
		return p
	}
	if p := params[typ]; p != nil {
		return p
	}
	if lo, hi, ok := rangeOf(typ); ok {
		return number(lo, hi)
	}
	return choice(strings.Split(typ, "|"))
}

func rangeOf(typ string) (lo, hi int, ok bool) {
	a, b, _ := strings.Cut(typ, "-")
	lo, err := strconv.Atoi(a)
	hi, err2 := strconv.Atoi(b)
	return lo, hi, err == nil && err2 == nil
}

func isRange(typ string) bool {
	_, _, ok := rangeOf(typ)
	return ok
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// One returns a parameter of one word, which is its own canonical form.
func One(ok func(string) bool) Param {
	return func(w Words, i int) (int, string, bool) { return 1, w.Word[i], ok(w.Word[i]) }
}

func number(lo, hi int) Param {
	return func(w Words, i int) (int, string, bool) {
		n, ok := Natural(w.Word[i])
		return 1, strconv.Itoa(n), ok && lo <= n && n <= hi
	}
}

// Natural parses a non-negative integer of at most ten digits, without a sign.
func Natural(s string) (int, bool) {
	if !isNumber(s) || len(s) > 10 {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func choice(of []string) Param {
	return func(w Words, i int) (int, string, bool) {
		word, found := strings.ToLower(w.Word[i]), ""
		for _, c := range of {
			if c == word {
				return 1, c, true
			}
			if strings.HasPrefix(c, word) {
				if found != "" {
					return 0, "", false
				}
				found = c
			}
		}
		return 1, found, found != ""
	}
}

// Numbers parses a word of comma-separated numbers and ranges up to highest. The result says which
// numbers it contains.
func Numbers(word string, highest int) ([]bool, bool) {
	have := make([]bool, highest+1)
	for _, part := range strings.Split(strings.Trim(word, ","), ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		if !isRange {
			hi = lo
		}
		a, ok := Natural(lo)
		b, ok2 := Natural(hi)
		if !ok || !ok2 || a > b || b > highest {
			return nil, false
		}
		for n := a; n <= b; n++ {
			have[n] = true
		}
	}
	return have, true
}

// JoinNumbers lists the numbers that are set, in ascending order.
func JoinNumbers(have []bool, sep string) string {
	var out []string
	for n, in := range have {
		if in {
			out = append(out, strconv.Itoa(n))
		}
	}
	return strings.Join(out, sep)
}

// JoinRanges lists the numbers that are set, in ascending order, with two or more consecutive
// numbers as a range.
func JoinRanges(have []bool, sep string) string {
	var out []string
	for n := 0; n < len(have); n++ {
		if !have[n] {
			continue
		}
		from := n
		for n+1 < len(have) && have[n+1] {
			n++
		}
		out = append(out, strconv.Itoa(from))
		if n > from {
			out[len(out)-1] += "-" + strconv.Itoa(n)
		}
	}
	return strings.Join(out, sep)
}

// MaxInterfaces is the maximum number of ports in one range.
const MaxInterfaces = 1024

// InterfaceRange returns the numbers of the ports from "1/1" to "4/1", or from "1/1" to "4" (1/1
// to 1/4). The two ends may differ in only one number.
func InterfaceRange(from, to string) ([]string, bool) {
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	if len(b) < len(a) {
		b = append(slices.Clone(a[:len(a)-len(b)]), b...)
	}
	if len(a) != len(b) {
		return nil, false
	}
	vary := -1
	for i := range a {
		if a[i] != b[i] {
			if vary >= 0 {
				return nil, false
			}
			vary = i
		}
	}
	if vary < 0 {
		return []string{from}, true
	}
	lo, ok := Natural(a[vary])
	hi, ok2 := Natural(b[vary])
	if !ok || !ok2 || lo > hi || hi-lo >= MaxInterfaces {
		return nil, false
	}
	var out []string
	for n := lo; n <= hi; n++ {
		a[vary] = strconv.Itoa(n)
		out = append(out, strings.Join(a, "/"))
	}
	return out, true
}
