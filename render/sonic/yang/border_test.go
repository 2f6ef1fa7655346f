package yang

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// A border is a table of a model, with rows on both sides of what the table allows. A row is "key
// field=value field@=a,b"; rows are separated by "; ".
type border struct {
	what        string
	body        string // of the table; LIST stands for its list, TABLE for its name
	takes, not  []string
	typedefs    string // of the module, before the tables
	oursAlone   bool   // do not compare with yanglint: the case depends on the switch's loader, or yanglint also checks other tables
	notInSchema bool   // the list is not the usual one with the key k
}

// field returns the body of a list with the key k and a field v of a type.
func field(typ string) string {
	if !strings.HasSuffix(typ, "}") {
		typ += ";"
	}
	return "leaf v { type " + typ + " }"
}

// sides returns a border with values that a field v accepts and rejects.
func sides(what, typ string, takes, not []string) border {
	row := func(values []string) []string {
		out := make([]string, len(values))
		for i, v := range values {
			out[i] = "a v=" + v
		}
		return out
	}
	return border{what: what, body: field(typ), takes: row(takes), not: row(not)}
}

var borders = []border{
	// RFC 7950 section 9: types.
	sides("a length of parts", `string { length "1..2 | 4 | 6..max"; }`, []string{"x", "xx", "xxxx", "xxxxxx", "xxxxxxxxx", "äö"}, []string{"xxx", "xxxxx"}),
	sides("a length from min", `string { length "min..2"; }`, []string{"x", "xx"}, []string{"xxx"}),
	sides("a range of parts", `int8 { range "-128..-3 | 0 | 5..max"; }`, []string{"-128", "-3", "0", "5", "127", "-0", "+5"}, []string{"-2", "-1", "1", "4", "-129", "128", "", "x", "1.0", "5-"}),
	sides("a decimal", `decimal64 { fraction-digits 2; range "-1.5..1.25"; }`, []string{"-1.5", "-1.50", "1.25", "0.0", "1.2"}, []string{"-1.51", "1.26", "1.255", "x", "", "1.2.3"}),
	sides("a decimal of 18 digits", `decimal64 { fraction-digits 18; }`, []string{"9.223372036854775807", "-9.223372036854775808"}, []string{"9.223372036854775808", "-9.223372036854775809"}),
	sides("bits", `bits { bit a; bit b; }`, []string{"a", "a b", "b a", ""}, []string{"c", "a c", "ab"}),
	sides("an enumeration", `enumeration { enum a; enum b; }`, []string{"a", "b"}, []string{"c", "A", "ab"}),
	sides("a boolean", "boolean", []string{"true", "false"}, []string{"True", "1", "tru"}),
	sides("base64", `binary { length "2..3"; }`, []string{"YWI=", "YWJj"}, []string{"YQ==", "YWJjZA==", "!"}),
	sides("an identity", "identityref { base shape; }", []string{"round", "oval"}, []string{"shape", "flat", "none"}),
	sides("an identity of a part", "identityref { base round; }", []string{"oval"}, []string{"round", "shape"}),
	sides("a union", `union { type uint8 { range "1..5"; } type enumeration { enum all; } type boolean; }`, []string{"1", "5", "all", "true"}, []string{"0", "6", "x"}),
	sides("a union of unions", `union { type union { type uint8; type int8 { range "-5..-1"; } } type enumeration { enum all; } }`, []string{"255", "-1", "-5", "all"}, []string{"256", "-6", "x"}),
	// Patterns, W3C XML Schema appendix F.
	sides("a pattern is anchored", `string { pattern "a|bc"; }`, []string{"a", "bc"}, []string{"ab", "ac", "abc", "bca"}),
	sides("classes", `string { pattern '[^a-c][x\-z][.]'; }`, []string{"dx.", "d-.", "dz."}, []string{"ax.", "cx.", "dy.", "dxx"}),
	sides("escapes", `string { pattern '\d\.\*\\[\]x]'; }`, []string{`1.*\]`, `9.*\x`}, []string{`a.*\]`, `1x*\]`, `1.x\]`, `1.*\y`}),
	sides("categories", `string { pattern '\p{Lu}\p{Ll}x\P{L}'; }`, []string{"Aax1"}, []string{"aax1", "AAx1", "Aaxb", "Aay1"}),
	sides("carets and dollars are plain", `string { pattern 'a^b$'; }`, []string{"a^b$"}, []string{"ab", "a^b"}),
	sides("counts", `string { pattern 'a{2,3}(bc)?'; }`, []string{"aa", "aaa", "aabc"}, []string{"a", "aaaa", "aab"}),
	sides("two patterns", `string { pattern '[a-c]+'; pattern '.*b.*'; }`, []string{"b", "abc"}, []string{"a", "bd"}),
	sides("the opposite of a pattern", `string { pattern 'a.*' { modifier invert-match; } }`, []string{"ba"}, []string{"a", "ab"}),
	// RFC 6991.
	sides("a DSCP", "inet:dscp", []string{"0", "63"}, []string{"64", "-1"}),
	sides("a port", "inet:port-number", []string{"0", "65535"}, []string{"65536", "-1"}),
	sides("an AS", "inet:as-number", []string{"0", "4294967295"}, []string{"4294967296"}),
	sides("a flow label", "inet:ipv6-flow-label", []string{"0", "1048575"}, []string{"1048576"}),
	sides("counters", "yang:counter64", []string{"18446744073709551615"}, []string{"18446744073709551616", "-1"}),
	sides("a MAC", "yang:mac-address", []string{"00:11:22:aa:BB:fF"}, []string{"00:11:22:aa:bb", "00:11:22:aa:bb:fg", "00-11-22-aa-bb-ff", "00:11:22:aa:bb:ff:00", "001:1:22:aa:bb:ff"}),
	sides("an address", "inet:ip-address", []string{"192.0.2.1", "2001:db8::1", "fe80::1%eth0"}, []string{"192.0.2.256", "192.0.2", "2001:db8::g", "fe80::1%", ""}),
	sides("an IPv4 address", "inet:ipv4-address", []string{"192.0.2.1"}, []string{"2001:db8::1", "192.0.2.1/24"}),
	sides("an IPv6 address", "inet:ipv6-address", []string{"2001:db8::1"}, []string{"192.0.2.1"}),
	sides("an address without zone", "inet:ip-address-no-zone", []string{"fe80::1", "192.0.2.1"}, []string{"fe80::1%eth0"}),
	sides("an IPv4 address without zone", "inet:ipv4-address-no-zone", []string{"192.0.2.1"}, []string{"fe80::1", "192.0.2.1%eth0"}),
	sides("an IPv6 address without zone", "inet:ipv6-address-no-zone", []string{"fe80::1"}, []string{"192.0.2.1", "fe80::1%eth0"}),
	sides("a host", "inet:host", []string{"192.0.2.1", "fe80::1", "a.example"}, []string{"a..b", "-a", "a b"}),
	sides("small counters", "yang:counter32", []string{"4294967295"}, []string{"4294967296"}),
	sides("ticks", "yang:timeticks", []string{"0"}, []string{"4294967296", "x"}),
	sides("gauges", "yang:gauge64", []string{"18446744073709551615"}, []string{"18446744073709551616"}),
	sides("small gauges", "yang:gauge32", []string{"4294967295"}, []string{"4294967296"}),
	sides("a prefix", "inet:ip-prefix", []string{"192.0.2.0/24", "2001:db8::/32", "192.0.2.1/0", "192.0.2.1/32"}, []string{"192.0.2.0", "192.0.2.0/33", "2001:db8::/129"}),
	sides("an IPv4 prefix", "inet:ipv4-prefix", []string{"192.0.2.0/24"}, []string{"2001:db8::/32"}),
	sides("an IPv6 prefix", "inet:ipv6-prefix", []string{"2001:db8::/32"}, []string{"192.0.2.0/24"}),
	// Typedefs and their defaults (7.3.4, 7.6.1, 7.7.2).
	{what: "a typedef narrows a typedef", typedefs: `typedef low { type uint8 { range "2..20"; } } typedef lower { type low { range "min..4 | 9"; } }`,
		body: field("lower"), takes: []string{"a v=2", "a v=4", "a v=9"}, not: []string{"a v=1", "a v=5", "a v=10", "a v=20"}},
	{what: "a typedef's default", typedefs: "typedef word { type string; default on; }", body: `leaf v { type word; } must "v = 'on'";`, takes: []string{"a", "a v=on"}, not: []string{"a v=off"}},
	{what: "the field's default goes before the typedef's", typedefs: "typedef word2 { type string; default on; }", body: `leaf v { type word2; default off; } must "v = 'on'";`, takes: []string{"a v=on"}, not: []string{"a"}},
	{what: "a mandatory field has no default", typedefs: "typedef word3 { type string; default on; }", body: "leaf v { type word3; mandatory true; }", takes: []string{"a v=x"}, not: []string{"a"}},
	{what: "the default of a list of values", typedefs: "typedef word4 { type string; default on; }", body: `leaf-list v { type word4; } must "v = 'on'";`, takes: []string{"a", "a v@=x,on"}, not: []string{"a v@=x"}},
	{what: "a default is enough where values are needed, as libyang has it", typedefs: "typedef word5 { type string; default on; }", body: "leaf-list v { type word5; min-elements 1; }", takes: []string{"a v@=x", "a"}},
	// Numbers of elements (7.7.5, 7.7.6).
	{what: "numbers of values", body: "leaf-list v { type string; min-elements 2; max-elements 3; }", takes: []string{"a v@=x,y", "a v@=x,y,z"}, not: []string{"a", "a v@=x", "a v@=w,x,y,z", "a v@=x,x"}},
	{what: "any number of values", body: "leaf-list v { type string; max-elements unbounded; }", takes: []string{"a", "a v@=w,x,y,z"}},
	{what: "numbers of rows", oursAlone: true, body: "min-elements 2; max-elements 3;", takes: []string{"a; b", "a; b; c"}, not: []string{"a", "a; b; c; d"}},
	{what: "unique", body: `leaf v { type uint8; } leaf w { type string; } unique "v w";`, takes: []string{"a v=1 w=1; b v=1 w=2", "a v=1; b v=1", "a v=1 w=1; b w=1"}, not: []string{"a v=1 w=1; b v=1 w=1", "a v=1 w=1; b v=01 w=1"}},
	// Choices (7.9).
	{what: "a choice", body: "choice c { leaf v { type string; } case two { leaf w { type string; } leaf x { type string; } } }", takes: []string{"a", "a v=1", "a w=1", "a w=1 x=1"}, not: []string{"a v=1 w=1", "a v=1 x=1"}},
	{what: "a choice that must be made", body: "choice c { mandatory true; leaf v { type string; } leaf w { type string; } }", takes: []string{"a v=1", "a w=1"}, not: []string{"a", "a v=1 w=1"}},
	{what: "what is mandatory in a case", body: "choice c { leaf v { type string; } case two { leaf w { type string; } leaf x { type string; mandatory true; } leaf-list y { type string; min-elements 1; } } }",
		takes: []string{"a", "a v=1", "a x=1 y@=1"}, not: []string{"a w=1", "a x=1", "a w=1 y@=1"}},
	{what: "a choice in a case", body: "choice c { case one { leaf v { type string; } choice d { mandatory true; leaf w { type string; } leaf x { type string; } } } leaf y { type string; } }",
		takes: []string{"a", "a y=1", "a w=1", "a v=1 w=1", "a v=1 x=1"}, not: []string{"a v=1", "a w=1 x=1", "a y=1 w=1"}},
	{what: "a choice in a choice", body: "choice c { choice d { mandatory true; leaf w { type string; } leaf x { type string; } } leaf y { type string; } }", takes: []string{"a", "a y=1", "a w=1"}, not: []string{"a w=1 x=1", "a y=1 x=1"}},
	{what: "the default case", body: `choice c { default one; case one { leaf v { type string; default on; } } leaf w { type string; } } must "v = 'on' or w";`, takes: []string{"a", "a w=1", "a v=on"}, not: []string{"a v=off"}},
	{what: "the default case is left", body: `choice c { default one; case one { leaf v { type string; default on; } } leaf w { type string; } } must "not(v and w) and (v or w)";`, takes: []string{"a", "a w=1"}},
	{what: "a default in another case", body: `choice c { case one { leaf v { type string; default on; } leaf u { type string; } } leaf w { type string; } } must "v";`, takes: []string{"a u=1", "a v=1"}, not: []string{"a", "a w=1"}},
	// Conditions (7.21.5).
	{what: "a field under a condition", body: `leaf m { type string; } leaf v { when "../m = 'on'"; type string; }`, takes: []string{"a", "a m=on v=1", "a m=off"}, not: []string{"a v=1", "a m=off v=1"}},
	{what: "a choice under a condition", body: `leaf m { type string; } choice c { when "m = 'on'"; leaf v { type string; } }`, takes: []string{"a", "a m=on v=1"}, not: []string{"a v=1", "a m=off v=1"}},
	{what: "a case under a condition", body: `leaf m { type string; } choice c { case one { when "m = 'on'"; leaf v { type string; } } leaf w { type string; } }`, takes: []string{"a w=1", "a m=on v=1"}, not: []string{"a v=1", "a m=off v=1"}},
	{what: "a grouping under a condition", typedefs: "grouping g1 { leaf v { type string; } }", body: `leaf m { type string; } uses g1 { when "m = 'on'"; }`, takes: []string{"a", "a m=on v=1"}, not: []string{"a v=1"}},
	{what: "mandatory under a condition", body: `leaf m { type string; } leaf v { when "../m = 'on'"; type string; mandatory true; } leaf-list w { when "../m = 'on'"; type string; min-elements 1; }`,
		takes: []string{"a", "a m=off", "a m=on v=1 w@=1"}, not: []string{"a m=on", "a m=on v=1", "a m=on w@=1"}},
	{what: "a default under a condition", body: `leaf m { type string; } leaf v { when "../m = 'on'"; type string; default x; } must "v = 'x' or not(m)";`, takes: []string{"a", "a m=on"}, not: []string{"a m=off", "a m=on v=y"}},
	{what: "a condition on a default of another", body: `leaf m { type string; default on; } leaf v { when "../m = 'on'"; type string; default x; } leaf w { when "../v = 'x'"; type string; mandatory true; }`,
		takes: []string{"a w=1", "a m=off", "a v=y"}, not: []string{"a", "a m=off w=1"}},
	{what: "two conditions", body: `leaf m { type string; } leaf v { must "../m = 'on'"; must "string-length(.) > 1"; type string; }`, takes: []string{"a", "a m=on v=12"}, not: []string{"a m=on v=1", "a v=12"}},
	{what: "an augmented grouping", typedefs: "grouping g2 { leaf m { type string; } }", body: `uses g2 { refine m { mandatory true; must "../k = 'a'"; } }`, takes: []string{"a m=1"}, not: []string{"a", "b m=1"}},
	{what: "a refined default", typedefs: "grouping g3 { leaf m { type string; default on; } }", body: `uses g3 { refine m { default off; } } must "m = 'off'";`, takes: []string{"a", "a m=off"}, not: []string{"a m=on"}},
	{what: "refined numbers", typedefs: "grouping g4 { leaf-list m { type string; min-elements 1; max-elements 1; } }", body: "uses g4 { refine m { min-elements 2; max-elements 2; } }", takes: []string{"a m@=1,2"}, not: []string{"a", "a m@=1", "a m@=1,2,3"}},
	// References (9.9).
	{what: "a reference to another row", body: `leaf v { type leafref { path "../../LIST/k"; } }`, takes: []string{"a v=a", "a v=b; b"}, not: []string{"a v=b", "a v="}},
	{what: "a reference compares values", body: `leaf n { type uint8; } leaf v { type leafref { path "../../LIST/n"; } }`, takes: []string{"a v=07 n=7", "a n=7; b v=+7"}, not: []string{"a v=8 n=7", "a n=7; b v=x"}},
	{what: "a reference to a reference", body: `leaf n { type uint8; } leaf v { type leafref { path "../../LIST/n"; } } leaf w { type leafref { path "../../LIST/v"; } }`, takes: []string{"a n=7 v=7; b w=07"}, not: []string{"a n=7; b w=7"}},
	{what: "a reference from the top", body: `leaf n { type uint8; } leaf v { type leafref { path "/x:x/x:TABLE/x:LIST/x:n"; } }`, takes: []string{"a v=07 n=7", "a n=7; b v=7"}, not: []string{"a v=8 n=7", "a v=7"}},
	{what: "a reference of one row", body: `leaf o { type string; } leaf n { type uint8; } leaf v { type leafref { path "/x:x/x:TABLE/x:LIST[x:k = current()/../x:o]/x:n"; } }`, takes: []string{"a n=7; b o=a v=7"}, not: []string{"a n=7; b o=b v=7", "a n=7; b v=7", "a n=7; b n=8 o=a v=8"}},
	{what: "a union with a reference", body: `leaf v { type union { type leafref { path "../../LIST/k"; } type uint8; } }`, takes: []string{"a v=a", "a v=7"}, not: []string{"a v=b"}},
	{what: "a reference without a need", body: `leaf n { type uint8; } leaf v { type leafref { path "../../LIST/n"; require-instance false; } }`, takes: []string{"a v=7"}, not: []string{"a v=x"}},
	// XPath over rows.
	{what: "rows are counted", body: `leaf v { type string; } must "count(../LIST[v = current()/v]) < 3";`, takes: []string{"a v=1; b v=1; c v=2"}, not: []string{"a v=1; b v=1; c v=1"}},
	{what: "a row is looked up by its key", body: `leaf o { type string; } leaf v { type string; } must "not(o) or ../LIST[k = current()/o]/v = v";`, takes: []string{"a v=1; b o=a v=1"}, not: []string{"a v=1; b o=a v=2", "b o=a v=2"}},
	{what: "a field looks up a row by its key", body: `leaf o { type string; must "../../LIST[k = current()]/v = 'x'"; } leaf v { type string; }`, takes: []string{"a v=x; b o=a"}, not: []string{"a v=y; b o=a", "a v=x; b o=c"}},
	{what: "a row is looked up by a word", body: `leaf v { type string; } must "../LIST[k = 'a']/v = 'x'";`, takes: []string{"a v=x; b"}, not: []string{"a v=y", "b v=x"}},
	{what: "rows are looked up by a way past the key", body: `leaf v { type string; } must "not(../LIST[k/../v = 'a'])";`, takes: []string{"a v=x"}, not: []string{"b v=a"}},
	{what: "rows by one of two keys", notInSchema: true, body: `list LIST { key "k l"; leaf k { type string; } leaf l { type string; } must "count(../LIST[k = 'a']) < 3"; }`, takes: []string{"a|1; a|2; b|1"}, not: []string{"a|1; a|2; a|3"}},
	{what: "a message of its own", body: `leaf v { type uint8; must ". mod 2 = 0" { error-message "odd"; } }`, takes: []string{"a v=2"}, not: []string{"a v=3"}},
	// How the switch's loader maps CONFIG_DB to the models.
	{what: "a row goes to the list that knows its fields", oursAlone: true, notInSchema: true,
		body:  "list A_LIST { key k; leaf k { type string; } leaf v { type string; } } list B_LIST { key k; leaf k { type string; } leaf w { type uint8; } }",
		takes: []string{"a v=x", "a w=1", "a", "a v=x; b w=1"}, not: []string{"a w=x", "a v=x w=1", "a u=1"}},
	{what: "a list of values is written with @", oursAlone: true, body: "leaf-list v { type uint8; } leaf w { type uint8; }", takes: []string{"a v@=1,2 w=1", "a v@="}, not: []string{"a v=1", "a w@=1", "a v@=1,x", "a v@=1 v=1"}},
	{what: "containers are no fields", oursAlone: true, body: "container c { leaf d { type string; } }", takes: []string{"a"}, not: []string{"a c=1", "a d=1"}},
}

// rows parses the rows of a border.
func rows(text string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for row := range strings.SplitSeq(text, "; ") {
		key, fields, _ := strings.Cut(row, " ")
		out[key] = map[string]string{}
		name := ""
		for _, w := range strings.Split(fields, " ") {
			if f, v, ok := strings.Cut(w, "="); ok {
				name = f
				out[key][f] = v
			} else if name != "" {
				out[key][name] += " " + w
			}
		}
	}
	return out
}

func TestBorders(t *testing.T) {
	var tables, both, typedefs strings.Builder
	for i, b := range borders {
		name := fmt.Sprintf("T%d", i)
		body := b.body
		if !b.notInSchema {
			body = "list LIST { key k; leaf k { type string; } " + body + " }"
		}
		table := fmt.Sprintf("container %s { %s }\n", name, strings.NewReplacer("LIST", name+"_LIST", "A_LIST", "A_LIST", "B_LIST", "B_LIST", "TABLE", name).Replace(body))
		tables.WriteString(table)
		if !b.oursAlone {
			both.WriteString(table)
		}
		typedefs.WriteString(b.typedefs + "\n")
	}
	const head = `module x { yang-version 1.1; namespace "http://example.net/x"; prefix x;
		import ietf-inet-types { prefix inet; } import ietf-yang-types { prefix yang; }
		identity shape; identity round { base shape; } identity oval { base round; } identity flat;
		`
	module := func(tables string) []byte {
		return []byte(head + typedefs.String() + "container x {\n" + tables + "} }\n")
	}
	m := newModels()
	m.add("x.yang", module(tables.String()))
	m.index()
	if s := m.Skipped(); len(s) > 0 {
		t.Fatal(s)
	}
	for _, r := range m.Unevaluated() {
		t.Error(r)
	}
	var cfgs []config
	var said []string
	var valid []bool
	for i, b := range borders {
		for _, side := range []struct {
			rows []string
			ok   bool
		}{{b.takes, true}, {b.not, false}} {
			for _, r := range side.rows {
				c := config{fmt.Sprintf("T%d", i): rows(r)}
				if vs := m.Check(c); (len(vs) == 0) != side.ok {
					t.Errorf("%s: %q: %v, want valid %v", b.what, r, vs, side.ok)
				}
				if !b.oursAlone {
					cfgs, said, valid = append(cfgs, c), append(said, b.what+": "+r), append(valid, side.ok)
				}
			}
		}
	}
	if testing.Short() {
		return
	}
	if _, err := exec.LookPath("yanglint"); err != nil {
		t.Skip("skipped: the comparison needs yanglint (Debian package libyang2-tools)")
	}
	tool := sharedtest.Dir(t, "tools", "sonic-yang-check")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.yang"), module(both.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, ref := range reference(t, tool, dir, t.TempDir(), cfgs) {
		if ref.Valid != valid[i] {
			t.Errorf("%s: yanglint says valid=%v %v, this test %v", said[i], ref.Valid, ref.Errors, valid[i])
		}
	}
}
