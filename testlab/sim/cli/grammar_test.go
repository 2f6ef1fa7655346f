package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A grammar parses a line into a canonical command with its parameters, or says where and why the
// line is invalid.
func TestParse(t *testing.T) {
	g := NewGrammar[*strings.Builder](map[string]Param{"even": One(func(s string) bool { return len(s)%2 == 0 })})
	run := func(b *strings.Builder) string { b.WriteString("ran"); return "" }
	for _, p := range []string{"priority level <l=1-8>", "priority strict", "print [<how=long|short> [again]] <what=even>", "description <rest=text>"} {
		g.Set([]string{"m"}, p, run)
	}
	g.Neg([]string{"m"}, "priority", run)
	for _, c := range []struct{ line, want string }{
		{"priority level 3", "priority level 3 l=3"},
		{"prio str", "priority strict"},
		{"PRIORITY Level 08", "priority level 8 l=8"},
		{"print lo ab", "print long ab how=long what=ab"},
		{"print short again ab", "print short again ab how=short what=ab"},
		{"print long", "print long what=long"},
		{"print abc", "misfit 1"},
		{"description  a  b ", "description a  b rest=a  b"},
		{"priority level 9", "misfit 2 range 1-8"},
		{"priority level x", "misfit 2"},
		{"priority level", "misfit 2"},
		{"pri level 3", "misfit 0 ambiguous"},
		{"nothing", "misfit 0"},
		{"priority strict now", "misfit 2"},
	} {
		m, f := g.Modes["m"].Set.Parse(Tokenize(c.line), 0)
		got := fmt.Sprint("misfit ", f.At)
		if f.Ambiguous {
			got += " ambiguous"
		}
		if f.Range != "" {
			got += " range " + f.Range
		}
		if m != nil {
			got = m.Line
			for _, k := range slices.Sorted(maps.Keys(m.Vals)) {
				got += " " + k + "=" + m.Vals[k]
			}
			var b strings.Builder
			if m.Run(&b); b.String() != "ran" {
				t.Errorf("%s: not its action", c.line)
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
	if m, _ := g.Modes["m"].Neg.Parse(Tokenize("no priority"), 1); m == nil || m.Line != "priority" {
		t.Errorf("no form: %+v", m)
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]string{"3": "3", "7,0-2": "0 1 2 7", "1,1": "1", "8": "", "3-1": "", "a": "", "": "", "1,,2": "", "99999999999": ""} {
		have, ok := Numbers(in, 7)
		if got := JoinNumbers(have, " "); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}
