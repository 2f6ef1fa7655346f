package intent

import (
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/internal/yamlfmt"
)

// Format formats a file of an intent: indents by two spaces per level, puts one space after a
// colon, after a comma and before a comment, and keeps at most one empty line. Comments, order,
// quotes, line breaks and meaning do not change. Errors are of type [Errors]; Format does not
// report the errors that only [Load] finds.
func Format(f File) ([]byte, error) {
	p := &problems{}
	out, errs := yamlfmt.Format(f.Name, f.Data)
	p.ofDocument(errs)
	// Refuse other kinds of YAML files, which have their own style. Parsing cannot fail here.
	if root, _ := yaml.Parse(f.Name, f.Data); len(errs) == 0 && (root.Get("kind") == nil || root.Get("kind").Value != kindFabric) {
		p.addf(posOf(root), "every file of an intent states it", "the file has no kind: %s", kindFabric)
	}
	return out, p.err()
}

// kindFabric is the kind that every file of an intent must state.
const kindFabric = "Fabric"
