package derive

import (
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// node is a part of the document: a scalar, a map or a list.
type node struct {
	text  string // of a scalar, as written
	isMap bool
	pairs []pair
	items []*node
	list  bool
	// block writes a map or list over several lines.
	block bool
	// comment is written after the line of a flow value, or above a block.
	comment string
}

type pair struct {
	key   string
	value *node
}

func mapping() *node { return &node{isMap: true} }

// put adds an entry; a nil value is omitted.
func (n *node) put(key string, v *node) *node {
	if v != nil {
		n.pairs = append(n.pairs, pair{key, v})
	}
	return n
}

// when adds an entry if on is true.
func (n *node) when(on bool, key string, v *node) *node {
	if !on {
		return n
	}
	return n.put(key, v)
}

// putIf adds a map or list unless it is empty.
func (n *node) putIf(key string, v *node) {
	if v != nil && !v.empty() {
		n.put(key, v)
	}
}

// sub returns the map under a key and adds it if it does not exist.
func (n *node) sub(key string) *node {
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	v := mapping()
	n.put(key, v)
	return v
}

func (n *node) empty() bool { return len(n.pairs) == 0 && len(n.items) == 0 }

// bare returns a scalar that is written as is: a number, a quantity, a word.
func bare(s string) *node { return &node{text: s} }

func number(n int) *node { return bare(strconv.Itoa(n)) }

// text returns a scalar, quoted if YAML could read it as something else; nil for "".
func text(s string) *node {
	if s == "" {
		return nil
	}
	return bare(quoted(s))
}

// plain matches text that YAML always reads as text, also inside braces.
var (
	plain   = lazyre.New(`^[A-Za-z/][A-Za-z0-9_./+()-]*(:[A-Za-z0-9_./+()-]+)*$`)
	special = lazyre.New(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
	dotted  = lazyre.New(`^[0-9]+(\.[0-9A-Za-z()_-]+){2,}$|^[0-9]{4,8}$|^[0-9]+\.[0-9]+\([0-9]+\)[A-Z]*$`)
	keyText = lazyre.New(`^[A-Za-z][A-Za-z0-9_./@-]*$`)
	keyLong = lazyre.New(`^[A-Za-z][A-Za-z0-9_./@-]*(\[[0-9,:-]+\][A-Za-z0-9_./@-]*)*$`)
)

func quoted(s string) string {
	if plain.MatchString(s) && !special.MatchString(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r == 0xfffd || r > 0xffff || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
			b.WriteByte('?') // no name in an intent has such characters
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// release returns a scalar that may look like a number, as the schema allows for releases and
// models.
func release(s string) *node {
	if dotted.MatchString(s) {
		return bare(s)
	}
	return text(s)
}

// width is the maximum length of a line before a map is written over several lines.
const width = 110

// document returns the text of the top level.
func (n *node) document() []byte {
	var b strings.Builder
	for i, p := range n.pairs {
		if i > 0 && (p.value.block || n.pairs[i-1].value.block) {
			b.WriteByte('\n')
		}
		p.value.write(&b, 0, keyOf(p.key)+":")
	}
	return []byte(b.String())
}

// write writes a value after its key or list dash.
func (n *node) write(b *strings.Builder, indent int, head string) {
	pad := strings.Repeat(" ", indent)
	line := pad + head + " " + n.flow()
	if !n.block && (len(line) <= width || !n.isMap || n.depth() < 2 && len(line) <= 2*width) {
		b.WriteString(line)
		if n.comment != "" {
			b.WriteString(" # " + oneLine(n.comment))
		}
		b.WriteByte('\n')
		return
	}
	if n.comment != "" {
		b.WriteString(pad + comment(n.comment))
	}
	b.WriteString(pad + head + "\n")
	for _, p := range n.pairs {
		p.value.write(b, indent+2, keyOf(p.key)+":")
	}
	for _, v := range n.items {
		v.write(b, indent+2, "-")
	}
}

// depth returns the nesting depth of maps; 1 for a map of scalars.
func (n *node) depth() int {
	d := 0
	for _, p := range n.pairs {
		d = max(d, p.value.depth())
	}
	if n.isMap {
		d++
	}
	return d
}

func keyOf(k string) string {
	if keyLong.MatchString(k) {
		return k
	}
	return quoted(k)
}

// flow returns the value on one line.
func (n *node) flow() string {
	var parts []string
	switch {
	case n.isMap:
		for _, p := range n.pairs {
			k := p.key
			if !keyText.MatchString(k) {
				k = quoted(k)
			}
			parts = append(parts, k+": "+p.value.flow())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.list:
		for _, v := range n.items {
			parts = append(parts, v.flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.text
}
