package cumulus

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Node is a part of the NVUE tree. A path in it corresponds to the words of a command, the path
// of a REST resource, and the keys of YAML.
type Node struct {
	// Value is the value of a leaf, and Kind its type.
	Value string
	Kind  Kind
	Sub   map[string]*Node // children of a branch
	// from is the source in the text; nil if the node comes from no text.
	from *source
}

// Kind is the type of a node.
type Kind uint8

// Kinds of nodes.
const (
	Branch Kind = iota
	Text
	Number
	Bool
)

// Path leads from the root of the tree to a node.
type Path []string

// String returns a path as in NVUE commands: "qos roce mode".
func (p Path) String() string { return strings.Join(p, " ") }

// At returns the node at a path; nil if there is none. n may be nil.
func (n *Node) At(path ...string) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.Sub[key]
	}
	return n
}

// Word returns the value of a leaf, or the only key of a branch, as some releases and commands
// use that form instead ("state: {up: {}}"). It returns "" otherwise.
func (n *Node) Word() string {
	switch {
	case n == nil:
		return ""
	case n.Kind != Branch:
		return n.Value
	case len(n.Sub) == 1:
		for key := range n.Sub {
			return key
		}
	}
	return ""
}

// Keys returns the keys of a branch, in natural order.
func (n *Node) Keys() []string {
	if n == nil {
		return nil
	}
	return natural.Keys(n.Sub)
}

// Put puts a node at a path and creates the branches on the way.
func (n *Node) Put(v *Node, path ...string) {
	for _, key := range path[:len(path)-1] {
		next := n.Sub[key]
		if next == nil || next.Kind != Branch {
			next = &Node{}
			n.add(key, next)
		}
		n = next
	}
	n.add(path[len(path)-1], v)
}

func (n *Node) add(key string, v *Node) {
	if n.Sub == nil {
		n.Sub = map[string]*Node{}
	}
	n.Sub[key] = v
}

// Remove removes the node at a path and keeps the branches above it.
func (n *Node) Remove(path ...string) {
	if at := n.At(path[:len(path)-1]...); at != nil {
		delete(at.Sub, path[len(path)-1])
	}
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	out := *n
	if n.Sub != nil {
		out.Sub = make(map[string]*Node, len(n.Sub))
		for key, sub := range n.Sub {
			out.Sub[key] = sub.Clone()
		}
	}
	return &out
}

// Equal reports whether two nodes have the same content, wherever they stand in a text.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	return n.Kind == o.Kind && n.Value == o.Value && maps.EqualFunc(n.Sub, o.Sub, (*Node).Equal)
}

// leaves calls f with each leaf and each empty branch below n, in natural order.
func (n *Node) leaves(at Path, f func(Path, *Node)) {
	if n == nil {
		return
	}
	if len(n.Sub) == 0 {
		if len(at) > 0 {
			f(slices.Clone(at), n)
		}
		return
	}
	for _, key := range n.Keys() {
		n.Sub[key].leaves(append(at, key), f)
	}
}

// JSON returns the tree in the form that NVUE's REST API accepts.
func (n *Node) JSON() []byte {
	var b bytes.Buffer
	n.json(&b, "")
	b.WriteByte('\n')
	return b.Bytes()
}

func (n *Node) json(b *bytes.Buffer, indent string) {
	switch {
	case n.Kind == Number || n.Kind == Bool:
		b.WriteString(n.Value)
	case n.Kind == Text:
		b.Write(jsonText(n.Value))
	case len(n.Sub) == 0:
		b.WriteString("{}")
	default:
		b.WriteByte('{')
		for i, key := range n.Keys() {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n" + indent + "  ")
			b.Write(jsonText(key))
			b.WriteString(": ")
			n.Sub[key].json(b, indent+"  ")
		}
		b.WriteString("\n" + indent + "}")
	}
}

func jsonText(s string) []byte {
	text, _ := json.Marshal(s) // marshaling a string cannot fail
	return text
}

// YAML returns the tree as "nv config show" prints it, below "- set:".
func (n *Node) YAML() []byte {
	var b bytes.Buffer
	b.WriteString("- set:")
	if len(n.Sub) == 0 {
		b.WriteString(" {}\n")
	} else {
		b.WriteByte('\n')
		n.yaml(&b, "    ")
	}
	return b.Bytes()
}

func (n *Node) yaml(b *bytes.Buffer, indent string) {
	for _, key := range n.Keys() {
		sub := n.Sub[key]
		b.WriteString(indent + yamlText(key) + ":")
		switch {
		case sub.Kind == Text:
			b.WriteString(" " + yamlText(sub.Value) + "\n")
		case sub.Kind != Branch:
			b.WriteString(" " + sub.Value + "\n")
		case len(sub.Sub) == 0:
			b.WriteString(" {}\n")
		default:
			b.WriteByte('\n')
			sub.yaml(b, indent+"  ")
		}
	}
}

// yamlText returns a string that YAML reads back as text: unquoted if it looks like a name and
// is neither a number nor a word that YAML interprets.
func yamlText(s string) string {
	plain := s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
	switch strings.ToLower(s) {
	case "on", "off", "yes", "no", "true", "false", "null", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\'' || r > 126 }) {
		return "'" + s + "'"
	}
	return strconv.Quote(s)
}

// Commands returns the commands that set the tree, one per line.
func (n *Node) Commands() []string {
	var out []string
	n.leaves(nil, func(at Path, leaf *Node) { out = append(out, command("set", at, leaf)) })
	return out
}

func command(verb string, at Path, leaf *Node) string {
	var b strings.Builder
	b.WriteString("nv " + verb)
	for _, key := range at {
		b.WriteString(" " + shellWord(key))
	}
	if leaf != nil && leaf.Kind != Branch {
		b.WriteString(" " + shellWord(leaf.Value))
	}
	return b.String()
}

// shellWord quotes a word if a shell would split or interpret it.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > 126 || !isAlnum(byte(r)) && !strings.ContainsRune("-_./:,@%+=", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func text(s string) *Node { return &Node{Kind: Text, Value: s} }

func number(n int64) *Node { return &Node{Kind: Number, Value: strconv.FormatInt(n, 10)} }
