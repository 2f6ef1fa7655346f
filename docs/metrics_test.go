package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/roce-fabric/roce-fabric/watch/metrics"
)

// metrics.md must list the metrics of watch and of the agent with their help texts.
func TestMetrics(t *testing.T) {
	generated(t, "metrics.md", "metrics of watch", table(ofWatch(t)))
	generated(t, "metrics.md", "metrics of the agent", table(ofAgent(t)))
}

// metric is a Prometheus metric. Names of counters end in _total, as Prometheus requires.
type metric struct{ name, labels, help string }

func table(list []metric) string {
	var b strings.Builder
	b.WriteString("\n| metric | labels | what |\n|---|---|---|\n")
	for _, m := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.name, m.labels, cell(m.help))
	}
	b.WriteString("\n")
	return b.String()
}

var descText = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: "(.*?)", (?:unit: "", )?constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

func ofWatch(t *testing.T) []metric {
	t.Helper()
	ch := make(chan *prometheus.Desc)
	go func() {
		metrics.New(nil, "", "").Describe(ch)
		close(ch)
	}()
	var out []metric
	for d := range ch {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a metric that cannot be read: %s", d)
		}
		out = append(out, metric{m[1], strings.ReplaceAll(m[3], ",", ", "), m[2]})
	}
	return out
}

// ofAgent parses the source of the agent's metrics, because no package exports them.
func ofAgent(t *testing.T) []metric {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../watch/keep/metrics.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []metric
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if fun, ok := call.Fun.(*ast.Ident); !ok || fun.Name != "desc" {
			return true
		}
		var words []string
		for _, a := range call.Args {
			if lit, ok := a.(*ast.BasicLit); ok {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				words = append(words, s)
			}
		}
		out = append(out, metric{"roce_fabric_" + words[0], strings.Join(words[2:], ", "), words[1]})
		return true
	})
	if len(out) < 10 {
		t.Fatalf("%d metrics of the agent, and there are more", len(out))
	}
	return out
}
