// Package natural orders and folds names that carry numbers, the way a person
// reads them: Ethernet8 before Ethernet16, and Ethernet0, Ethernet4 .. as
// "Ethernet[0-124:4]".
package natural

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Compare orders a and b, runs of digits by their number.
func Compare(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && digit(a[i-1]) { // of a number that is not the same in both
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
	// Equal but for leading zeros: any fixed order will do.
	return cmp.Or(cmp.Compare(len(a)-i, len(b)-j), cmp.Compare(a, b))
}

// number returns the digits from i on, without leading zeros, and where they end.
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

// Fold writes names as a short list with ranges over their numbers:
// "Ethernet[0-124:4],PortChannel1", "gpu[001-512]", "Ethernet[1-32]/[1-4]". It is in the
// syntax of ranges of an intent, which expands it to the same names.
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

// item is some names: texts and, between them, numbers or ranges of some.
type item struct {
	parts []string // text, number, text, number, ... text
	first string   // of the names
}

const (
	mostFields = 4 // numbers of a name that are folded over, the last ones
	mostDigits = 9 // of such a number
	fewest     = 3 // names that make a range
)

// fields cuts a name at its numbers. One with brackets or commas has none: its list
// could not be read back.
func fields(s string) []string {
	if strings.ContainsAny(s, "[],") {
		return []string{s}
	}
	parts := []string{}
	end := len(s) // of the text that is not cut yet
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

// foldOver makes ranges over the d-th last number of items, which are in order.
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
			n, span := run(g, d)
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

// run is how many items from the first on have the d-th last number in equal steps,
// written with as many digits, and their range.
func run(g []item, d int) (n int, span string) {
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
