package yang

import (
	"fmt"
	"strings"
	"testing"
)

// xpathTree returns the tree /m/T: three rows of the list R with the leaves k (the key), n and s,
// and a leaf l. row2 is the second row.
func xpathTree() (ck *checker, row2 *node) {
	leaf := func(name, val string) *node { return &node{s: &snode{kind: kLeaf, name: name}, val: val} }
	list := &snode{kind: kList, name: "R", keys: []string{"k"}}
	m := &node{s: &snode{kind: kContainer, name: "m"}}
	table := &node{s: &snode{kind: kContainer, name: "T", byName: map[string]*snode{"R": list}}}
	ck = &checker{m: newModels(), root: &node{}, tables: map[string]*node{}}
	ck.root.add(m)
	m.add(table)
	for _, v := range [][3]string{{"1", "10", "a b"}, {"2", "20", "bcd"}, {"3", "-5", ""}} {
		row := &node{s: list}
		row.add(leaf("k", v[0]))
		row.add(leaf("n", v[1]))
		row.add(leaf("s", v[2]))
		table.add(row)
	}
	table.add(leaf("l", "20"))
	return ck, table.kids[1]
}

// TestXPath: the expected values are worked out by hand from XPath 1.0. The context node is the row
// with key 2; current() is its leaf n, which is 20.
func TestXPath(t *testing.T) {
	for _, tc := range []struct{ expr, want string }{
		// Operators, their precedence and associativity (3.3 to 3.5).
		{"1 + 2 * 3", "7"}, {"(1 + 2) * 3", "9"}, {"7 - 2 - 1", "4"}, {"8 div 2 div 2", "2"}, {"7 mod 4", "3"}, {"-7 mod 4", "-3"}, {"7 mod -4", "3"},
		{"1 div 2", "0.5"}, {"2 - -3", "5"}, {"- - 3", "3"}, {"---3", "-3"}, {"-(1 + 1)", "-2"}, {".5 + 1.25", "1.75"},
		{"1 < 2", "true"}, {"2 < 2", "false"}, {"3 < 2", "false"}, {"1 <= 2", "true"}, {"2 <= 2", "true"}, {"3 <= 2", "false"},
		{"3 > 2", "true"}, {"2 > 2", "false"}, {"1 > 2", "false"}, {"3 >= 2", "true"}, {"2 >= 2", "true"}, {"1 >= 2", "false"},
		{"1 = 1", "true"}, {"1 = 2", "false"}, {"1 != 2", "true"}, {"1 != 1", "false"}, {"3 > 2 > 1", "false"}, {"1 + 1 = 2", "true"}, {"1 = 1 = 2", "true"},
		{"true() or false() and false()", "true"}, {"(true() or false()) and false()", "false"}, {"false() or false()", "false"}, {"false() or true()", "true"},
		{"true() and true()", "true"}, {"false() and true()", "false"}, {"1 = 2 or 2 = 2", "true"}, {"true() = (1 = 1)", "true"},
		// Comparison of values of different types (3.4).
		{"'1' = 1", "true"}, {"'01' = 1", "true"}, {"'01' = '1'", "false"}, {"'a' != 'b'", "true"}, {"'a' = 'a'", "true"}, {"'x' = 0", "false"}, {"'x' != 0", "true"},
		{"true() = 'x'", "true"}, {"true() = 5", "true"}, {"'' = false()", "true"}, {"true() != 'x'", "false"}, {"'10' > '9'", "true"}, {"'a' < 'b'", "false"}, {"true() > false()", "true"},
		// Node sets: one matching node is enough (3.4).
		{"../R/n = 10", "true"}, {"../R/n = 11", "false"}, {"../R/n != 10", "true"}, {"n != 20", "false"}, {"../R/n < 0", "true"}, {"../R/n > 20", "false"},
		{"../R/n >= 20", "true"}, {"15 < ../R/n", "true"}, {"20 < ../R/n", "false"}, {"20 <= ../R/n", "true"}, {"-5 > ../R/n", "false"}, {"-4 > ../R/n", "true"},
		{"../R/n = ../l", "true"}, {"../R/k = ../l", "false"}, {"'bcd' = ../R/s", "true"}, {"none = none", "false"}, {"none != 1", "false"}, {"none = ''", "false"},
		{"none = false()", "true"}, {"false() = none", "true"}, {"n = true()", "true"}, {"true() = n", "true"}, {"n != true()", "false"}, {"../R/n < ../R/k", "true"}, {"../R/k > ../R/n", "true"},
		// Paths (2.1 to 2.5).
		{"n", "20"}, {"./n", "20"}, {"child::n", "20"}, {"self::node()/n", "20"}, {"parent::node()/l", "20"}, {"../l", "20"}, {"/m/T/l", "20"}, {"/x:m/x:T/x:l", "20"},
		{"count(*)", "3"}, {"count(../*)", "4"}, {"count(../R)", "3"}, {"count(../R/..)", "1"}, {"count(/)", "1"}, {"count(/*)", "1"}, {"count(../../..)", "1"}, {"count(../../../..)", "0"},
		{"n/text()", "20"}, {"count(text())", "0"}, {"count(none)", "0"}, {"count(n/n)", "0"}, {"count(node())", "3"}, {"count(.)", "1"},
		{"../R[k = 1]/n", "10"}, {"../R[k = '3']/n", "-5"}, {"../R['3' = k]/n", "-5"}, {"count(../R[k = '9'])", "0"}, {"count(../R[n > 0])", "2"}, {"count(../R[n > 0][k = 2])", "1"},
		{"count(../R[n = current()])", "1"}, {"count(../R[k = current()])", "0"}, {"../R[n = current()]/k", "2"}, {"count(../R[s])", "3"}, {"count(../R[s != ''])", "2"}, {"count(../R[none])", "0"},
		{"count(../R[not(n = 10)])", "2"}, {"current()", "20"}, {"current()/../k", "2"}, {"count(current()/../../R)", "3"}, {"(../R)[k = 3]/n", "-5"}, {"(../R/n)[. > 10]", "20"},
		{"count(n | k)", "2"}, {"count(n | n)", "1"}, {"count(n | k | ../l)", "3"}, {"count(n | none)", "1"}, {"-n", "-20"}, {"-n + 1", "-19"}, {"n * 2 - 1", "39"}, {"../l * n", "400"},
		{". = '220bcd'", "true"}, {"string(.)", "220bcd"}, {"string(../R)", "110a b"},
		// Functions (4.1 to 4.4).
		{"sum(../R/n)", "25"}, {"sum(none)", "0"}, {"sum(n | k)", "22"}, {"sum(s)", "NaN"}, {"count(../R/n) + 1", "4"},
		{"string()", "220bcd"}, {"string(1 = 1)", "true"}, {"string(false())", "false"}, {"string(none)", ""}, {"string(1.50)", "1.5"}, {"string(-0.5)", "-0.5"}, {"string(n)", "20"},
		{"concat('a', 1, true())", "a1true"}, {"concat('a', 'b')", "ab"}, {"concat(k, '-', n)", "2-20"},
		{"starts-with('abc', 'ab')", "true"}, {"starts-with('abc', 'bc')", "false"}, {"starts-with('abc', '')", "true"}, {"contains('abc', 'bc')", "true"}, {"contains('abc', 'd')", "false"}, {"contains('bc', 'abc')", "false"},
		{"substring-before('1999/04/01', '/')", "1999"}, {"substring-before('1999', '/')", ""}, {"substring-after('1999/04/01', '/')", "04/01"}, {"substring-after('1999', '/')", ""},
		{"string-length('äbc')", "3"}, {"string-length('')", "0"}, {"string-length()", "6"}, {"string-length(s)", "3"}, {"normalize-space('  a  b\t ')", "a b"}, {"normalize-space()", "220bcd"},
		{"translate('bar', 'abc', 'AB')", "BAr"}, {"translate('--aaa--', 'abc-', 'ABC')", "AAA"}, {"translate('aa', 'aa', 'xy')", "xx"}, {"translate('ab', '', 'x')", "ab"},
		{"boolean(0)", "false"}, {"boolean(-1)", "true"}, {"boolean(0 div 0)", "false"}, {"boolean('')", "false"}, {"boolean('false')", "true"}, {"boolean(none)", "false"}, {"boolean(s)", "true"}, {"boolean(../R[k = 3]/s)", "true"},
		{"not(1)", "false"}, {"not('')", "true"}, {"not(none)", "true"}, {"not(n)", "false"}, {"true()", "true"}, {"false()", "false"},
		{"number('12')", "12"}, {"number(' 12\n')", "12"}, {"number('-1.5')", "-1.5"}, {"number('+1')", "NaN"}, {"number('1e3')", "NaN"}, {"number('0x1')", "NaN"}, {"number('')", "NaN"}, {"number('x')", "NaN"},
		{"number(true())", "1"}, {"number(false())", "0"}, {"number(n)", "20"}, {"number(none)", "NaN"}, {"number()", "NaN"}, {"number('1.2.3')", "NaN"}, {"number('-')", "NaN"},
		// Lexical structure (3.7).
		{`"it's"`, "it's"}, {`'say "x"'`, `say "x"`}, {"''", ""}, {"1=1and 2=2", "true"}, {" \t\r\n1 ", "1"}, {"n*2", "40"}, {"../R[ k='2' ] / n", "20"}, {"01", "1"},
	} {
		x, err := parseXPath(tc.expr)
		if err != nil {
			t.Errorf("%s: %v", tc.expr, err)
			continue
		}
		ck, row := xpathTree()
		if got := text(ck.eval(x, row, row.child("n"))); got != tc.want {
			t.Errorf("%s is %q, want %q", tc.expr, got, tc.want)
		}
	}
}

// TestXPathRefused: an unsupported expression is an error, never a rule with a different meaning.
func TestXPathRefused(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	for expr, want := range map[string]string{
		"": "the expression ends early", "1 +": "the expression ends early", "1 2": `"2" is not understood`, "n)": `")" is not understood`, "#": `"#" is not understood`,
		"'a": "a string without an end", "(1": `"" where ")" is expected`, "n[1": `"" where "]" is expected`, "..n": `"n" is not understood`, "1.2.3": `number "1.2.3"`,
		"last()": "the function last is not known", "position() = 1": "the function position is not known", "not()": "0 arguments for not", "not(1, 2)": "2 arguments for not",
		"concat('a')": "1 arguments for concat", "true(1)": "1 arguments for true", "string(1, 2)": "2 arguments for string", "translate('a', 'b')": "2 arguments for translate",
		"count(1)": "count of an argument that is not a path", "sum('a')": "sum of an argument that is not a path", "ancestor::n": "the axis ancestor is not known", "n/": `"" where a step is expected`,
		"n//k": `"//"`, "n[1]": "a position in a predicate", "n[k = 1][2]": "a position in a predicate", "n[": "the expression ends early", "n[1 +]": `"]" where a step`,
		"not(1 +)": `")" where a step`, "concat('a', n//k)": `"//"`, "(1 +)": `")" where a step`, "1 | ": "the expression ends early", "- ": "the expression ends early", "(n)/": `"" where a step`, "(n)[1]": "a position in a predicate",
		"/..n": `"n" is not understood`, "child::": `"" where a step`, "n/child::1": `"1" where a step`, "n!k": `"!" is not understood`, "{": `"{" is not understood`, "`": "is not understood", "@": `"@" where a step`, "[": `"[" where a step`, "n^2": `"^" is not understood`, "not(1 2)": `"2" where "," is expected`, "text(": `"" where ")" is expected`,
		nested(maxXPathDepth): "the expression is too deep", strings.Repeat(" ", maxXPath) + "1": "the expression is too long",
	} {
		if _, err := parseXPath(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", expr, err, want)
		}
	}
	for _, expr := range []string{nested(maxXPathDepth - 1), strings.Repeat("(1) + ", maxXPathDepth+1) + "1", strings.Repeat(" ", maxXPath-1) + "1", fmt.Sprintf("concat(%s'a')", strings.Repeat("'a', ", 15))} {
		if _, err := parseXPath(expr); err != nil {
			t.Errorf("%.40q: %v", expr, err)
		}
	}
}

// TestXPathFunctions: each function accepts the numbers of arguments that XPath defines.
func TestXPathFunctions(t *testing.T) {
	for name, n := range map[string][2]int{
		"current": {0, 0}, "true": {0, 0}, "false": {0, 0}, "not": {1, 1}, "boolean": {1, 1}, "count": {1, 1}, "sum": {1, 1},
		"string": {0, 1}, "string-length": {0, 1}, "number": {0, 1}, "normalize-space": {0, 1}, "contains": {2, 2}, "starts-with": {2, 2},
		"substring-before": {2, 2}, "substring-after": {2, 2}, "translate": {3, 3}, "concat": {2, 16},
	} {
		for args := range 18 {
			expr := name + "(" + strings.TrimSuffix(strings.Repeat("n, ", args), ", ") + ")"
			if _, err := parseXPath(expr); (err == nil) != (args >= n[0] && args <= n[1]) {
				t.Errorf("%s: %v", expr, err)
			}
		}
	}
}

func TestXPathNames(t *testing.T) {
	for _, name := range []string{"a", "z", "A", "Z", "_", "a0", "a9", "a-b", "a.b", "_z", "é", "\u0080", "div", "x"} {
		for _, expr := range []string{name, "p:" + name, "Z0:" + name, "child::" + name, " " + name + "\n", "self::node()/" + name} {
			x, err := parseXPath(expr)
			if err != nil || x.op != "path" || x.path[len(x.path)-1].name != name || x.path[len(x.path)-1].axis != axisChild {
				t.Errorf("%q: %+v, %v", expr, x, err)
			}
		}
	}
	if x, err := parseXPath("p:*"); err != nil || x.path[0].name != "*" {
		t.Errorf("%+v, %v", x, err)
	}
}
