package yang

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

type config = map[string]map[string]map[string]string

// releases lists the folders of models, oldest first.
var releases = []string{"202311", "202405", "202411", "202505", "202511", "202605", "master"}

func loadRelease(t testing.TB, rel string) *Models {
	t.Helper()
	return load(t, sharedtest.YANG(t, rel))
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
