package report

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/simulate/scenario"
)

// predicted simulates an example with marking off and an expectation that is not met.
func predicted(t *testing.T) *scenario.Prediction {
	t.Helper()
	text, err := os.ReadFile("../examples/quickstart/fabric.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(string(text) + "\nsimulation: {noPause: always}\n"), Set: []string{"classes.rdma.ecn=off"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenario.Predict(context.Background(), c, scenario.Options{Traffic: []scenario.Pattern{{Kind: "incast", To: 1}}, For: 500 * time.Microsecond, Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPredictionText(t *testing.T) {
	p := predicted(t)
	var b bytes.Buffer
	text := Text{W: &b, S: term.NewStyler(false)}
	if text.Prediction(p); text.Err() != nil {
		t.Fatal(text.Err())
	}
	out := b.String()
	one := strings.Join(strings.Fields(out), " ") // lines are wrapped
	for _, want := range []string{"rdma: no mark, leaf2/Ethernet0 pauses its peer from ", "it pauses before it marks", "headroom used at most ", "over 2 seeds: ", "noPause: always (<stdin>:", ": not met incast:3:1 in class rdma: ", "Assumed, ", "Not modelled: "} {
		if !strings.Contains(one+" ", want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	series := strings.Split(strings.TrimSpace(string(QueueSeries(p))), "\n")
	if len(series) < 500 || strings.Count(series[1], ",") != 4 {
		t.Errorf("%d lines of CSV, the second is %q", len(series), series[1])
	}
}

// What simulate writes is valid against its schema, which requires what it always has.
func TestPredictionSchema(t *testing.T) {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(PredictionSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("simulation.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("simulation.json")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteDocument(&b, predicted(t)); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(doc); err != nil {
		t.Error(err)
	}
	delete(doc, "runs")
	if err := compiled.Validate(doc); err == nil {
		t.Error("a document without runs is valid")
	}
}
