package yang

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row returns a configuration with one row. The toy models require tags in a BOX, so every BOX gets
// some.
func row(table, key string, kv ...string) config {
	f := map[string]string{}
	if table == "BOX" {
		f["tags@"] = "aa"
	}
	for i := 0; i < len(kv); i += 2 {
		f[kv[i]] = kv[i+1]
	}
	return config{table: {key: f}}
}

func box(kv ...string) config { return row("BOX", "alpha", kv...) }

func TestCheck(t *testing.T) {
	m := load(t, "testdata/models")
	with := func(c config, more config) config {
		for t, rows := range more {
			c[t] = rows
		}
		return c
	}
	for _, tc := range []struct {
		name string
		cfg  config
		want string // "" if valid, else the violations, one per line
	}{
		{"nothing", config{}, ""},
		{"unknown table", row("NOPE", "a"), "NOPE: the table has no YANG model"},
		{"older revision of a module is not used", row("GONE", "a"), "GONE: the table has no YANG model"},
		{"unusable model", row("BROKEN", "a"), "BROKEN: the table's YANG model cannot be used: toy.yang:73:80: grouping no-such-grouping not found"},
		{"empty row", row("PAIR", "ab", "NULL", "NULL"), ""},
		{"unknown field", box("colour", "red"), "BOX|alpha colour: the model does not have this field"},
		{"state field", box("state", "x"), "BOX|alpha state: the model does not have this field"},
		{"too many key parts", row("BOX", "alpha|b"), "BOX|alpha|b: a key of 2 parts; the model has name"},
		{"key pattern", row("BOX", "Alpha"), `BOX|Alpha name: "Alpha": does not match "[a-z]+"`},
		{"key length, in characters", row("BOX", "a"), `BOX|a name: "a": length 1 is not in 2..8`},
		{"same key twice", config{"PAIR": {"ab": {"v": "1"}, " ab ": {"v": "2"}}}, "PAIR|ab: the row is there twice"},
		{"same key twice, in other words", config{"PEER": {"7": {}, "07": {}}}, "PEER|7: the row is there twice"},
		{"same from twice, in other words", row("GRADES", "gg", "1", "1", "+1", "2"), `GRADES|gg 1: "1" is there twice`},
		{"key repeated as a field", box("name", "alpha"), ""},

		{"range of a typedef chain: low part", box("weight", "3"), ""},
		{"range of a typedef chain: gap", box("weight", "4"), `BOX|alpha weight: "4": not in min..3 | 25`},
		{"range of a typedef chain: high part", box("weight", "25"), ""},
		{"range of a typedef chain: of the base alone", box("weight", "26"), `BOX|alpha weight: "26": not in min..3 | 25`},
		{"plus and zeros", box("weight", "+003"), ""},
		{"hex", box("weight", "0x3"), `BOX|alpha weight: "0x3": not a whole number`},
		{"beyond 64 bits", box("weight", "99999999999999999999"), `BOX|alpha weight: "99999999999999999999": out of range`},
		{"beyond 8 bits", box("weight", "256"), `BOX|alpha weight: "256": not in 0..255`},
		{"inverted pattern", box("loud", "axe"), `BOX|alpha loud: "axe": matches ".*x.*"`},
		{"inverted pattern holds", box("loud", "abc"), ""},
		{"decimal", box("ratio", "-1.50"), ""},
		{"decimal digits", box("ratio", "1.234"), `BOX|alpha ratio: "1.234": not a number of up to 2 fraction digits`},
		{"decimal range", box("ratio", "10.01"), `BOX|alpha ratio: "10.01": not in -1.5..10`},
		{"identity", box("kind", "toy:circle"), ""},
		{"identity of another base", box("kind", "colour"), `BOX|alpha kind: "colour": not an identity derived from shape`},
		{"bits", box("flags", "b a"), ""},
		{"unknown bit", box("flags", "a c"), `BOX|alpha flags: "a c": bit "c" is not one of a, b`},
		{"empty", box("mark", ""), ""},
		{"empty with a value", box("mark", "1"), `BOX|alpha mark: "1": the field takes no value`},
		{"boolean", box("on", "True"), `BOX|alpha on: "True": neither true nor false`},
		{"address", box("addr", "2001:db8::1%eth0", "net", "10.1.2.3/8", "mac", "00:11:22:aa:BB:cc", "port", "65535"), ""},
		{"bad address", box("addr", "10.0.0.256"), `BOX|alpha addr: "10.0.0.256": not an IP address`},
		{"bad prefix", box("net", "10.0.0.0/33"), `BOX|alpha net: "10.0.0.0/33": not an IP prefix`},
		{"bad mac", box("mac", "00:11:22:33:44"), `BOX|alpha mac: "00:11:22:33:44": not six pairs of hexadecimal digits with colons`},
		{"bad port", box("port", "0"), `BOX|alpha port: "0": not in 1..max`},
		{"binary", box("blob", "AAAA"), ""},
		{"binary of another length", box("blob", "AAAAAA=="), `BOX|alpha blob: "AAAAAA==": length 4 is not in 3`},
		{"secret is not printed", box("secret", "hunter2"), `BOX|alpha secret: the value: does not match "[0-9]+"`},

		{"leaf-list without @", row("BOX", "alpha", "tags", "aa", "tags@", "aa"), "BOX|alpha tags: 0 values; at least 1 are needed\nBOX|alpha tags: a list of values in the model, which CONFIG_DB keeps in the field tags@\nBOX|alpha tags@: the field is there with and without @"},
		{"leaf with @", box("weight@", "1"), "BOX|alpha weight@: a single value in the model, so the field has no @"},
		{"too many values", box("tags@", "aa,bb,cc,dd"), "BOX|alpha tags: 4 values; at most 3 are allowed"},
		{"too few values", box("tags@", ""), "BOX|alpha tags: 0 values; at least 1 are needed"},
		{"value twice, in other words", box("nums@", "1,+1"), `BOX|alpha nums: "+1" is there twice`},
		{"bad value of several", box("nums@", "1,200"), `BOX|alpha nums: "200": not in -128..127`},

		{"relative reference", box("next", "alpha"), ""},
		{"dangling relative reference", box("next", "beta"), `BOX|alpha next: "beta": refers to a row of ../../BOX_LIST/name that is not there`},
		{"reference into a table that is not there", box("far", "7"), `BOX|alpha far: "7": refers to a row of PEER that is not there`},
		{"reference compares values, not text", with(box("far", "+07"), row("PEER", "7")), ""},
		{"reference of another type", box("far", "x"), `BOX|alpha far: "x": not a whole number`},
		{"reference without a need", box("loose", "7"), ""},
		{"union takes the reference", box("either", "alpha"), ""},
		{"union takes the number", box("either", "7"), ""},
		{"union takes neither", box("either", "beta"), `BOX|alpha either: "beta": refers to a row of ../../BOX_LIST/name that is not there, and not a whole number`},
		{"must on a row", box("weight", "3", "ratio", "1"), "BOX|alpha: must hold: not(weight) or not(number(weight) > 2 and ratio)"},

		{"two cases of a choice", box("length", "1", "width", "1", "area", "1"), "BOX|alpha: only one of area, plain may be there"},
		{"mandatory in a case in use", box("length", "1"), "BOX|alpha width: the field is mandatory"},
		{"the other case", box("area", "1"), ""},

		{"container row", row("TIMER", "main", "fast", "3"), ""},
		{"mandatory in a container", row("TIMER", "main"), "TIMER|main fast: the field is mandatory\nTIMER|main slow: slow is below fast (must hold: . >= ../fast)"},
		{"mandatory in a container that is not written", row("TIMER", "gated", "mode", "off"), "TIMER|main fast: the field is mandatory\nTIMER|main slow: slow is below fast (must hold: . >= ../fast)"},
		{"must against a default", row("TIMER", "main", "fast", "101"), "TIMER|main slow: slow is below fast (must hold: . >= ../fast)"},
		{"refined default", config{"TIMER": {"main": {"fast": "1"}, "spare": {"fast": "8"}}}, "TIMER|spare slow: slow is below fast (must hold: . >= ../fast)"},
		{"refined default is the one in force", config{"TIMER": {"main": {"fast": "1"}, "spare": {"fast": "7"}}}, ""},
		{"when of a uses, closed by a default", config{"TIMER": {"main": {"fast": "1"}, "gated": {"slow": "1"}}}, "TIMER|gated slow: may only be there when mode = 'on'"},
		{"when of a uses, open", config{"TIMER": {"main": {"fast": "1"}, "gated": {"mode": "on"}}}, "TIMER|gated fast: the field is mandatory\nTIMER|gated slow: slow is below fast (must hold: . >= ../fast)"},
		{"no such container", row("TIMER", "other", "fast", "1"), "TIMER|main fast: the field is mandatory\nTIMER|main slow: slow is below fast (must hold: . >= ../fast)\nTIMER|other: no such row in the model; it has \"main\", \"spare\", \"gated\""},

		{"list by number of keys", config{"PAIR": {"ab": {"v": "1"}, "h|ab": {"v": "1"}}}, "PAIR|h|ab: may only be there when /peer:toy-peer/peer:PEER_MODE/peer:now/peer:remote = 'true'"},
		{"list whose when another table opens", with(row("PAIR", "h|ab"), row("PEER_MODE", "now", "remote", "true")), ""},
		{"no list of so many keys", row("PAIR", "a|b|c"), "PAIR|a|b|c: a key of 3 parts; the model has a, host|a"},
		{"unique", config{"PAIR": {"ab": {"v": "1"}, "cd": {"v": "01"}, "ef": {}}}, "PAIR|cd: v is the same as in another row"},

		{"map table", row("GRADES", "gg", "0", "1", "7", "25"), ""},
		{"map table, from", row("GRADES", "gg", "8", "1"), `GRADES|gg 8: "8": not in 0..7`},
		{"map table, to", row("GRADES", "gg", "1", "8"), `GRADES|gg 1: "8": not in min..3 | 25`},
		{"rules that are not understood are no violation", row("ODD", "a", "other", "AEIOU", "strange", "?"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, v := range m.Check(tc.cfg) {
				got = append(got, v.String())
				if v.Where == "" && m.tables[v.Table] != nil {
					t.Errorf("%s: no place", v)
				}
			}
			if d := cmp.Diff(tc.want, strings.Join(got, "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSkippedAndUnevaluated(t *testing.T) {
	m := load(t, "testdata/models")
	var got []string
	for _, s := range m.Skipped() {
		got = append(got, s.String())
	}
	want := []string{`bad.yang: bad.yang:2:13: missing closing "`, "toy-old.yang: module toy-peer is also in toy-peer.yang"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = nil
	for _, r := range m.Unevaluated() {
		got = append(got, fmt.Sprintf("%s.%s %s", r.Table, r.Field, r.Kind))
	}
	want = []string{"ODD.ODD_LIST augment", "ODD.other pattern", "ODD.other must", "ODD.strange type"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if rs := m.Unevaluated("PAIR", "NOPE"); len(rs) != 0 {
		t.Error(rs)
	}
	if all := m.Tables(); !slices.Contains(all, "PAIR") || slices.Contains(all, "toy") || slices.Contains(all, "PAIR_LIST") {
		t.Errorf("not the tables of the models: %v", all)
	}
}

func TestLoadRefuses(t *testing.T) {
	empty := t.TempDir()
	if _, err := Load(empty); err == nil {
		t.Error("an empty folder loads")
	}
	if _, err := Load(filepath.Join(empty, "none")); err == nil || !os.IsNotExist(unwrapAll(err)) {
		t.Errorf("a folder that is not there: %v", err)
	}
	for text, want := range map[string]string{
		strings.Repeat("a{", maxBlocks+1):                 "a.yang: more than 50000 blocks",
		"a 'x'" + strings.Repeat("+'x'", 200000) + ";":    "a.yang: too many joined strings",
		strings.Repeat(" ", maxFileSize+1):                "a.yang: larger than 1024 KiB",
		"submodule a { belongs-to b { prefix b; } } x y;": "a.yang: not one module",
	} {
		if err := os.WriteFile(filepath.Join(empty, "a.yang"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(empty); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestFaultyModels checks models with faults and with parts that are not evaluated.
func TestFaultyModels(t *testing.T) {
	m := newModels()
	m.add("x.yang", []byte(`module x { namespace n; prefix x;
		identity a { base b; } identity b { base a; } identity c; typedef bare;
		container x {
			container UNTYPED { list UNTYPED_LIST { key k; leaf k { type string; } leaf v; } }
			container KEYLESS { list KEYLESS_LIST { key "k l"; leaf k { type string; } } }
			container LISTKEY { list LISTKEY_LIST { key k; leaf-list k { type string; } } }
			container STATE { config false; leaf v { type string; } }
			container DIGITS { list DIGITS_LIST { key k; leaf k { type decimal64 { fraction-digits 19; } } } }
			container NODIGITS { list NODIGITS_LIST { key k; leaf k { type decimal64 { fraction-digits 0; } } } }
			container RANGE { list RANGE_LIST { key k; leaf k { type string { range "1..2"; } } } }
			container SPAN { list SPAN_LIST { key k; leaf k { type uint8 { range "1..x"; } } } }
			container NUMBER { list NUMBER_LIST { key k; leaf k { type string; } leaf-list v { type string; min-elements many; } } }
			container LOOP { list LOOP_LIST { key k; leaf k { type identityref { base c; } } } }
			container NOTYPE { list NOTYPE_LIST { key k; leaf k { type bare; } } }
			container NOPATH { list NOPATH_LIST { key k; leaf k { type string; } leaf v { type leafref { path "1 + 1"; } } leaf w { type leafref { path "string(../k)/.."; } } } }
			container EMPTY { }
		} }`))
	m.add("y.yang", []byte(`module y { namespace m; prefix y; import x { prefix x; }
		augment "/x:x/x:STATE" { leaf w { type string; } }
		deviation "/x:x" { deviate not-supported; }
		deviation "/x:x/x:EMPTY/x:v" { deviate not-supported; } }`))
	m.index()
	for table, want := range map[string]string{
		"UNTYPED": "no type", "KEYLESS": "key l is not a leaf", "LISTKEY": "key k is not a leaf", "STATE": "the table contains no configuration", "DIGITS": `fraction-digits "19"`, "NODIGITS": `fraction-digits "0"`,
		"RANGE": "range of a string", "SPAN": `range "1..x": not a whole number`, "NUMBER": `min-elements "many"`, "LOOP": `"a": not an identity derived from c`, "EMPTY": "the table takes no rows", "NOTYPE": "no type",
	} {
		if vs := m.Check(config{table: {"a": {}}}); len(vs) == 0 || !strings.Contains(vs[0].Msg, want) {
			t.Errorf("%s: %v, want %s", table, vs, want)
		}
	}
	var got []string
	for _, r := range m.Unevaluated() {
		got = append(got, r.Table+" "+r.Field+" "+r.Kind)
	}
	if d := cmp.Diff([]string{"EMPTY v deviation", "NOPATH v leafref", "NOPATH w leafref", "STATE STATE augment"}, got); d != "" {
		t.Error(d)
	}
}

func unwrapAll(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = u.Unwrap()
	}
}

// TestGrowth: groupings that use groupings, and types that name themselves, cause an error instead
// of exhausting memory.
func TestGrowth(t *testing.T) {
	var b strings.Builder
	b.WriteString("module x { namespace n; prefix x; grouping g0 { leaf l { type string; } }\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "grouping g%d { container a { uses g%d; } container b { uses g%d; } }\n", i, i-1, i-1)
	}
	b.WriteString("grouping me { uses me; } typedef loop { type loop; }\n")
	b.WriteString("container x { container WIDE { uses g39; } container SELF { uses me; } container TYPE { list TYPE_LIST { key k; leaf k { type loop; } } } container FINE { list FINE_LIST { key k; leaf k { type string; } } } } }")
	m := newModels()
	m.add("x.yang", []byte(b.String()))
	m.index()
	vs := m.Check(config{"WIDE": {"a": {}}, "SELF": {"a": {}}, "TYPE": {"a": {}}, "FINE": {"a": {}}})
	if len(vs) != 3 {
		t.Fatalf("want the three bad tables, got %v", vs)
	}
	for _, v := range vs {
		if v.Table == "FINE" || !strings.Contains(v.Msg, "too large or too deep") {
			t.Error(v)
		}
	}
}

// TestConcurrent, meant for the race detector, runs several loads and checks at once, including the
// first compilation of every table.
func TestConcurrent(t *testing.T) {
	m := load(t, "testdata/models")
	c := config{"BOX": {"alpha": {"tags@": "aa", "next": "beta", "far": "1"}}, "PAIR": {"h|ab": {}}, "GRADES": {"gg": {"1": "1"}}}
	var wg sync.WaitGroup
	out := make([][]Violation, 8)
	for i := range out {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if i%4 == 3 {
				if _, err := Load("testdata/models"); err != nil {
					t.Error(err)
				}
			}
			m.Unevaluated()
			out[i] = m.Check(c)
		}()
	}
	wg.Wait()
	for _, o := range out {
		if d := cmp.Diff(out[0], o); d != "" || len(o) != 3 {
			t.Errorf("%v\n%s", o, d)
		}
	}
}
