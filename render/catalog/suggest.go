package catalog

import "strings"

// Suggest returns the name of the model that is spelled most like name, for a
// hint behind an error; "" where none is close.
func Suggest(name string) string {
	const most = 64 // longer is no model name, and the comparison is quadratic
	if name == "" || len(name) > most {
		return ""
	}
	want := strings.ToLower(name)
	best, bestCost := "", len(want)/3+1
	for _, n := range Models() {
		have := strings.ToLower(n)
		cost := distance(want, have)
		// The end of a hwsku without its maker ("SN5600" for "ACS-SN5600") is
		// far in letters and close in meaning.
		if len(want) >= 4 && strings.Contains(have, want) {
			cost = 0
		}
		if cost < bestCost {
			best, bestCost = n, cost
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
