package intent

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain converts a node to the values that a schema validator expects.
func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.Map:
		m := map[string]any{}
		for _, p := range n.Pairs {
			m[p.Key.Value] = plain(p.Value)
		}
		return m
	case yaml.List:
		l := []any{}
		for _, v := range n.Items {
			l = append(l, plain(v))
		}
		return l
	case yaml.Int:
		if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return v
		}
	case yaml.Float:
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return v
		}
	case yaml.Bool:
		return n.Value == "true"
	case yaml.Null:
		return nil
	}
	return n.Value
}

// The schema accepts the examples and the valid inputs of the decoder tests, and rejects the
// errors that it can express.
func TestSchema(t *testing.T) {
	s := compileSchema(t)
	check := func(name, text string) error {
		n, errs := yaml.Parse(name, []byte(text))
		if errs != nil {
			t.Fatal(errs[0])
		}
		return s.Validate(plain(n))
	}
	for _, name := range []string{"quickstart", "rail-512"} {
		data, err := os.ReadFile(filepath.Join("..", "examples", name, "fabric.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := check(name, string(data)); err != nil {
			t.Error(err)
		}
	}
	if err := check("layered", layered); err != nil {
		t.Error(err)
	}
	for _, c := range badCases {
		if !c.schema {
			continue
		}
		if err := check(c.name, c.in); err == nil {
			t.Errorf("%s: the schema accepts it", c.name)
		}
	}
}

// Every key has a description, and the schema and the decoder know the same keys, so that an
// editor suggests exactly what the decoder accepts.
func TestSchemaDescribesEverything(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if props, ok := m["properties"].(map[string]any); ok {
			if m["additionalProperties"] != false {
				t.Errorf("%s allows unknown keys", path)
			}
			for k, p := range props {
				n++
				if d, _ := p.(map[string]any)["description"].(string); !strings.HasSuffix(d, ".") {
					t.Errorf("%s/%s has no description", path, k)
				}
			}
		}
		for k, p := range m {
			walk(path+"/"+k, p)
		}
	}
	walk("", doc)
	if n < 80 {
		t.Errorf("only %d keys", n)
	}
}
