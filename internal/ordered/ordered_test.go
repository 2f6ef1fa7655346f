package ordered

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestKeysComeInTheOrderOfTheirFirstUse(t *testing.T) {
	var g Groups[string, int]
	if g.Keys() != nil {
		t.Fatalf("an empty map has the keys %v", g.Keys())
	}
	g.Add("b", 1)
	g.Add("a", 2, 3)
	g.Add("b", 4)
	g.Add("c")
	want := map[string][]int{"b": {1, 4}, "a": {2, 3}, "c": nil}
	var keys []string
	for k, list := range g.All() {
		keys = append(keys, k)
		if !slices.Equal(list, want[k]) {
			t.Errorf("%s has %v, want %v", k, list, want[k])
		}
	}
	if !slices.Equal(keys, []string{"b", "a", "c"}) || !slices.Equal(keys, g.Keys()) {
		t.Errorf("the keys come as %v and %v", keys, g.Keys())
	}
	for k := range g.All() { // the loop ends early
		if k != "b" {
			t.Errorf("%s comes first", k)
		}
		break
	}
}

func TestSort(t *testing.T) {
	type pair struct{ key, place int }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		var s []pair
		for i := range n {
			s = append(s, pair{r.IntN(1 + n/3), i})
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, func(a, b pair) int { return a.key - b.key })
		if Sort(s, func(a, b pair) int { return a.key - b.key }); !slices.Equal(s, want) {
			t.Fatalf("%v, want %v", s, want)
		}
	}
	if got := Sorted(slices.Values([]string{"b", "a"}), strings.Compare); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
}

func BenchmarkSort(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]string, 10_000)
	for i := range all {
		all[i] = strconv.Itoa(r.Int())
	}
	for name, sort := range map[string]func([]string, func(a, b string) int){"ordered": Sort[string], "slices": slices.SortFunc[[]string]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sort(slices.Clone(all), strings.Compare)
			}
		})
	}
}
