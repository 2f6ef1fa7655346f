package sonic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse compares the reader with encoding/json: text that it accepts is JSON, with the same
// contents.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"PORT":{"Ethernet0":{"mtu":"9100","n":-1.5e3,"l":["x","y\n"],"e":[]}},"QUEUE":{"Ethernet0|0-2":{"NULL":"NULL"}}, "Z":{}}`,
		`{"a":{"b":{"c":"\ud800 \u00e9 é ` + "\xff" + `"}}}`,
		`{"a":{"b":{"c":01}}}`,
		`{"a":{"b":{"c":"d",}}}`,
		`{"a":{"b":{"c":"}","l":["{"]},"d":{"c":"}","l":["{"]},"e":{"c":"}","l":["["]}},"f":{"b":{"c":"}","l":["{"]}}}`,
		`{"skip":[1,{"a":"]\""},null,true],"a":{"b":{}},"skip":{"c":tru}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Parse(data, func(table string) bool { return table != "skip" })
		if err != nil {
			return
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatalf("%q is accepted and is no JSON: %v", data, err)
		}
		delete(raw, "skip")
		want := Config{}
		for tn, b := range raw {
			var table map[string]map[string]any
			dec := json.NewDecoder(bytes.NewReader(b))
			dec.UseNumber()
			if err := dec.Decode(&table); err != nil {
				t.Fatalf("%q is accepted and is no CONFIG_DB: %v", data, err)
			}
			want[tn] = Table{}
			for key, fields := range table {
				want[tn][key] = plainRow(t, fields)
			}
		}
		if ambiguous(data, got) {
			return
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q: %s", data, d)
		}
	})
}

// ambiguous reports whether some field appears both as text and as a list, so that its value is not
// defined.
func ambiguous(data []byte, cfg Config) bool {
	for _, table := range cfg {
		for _, row := range table {
			for f := range row {
				if _, list := row[f+"@"]; list {
					return true
				}
			}
		}
	}
	return bytes.Contains(data, []byte("@")) || bytes.Contains(data, []byte("u0040"))
}

func plainRow(t *testing.T, fields map[string]any) Row {
	row := Row{}
	for f, v := range fields {
		switch v := v.(type) {
		case string:
			row[f] = v
		case json.Number:
			row[f] = v.String()
		case []any:
			members := make([]string, len(v))
			for i, m := range v {
				members[i], _ = m.(string)
			}
			row[f+"@"] = strings.Join(members, ",")
		default:
			t.Fatalf("value %v of field %q is accepted", v, f)
		}
	}
	if row["NULL"] == "NULL" {
		delete(row, "NULL")
	}
	return row
}
