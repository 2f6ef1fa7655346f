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
	if slices.IsSortedFunc(s, compare) {
		return
	}
	sorted := make([]T, len(s))
	for i, at := range order(len(s), func(i, j int) int { return compare(s[i], s[j]) }) {
		sorted[i] = s[at]
	}
	copy(s, sorted)
}

// Sorted returns what a sequence has, sorted as by [Sort].
func Sorted[T any](seq iter.Seq[T], compare func(a, b T) int) []T {
	s := slices.Collect(seq)
	Sort(s, compare)
	return s
}

// order returns the places of n values in their order.
func order(n int, compare func(i, j int) int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	return at
}
