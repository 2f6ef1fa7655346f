package intent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

func TestExpand(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"leaf1", "leaf1"},
		{"leaf[1-3]", "leaf1 leaf2 leaf3"},
		{"leaf[08-11]", "leaf08 leaf09 leaf10 leaf11"},
		{"Ethernet[0-8:4]", "Ethernet0 Ethernet4 Ethernet8"},
		{"[1-2]/[3,5-6]", "1/3 1/5 1/6 2/3 2/5 2/6"},
		{"x[7]y", "x7y"},
		{"a[0-4:4,12]", "a0 a4 a12"},
		{"[2001:db8::1]:8080", "[2001:db8::1]:8080"},
		{"[::1]:8080", "[::1]:8080"},
		{"[1:2:3:4:5:6:7:8]:80", "[1:2:3:4:5:6:7:8]:80"},
		{"[2001:db8::1]:808[0-1]", "[2001:db8::1]:8080 [2001:db8::1]:8081"},
		{"a[b]", "a[b]"},
		{"a[", "a["},
		{"", ""},
	} {
		got, err := Expand(c.in)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%q: %v %v, want %s", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"[3-1]", "[1-4:0]", "[1-4:2]", "[1,]", "[,]", "[-]", "[1-2-3]", "[1:2-3]", "[1-01]", "[1-1000000000]", "[1-999999,1-999999]", "[1-2000][1-2000]"} {
		if got, err := Expand(in); !errors.Is(err, errRange) {
			t.Errorf("%q: %d names, %v", in, len(got), err)
		}
	}
}

// A pattern expands to the names that a simple count gives, in the same order.
func TestExpandCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z/.]{0,4}`)
		in, want := "", []string{""}
		for range rapid.IntRange(0, 3).Draw(t, "groups") {
			prefix := text.Draw(t, "prefix")
			var items, values []string
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				lo := rapid.IntRange(0, 120).Draw(t, "lo")
				n := rapid.IntRange(0, 5).Draw(t, "n")
				step := rapid.IntRange(1, 9).Draw(t, "step")
				width := rapid.IntRange(0, 5).Draw(t, "width")
				first := fmt.Sprintf("%0*d", width, lo)
				if first[0] != '0' || len(first) == 1 {
					width = 0
				}
				item := first
				if n > 0 {
					item += fmt.Sprintf("-%0*d:%d", width, lo+n*step, step)
				}
				items = append(items, item)
				for i := range n + 1 {
					values = append(values, fmt.Sprintf("%0*d", width, lo+i*step))
				}
			}
			in += prefix + "[" + strings.Join(items, ",") + "]"
			var next []string
			for _, w := range want {
				for _, v := range values {
					next = append(next, w+prefix+v)
				}
			}
			want = next
		}
		got, err := Expand(in)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %v %v, want %v", in, got, err, want)
		}
	})
}

// Any text either expands or is rejected, and the number of names matches the announced count.
func TestExpandAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringMatching(`([a-z]|\[|\]|[0-9]{1,3}|-|,|:|/){0,12}`).Draw(t, "in")
		p, err := parsePattern(in)
		if err != nil {
			if !errors.Is(err, errRange) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		got := p.expand()
		if len(got) != p.count {
			t.Fatalf("%q: %d names, promised %d", in, len(got), p.count)
		}
		if !p.ranged && got[0] != in {
			t.Fatalf("%q changed to %q", in, got[0])
		}
	})
}

func TestCompareNames(t *testing.T) {
	want := []string{"Ethernet1/2", "Ethernet1/10", "Ethernet2/1", "leaf1", "leaf01", "leaf2", "leaf10", "leaf10a", "spine1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural.Compare)
	if natural.Compare("leaf1", "leaf01") > 0 {
		got[3], got[4] = got[4], got[3] // either order will do, as long as it is always the same
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	name := rapid.StringMatching(`[a-b]{0,2}[0-9]{0,3}[/a]{0,1}[0-9]{0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (natural.Compare(a, b) == 0) != (a == b) || natural.Compare(a, b) < 0 != (natural.Compare(b, a) > 0) {
			t.Fatalf("%q and %q have no order", a, b)
		}
		if natural.Compare(a, b) < 0 && natural.Compare(b, c) < 0 && natural.Compare(a, c) >= 0 {
			t.Fatalf("%q < %q < %q, but not the first and the last", a, b, c)
		}
	})
}
