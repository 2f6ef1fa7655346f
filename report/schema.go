package report

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/prove"
	"github.com/roce-fabric/roce-fabric/simulate/scenario"
)

// schemaIDs is the start of what identifies the JSON Schemas of documents.
const schemaIDs = "https://github.com/roce-fabric/roce-fabric/schema/v1/"

// Schema returns the indented JSON Schema (draft 2020-12) of a report's JSON form. It allows
// unknown fields, because a later release of the same format may add some.
func Schema() []byte {
	return schemaOf[document]("report.json", "roce-fabric report", "What check, validate or nic validate found.")
}

// PredictionSchema returns the JSON Schema of what simulate writes.
func PredictionSchema() []byte {
	return schemaOf[struct {
		Format int `json:"format"`
		scenario.Prediction
	}]("simulation.json", "roce-fabric simulation", "What simulate predicts.")
}

// ProvePlanSchema returns the JSON Schema of what prove plan writes.
func ProvePlanSchema() []byte {
	return schemaOf[struct {
		Format int `json:"format"`
		prove.Plan
	}]("prove-plan.json", "roce-fabric prove plan", "Rounds of load between the hosts of a fabric.")
}

// RecommendationSchema returns the JSON Schema of what simulate --recommend writes.
func RecommendationSchema() []byte {
	return schemaOf[struct {
		Format int `json:"format"`
		scenario.Recommendations
	}]("recommendation.json", "roce-fabric recommendation", "The ECN curves that simulate --recommend found.")
}

// CertificateSchema returns the JSON Schema of what prove show writes of a certificate.
func CertificateSchema() []byte {
	return schemaOf[struct {
		Format int `json:"format"`
		prove.Certificate
	}]("certificate.json", "roce-fabric certificate", "What an acceptance under load showed.")
}

func schemaOf[T any](id, title, description string) []byte {
	g := schemaGenerator{defs: map[string]any{}}
	s := g.object(reflect.TypeFor[T]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = schemaIDs + id
	s["title"] = title
	s["description"] = description
	s["$defs"] = g.defs
	props, _ := s["properties"].(map[string]any)
	if format, ok := props["format"].(map[string]any); ok {
		format["const"] = Format
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // cannot happen: all values are maps, slices, strings and numbers
	}
	return append(out, '\n')
}

// schemaGenerator describes the types of a document. Each struct type becomes one definition.
type schemaGenerator struct{ defs map[string]any }

func (g schemaGenerator) object(t reflect.Type) map[string]any {
	props := map[string]any{}
	required := []string{}
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous { // the fields of an embedded type are visible as well
			continue
		}
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if omit != "omitempty" {
			required = append(required, name)
		}
		s := g.value(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			s["description"] = doc
		}
		if enum := f.Tag.Get("enum"); enum != "" {
			s["enum"] = strings.Split(enum, ",")
		}
		props[name] = s
	}
	return map[string]any{"type": "object", "properties": props, "required": required}
}

func (g schemaGenerator) value(t reflect.Type) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return g.value(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return map[string]any{"type": "number", "minimum": 0}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.value(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": g.value(t.Elem())}
	}
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	name := strings.ToLower(t.Name())
	if g.defs[name] == nil {
		g.defs[name] = g.object(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}
