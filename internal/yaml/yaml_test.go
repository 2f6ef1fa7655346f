package yaml

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	n, errs := Parse("f", []byte("a: 1\nb:\n  - x\n  - \"2\"\nc: {d: true, e: 1.5, f: , g: off, 1: y}\nh: &h [1]\ni: *h\n"))
	if errs != nil {
		t.Fatal(errs)
	}
	var b strings.Builder
	dump(&b, n)
	want := "{a@1:1=a whole number(1)@1:4 b@2:1=[text(x)@3:5 text(2)@4:5] c@5:1={d@5:5=true or false(true)@5:8 " +
		"e@5:14=a number(1.5)@5:17 f@5:22=nothing()@5:25 g@5:27=text(off)@5:30 1@5:35=text(y)@5:38} " +
		"h@6:1=[a whole number(1)@6:8] i@7:1=[a whole number(1)@6:8]}"
	if got := b.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An alias may repeat a key.
func TestAliasOfAKey(t *testing.T) {
	n, errs := Parse("f", []byte("&k a: 1\nb: *k\n"))
	if errs != nil || n.Get("b") == nil || n.Get("b").Value != "a" {
		t.Errorf("%v, %v", n, errs)
	}
}

func dump(b *strings.Builder, n *Node) {
	switch n.Kind {
	case Map:
		b.WriteString("{")
		for i, p := range n.Pairs {
			if i > 0 {
				b.WriteString(" ")
			}
			fmt.Fprintf(b, "%s@%d:%d=", p.Key.Value, p.Key.Line, p.Key.Column)
			dump(b, p.Value)
		}
		b.WriteString("}")
	case List:
		b.WriteString("[")
		for i, v := range n.Items {
			if i > 0 {
				b.WriteString(" ")
			}
			dump(b, v)
		}
		b.WriteString("]")
	default:
		fmt.Fprintf(b, "%s(%s)@%d:%d", n.Kind, n.Value, n.Line, n.Column)
	}
}

func TestParseErrors(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	cases := []struct{ name, in, want string }{
		{"empty", "", "f:1:1: the file is empty"},
		{"comment only", "# nothing\n", "f:1:1: the file is empty"},
		{"document marker only", "---\n", "f:1:1: the file is empty"},
		{"duplicate keys", "a: 1\nb: {c: 1, c: 2}\na: 3\n", "f:2:11: duplicate key \"c\", first at f:2:5\nf:3:1: duplicate key \"a\", first at f:1:1"},
		{"second document", "a: 1\n---\nb: 2\n", "f:2:1: a second document in the file"},
		{"bad second document", "a: 1\n---\nb: [\n", "f:3:1: did not find expected node content"},
		{"merge", "a: &a {x: 1}\nb:\n  <<: *a\n", "f:3:3: merge keys are not supported"},
		{"tag", "a: !hunter2 x\n", "f:1:4: a tag"},
		{"list key", "? [a]\n: 1\n", "f:1:3: a key must be text"},
		{"unclosed brace", "a: 1\nb: {c: 1\nd: 2\n", "f:2:1: did not find expected ',' or '}'"},
		{"range unquoted in braces", "a: 1\nb: {c: x[1-2]}\n", "f:2:1: did not find expected ',' or '}'"},
		{"bad indent far from the block's start", "a:\n  b: 1\n" + strings.Repeat("  # more\n", 20) + "  c: 2\n d: 3\n", "f:24:2: did not find expected key"},
		{"colon in text", "a: 1\nb: c: d\n", "f:2:1: mapping values are not allowed in this context"},
		{"tab", "a:\n\tb: 1\n", "f:2:2: found character that cannot start any token"},
		{"undefined alias", "a: 1\nb: *hunter2\n", "f:2:1: an alias (*) to an anchor that the file does not define"},
		{"alias of itself", "a: &a [*a]\n", "f:1:8: an alias is inside the value that it repeats"},
		{"alias bomb", bomb, "f:6:8: aliases expand to more than 200000 values"},
		{"flow nesting", "a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "f:1:67: nested more than 64 levels deep"},
		{"nesting bomb", strings.Repeat("[", 200_000), "f:1:1: exceeded max depth of 10000"},
		{"control character", "a: 1\nb: \x00\n", "f:2:4: control character 0x00"},
		{"not UTF-8", "a: \xff\n", "f:1:4: byte 0xff is not UTF-8 text"},
		{"secret as key", "{password:hunter2, password:hunter2}", "f:1:20: duplicate key \"password:...\", first at f:1:2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, errs := Parse("f", []byte(c.in))
			var lines []string
			for _, e := range errs {
				lines = append(lines, e.Error())
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if s := fmt.Sprintf("%+v", errs); strings.Contains(s, "hunter2") {
				t.Errorf("an error repeats a value: %s", s)
			}
		})
	}
}

// Parse handles large hostile files with a result or an error. Quadratic run time on any of them
// would exceed the time limit of go test.
func TestHostileSize(t *testing.T) {
	const size = 1 << 20
	for name, unit := range map[string]string{
		"comments": "#\n", "brackets": "[", "dashes": "- ", "questions": "? ", "anchors": "- &a a\n", "quotes": "\"", "lines": "\n", "keys": "a: 1\n",
		"indented comments": "  # x\n", "bars": "- |\n", "aliases": "- *a\n", "braces": "{a: ", "colons": ":", "exclamation": "!",
	} {
		t.Run(name, func(t *testing.T) {
			n, errs := Parse("f", []byte(strings.Repeat(unit, size/len(unit))))
			if (n == nil) == (errs == nil) && name != "keys" && name != "exclamation" {
				t.Errorf("node %v, %d errors", n != nil, len(errs))
			}
			for _, e := range errs {
				if e.Line < 1 || e.Column < 1 {
					t.Fatalf("no place: %v", e)
				}
			}
		})
	}
}
