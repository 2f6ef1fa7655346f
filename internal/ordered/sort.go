package ordered

import (
	"cmp"
	"iter"
	"slices"
)

// Sort sorts a list; what is equal keeps its order. It is the one sort of the program for
// what has no order of its own: slices.SortFunc is compiled anew for each type, 17 KB of
// program and 12 of tables for it, and this for one.
func Sort[T any](s []T, compare func(a, b T) int) {
	at := order(len(s), func(i, j int) int { return compare(s[i], s[j]) })
	if at == nil {
		return
	}
	sorted := make([]T, len(s))
	for i := range s {
		sorted[i] = s[at[i]]
	}
	copy(s, sorted)
}

// Sorted returns what a sequence has, sorted as by [Sort].
func Sorted[T any](seq iter.Seq[T], compare func(a, b T) int) []T {
	s := slices.Collect(seq)
	Sort(s, compare)
	return s
}

// order returns the places of n values in their order, nil where they are in order.
func order(n int, compare func(i, j int) int) []int {
	sorted := true
	for i := 1; i < n && sorted; i++ {
		sorted = compare(i-1, i) <= 0
	}
	if sorted {
		return nil
	}
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	return at
}

// First orders what something is true of before what it is not: it compares two truths.
func First(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
