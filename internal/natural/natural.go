// Package natural sorts names that contain numbers the way people do (Ethernet8 before
// Ethernet16), and folds them into ranges: Ethernet0, Ethernet4, ... become "Ethernet[0-124:4]".
package natural

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Compare compares a and b, with runs of digits compared as numbers.
func Compare(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && digit(a[i-1]) { // back to the start of the number in which a and b differ
		i--
	}
	j := i
	for i < len(a) && j < len(b) {
		if digit(a[i]) && digit(b[j]) {
			var na, nb string
			na, i = number(a, i)
			nb, j = number(b, j)
			if len(na) != len(nb) {
				return cmp.Compare(len(na), len(nb))
			}
			if na != nb {
				return strings.Compare(na, nb)
			}
			continue
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i, j = i+1, j+1
	}
	// They differ only in leading zeros: any fixed order will do.
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), cmp.Compare(a, b))
}

// number returns the digits at s[i:] without leading zeros, and the index after them.
func number(s string, i int) (string, int) {
	for i < len(s) && s[i] == '0' {
		i++
	}
	from := i
	for i < len(s) && digit(s[i]) {
		i++
	}
	return s[from:i], i
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// Sorted returns names in natural order.
func Sorted(names []string) []string {
	out := slices.Clone(names)
	ordered.Sort(out, Compare)
	return out
}

// Keys returns the keys of m in natural order.
func Keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	ordered.Sort(out, Compare)
	return out
}

// FoldLists folds each list of more than four names in a text, as [Fold] does:
// "QUEUE|Ethernet0,Ethernet4,Ethernet8,Ethernet12,Ethernet16|3" becomes "QUEUE|Ethernet[0-16:4]|3".
func FoldLists(text string) string {
	const few = 4
	if strings.Count(text, ",") < few {
		return text
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '|' })
	for _, w := range words {
		if strings.Count(w, ",") >= few {
			text = strings.Replace(text, w, Fold(strings.Split(w, ",")), 1)
		}
	}
	return text
}

// Fold writes names as a short list with ranges of numbers: "Ethernet[0-124:4],PortChannel1",
// "gpu[001-512]", "Ethernet[1-32]/[1-4]". An intent that uses the list expands it to the same
// names.
func Fold(names []string) string {
	items := make([]item, 0, len(names))
	dims := 0
	for _, n := range Sorted(names) {
		it := item{fields(n), n}
		dims = max(dims, len(it.parts)/2)
		items = append(items, it)
	}
	for d := 1; d <= dims; d++ {
		items = foldOver(items, d)
	}
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = strings.Join(it.parts, "")
	}
	return strings.Join(out, ",")
}

// item stands for one or more names: text with numbers or ranges of numbers in between.
type item struct {
	parts []string // text, number, text, number, ... text
	first string   // first of the names
}

const (
	mostFields = 4 // only the last 4 numbers of a name are folded
	mostDigits = 9 // longest number that is folded
	fewest     = 3 // fewest names that form a range
)

// fields splits a name at its numbers. A name with brackets or commas is not split, because its
// range could not be parsed back.
func fields(s string) []string {
	if strings.ContainsAny(s, "[],") {
		return []string{s}
	}
	parts := []string{}
	end := len(s) // end of the text that is not split yet
	for e := end; e > 0 && len(parts) < 2*mostFields; {
		if !digit(s[e-1]) {
			e--
			continue
		}
		b := e
		for b > 0 && digit(s[b-1]) {
			b--
		}
		if e-b <= mostDigits {
			parts = append(parts, s[e:end], s[b:e])
			end = b
		}
		e = b
	}
	parts = append(parts, s[:end])
	slices.Reverse(parts)
	return parts
}

// foldOver folds items, which are sorted, into ranges of their d-th last number.
func foldOver(items []item, d int) []item {
	var keys []string
	groups := map[string][]item{}
	var out []item
	for _, it := range items {
		at := len(it.parts) - 2*d
		if at < 0 {
			out = append(out, it)
			continue
		}
		key := strings.Join(it.parts[:at], "\x00") + "\x00\x00" + strings.Join(it.parts[at+1:], "\x00")
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], it)
	}
	for _, key := range keys {
		for g := groups[key]; len(g) > 0; {
			n, span := equalSteps(g, d)
			if n >= fewest {
				it := item{slices.Clone(g[0].parts), g[0].first}
				it.parts[len(it.parts)-2*d] = span
				out, g = append(out, it), g[n:]
			} else {
				out, g = append(out, g[0]), g[1:]
			}
		}
	}
	ordered.Sort(out, func(a, b item) int { return Compare(a.first, b.first) })
	return out
}

// equalSteps returns how many items, from the first, have a d-th last number that rises in equal
// steps and has the same format, and the range of these numbers.
func equalSteps(g []item, d int) (n int, span string) {
	text := func(i int) string { return g[i].parts[len(g[i].parts)-2*d] }
	first := text(0)
	width := 0
	if first[0] == '0' {
		width = len(first)
	}
	lo, _ := strconv.Atoi(first)
	last, step := lo, 0
	for n = 1; n < len(g); n++ {
		v, err := strconv.Atoi(text(n))
		if err != nil || fmt.Sprintf("%0*d", width, v) != text(n) || v <= last || step != 0 && v-last != step {
			break
		}
		last, step = v, v-last
	}
	if span = "[" + first + "-" + text(n-1); step > 1 {
		span += ":" + strconv.Itoa(step)
	}
	return n, span + "]"
}
