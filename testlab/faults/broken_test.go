package faults

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var recordBroken = flag.Bool("record", false, "write the rules that each tried fault breaks to testdata/broken, to be reviewed like code")

// broken holds, by the name of a fault, every rule that it breaks: severity, id and place of each
// check above info that a finding reports or covers. The tables say which rules must be among them and
// why others may be; this says that none is missing, added or of another severity.
type broken map[string][]string

func brokenFile(base string) string { return filepath.Join("testdata", "broken", base+".txt") }

// readBroken reads the rules that the faults of a table break. The file has the name of a fault in
// column 0 and its rules, indented, below it.
func readBroken(t *testing.T, base string) broken {
	t.Helper()
	out := broken{}
	text, err := os.ReadFile(brokenFile(base))
	if err != nil {
		if os.IsNotExist(err) {
			return out
		}
		t.Fatal(err)
	}
	name := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if rule, ok := strings.CutPrefix(line, "\t"); ok {
			out[name] = append(out[name], rule)
			continue
		}
		name = line
		out[name] = nil
	}
	return out
}

// brokenBy lists the rules that findings say are broken.
func brokenBy(fs []checks.Finding) []string {
	rules := map[string]bool{}
	for _, f := range fs {
		if f.Suppressed != nil {
			continue
		}
		for _, c := range append([]checks.Covered{{ID: f.ID, Severity: f.Severity}}, f.Covered...) {
			if c.Severity != checks.Info {
				rules[string(c.Severity)+" "+c.ID+" "+f.Place()] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(rules), natural.Compare)
}

// differs says how the rules that a fault breaks are others than recorded. With the flag record, they
// become the recorded ones.
func (b broken) differs(name string, now []string) (wrong []string) {
	was, known := b[name]
	if *recordBroken {
		b[name] = now
		return nil
	}
	if !known {
		return nil
	}
	for _, rule := range was {
		if !slices.Contains(now, rule) {
			wrong = append(wrong, "no longer broken: "+rule)
		}
	}
	for _, rule := range now {
		if !slices.Contains(was, rule) {
			wrong = append(wrong, "also broken: "+rule)
		}
	}
	return wrong
}

// write writes the rules that are recorded.
func (b broken) write(t *testing.T, base string) {
	t.Helper()
	if !*recordBroken {
		return
	}
	var text strings.Builder
	for _, name := range natural.Keys(b) {
		text.WriteString(name + "\n")
		for _, rule := range b[name] {
			text.WriteString("\t" + rule + "\n")
		}
	}
	if err := os.WriteFile(brokenFile(base), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
