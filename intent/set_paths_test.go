package intent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fabric.yaml")
	text := "apiVersion: roce-fabric/v1\nkind: Fabric\nname: pod\nclasses:\n  rdma: {priority: 3, ecn: {min: 150KB}, dscp: [26, 27]}\n  rdma-2: {priority: 4}\nlinks:\n" + strings.Repeat("  - {a: leaf1/E0, cable: 5m}\n", 1000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := Document(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"":                      "apiVersion= kind= name= classes. links[",
		"c":                     "classes.",
		"classes.":              "classes.rdma. classes.rdma-2.",
		"classes.rdma":          "classes.rdma. classes.rdma-2.",
		"classes.rdma.":         "classes.rdma.priority= classes.rdma.ecn. classes.rdma.dscp[",
		"classes.rdma.ecn.m":    "classes.rdma.ecn.min=",
		"classes.rdma.dscp[":    "classes.rdma.dscp[0]= classes.rdma.dscp[1]=",
		"links[999":             "links[999].",
		"links[17].c":           "links[17].cable=",
		"links[17].cable=30m":   "",
		"links[1000].":          "",
		"nothing.":              "",
		"classes.rdma.priority": "classes.rdma.priority=",
	} {
		if got := strings.Join(Paths(doc, typed), " "); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if n := len(Paths(doc, "links[")); n != maxPaths {
		t.Errorf("%d entries of a long list", n)
	}
}
