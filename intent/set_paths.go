package intent

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// maxPaths bounds the result of Paths: a list of links may have thousands of entries.
const maxPaths = 200

// Paths returns completions for a partly typed path of Options.Set, taken from the document of an
// intent. Each begins with the typed text and ends with "." or "[" if more follows, or with "="
// before a value.
func Paths(root *yaml.Node, typed string) []string {
	var out []string
	add := func(path string, n *yaml.Node) bool {
		end := map[yaml.Kind]string{yaml.Map: ".", yaml.List: "["}[n.Kind]
		if end == "" {
			end = "="
		}
		if rest, inside := strings.CutPrefix(typed, path+end); inside && end != "=" {
			out = Paths(n, rest)
			for i := range out {
				out[i] = path + end + out[i]
			}
			return false
		}
		if strings.HasPrefix(path+end, typed) {
			out = append(out, path+end)
		}
		return len(out) < maxPaths
	}
	for _, p := range root.Pairs {
		if !add(p.Key.Value, p.Value) {
			return out
		}
	}
	for i, item := range root.Items {
		// The opening bracket is already typed. Complete nested lists like map entries.
		if !add(fmt.Sprintf("%d]", i), item) {
			return out
		}
	}
	return out
}
