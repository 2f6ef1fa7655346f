// Package docs contains the pages for users. Its tests keep the keys in intent-keys.md, the
// checks in checks.md and the models in models.md consistent with the program. Product code must
// not import it.
package docs

//go:generate go test . -run "TestIntentKeys|TestChecks|TestModels|TestMetrics|TestAPI|TestSupport|TestReliability" -update

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
)

var update = flag.Bool("update", false, "rewrite the generated parts of pages")

// intent-keys.md must list the keys of the schema with their descriptions.
func TestIntentKeys(t *testing.T) {
	want, err := keys()
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "intent-keys.md", "keys", want)
}

// generated compares the generated part of a page with the wanted text, and rewrites it with
// -update.
func generated(t *testing.T, page, part, want string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+part+": go generate ./docs -->\n", "<!-- end of "+part+" -->\n"
	head, rest, ok := strings.Cut(string(b), begin)
	have, tail, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	case have == want:
	case !*update:
		t.Errorf("the %s of %s are not those of the program: go generate ./docs", part, page)
	default:
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// schema is the subset of JSON Schema that the intent's schema uses.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Description string             `json:"description"`
	Pattern     string             `json:"pattern"`
	Enum        []any              `json:"enum"`
	AnyOf       []*schema          `json:"anyOf"`
	Items       *schema            `json:"items"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Defs        map[string]*schema `json:"$defs"`
}

// types is one type or a list of types. Only the first counts here, as the others accept another
// spelling.
type types string

func (t *types) UnmarshalJSON(b []byte) error {
	var list []string
	if json.Unmarshal(b, &list) == nil && len(list) > 0 {
		*t = types(list[0])
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// keys returns a table for each object of the schema: the file first, then the others in order of
// first reference.
func keys() (string, error) {
	var root schema
	if err := json.Unmarshal(intent.Schema(), &root); err != nil {
		return "", err
	}
	var b strings.Builder
	var queue []string
	write := func(title string, s *schema) error {
		fmt.Fprintf(&b, "\n## %s\n\n| key | value | what |\n|---|---|---|\n", title)
		names := make([]string, 0, len(s.Properties))
		for n := range s.Properties {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			p := s.Properties[n]
			value, refs, err := describe(p)
			if err != nil {
				return fmt.Errorf("%s.%s: %w", title, n, err)
			}
			for _, r := range refs {
				if !slices.Contains(queue, r) {
					queue = append(queue, r)
				}
			}
			must := ""
			if slices.Contains(s.Required, n) {
				must = ", required"
			}
			fmt.Fprintf(&b, "| `%s` | %s%s | %s |\n", n, value, must, strings.ReplaceAll(p.Description, "|", `\|`))
		}
		return nil
	}
	if err := write("The file", &root); err != nil {
		return "", err
	}
	for i := 0; i < len(queue); i++ {
		s := root.Defs[queue[i]]
		if s == nil {
			return "", fmt.Errorf("the schema has no %s", queue[i])
		}
		if err := write(queue[i], s); err != nil {
			return "", err
		}
	}
	if len(queue) != len(root.Defs) {
		return "", fmt.Errorf("%d objects are referenced, the schema has %d", len(queue), len(root.Defs))
	}
	b.WriteString("\n")
	return b.String(), nil
}

// quantities maps a part of a pattern to the description of the texts with a unit that it
// matches.
var quantities = []struct{ in, is string }{
	{"KiB|MiB", "bytes: `150KB`, `1.5MiB`"},
	{"(G|M|T)", "rate: `400G`"},
	{"(km|m)", "length: `5m`"},
	{" ?%$", "percentage: `60%`"},
	{"q|(", "time or quanta: `2us`, `905q`"},
	{"ns|us|", "time: `400ms`"},
	{"^(env:", "`env:NAME`, `file:PATH` or `keyring:SERVICE/USER`"},
}

// describe returns the description of a value, and the objects that it refers to.
func describe(s *schema) (string, []string, error) {
	switch {
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)), []string{name}, nil
	case s.AnyOf != nil:
		var parts, refs []string
		for _, a := range s.AnyOf {
			p, r, err := describe(a)
			if err != nil {
				return "", nil, err
			}
			parts, refs = append(parts, p), append(refs, r...)
		}
		return strings.Join(parts, " or "), refs, nil
	case s.Enum != nil:
		var words []string
		for _, e := range s.Enum {
			words = append(words, fmt.Sprintf("`%v`", e))
		}
		return strings.Join(words, " or "), nil, nil
	}
	switch s.Type {
	case "array":
		p, r, err := describe(s.Items)
		return "list of " + p, r, err
	case "object":
		var of schema
		if err := json.Unmarshal(s.Additional, &of); err != nil {
			return "", nil, err
		}
		p, r, err := describe(&of)
		return "name: " + p, r, err
	case "integer", "number":
		if s.Minimum != nil && s.Maximum != nil {
			plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
			return plain(*s.Minimum) + " to " + plain(*s.Maximum), nil, nil
		}
		return "number", nil, nil
	case "boolean":
		return "`true` or `false`", nil, nil
	case "string":
		for _, q := range quantities {
			if strings.Contains(s.Pattern, q.in) {
				return q.is, nil, nil
			}
		}
		if s.Pattern == `^[0-9]{1,2}-[0-9]{1,2}$` {
			return "`\"24-31\"`", nil, nil
		}
		return "text", nil, nil
	}
	return "", nil, fmt.Errorf("nothing is known about %+v", *s)
}
