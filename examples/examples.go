// Package examples holds the example intents, so that the lab works without
// the source tree.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed */fabric.yaml
var files embed.FS

// Names returns the examples, sorted.
func Names() []string {
	// The files are compiled in: their folder cannot be missing.
	es, err := fs.ReadDir(files, ".")
	if err != nil {
		panic("examples: " + err.Error())
	}
	var names []string
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}

// Intent returns the intent of an example.
func Intent(name string) ([]byte, error) { return files.ReadFile(name + "/fabric.yaml") }
