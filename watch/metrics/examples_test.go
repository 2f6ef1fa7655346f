package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gopkg.in/yaml.v3"
)

const examplesDir = "../../examples/monitoring/"

var descText = regexp.MustCompile(`fqName: "([a-z_0-9]+)".*variableLabels: \{([^}]*)\}`)

// known returns the exported metrics with their labels.
func known(t *testing.T) map[string][]string {
	t.Helper()
	ch := make(chan *prometheus.Desc, 200)
	(&Exporter{}).Describe(ch)
	close(ch)
	out := map[string][]string{}
	for d := range ch {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a metric without a name: %s", d)
		}
		out[m[1]] = strings.Split(m[2], ",")
	}
	return out
}

var (
	selector = regexp.MustCompile(`(roce_fabric_[a-z_]+)(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+) *(?:=~|!=|=|!~) *"`)
)

// faults lists the metrics and labels of an expression that do not exist.
func faults(expr string, have map[string][]string) (out []string) {
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		labels, ok := have[m[1]]
		if !ok {
			out = append(out, "no metric "+m[1])
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if ok && !slices.Contains(append(labels, "instance", "job"), l[1]) {
				out = append(out, fmt.Sprintf("%s has no label %s", m[1], l[1]))
			}
		}
	}
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			out = append(out, "unbalanced "+pair)
		}
	}
	return out
}

// The check of the examples finds wrong names.
func TestFaults(t *testing.T) {
	have := map[string][]string{"roce_fabric_findings": {"severity", "check"}}
	for expr, want := range map[string]int{
		`sum(roce_fabric_findings{severity="error", instance=~"a"}) > 0`: 0,
		`roce_fabric_finding > 0`:                          1,
		`roce_fabric_findings{device!="leaf1"}`:            1,
		`sum(roce_fabric_findings{check="A"} > 0`:          1,
		`rate(roce_fabric_port_pfc_total{port="x"}[5m])`:   1,
		`a(roce_fabric_findings) + b(roce_fabric_nothing)`: 1,
	} {
		if got := faults(expr, have); len(got) != want {
			t.Errorf("%s: %v, want %d faults", expr, got, want)
		}
	}
}

// The alert rules are valid and use only existing metrics and labels.
func TestRules(t *testing.T) {
	b, err := os.ReadFile(examplesDir + "roce-fabric.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	have, n := known(t), 0
	label := regexp.MustCompile(`\$labels\.([a-z_]+)`)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			n++
			for _, f := range faults(r.Expr, have) {
				t.Errorf("%s: %s", r.Alert, f)
			}
			if r.Alert == "" || r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%q is not whole: %+v", r.Alert, r)
			}
			var labels []string
			for _, m := range selector.FindAllStringSubmatch(r.Expr, -1) {
				labels = append(labels, have[m[1]]...)
			}
			for _, text := range r.Annotations {
				for _, m := range label.FindAllStringSubmatch(text, -1) {
					if !slices.Contains(append(labels, "instance", "job"), m[1]) {
						t.Errorf("%s names label %s, which no metric of it has", r.Alert, m[1])
					}
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("%d rules", n)
	}
}

// Every panel of the dashboard uses existing metrics.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile(examplesDir + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	type at struct{ X, Y, W, H int }
	var board struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			GridPos at
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct {
				Name  string
				Query any
			}
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	have, ids, all := known(t), map[int]bool{}, ""
	legend := regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	for i, p := range board.Panels {
		if ids[p.ID] || len(p.Targets) == 0 || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q is not whole: %+v", p.Title, p)
		}
		ids[p.ID] = true
		for _, q := range board.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("panels %q and %q lie over each other", p.Title, q.Title)
			}
		}
		for _, target := range p.Targets {
			all += target.Expr
			for _, f := range faults(target.Expr, have) {
				t.Errorf("%s: %s", p.Title, f)
			}
			m := selector.FindStringSubmatch(target.Expr)
			if m == nil {
				t.Errorf("%s shows nothing of ours: %s", p.Title, target.Expr)
				continue
			}
			for _, l := range legend.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(have[m[1]], l[1]) {
					t.Errorf("%s: %s has no label %s", p.Title, m[1], l[1])
				}
			}
		}
	}
	for _, v := range board.Templating.List {
		for _, f := range faults(fmt.Sprint(v.Query), have) {
			t.Errorf("variable %s: %s", v.Name, f)
		}
		if v.Name != "datasource" && !strings.Contains(all, "$"+v.Name) {
			t.Errorf("variable %s is not used", v.Name)
		}
	}
	if len(board.Panels) < 10 {
		t.Errorf("%d panels", len(board.Panels))
	}
}
