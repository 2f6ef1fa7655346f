package intent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Expanding a folded list of names returns the same names.
func TestFoldedNamesExpandToTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(rapid.SampledFrom([]string{"gpu%d", "gpu%02d", "gpu%[1]d/%[2]d", "Ethernet%[2]d/%[1]d", "l%02[1]d-p%03[2]d", "pod%[2]dleaf%[1]d.%[2]d", "%d"}).Draw(t, "form"),
				rapid.IntRange(0, 12).Draw(t, "a"), rapid.IntRange(0, 110).Draw(t, "b"))
		})
		var names []string
		for _, n := range rapid.SliceOfN(name, 0, 200).Draw(t, "names") {
			n, _, _ = strings.Cut(n, "%!(EXTRA")
			names = append(names, n)
		}
		folded := natural.Fold(names)
		var got []string
		for _, pattern := range split(folded) {
			some, err := Expand(pattern)
			if err != nil {
				t.Fatalf("%s of %s: %v", pattern, folded, err)
			}
			got = append(got, some...)
		}
		slices.Sort(names)
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Fatalf("%v folded to %s is %v", names, folded, got)
		}
	})
}

// split cuts a list at the commas outside ranges.
func split(list string) (out []string) {
	deep, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '[':
			deep++
		case c == ']':
			deep--
		case c == ',' && deep == 0 && i > from:
			out, from = append(out, list[from:i]), i+1
		}
	}
	return out
}
