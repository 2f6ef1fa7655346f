package yang

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

type config = map[string]map[string]map[string]string

// shared returns the folder beside the module root that holds public models,
// or skips.
func shared(t testing.TB, path string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			p := filepath.Join(d, "..", "shared", path)
			if _, err := os.Stat(p); err != nil {
				t.Skipf("no public models at %s", p)
			}
			return p
		}
		if d == filepath.Dir(d) {
			t.Skip("no module root above the test")
		}
	}
}

// releases are the folders of models, oldest first.
var releases = []string{"202311", "202405", "202411", "202505", "202511", "202605", "master"}

func loadRelease(t testing.TB, rel string) *Models {
	t.Helper()
	return load(t, shared(t, filepath.Join("data/yang/sonic", rel)))
}

func load(t testing.TB, dir string) *Models {
	t.Helper()
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func readConfig(t testing.TB, path string) config {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c config
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

func clone(c config) config {
	d := config{}
	for t, rows := range c {
		d[t] = map[string]map[string]string{}
		for k, fields := range rows {
			d[t][k] = map[string]string{}
			for f, v := range fields {
				d[t][k][f] = v
			}
		}
	}
	return d
}
