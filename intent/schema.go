package intent

import (
	"encoding/json"
	"reflect"
	"strings"
)

// schemaID is the identifier of the JSON Schema.
const schemaID = "https://github.com/roce-fabric/roce-fabric/schema/v1/fabric.json"

// Schema returns the JSON Schema (draft 2020-12) of a fabric file, indented. It applies to each
// file of a folder separately. It cannot express rules that span several values (a DSCP in two
// classes, a port in two links); [Load] checks those.
func Schema() []byte {
	g := &generator{defs: map[string]any{}}
	s := g.object(reflect.TypeFor[rawFabric]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = schemaID
	s["title"] = "roce-fabric intent"
	s["description"] = "What a RoCE fabric should do."
	s["$defs"] = g.defs
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // maps, slices, strings and numbers can always be marshaled
	}
	return append(out, '\n')
}

// generator builds schemas of raw types, with one definition per struct type.
type generator struct{ defs map[string]any }

func (g *generator) object(t reflect.Type) map[string]any {
	props := map[string]any{}
	var required []string
	for _, f := range structureOf(t).fields {
		s := g.value(t.FieldByIndex(f.index).Type, f)
		if f.doc != "" {
			s["description"] = f.doc
		}
		props[f.key] = s
		if f.req {
			required = append(required, f.key)
		}
	}
	s := map[string]any{"type": "object", "additionalProperties": false, "properties": props}
	if required != nil {
		s["required"] = required
	}
	return s
}

func (g *generator) value(t reflect.Type, f *field) map[string]any {
	if e, ok := reflect.New(t).Interface().(element); ok {
		return e.schema(g, f)
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := strings.TrimPrefix(t.Name(), "raw")
	if g.defs[name] == nil {
		g.defs[name] = map[string]any{} // placeholder in case the type contains itself
		g.defs[name] = g.object(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

func (o *opt[T]) schema(_ *generator, f *field) map[string]any { return scalarSchema(&o.V, f) }

func (o *orWord[T]) schema(g *generator, f *field) map[string]any {
	body := g.value(reflect.TypeFor[T](), f)
	return map[string]any{"anyOf": []any{map[string]any{"type": "string", "enum": f.words}, body}}
}

func (m *rawMap[T]) schema(g *generator, f *field) map[string]any {
	return map[string]any{
		"type":                 "object",
		"propertyNames":        map[string]any{"pattern": textRules[f.keys].re.String()},
		"additionalProperties": g.value(reflect.TypeFor[T](), f),
	}
}

func (l *list[T]) schema(g *generator, f *field) map[string]any {
	return map[string]any{"type": "array", "items": g.value(reflect.TypeFor[T](), f)}
}
