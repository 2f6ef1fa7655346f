package yaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	yamlv3 "gopkg.in/yaml.v3"
)

// YAML says the same as the JSON that it is made from, whatever the text of a device, and one
// document for each.
func TestFromJSON(t *testing.T) {
	text := "yes 0x10 1e3 ~ null\ttab \u2028 é 🙂 \"quoted\" 'single' # no: [comment]"
	values := []any{text, "true", "12", "1_000", "2026-11-29", "-", "", " x ", "a\nb\n", "\u0001", "=", "<<", "*a", "0o7", "<a & b>", nil, true, 1.5, float64(1 << 53), map[string]any{}, []any{}}
	docs := []any{map[string]any{"b": values, "a": map[string]any{"yes": "no", "on:": "- x"}}, map[string]any{"second": 1.0}}
	var out bytes.Buffer
	w := FromJSON(&out)
	for _, doc := range docs {
		text, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range bytes.SplitAfter(append(text, '\n'), []byte("\n")) {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dec := yamlv3.NewDecoder(strings.NewReader(out.String()))
	for _, want := range docs {
		var got any
		if err := dec.Decode(&got); err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var same any
		if err := json.Unmarshal(text, &same); err != nil || !reflect.DeepEqual(same, want) {
			t.Errorf("%v\n%#v\n%#v in\n%s", err, same, want, out.String())
		}
	}
	if !strings.HasPrefix(out.String(), "a:\n") || !strings.Contains(out.String(), "\n---\nsecond: 1\n") {
		t.Errorf("%s", out.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// What cannot be written is an error of the writer, and nothing waits.
func TestFromJSONThatCannotBeWritten(t *testing.T) {
	w := FromJSON(full{})
	_, _ = w.Write([]byte("{}\n{}\n"))
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
	w = FromJSON(&bytes.Buffer{})
	_, _ = w.Write([]byte("{\"a\":"))
	if err := w.Close(); err == nil {
		t.Error("half a document is no error")
	}
}
