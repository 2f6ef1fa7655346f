package catalog

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/words"
)

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
		cost := words.Distance(want, have, bestCost)
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
