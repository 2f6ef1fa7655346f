package yamlfmt

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

func format(t *testing.T, in string) string {
	t.Helper()
	out, errs := Format("f", []byte(in))
	if errs != nil {
		t.Fatalf("%v\n%s", errs[0], in)
	}
	again, errs := Format("f", out)
	if errs != nil || string(again) != string(out) {
		t.Fatalf("a second time %v:\n%s\nfirst:\n%s", errs, again, out)
	}
	return string(out)
}

func TestFormat(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"one blank behind colons and commas", "a:   1\nb: {c:  2,d: 3 , e: \"x\"}\nf: [ 1,2 ,3, ]\n", "a: 1\nb: {c: 2, d: 3, e: \"x\"}\nf: [1, 2, 3]\n"},
		{"two blanks a level", "a:\n    b:\n        c: 1\n    d:\n       - 1\n       - e:  2\n         f: 3\n", "a:\n  b:\n    c: 1\n  d:\n    - 1\n    - e: 2\n      f: 3\n"},
		{"a list below its key", "a:\n- 1\n-   b: 2\n    c: 3\nd: 4\n", "a:\n  - 1\n  - b: 2\n    c: 3\nd: 4\n"},
		{"lists in lists", "a:\n  - - 1\n    - 2\n  -   - 3\n  -\n    - 4\n", "a:\n  - - 1\n    - 2\n  - - 3\n  -\n    - 4\n"},
		{"empty lines", "\n\na: 1\n\n\n\nb: 2\n\n\n", "a: 1\n\nb: 2\n"},
		{"comments of a line", "a: 1 # x\nb: {c: 2}      #y  \nd:   # z\n  e: \"#\" # q\nf: a#b\n", "a: 1 # x\nb: {c: 2} #y\nd: # z\n  e: \"#\" # q\nf: a#b\n"},
		{"comments go with what follows", "   # top\na:\n# of b\n    b: 1\n  # of c\n    c: 2\n# of d\nd: 3\n", "# top\na:\n  # of b\n  b: 1\n  # of c\n  c: 2\n# of d\nd: 3\n"},
		{"comments at the end of a block stay in it", "a:\n    b:\n        c: 1\n        # d: 2\n    # e: 3\n\n# f\nf: 4\n    # g\n", "a:\n  b:\n    c: 1\n    # d: 2\n  # e: 3\n\n# f\nf: 4\n# g\n"},
		{"comments alone below a key", "a:\n    # b: 1\n\n    # c: 2\nd:\n  # e\n", "a:\n  # b: 1\n\n  # c: 2\nd:\n  # e\n"},
		{"comments between entries of a list", "a:\n- 1\n# two\n- 2\n# three\nb: 1\n", "a:\n  - 1\n  # two\n  - 2\n# three\nb: 1\n"},
		{"a value below its key", "a:\n      {b: 1,c: 2}\nd:\n  - e:\n      [1]\n", "a:\n  {b: 1, c: 2}\nd:\n  - e:\n      [1]\n"},
		{"braces over lines", "a: {\n b: 1, # x\n # y\n\n\n c: [1,\n2],\n}\nd:\n  - {e: 1,\n     f: 2}\n", "a: {\n  b: 1, # x\n  # y\n\n  c: [1,\n    2],\n}\nd:\n  - {e: 1,\n      f: 2}\n"},
		{"a document of braces", "{a:  1,\n b: {c: 2}}\n", "{a: 1,\n  b: {c: 2}}\n"},
		{"keys and values with colons", "\"a b\" :  1\n'c': http://x:80\nd: {e: 192.0.2.1:80, \"f\":1, g: , h: a:b}\n", "\"a b\": 1\n'c': http://x:80\nd: {e: 192.0.2.1:80, \"f\": 1, g: , h: a:b}\n"},
		{"anchors", "a:  &x  {b:  1}\nc:  *x\nd: &y\n    e: 1\nf: [*x , &z 2]\n", "a: &x {b: 1}\nc: *x\nd: &y\n  e: 1\nf: [*x, &z 2]\n"},
		{"texts of several lines", "a: one\n     two\n\n     three # c\nb: \"x\n\n   y\\\n   z\"\nc:\n   d: 'e\n  f'\n", "a: one\n  two\n\n  three # c\nb: \"x\n\n  y\\\n  z\"\nc:\n  d: 'e\n    f'\n"},
		{"texts that keep lines", "a: |\n     one\n       two\n\n     three\n\n\nb: >-   # c\n  x\nc:\n    - |2\n        y\n    - |+\n      z\n\n\n    - 1\n", "a: |\n  one\n    two\n\n  three\n\nb: >- # c\n  x\nc:\n  - |2\n      y\n  - |+\n      z\n\n\n  - 1\n"},
		{"the begin of a document", "%YAML 1.1\n---   # x\na:  1\n...\n", "%YAML 1.1\n---   # x\na: 1\n...\n"},
		{"carriage returns alone", "a:  1 # b\r\rc: 2\r", "a: 1 # b\n\nc: 2\n"},
		{"line ends of Windows", "\ufeffa:  1\r\nb:\r\n    c: 2\r\n", "a: 1\nb:\n  c: 2\n"},
		{"blanks inside of texts", "a: b  c\nd: {e: f  g , h: 'i  j'}\n", "a: b  c\nd: {e: f  g, h: 'i  j'}\n"},
		{"no line end", "a:  1", "a: 1\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := format(t, c.in); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	cases := []struct{ in, want string }{
		{"a: 1\nb: {c: 1\nd: 2\n", "f:2:1: did not find expected ',' or '}'"},
		{"a: 1\na: 2\n", "f:2:1: duplicate key \"a\", first at f:1:1"},
		{"", "f:1:1: the file is empty"},
		{"a: 1\n? b\n: 2\n", "f:2:1: a key after a question mark"},
		{"a: {? b : 1}\n", "f:1:5: a key after a question mark"},
	}
	for _, c := range cases {
		out, errs := Format("f", []byte(c.in))
		if out != nil || len(errs) != 1 || errs[0].Error() != c.want {
			t.Errorf("%q gives %q and %v, want %s", c.in, out, errs, c.want)
		}
	}
}

// Every single-document YAML file of the project can be formatted, and formatting it twice gives
// the same result.
func TestOwnFiles(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(path); d.IsDir() || ext != ".yaml" && ext != ".yml" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, errs := yaml.Parse(path, text); errs == nil {
			n++
			t.Run(path, func(t *testing.T) { format(t, string(text)) })
		}
		return nil
	})
	if err != nil || n < 40 {
		t.Errorf("%d files, %v", n, err)
	}
}

var manyEmpty = regexp.MustCompile(`\n{3,}`)

// Documents that differ only in insignificant blanks are formatted alike.
func TestInsignificantBlanks(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := 0
		var tidy, wild strings.Builder
		both := func(s string) { tidy.WriteString(s); wild.WriteString(s) }
		draw := func(what string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(r, what) }
		scalar := func() string {
			return rapid.SampledFrom([]string{"1", "x", "a b", "400G", "\"q, # \\\" {\"", "'it''s'", "192.0.2.1:80", "x#y", "~"}).Draw(r, "scalar")
		}
		gap := func(usual string) { tidy.WriteString(usual); wild.WriteString(usual + spaces(draw("gap", 0, 2))) }
		var flow func(depth int)
		flow = func(depth int) {
			kind := draw("flow", 0, 2)
			if depth == 0 || kind == 0 {
				both(scalar())
				return
			}
			pair := "[]"
			if kind == 2 {
				pair = "{}"
			}
			both(pair[:1])
			gap("")
			for i := range draw("entries", 0, 3) {
				if i > 0 {
					gap("")
					both(",")
					gap(" ")
				}
				if kind == 2 {
					both("k" + string(rune('a'+i)))
					both(":")
					gap(" ")
				}
				flow(depth - 1)
			}
			gap("")
			both(pair[1:])
		}
		var block func(depth, col, wildCol int)
		block = func(depth, col, wildCol int) {
			list := draw("list", 0, 1) == 1
			for range draw("size", 1, 3) {
				n++
				if draw("comment", 0, 3) == 0 {
					tidy.WriteString(spaces(col) + "# c\n")
					wild.WriteString(spaces(wildCol) + "# c" + spaces(draw("end", 0, 2)) + "\n")
				}
				tidy.WriteString(spaces(col))
				wild.WriteString(spaces(wildCol))
				if list {
					both("- ")
				} else {
					both("k" + strings.Repeat("x", n) + ":")
				}
				deeper := depth > 0 && draw("deeper", 0, 2) == 0
				switch {
				case deeper && list:
					// A lone dash has no space after it.
					t, w := strings.TrimSuffix(tidy.String(), " "), wild.String()
					tidy.Reset()
					tidy.WriteString(t)
					wild.Reset()
					wild.WriteString(w)
				case !deeper:
					if !list {
						gap(" ")
					}
					flow(2)
				}
				if draw("behind", 0, 3) == 0 {
					both(" ")
					tidy.WriteString("# d")
					wild.WriteString(spaces(draw("before", 0, 3)) + "# d")
				} else {
					wild.WriteString(spaces(draw("end", 0, 2)))
				}
				both("\n")
				if deeper {
					block(depth-1, col+2, wildCol+draw("indent", 1, 5))
				}
				if draw("empty", 0, 3) == 0 {
					tidy.WriteString("\n")
					wild.WriteString(strings.Repeat("  \n", draw("lines", 1, 3)))
				}
			}
		}
		block(3, 0, draw("first", 0, 2))
		want := strings.TrimRight(manyEmpty.ReplaceAllString(tidy.String(), "\n\n"), "\n") + "\n"
		got, errs := Format("f", []byte(wild.String()))
		if errs != nil {
			r.Fatalf("%v\n%s", errs[0], wild.String())
		}
		if string(got) != want {
			r.Fatalf("got\n%s\nwant\n%s\nof\n%s", got, want, wild.String())
		}
	})
}

// FuzzFormat checks that formatted text parses to the same tree, and that formatting it again
// changes nothing.
func FuzzFormat(f *testing.F) {
	for _, name := range []string{"quickstart", "mixed", "rail-512"} {
		text, err := os.ReadFile(filepath.Join("../../examples", name, "fabric.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, s := range []string{"a: |\n  b\n", "a: {b: [c, 'd'],\n# e\n}\n", "- - a\n  - b: \"c\n    d\"\n", "a: &b\n- *b\n", "\"a\": b\n c\n\n d # e\n", "a: >+1\n  b\n\n\nc: d\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, errs := Format("f", []byte(in))
		if errs != nil {
			if errs[0].Line < 1 || errs[0].Column < 1 {
				t.Fatalf("no place: %v", errs[0])
			}
			return
		}
		again, errs := Format("f", out)
		if errs != nil {
			t.Fatalf("%v\n%s", errs[0], out)
		}
		if string(again) != string(out) {
			t.Fatalf("first\n%s\nthen\n%s", out, again)
		}
	})
}
