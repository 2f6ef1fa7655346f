package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const printed = `=== bench: benchmarks
goos: linux
pkg: example.org/bench
cpu: Some CPU
BenchmarkCheck-2   	1	 9 ns/op	30.0 x-walk	1.5 x-compile+walk
ok  	example.org/other	0.1s
BenchmarkCheck-2   	1	 9 ns/op	20.0 x-walk	1.5 x-compile+walk
BenchmarkCheck-2   	1	 9 ns/op	25.0 x-walk	1.5 x-compile+walk
BenchmarkJSON/large-2	1	 9 ns/op	3.0 x-encoding/json
BenchmarkSmall-2	1	 9 ns/op	0.000612 x-peer
BenchmarkPlain-2	1	 9 ns/op	 8 B/op
`

const readme = `# Benchmarks

| benchmark | what runs |
|---|---|

## Numbers

old text

| benchmark | unit | median | lowest to highest | goal | before |
|---|---|---|---|---|---|
| ` + "`Check` | `x-walk`" + ` | 20 | 20 to 20 | | |
| ` + "`Check` | `x-compile+walk`" + ` | 1.4 | 20 to 20 | | |
| ` + "`JSON/large` | `x-encoding/json`" + ` | 4.0 | 4 to 4 | | |
| ` + "`Small` | `x-peer`" + ` | 0.00060 | 0 to 0 | | |
`

func TestReport(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	doc, out := at("README.md", readme), at("bench.txt", printed)
	if err := run(doc, at("goals.txt", "# goals\nJSON/large x-encoding/json >= 2\nCheck x-walk <= 24\n"), []string{out}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{
		"# Benchmarks\n", "medians of 3", "cores of Some CPU",
		"| `Check` | `x-walk` | 25.0 | 20.0 to 30.0 | at most 24.0 | 20.0 |\n",
		"| `Check` | `x-compile+walk` | 1.50 | 1.50 to 1.50 |  | 1.40 |\n",
		"| `JSON/large` | `x-encoding/json` | 3.00 | 3.00 to 3.00 | at least 2.00 | 4.00 |\n",
		"| `Small` | `x-peer` | 0.00061 | 0.00061 to 0.00061 |  | 0.0006 |\n",
		"Missed goals: `Check` x-walk is 25.0.\n",
		"by more than a fifth: `Check` x-walk, from 20.0 to 25.0; `JSON/large` x-encoding/json, from 4.00 to 3.00.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not there: %q", want)
		}
	}
	if strings.Contains(text, "old text") || strings.Contains(text, "Plain") || strings.Contains(text, "ns/op") {
		t.Error("old text, or a benchmark without a custom unit, is there")
	}
	t.Log(text)
	for goals, want := range map[string]string{"Gone x-walk <= 3": "no such value", "Check x-walk": "line 1"} {
		if err := run(doc, at("goals.txt", goals), []string{out}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("goals %q: %v", goals, err)
		}
	}
	if after, _ := os.ReadFile(doc); string(after) != text {
		t.Error("a failed run changed the file")
	}
}
