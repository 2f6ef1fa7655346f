package ordered

import (
	"cmp"
	"iter"
	"slices"
)

// Sort sorts a list and keeps the order of equal elements. The whole program uses it instead of
// slices.SortFunc, which is compiled anew for each type and adds 17 KB of code and 12 KB of tables
// each time; Sort is compiled once.
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

// Sorted returns the values of a sequence, sorted as by [Sort].
func Sorted[T any](seq iter.Seq[T], compare func(a, b T) int) []T {
	s := slices.Collect(seq)
	Sort(s, compare)
	return s
}

// order returns the indexes of n values in sorted order, or nil if the values are already sorted.
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

// First compares two booleans so that true sorts before false.
func First(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
