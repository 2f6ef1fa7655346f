package intent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// examplesOf returns the intents of the examples.
func examplesOf(t *testing.T) []File {
	t.Helper()
	names, err := filepath.Glob("../examples/*/fabric.yaml")
	if err != nil || len(names) < 5 {
		t.Fatalf("%v, %v", names, err)
	}
	var out []File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, File{name, data})
	}
	return out
}

// All examples must already be formatted.
func TestExamplesAreFormatted(t *testing.T) {
	for _, f := range examplesOf(t) {
		if out, err := Format(f); err != nil || !bytes.Equal(out, f.Data) {
			t.Errorf("%s is not as fmt writes it: %v", f.Name, err)
		}
	}
}

// Formatting restores an intent whose white space was changed at random, and the changed file has
// the same meaning: both load to equal fabrics except for positions.
func TestFormatKeepsTheMeaning(t *testing.T) {
	all := slices.DeleteFunc(examplesOf(t), func(f File) bool { return strings.Contains(f.Name, "rail-512") }) // takes long to load
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom(all).Draw(r, "file")
		factor := rapid.IntRange(1, 4).Draw(r, "indent")
		var wild strings.Builder
		for line := range strings.Lines(string(f.Data)) {
			text := strings.TrimLeft(line, " ")
			if text == "\n" && rapid.Bool().Draw(r, "empty") {
				wild.WriteString(" \n")
			}
			wild.WriteString(strings.Repeat(" ", factor*(len(line)-len(text))))
			if !strings.HasPrefix(text, "#") {
				blank := strings.Repeat(" ", rapid.IntRange(1, 3).Draw(r, "blanks"))
				text = strings.NewReplacer(": {", ":"+blank+"{"+blank, ", ", ","+blank, "}", blank[1:]+"}").Replace(text)
			}
			wild.WriteString(text)
		}
		before := File{f.Name, []byte(wild.String())}
		out, err := Format(before)
		if err != nil {
			r.Fatal(err)
		}
		if !bytes.Equal(out, f.Data) {
			r.Fatalf("formatted into\n%s\nof\n%s", out, before.Data)
		}
		was, now := meaning(r, before.Data), meaning(r, out)
		if !reflect.DeepEqual(was, now) {
			r.Fatalf("means something else after it:\n%s", before.Data)
		}
	})
}

// meaning returns the loaded fabric without positions.
func meaning(t rapid.TB, data []byte) any {
	t.Helper()
	f, err := Load("-", Options{Stdin: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	f.Hash = ""
	return placeless(reflect.ValueOf(f), map[uintptr]bool{})
}

// placeless converts a value to maps and lists, without any Pos.
func placeless(v reflect.Value, seen map[uintptr]bool) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.Pointer()] {
			return v.IsNil()
		}
		seen[v.Pointer()] = true
		return placeless(v.Elem(), seen)
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return placeless(v.Elem(), seen)
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[Pos]() {
				out[v.Type().Field(i).Name] = placeless(v.Field(i), seen)
			}
		}
		return out
	case reflect.Slice, reflect.Array:
		var out []any
		for i := range v.Len() {
			out = append(out, placeless(v.Index(i), seen))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = placeless(v.MapIndex(k), seen)
		}
		return out
	case reflect.Func:
		return nil
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return v.String()
	case reflect.Float64:
		return v.Float()
	}
	if v.CanUint() {
		return v.Uint()
	}
	return v.Int()
}

func TestFormatErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"kind: Fabric\nmtu: {fabric: 9100\nname: x\n", "f:2:1: did not find expected ',' or '}'"},
		{"kind: Service\n", "f:1:1: the file has no kind: Fabric"},
		{"- Fabric\n", "f:1:1: the file has no kind: Fabric"},
	} {
		_, err := Format(File{"f", []byte(c[0])})
		var faults Errors
		if !errors.As(err, &faults) || err.Error() != c[1] {
			t.Errorf("%q gives %v, want %s", c[0], err, c[1])
		}
	}
}
