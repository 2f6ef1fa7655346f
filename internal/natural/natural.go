// Package natural orders and folds names that carry numbers, the way a person
// reads them: Ethernet8 before Ethernet16, and Ethernet0, Ethernet4 .. as
// "Ethernet[0-124:4]".
package natural

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Compare orders a and b, runs of digits by their number.
func Compare(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if digit(a[i]) && digit(b[j]) {
			si, sj := i, j
			for i < len(a) && digit(a[i]) {
				i++
			}
			for j < len(b) && digit(b[j]) {
				j++
			}
			na, nb := strings.TrimLeft(a[si:i], "0"), strings.TrimLeft(b[sj:j], "0")
			if c := cmp.Or(cmp.Compare(len(na), len(nb)), cmp.Compare(na, nb)); c != 0 {
				return c
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

func digit(c byte) bool { return c >= '0' && c <= '9' }

// Sorted returns names in natural order.
func Sorted(names []string) []string {
	out := slices.Clone(names)
	slices.SortFunc(out, Compare)
	return out
}

// Keys returns the keys of m in natural order.
func Keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, Compare)
	return out
}

// Fold writes names as a short list with ranges over their last number:
// "Ethernet[0-124:4],PortChannel1".
func Fold(names []string) string {
	var out []string
	ns := Sorted(names)
	for i := 0; i < len(ns); {
		head, n, tail, ok := split(ns[i])
		j, step := i+1, 0
		for ok && j < len(ns) {
			h, m, t, ok2 := split(ns[j])
			if !ok2 || h != head || t != tail {
				break
			}
			_, prev, _, _ := split(ns[j-1])
			if d := m - prev; step == 0 && d > 0 {
				step = d
			} else if d != step || d <= 0 {
				break
			}
			j++
		}
		switch {
		case j-i < 3:
			out = append(out, ns[i])
			i++
			continue
		case step == 1:
			_, last, _, _ := split(ns[j-1])
			out = append(out, head+"["+strconv.Itoa(n)+"-"+strconv.Itoa(last)+"]"+tail)
		default:
			_, last, _, _ := split(ns[j-1])
			out = append(out, head+"["+strconv.Itoa(n)+"-"+strconv.Itoa(last)+":"+strconv.Itoa(step)+"]"+tail)
		}
		i = j
	}
	return strings.Join(out, ",")
}

// split cuts a name at its last number; ok is false where there is none or
// where folding would lose leading zeros.
func split(s string) (head string, n int, tail string, ok bool) {
	e := len(s)
	for e > 0 && !digit(s[e-1]) {
		e--
	}
	b := e
	for b > 0 && digit(s[b-1]) {
		b--
	}
	if b == e || e-b > 9 || (s[b] == '0' && e-b > 1) {
		return s, 0, "", false
	}
	n, _ = strconv.Atoi(s[b:e])
	return s[:b], n, s[e:], true
}
