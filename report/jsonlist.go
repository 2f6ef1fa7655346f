package report

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSONList writes a JSON document with a list of devices. Each device is written as soon as it
// is added.
type JSONList struct {
	w   io.Writer
	n   int
	err error
}

// Field is a member of a JSON document.
type Field struct {
	Name  string
	Value any
}

// fieldsAfter returns the JSON fields of a struct that follow the named field.
func fieldsAfter(name string, v any) (out []Field) {
	s, behind := reflect.ValueOf(v), false
	for i := range s.NumField() {
		key, omit, _ := strings.Cut(s.Type().Field(i).Tag.Get("json"), ",")
		if behind && !(omit == "omitempty" && s.Field(i).IsZero()) {
			out = append(out, Field{key, s.Field(i).Interface()})
		}
		behind = behind || key == name
	}
	return out
}

// NewJSONList starts a document; head comes before the list, whose key is list.
func NewJSONList(w io.Writer, list string, head ...Field) *JSONList {
	l := &JSONList{w: w}
	l.printf("{\n  \"format\": %d,\n", Format)
	for _, f := range head {
		l.printf("  %q: %s,\n", f.Name, l.text(f.Value, "  "))
	}
	l.printf("  %q: [", list)
	return l
}

func (l *JSONList) text(v any, prefix string) []byte {
	text, err := indented(v, prefix)
	if l.err == nil {
		l.err = err
	}
	return text
}

func (l *JSONList) printf(format string, a ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, a...)
	}
}

// Add appends one device to the list.
func (l *JSONList) Add(v any) {
	sep := ",\n    "
	if l.n == 0 {
		sep = "\n    "
	}
	l.n++
	l.printf("%s%s", sep, l.text(v, "    "))
}

// Close ends the document, with tail after the list, and returns the first error.
func (l *JSONList) Close(tail ...Field) error {
	if l.n > 0 {
		l.printf("\n  ")
	}
	l.printf("]")
	for _, f := range tail {
		l.printf(",\n  %q: %s", f.Name, l.text(f.Value, "  "))
	}
	l.printf("\n}\n")
	return l.err
}
