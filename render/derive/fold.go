package derive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// maxSpans limits the spans of a range, since a YAML key has at most 1024 characters.
const maxSpans = 48

// token is a run of digits or of other characters.
type token struct {
	text  string
	digit bool
}

func tokens(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		j := i
		digit := isDigit(s[i])
		for j < len(s) && isDigit(s[j]) == digit {
			j++
		}
		out = append(out, token{s[i:j], digit})
		i = j
	}
	return out
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// shape returns a name without its numbers. Only names of the same shape can be folded.
func shape(s string) string { return numbers.ReplaceAllString(s, "\x00") }

// fold writes a list, in its order, as one pattern that [intent.Expand] turns back into the
// list. ok is false if there is none.
func fold(list []string) (pattern string, ok bool) {
	if len(list) == 0 {
		return "", false
	}
	for _, s := range list {
		// A bracket in a name would be read as a range.
		if strings.Contains(s, "[") {
			return "", false
		}
	}
	pattern = list[0]
	if len(list) > 1 {
		if pattern, ok = foldTokens(list); !ok {
			return "", false
		}
	}
	back, err := intent.Expand(pattern)
	return pattern, err == nil && slices.Equal(back, list)
}

func foldTokens(list []string) (string, bool) {
	rows := make([][]token, len(list))
	for i, s := range list {
		rows[i] = tokens(s)
		if len(rows[i]) != len(rows[0]) {
			return "", false
		}
	}
	var varying []int
	for c, t := range rows[0] {
		for _, r := range rows[1:] {
			if r[c].digit != t.digit || !t.digit && r[c].text != t.text {
				return "", false
			}
			if r[c].text != t.text {
				varying = append(varying, c)
				break
			}
		}
	}
	ranges := map[int]string{}
	// The last position varies fastest: its values repeat in every block in which the others do
	// not change.
	for len(varying) > 0 {
		last := varying[len(varying)-1]
		varying = varying[:len(varying)-1]
		n := 1
		for n < len(rows) && sameAt(rows[0], rows[n], varying) {
			n++
		}
		if len(rows)%n != 0 {
			return "", false
		}
		var values []string
		for _, r := range rows[:n] {
			values = append(values, r[last].text)
		}
		var heads [][]token
		for i := 0; i < len(rows); i += n {
			for j := range n {
				if rows[i+j][last].text != values[j] || !sameAt(rows[i], rows[i+j], varying) {
					return "", false
				}
			}
			heads = append(heads, rows[i])
		}
		r, ok := spans(values)
		if !ok {
			return "", false
		}
		ranges[last] = r
		rows = heads
	}
	var b strings.Builder
	for c, t := range rows[0] {
		if r, ok := ranges[c]; ok {
			b.WriteString("[" + r + "]")
		} else {
			b.WriteString(t.text)
		}
	}
	return b.String(), true
}

func sameAt(a, b []token, columns []int) bool {
	for _, c := range columns {
		if a[c].text != b[c].text {
			return false
		}
	}
	return true
}

// spans writes numbers, in their order, as the content of a range.
func spans(values []string) (string, bool) {
	n := make([]int, len(values))
	for i, v := range values {
		if len(v) > 9 {
			return "", false
		}
		n[i], _ = strconv.Atoi(v) // digits only
	}
	var out []string
	for i := 0; i < len(n); {
		width := 0
		if len(values[i]) > 1 && values[i][0] == '0' {
			width = len(values[i])
		}
		j, step := i, 0
		for j+1 < len(n) && values[j+1] == fmt.Sprintf("%0*d", width, n[j+1]) {
			gap := n[j+1] - n[j]
			if gap <= 0 || step != 0 && gap != step {
				break
			}
			step = gap
			j++
		}
		switch {
		case j == i || j == i+1 && step > 1:
			j = i
			out = append(out, values[i])
		case step == 1:
			out = append(out, values[i]+"-"+values[j])
		default:
			out = append(out, values[i]+"-"+values[j]+":"+strconv.Itoa(step))
		}
		i = j + 1
	}
	return strings.Join(out, ","), len(out) <= maxSpans
}

// row is a name with values that change in step with it. A column is empty for all rows or for
// none.
type row struct {
	name  string
	steps []string
}

// folded is a pattern for names, with the patterns of the values in step.
type folded struct {
	name  string
	steps []string
	rows  []row
}

// foldRows folds names, and the values in step with them, into a small number of patterns, in
// the order of the first name of each.
func foldRows(rows []row) []folded {
	var byShape ordered.Groups[string, row]
	for _, r := range rows {
		key := shape(r.name)
		for _, s := range r.steps {
			key += "\x01" + shape(s)
		}
		byShape.Add(key, r)
	}
	var out []folded
	for _, alike := range byShape.All() {
		out = append(out, foldShape(alike)...)
	}
	return out
}

// foldShape folds rows of one shape: all of them if possible, else block by block, else the
// longest runs.
func foldShape(rows []row) []folded {
	if f, ok := foldAll(rows); ok {
		return []folded{f}
	}
	if blocks := blocksOf(rows); len(blocks) > 1 {
		var out []folded
		for _, b := range blocks {
			out = append(out, foldShape(b)...)
		}
		return out
	}
	var out []folded
	for len(rows) > 0 {
		n := longest(len(rows), func(n int) bool {
			_, ok := foldAll(rows[:n])
			return ok
		})
		f, _ := foldAll(rows[:n])
		out = append(out, f)
		rows = rows[n:]
	}
	return out
}

// longest returns the length of a prefix of n items that ok accepts. It is at least 1, and the
// longest such prefix if ok also accepts all shorter ones.
func longest(n int, ok func(int) bool) int {
	have, step := 1, 1
	for have < n && step > 0 {
		if try := min(have+step, n); ok(try) {
			have = try
			step *= 2
			continue
		}
		step /= 2
	}
	return have
}

// blocksOf splits rows wherever a number of the name other than the last one changes.
func blocksOf(rows []row) [][]row {
	head := func(r row) string {
		ts := tokens(r.name)
		for i := len(ts) - 1; i >= 0; i-- {
			if ts[i].digit {
				var b strings.Builder
				for j, t := range ts {
					if j != i {
						b.WriteString(t.text + "\x00")
					}
				}
				return b.String()
			}
		}
		return r.name
	}
	var out [][]row
	last := ""
	for i, r := range rows {
		if h := head(r); i == 0 || h != last {
			out = append(out, nil)
			last = h
		}
		out[len(out)-1] = append(out[len(out)-1], r)
	}
	return out
}

func foldAll(rows []row) (folded, bool) {
	f := folded{rows: rows}
	column := func(at func(row) string) (string, bool) {
		list := make([]string, len(rows))
		for i, r := range rows {
			list[i] = at(r)
		}
		return fold(list)
	}
	var ok bool
	if f.name, ok = column(func(r row) string { return r.name }); !ok {
		// A single name needs no pattern; the loader checks whether it is valid.
		f.name = rows[0].name
		if len(rows) > 1 {
			return f, false
		}
	}
	for i := range rows[0].steps {
		p, ok := column(func(r row) string { return r.steps[i] })
		if !ok {
			p = rows[0].steps[i]
			if len(rows) > 1 && p != "" {
				return f, false
			}
		}
		f.steps = append(f.steps, p)
	}
	return f, true
}

// foldNames folds names without values in step.
func foldNames(names []string) []string {
	rows := make([]row, len(names))
	for i, n := range names {
		rows[i] = row{name: n}
	}
	var out []string
	for _, f := range foldRows(rows) {
		out = append(out, f.name)
	}
	return out
}

// maxShown is the number of name patterns that a remark shows.
const maxShown = 8

// shown writes names for people, folded and shortened if there are many.
func shown(names []string) string {
	patterns := foldNames(natural.Sorted(names))
	if len(patterns) <= maxShown {
		return strings.Join(patterns, ",")
	}
	return fmt.Sprintf("%s,... (%d in all)", strings.Join(patterns[:maxShown], ","), len(names))
}
