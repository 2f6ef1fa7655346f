package yaml

import (
	"slices"
	"strconv"
	"strings"

	yamlv3 "gopkg.in/yaml.v3"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// NewText returns a text node.
func NewText(s string) *Node { return &Node{Kind: Text, Value: s} }

// NewList returns a node for a list of texts.
func NewList(items ...string) *Node {
	n := &Node{Kind: List}
	for _, s := range items {
		n.Items = append(n.Items, NewText(s))
	}
	return n
}

// Set sets a key of a map, and keeps its place if the map already has the key.
func (n *Node) Set(key string, v *Node) {
	if i := n.index(key); i >= 0 {
		n.Pairs[i].Value = v
		return
	}
	n.Pairs = append(n.Pairs, Pair{Key: NewText(key), Value: v})
}

// Delete removes keys from a map.
func (n *Node) Delete(keys ...string) {
	n.Pairs = slices.DeleteFunc(n.Pairs, func(p Pair) bool { return slices.Contains(keys, p.Key.Value) })
}

func (n *Node) index(key string) int {
	return slices.IndexFunc(n.Pairs, func(p Pair) bool { return p.Key.Value == key })
}

// Clone returns a deep copy of n.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	out := *n
	out.Pairs, out.Items = nil, nil
	for _, p := range n.Pairs {
		out.Pairs = append(out.Pairs, Pair{p.Key.Clone(), p.Value.Clone()})
	}
	for _, i := range n.Items {
		out.Items = append(out.Items, i.Clone())
	}
	return &out
}

// lineWidth is the maximum width of a map or list written on one line.
const lineWidth = 110

// Bytes writes a map as a document that Parse reads back as the same tree. A value that fits on a
// line is written on one line; list items always are.
func (n *Node) Bytes() []byte {
	b := &strings.Builder{}
	n.block(b, "")
	return []byte(b.String())
}

func (n *Node) block(b *strings.Builder, indent string) {
	for _, p := range n.Pairs {
		b.WriteString(indent + p.Key.key() + ":")
		flow := p.Value.flow()
		switch {
		case len(p.Value.Pairs)+len(p.Value.Items) == 0, len(indent)+len(p.Key.Value)+len(flow) < lineWidth && p.Value.short(indent == ""):
			b.WriteString(" " + flow + "\n")
		default:
			b.WriteString("\n")
			p.Value.block(b, indent+"  ")
		}
	}
	for _, i := range n.Items {
		b.WriteString(indent + "- " + i.flow() + "\n")
	}
}

// key returns the node as a map key, which is a text whatever it looks like.
func (n *Node) key() string {
	if slices.Contains(words, n.Value) {
		return n.Value
	}
	return n.flow()
}

// short reports whether a value reads well on one line. A value at the top level does not if it
// contains maps or lists. A value below it does not if it consists only of several maps or lists.
func (n *Node) short(top bool) bool {
	nested := 0
	for _, p := range n.Pairs {
		if len(p.Value.Pairs)+len(p.Value.Items) > 0 {
			nested++
		}
	}
	for _, i := range n.Items {
		if len(i.Pairs)+len(i.Items) > 0 {
			nested++
		}
	}
	return nested == 0 || !top && (nested == 1 || nested < len(n.Pairs)+len(n.Items))
}

func (n *Node) flow() string {
	var parts []string
	switch n.Kind {
	case Map:
		for _, p := range n.Pairs {
			parts = append(parts, p.Key.key()+": "+p.Value.flow())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case List:
		for _, i := range n.Items {
			parts = append(parts, i.flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Text:
		return quoted(n.Value)
	case Null:
		return "null"
	}
	return n.Value
}

// plain matches a text that needs no quotes if YAML reads it as a text. YAML does so for any text
// that begins with a letter, except for the words below.
var plain = lazyre.New(`^([A-Za-z]|[0-9]|/|~/)[A-Za-z0-9_./~()%+-]*(:[A-Za-z0-9_./%+-]+)*$`)

var words = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

func quoted(s string) string {
	switch {
	case !plain.MatchString(s) || slices.Contains(words, strings.ToLower(s)):
	case s[0] < '0' || s[0] > '9' || isText(s):
		return s
	}
	q := strconv.Quote(s)
	if q == `"`+s+`"` && !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	return q
}

func isText(s string) bool {
	var n yamlv3.Node
	return yamlv3.Unmarshal([]byte(s), &n) == nil && len(n.Content) == 1 && scalarKind(n.Content[0]) == Text
}
