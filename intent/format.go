package intent

import (
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/internal/yamlfmt"
)

// Format lays out a file of an intent: two blanks a level, one after a colon, after a comma
// and before a comment, at most one empty line. Comments, order, quotes and line breaks stay, and so does the
// meaning. A fault is of type [Errors]; what only [Load] finds is none here.
func Format(f File) ([]byte, error) {
	p := &problems{}
	out, errs := yamlfmt.Format(f.Name, f.Data)
	p.ofDocument(errs)
	// Other files of YAML have their own rules. That this one can be read is known.
	if root, _ := yaml.Parse(f.Name, f.Data); len(errs) == 0 && (root.Get("kind") == nil || root.Get("kind").Value != kindFabric) {
		p.addf(posOf(root), "every file of an intent states it", "the file has no kind: %s", kindFabric)
	}
	return out, p.err()
}

// kindFabric is the kind that every file of an intent states.
const kindFabric = "Fabric"
