// Package examples contains the example intents, so that the lab works without the source tree.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed */fabric.yaml
var files embed.FS

// Names returns the names of the examples, sorted.
func Names() []string {
	// The files are embedded, so their folder always exists.
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

// Demo lists the commands of an example's lab demo, each with its purpose.
var Demo = [][2]string{
	{"The intent is checked, without devices.", "check"},
	{"The devices are read, switches over gNMI and hosts over SSH: what would change, which line wants it, and what it disturbs. Nothing is written.", "plan --save demo.plan"},
	{"Exactly that plan is carried out; each device is read back, and each switch saved.", "apply --plan demo.plan --allow traffic-loss"},
	{"Running state is compared with the intent: configuration, what is in force, both ends of every link, hosts too.", "validate"},
	{"A second plan is empty.", "plan --exit-code"},
	{"The apply is rolled back: every device holds what it held before.", "rollback --yes --allow traffic-loss"},
}
