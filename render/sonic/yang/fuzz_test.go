package yang

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// FuzzCheck: for any data, Check terminates and gives the same result twice.
func FuzzCheck(f *testing.F) {
	m, err := Load("testdata/models")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"BOX":{"alpha":{"tags@":"aa,bb","next":"alpha","ratio":"1.5","flags":"a"}}}`))
	f.Add([]byte(`{"PAIR":{"h|ab":{"v":"1"},"":{}},"PEER_MODE":{"now":{"remote":"true"}},"GRADES":{"gg":{"1":"1"}}}`))
	f.Add([]byte(`{"TIMER":{"gated":{"mode":"on","fast":"1"},"BOX_LIST":{"x@":""}},"ODD":{"|||":{"NULL":"NULL"}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c config
		if json.Unmarshal(b, &c) != nil {
			return
		}
		a, z := m.Check(c), m.Check(c)
		if len(a) != len(z) {
			t.Fatalf("%v, then %v", a, z)
		}
		for i := range a {
			if a[i] != z[i] {
				t.Fatalf("%v, then %v", a[i], z[i])
			}
		}
	})
}

// FuzzLoad: for any files, loading them and compiling and using all of their tables terminates.
func FuzzLoad(f *testing.F) {
	for _, pat := range []string{"testdata/models/*.yang"} {
		files, err := filepath.Glob(pat)
		if err != nil {
			f.Fatal(err)
		}
		for _, p := range files {
			b, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, "x")
		}
	}
	f.Add([]byte(`module m{prefix m;container m{container T{list T_LIST{key k;leaf k{type leafref{path "/m:m/m:T/m:T_LIST/m:k";}}}}}}`), "x")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		m := newModels()
		m.add("fuzz.yang", b)
		m.index()
		m.Unevaluated()
		c := config{}
		for _, name := range m.Tables() {
			c[name] = map[string]map[string]string{key: {key: key}, key + "|a": {"a@": key}}
			if s, err := m.tables[name].compile(); err == nil {
				for _, k := range s.kids {
					row := map[string]string{}
					for _, l := range k.kids {
						row[l.name] = key
					}
					c[name][k.name] = row
					c[name]["1"] = row
				}
			}
		}
		m.Check(c)
	})
}

// FuzzXPath: every expression is either rejected or can be evaluated.
func FuzzXPath(f *testing.F) {
	for _, s := range []string{"not(a) or (../b[c = current()] >= 2 * -3)", "/p:a/p:b[count(x[text()='y']) = 0]/..", "string-length(translate('a', 'b', 'c')) mod 2", "current()/../a | b/*", "sum(/a)div(.)"} {
		f.Add(s)
	}
	m, err := Load("testdata/models")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := parseXPath(s)
		if err != nil {
			return
		}
		ck := &checker{m: m, tables: map[string]*node{}, refs: map[string]map[string]bool{}, root: &node{}}
		ck.children(ck.root, "toy")
		top := ck.root.child("toy")
		ck.children(top, "BOX")
		n := top.child("BOX")
		ck.eval(x, n, n)
		ck.eval(x, ck.root, n)
	})
}
