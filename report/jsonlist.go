package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSONList writes a JSON document with a list of devices, each as soon as it
// is there, so that no result has to wait for the last.
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

// NewJSONList begins the document, whose list is called list; head stands before it.
func NewJSONList(w io.Writer, list string, head ...Field) *JSONList {
	l := &JSONList{w: w}
	l.printf("{\n  \"format\": %d,\n", Format)
	for _, f := range head {
		value, err := json.Marshal(f.Value)
		if err != nil {
			l.err = err
		}
		l.printf("  %q: %s,\n", f.Name, value)
	}
	l.printf("  %q: [", list)
	return l
}

func (l *JSONList) printf(format string, a ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, a...)
	}
}

// Add writes one device.
func (l *JSONList) Add(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("    ", "  ")
	if err := enc.Encode(v); err != nil && l.err == nil {
		l.err = err
	}
	sep := ",\n    "
	if l.n == 0 {
		sep = "\n    "
	}
	l.n++
	l.printf("%s%s", sep, bytes.TrimRight(b.Bytes(), "\n"))
}

// Close ends the document, with tail behind the list, and returns the first error.
func (l *JSONList) Close(tail ...Field) error {
	if l.n > 0 {
		l.printf("\n  ")
	}
	l.printf("]")
	for _, f := range tail {
		value, err := json.MarshalIndent(f.Value, "  ", "  ")
		if err != nil && l.err == nil {
			l.err = err
		}
		l.printf(",\n  %q: %s", f.Name, value)
	}
	l.printf("\n}\n")
	return l.err
}
