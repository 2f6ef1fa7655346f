package yaml

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// same compares two trees, ignoring lines and columns.
func same(a, b *Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value &&
		slices.EqualFunc(a.Pairs, b.Pairs, func(p, q Pair) bool { return p.Key.Value == q.Key.Value && same(p.Value, q.Value) }) &&
		slices.EqualFunc(a.Items, b.Items, same)
}

func TestWrittenTreesAreReadAsTheSame(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "~", "no", "Yes", "1e3", "0x1f", "60%", "400ms", "5m", "2026-12-31", "12:30", "1_000", "null", ".inf", "a: b", "a #b", "- a", "leaf[1-2]:8080",
		"~/.ssh/known_hosts", "it's", "a\nb", "[", "*x", "&x", "!x", "%x", "@x", "`x", "10.4(3)", "4.34.2F", "202511", "ä", "key:"}), rapid.StringN(0, 12, -1))
	var node func(depth int) *rapid.Generator[*Node]
	node = func(depth int) *rapid.Generator[*Node] {
		return rapid.Custom(func(t *rapid.T) *Node {
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			if depth == 0 || kind == 3 {
				kind = 2
			}
			n := &Node{}
			switch kind {
			case 0:
				n.Kind = Map
				for _, k := range rapid.SliceOfNDistinct(text, 1, 4, rapid.ID[string]).Draw(t, "keys") {
					n.Set(k, node(depth-1).Draw(t, "value"))
				}
			case 1:
				n.Kind, n.Items = List, rapid.SliceOfN(node(depth-1), 1, 4).Draw(t, "items")
			default:
				n = NewText(text.Draw(t, "text"))
			}
			return n
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		in := &Node{Kind: Map}
		in.Set("top", node(3).Draw(t, "tree"))
		written := in.Bytes()
		out, errs := Parse("f", written)
		if errs != nil || !same(in, out) {
			t.Fatalf("read again as another one (%v):\n%s", errs, written)
		}
	})
}

func TestWrittenForm(t *testing.T) {
	n, errs := Parse("f", []byte("mtu: {host: 9000, \"rdma\": 4096}\nname: 'x' # comment\nempty: {}\nnone: []\nnothing:\nswitches: {leaf: {os: sonic, release: \"202511\"}}\nlinks: [{a: 'l[1-2]/E1'}]\nlong:\n  aaa: "+strings.Repeat("x", 120)+"\n  b: [1, 2.5]\n"))
	if errs != nil {
		t.Fatal(errs)
	}
	n.Set("name", NewText("y"))
	n.Delete("empty")
	want := "mtu: {host: 9000, rdma: 4096}\nname: 'y'\nnone: []\nnothing: null\nswitches:\n  leaf: {os: sonic, release: '202511'}\nlinks:\n  - {a: 'l[1-2]/E1'}\nlong:\n  aaa: " + strings.Repeat("x", 120) + "\n  b: [1, 2.5]\n"
	if got := string(n.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
