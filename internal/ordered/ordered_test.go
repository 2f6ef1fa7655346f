package ordered

import (
	"slices"
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
	for k := range g.All() { // ends early
		if k != "b" {
			t.Errorf("%s comes first", k)
		}
		break
	}
}
