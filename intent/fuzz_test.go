package intent

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// FuzzLoad checks that no input makes Load panic, that every error has a position, and that the
// schema accepts everything that Load accepts.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"quickstart", "rail-512"} {
		data, err := os.ReadFile(filepath.Join("..", "examples", name, "fabric.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(layered))
	for _, c := range badCases {
		f.Add([]byte(c.in))
	}
	schema := compileSchema(f)
	lim := &limits{devices: 200, ports: 2000, links: 2000, expand: 10_000}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Load("-", Options{Stdin: bytes.NewReader(data), limits: lim})
		if err == nil {
			n, errs := yaml.Parse(Stdin, data)
			if errs != nil {
				t.Fatal(errs)
			}
			if err := schema.Validate(plain(n)); err != nil {
				t.Fatalf("Load accepts what the schema refuses: %v", err)
			}
			return
		}
		var es Errors
		if !errors.As(err, &es) {
			t.Fatalf("%T %v", err, err)
		}
		for _, e := range es {
			if e.Pos.File != Stdin || e.Pos.Line < 1 || e.Pos.Column < 1 || e.Msg == "" {
				t.Fatalf("no place: %+v", e)
			}
		}
	})
}
