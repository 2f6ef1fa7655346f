// Package linediff compares texts line by line.
//
// It first matches the lines that occur exactly once in each text. Long texts are therefore
// compared quickly, and a moved block shows up as one piece.
package linediff

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Op says whether a line is kept, removed or added.
type Op byte

// The values of Op are the characters printed before a line.
const (
	Same    Op = ' '
	Removed Op = '-'
	Added   Op = '+'
)

// Line is a line of either text.
type Line struct {
	Op   Op
	Text string
}

// Lines returns the lines of both texts in order. Removed lines come before the lines that replace
// them.
func Lines(a, b []string) []Line {
	d := differ{a: a, b: b}
	d.part(0, len(a), 0, len(b))
	return d.out
}

type differ struct {
	a, b []string
	out  []Line
}

func (d *differ) add(op Op, lines []string) {
	for _, l := range lines {
		d.out = append(d.out, Line{op, l})
	}
}

// part compares a[i:j] with b[k:l].
func (d *differ) part(i, j, k, l int) {
	from := i
	for i < j && k < l && d.a[i] == d.b[k] {
		i, k = i+1, k+1
	}
	d.add(Same, d.a[from:i])
	end := j
	for i < j && k < l && d.a[j-1] == d.b[l-1] {
		j, l = j-1, l-1
	}
	switch pairs := d.unique(i, j, k, l); {
	case len(pairs) > 0:
		for _, p := range pairs {
			d.part(i, p[0], k, p[1])
			d.add(Same, d.a[p[0]:p[0]+1])
			i, k = p[0]+1, p[1]+1
		}
		d.part(i, j, k, l)
	case i < j && k < l && (j-i)*(l-k) <= maxTable:
		d.table(i, j, k, l)
	default:
		d.add(Removed, d.a[i:j])
		d.add(Added, d.b[k:l])
	}
	d.add(Same, d.a[j:end])
}

// unique returns the longest sequence of lines that occur exactly once in each text and are in the
// same order in both.
func (d *differ) unique(i, j, k, l int) (pairs [][2]int) {
	type place struct{ inA, inB, at int }
	seen := map[string]*place{}
	for n := k; n < l; n++ {
		if p := seen[d.b[n]]; p != nil {
			p.inB++
		} else {
			seen[d.b[n]] = &place{inB: 1, at: n}
		}
	}
	for n := i; n < j; n++ {
		if p := seen[d.a[n]]; p != nil {
			p.inA++
		}
	}
	var all [][2]int
	for n := i; n < j; n++ {
		if p := seen[d.a[n]]; p != nil && p.inA == 1 && p.inB == 1 {
			all = append(all, [2]int{n, p.at})
		}
	}
	// Find the longest increasing sequence of places in b.
	before := make([]int, len(all))
	var ends []int // for each length, the index in all of the smallest end of a sequence
	for n, p := range all {
		at := sort.Search(len(ends), func(e int) bool { return all[ends[e]][1] > p[1] })
		before[n] = -1
		if at > 0 {
			before[n] = ends[at-1]
		}
		ends = append(ends[:at], append([]int{n}, ends[min(at+1, len(ends)):]...)...)
	}
	if len(ends) == 0 {
		return nil
	}
	for n := ends[len(ends)-1]; n >= 0; n = before[n] {
		pairs = append(pairs, all[n])
	}
	slices.Reverse(pairs)
	return pairs
}

// maxTable is the maximum size of the table in [differ.table].
const maxTable = 1 << 18

// table compares two short runs of lines by their longest common subsequence.
func (d *differ) table(i, j, k, l int) {
	a, b := d.a[i:j], d.b[k:l]
	wide := len(b) + 1
	long := make([]int32, (len(a)+1)*wide)
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] == b[y] {
				long[x*wide+y] = long[(x+1)*wide+y+1] + 1
			} else {
				long[x*wide+y] = max(long[(x+1)*wide+y], long[x*wide+y+1])
			}
		}
	}
	for x, y := 0, 0; x < len(a) || y < len(b); {
		switch {
		case x < len(a) && y < len(b) && a[x] == b[y]:
			d.add(Same, a[x:x+1])
			x, y = x+1, y+1
		case x < len(a) && (y == len(b) || long[(x+1)*wide+y] >= long[x*wide+y+1]):
			d.add(Removed, a[x:x+1])
			x++
		default:
			d.add(Added, b[y:y+1])
			y++
		}
	}
}

// context is the number of equal lines shown around a difference.
const context = 3

// Unified returns the difference of two texts as the lines that 'diff -u' prints, or nil if they
// are equal. nameA and nameB name the texts in the header.
func Unified(nameA, nameB, textA, textB string) []string {
	lines := Lines(split(textA), split(textB))
	var out []string
	a, b := 1, 1 // the number of the next line in each text
	for at := 0; at < len(lines); {
		end := at
		for end < len(lines) && lines[end].Op == Same {
			end++
		}
		if end == len(lines) {
			break
		}
		skip := max(end-context, at)
		a, b = a+skip-at, b+skip-at
		at = skip
		for same := 0; end < len(lines) && same <= 2*context; end++ {
			if same++; lines[end].Op != Same {
				same = 0
			}
		}
		for end > at && lines[end-1].Op == Same {
			end--
		}
		end = min(end+context, len(lines))
		var inA, inB int
		var hunk []string
		for _, l := range lines[at:end] {
			if l.Op != Added {
				inA++
			}
			if l.Op != Removed {
				inB++
			}
			text, whole := strings.CutSuffix(l.Text, "\n")
			hunk = append(hunk, string(l.Op)+text)
			if !whole {
				hunk = append(hunk, `\ No newline at end of file`)
			}
		}
		if out == nil {
			out = []string{"--- " + nameA, "+++ " + nameB}
		}
		out = append(append(out, fmt.Sprintf("@@ -%s +%s @@", span(a, inA), span(b, inB))), hunk...)
		a, b, at = a+inA, b+inB, end
	}
	return out
}

// split splits a text into its lines, including their newlines.
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// span formats a range of lines for the header of a hunk.
func span(from, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", from-1)
	case 1:
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, n)
}
