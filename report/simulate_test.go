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

// quickstart compiles an example, with an expectation and with changes.
func quickstart(t *testing.T, set ...string) *render.Compiler {
	t.Helper()
	text, err := os.ReadFile("../examples/quickstart/fabric.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(string(text) + "\nsimulation: {noPause: always}\n"), Set: set})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// predicted simulates an example with marking off and an expectation that is not met.
func predicted(t *testing.T) *scenario.Prediction {
	t.Helper()
	p, err := scenario.Predict(context.Background(), quickstart(t, "classes.rdma.ecn=off"), scenario.Options{Traffic: []scenario.Pattern{{Kind: "incast", To: 1}}, For: 500 * time.Microsecond, Seeds: 2})
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

// What simulate writes is valid against its schemas, which require what it always has.
func TestSimulationSchemas(t *testing.T) {
	recommended, err := scenario.Recommend(context.Background(), quickstart(t), scenario.Options{For: 100 * time.Microsecond, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		key    string
		schema []byte
		value  any
	}{{"runs", PredictionSchema(), predicted(t)}, {"found", RecommendationSchema(), recommended}} {
		valid, doc := schemaAnd(t, x.schema, x.value)
		if err := valid.Validate(doc); err != nil {
			t.Error(err)
		}
		delete(doc, x.key)
		if err := valid.Validate(doc); err == nil {
			t.Errorf("a document without %s is valid", x.key)
		}
	}
}

// schemaAnd compiles a schema, and returns a value as the JSON document that is written of it.
func schemaAnd(t *testing.T, schema []byte, value any) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	valid, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteDocument(&b, value); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	return valid, doc
}
