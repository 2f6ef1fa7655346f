package metrics

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var text = regexp.MustCompile(`^Desc\{fqName: "roce_fabric_operator_(\w+)", help: "(.*?)", (?:unit: "", )?constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// README.md lists the metrics with their help texts.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		m := text.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a metric that cannot be read: %s", d)
		}
		if line := fmt.Sprintf("| `%s` | %s | %s |\n", m[1], strings.ReplaceAll(m[3], ",", ", "), m[2]); !strings.Contains(string(readme), line) {
			t.Errorf("README.md has no line\n%s", line)
		}
	}
}
