// Package yaml parses one YAML document into a tree of nodes that know their line and column. It
// is the only package that imports the YAML library.
//
// It is stricter than YAML: one document per file, text keys only, no duplicate keys, no merge
// keys, no tags, and limits on nesting and on the expansion of aliases. It does not know what the
// document means; that is up to the caller. Do not decode into Go types here.
//
// Messages never repeat the text of a value, because it may be a secret that was put in the wrong
// place.
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "gopkg.in/yaml.v3"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// The limits for a document.
const (
	// maxDepth is the maximum nesting of maps and lists.
	maxDepth = 64
	// maxExpansion is the maximum number of nodes that all aliases together expand to.
	maxExpansion = 200_000
	// maxErrors is the maximum number of errors reported for one document.
	maxErrors = 50
	// maxBisect is the maximum size in bytes of a file whose syntax error is located by parsing
	// prefixes of the file.
	maxBisect = 1 << 20
)

// Kind is the form of a node.
type Kind int

// The kinds of a node. Plain scalars get the kind that YAML resolves them to; quoted scalars are
// Text.
const (
	Null Kind = iota
	Text
	Int
	Float
	Bool
	Map
	List
)

// String returns the kind as messages name it: "a map".
func (k Kind) String() string {
	return [...]string{"nothing", "text", "a whole number", "a number", "true or false", "a map", "a list"}[k]
}

// Node is one value of a document. All aliases of an anchor share the anchor's nodes and their
// position.
type Node struct {
	File         string
	Line, Column int // from 1
	Kind         Kind
	Value        string // text of a scalar
	Pairs        []Pair // entries of a map, in file order; keys are unique
	Items        []*Node
}

// Pair is one entry of a map.
type Pair struct {
	Key   *Node // Kind is always Text, whatever the key looks like
	Value *Node
}

// Get returns the value of a key of a map, or nil.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key.Value == key {
			return p.Value
		}
	}
	return nil
}

// Error is an error in the document itself.
type Error struct {
	File         string
	Line, Column int // from 1
	Msg, Hint    string
}

// Error prints "fabric.yaml:3:5: duplicate key ...".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// Parse reads one document. For a syntax error it returns a nil node and one error. For other
// errors it returns them together with the node, without the entries at fault. It never panics.
// The caller must limit the size of data.
func Parse(file string, data []byte) (*Node, []*Error) {
	c := &converter{file: file, done: map[*yamlv3.Node]*Node{}, size: map[*yamlv3.Node]int{}, open: map[*yamlv3.Node]bool{}}
	if line, col, msg := badText(data); msg != "" {
		return nil, []*Error{{File: file, Line: line, Column: col, Msg: msg, Hint: "write the file as UTF-8 text"}}
	}
	docs, err := documents(data)
	if err != nil {
		return nil, []*Error{syntaxError(file, data, err)}
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 || isEmpty(docs[0].Content[0]) {
		return nil, []*Error{{File: file, Line: 1, Column: 1, Msg: "the file is empty"}}
	}
	if len(docs) > 1 {
		line := docs[1].Line
		return nil, []*Error{{File: file, Line: line, Column: max(docs[1].Column, 1), Msg: "a second document in the file",
			Hint: "one file holds one document; put the second one into another file in the same folder"}}
	}
	n := c.convert(docs[0].Content[0], 1)
	if c.stop {
		return nil, c.errs
	}
	return n, c.errs
}

func isEmpty(n *yamlv3.Node) bool {
	return n.Kind == yamlv3.ScalarNode && n.Value == "" && n.ShortTag() == "!!null"
}

// documents parses up to two documents, so that Parse can reject a second one.
func documents(data []byte) (docs []*yamlv3.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser failed: %v", r)
		}
	}()
	dec := yamlv3.NewDecoder(bytes.NewReader(data))
	for len(docs) < 2 {
		var n yamlv3.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return docs, err
		}
		docs = append(docs, &n)
	}
	return docs, nil
}

// badText finds the first character that YAML does not allow in a file. It does not interpret
// escapes in quoted scalars. msg is "" if there is none.
func badText(data []byte) (line, col int, msg string) {
	line, col = 1, 1
	for i := 0; i < len(data); {
		if b := data[i]; b < utf8.RuneSelf {
			switch {
			case b == '\n':
				line, col = line+1, 0
			case b < ' ' && b != '\t' && b != '\r' || b == 0x7f:
				return line, col, fmt.Sprintf("control character 0x%02x", b)
			}
			i, col = i+1, col+1
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return line, col, fmt.Sprintf("byte 0x%02x is not UTF-8 text", data[i])
		case r < 0xa0 && r != 0x85, r == 0xfffe, r == 0xffff, r == 0xfeff && i > 0:
			return line, col, fmt.Sprintf("control character U+%04X", r)
		}
		i, col = i+n, col+1
	}
	return 0, 0, ""
}

type converter struct {
	file     string
	errs     []*Error
	done     map[*yamlv3.Node]*Node // anchored nodes already converted
	size     map[*yamlv3.Node]int   // how many nodes each of these expands to
	open     map[*yamlv3.Node]bool  // anchored nodes being converted
	total    int                    // nodes so far, with aliases expanded
	expanded int                    // nodes from expanded aliases
	stop     bool
}

func (c *converter) errorf(n *yamlv3.Node, hint, format string, args ...any) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, &Error{File: c.file, Line: n.Line, Column: n.Column, Msg: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// fatal ends the conversion, because the rest would be follow-on errors or a huge expansion.
func (c *converter) fatal(n *yamlv3.Node, hint, format string, args ...any) *Node {
	c.errorf(n, hint, format, args...)
	c.stop = true
	return &Node{File: c.file, Line: n.Line, Column: n.Column}
}

func (c *converter) convert(n *yamlv3.Node, depth int) *Node {
	if c.stop {
		return &Node{File: c.file, Line: n.Line, Column: n.Column}
	}
	c.total++
	if depth > maxDepth {
		return c.fatal(n, "", "nested more than %d levels deep", maxDepth)
	}
	if n.Kind == yamlv3.AliasNode {
		return c.alias(n)
	}
	if n.Anchor == "" {
		return c.node(n, depth)
	}
	c.open[n] = true
	before := c.total - 1
	out := c.node(n, depth)
	delete(c.open, n)
	c.done[n], c.size[n] = out, c.total-before
	return out
}

func (c *converter) alias(n *yamlv3.Node) *Node {
	if n.Alias == nil || c.open[n.Alias] {
		return c.fatal(n, "", "an alias is inside the value that it repeats")
	}
	if c.done[n.Alias] == nil { // a key
		return c.node(n.Alias, maxDepth)
	}
	c.total += c.size[n.Alias]
	c.expanded += c.size[n.Alias]
	if c.expanded > maxExpansion {
		return c.fatal(n, "", "aliases expand to more than %d values", maxExpansion)
	}
	return c.done[n.Alias]
}

func (c *converter) node(n *yamlv3.Node, depth int) *Node {
	out := &Node{File: c.file, Line: n.Line, Column: n.Column}
	switch n.Kind {
	case yamlv3.MappingNode:
		out.Kind = Map
		c.pairs(out, n, depth)
	case yamlv3.SequenceNode:
		out.Kind = List
		out.Items = make([]*Node, 0, len(n.Content))
		for _, item := range n.Content {
			out.Items = append(out.Items, c.convert(item, depth+1))
		}
	case yamlv3.ScalarNode:
		out.Value = n.Value
		out.Kind = scalarKind(n)
	}
	if n.Style&yamlv3.TaggedStyle != 0 {
		c.errorf(n, "remove the !, or quote the text", "a tag")
	}
	return out
}

func scalarKind(n *yamlv3.Node) Kind {
	if n.Style&(yamlv3.DoubleQuotedStyle|yamlv3.SingleQuotedStyle|yamlv3.LiteralStyle|yamlv3.FoldedStyle) != 0 {
		return Text
	}
	switch n.ShortTag() {
	case "!!null":
		return Null
	case "!!int":
		return Int
	case "!!float":
		return Float
	case "!!bool":
		return Bool
	}
	return Text
}

func (c *converter) pairs(out *Node, n *yamlv3.Node, depth int) {
	out.Pairs = make([]Pair, 0, len(n.Content)/2)
	first := make(map[string]*yamlv3.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		ok := false
		switch {
		case k.Kind != yamlv3.ScalarNode:
			c.errorf(k, "a text with [ ] { } at its beginning needs quotes", "a key must be text")
		case k.ShortTag() == "!!merge":
			c.errorf(k, "roles, ranges and several files share settings between devices", "merge keys are not supported")
		case first[k.Value] != nil:
			f := first[k.Value]
			c.errorf(k, "", "duplicate key %s, first at %s:%d:%d", Quote(k.Value), c.file, f.Line, f.Column)
		default:
			first[k.Value], ok = k, true
		}
		v := c.convert(n.Content[i+1], depth+1)
		if c.stop {
			return
		}
		if ok {
			key := &Node{File: c.file, Line: k.Line, Column: k.Column, Kind: Text, Value: k.Value}
			out.Pairs = append(out.Pairs, Pair{Key: key, Value: v})
		}
	}
}

// Quote quotes a key for a message. It shortens the key and drops what follows a colon, because
// "password:x" without the space is a single key.
func Quote(key string) string {
	if k, _, ok := strings.Cut(key, ":"); ok {
		key = k + ":..."
	}
	if len(key) > 60 {
		cut := 60
		for !utf8.RuneStart(key[cut]) {
			cut--
		}
		key = key[:cut] + "..."
	}
	return strconv.Quote(key)
}

var lineNumber = lazyre.New(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// syntaxError adds a line and column to the library's error. The library counts lines from 0 in
// its grammar errors, and names the place where the enclosing block begins; the line that breaks
// the block is found by parsing prefixes of the file.
func syntaxError(file string, data []byte, err error) *Error {
	line, msg := librarySays(err)
	e := &Error{File: file, Line: max(line, 1), Msg: msg}
	switch {
	case strings.HasPrefix(msg, "unknown anchor"):
		e.Msg = "an alias (*) to an anchor that the file does not define"
		e.Hint = "quote a text that begins with *"
	case isBlockError(msg):
		e.Line = breakingLine(data, line+1, msg)
	case strings.Contains(msg, "expected ',' or"):
		e.Line = line + 1
		e.Hint = "inside { } and [ ], quote a text that holds [ ] { } or a comma"
	case strings.Contains(msg, "mapping values are not allowed"):
		e.Hint = "quote a text that holds a colon and a space; check the indentation"
	case strings.Contains(msg, "tab character") || strings.Contains(msg, "cannot start any token"):
		e.Hint = "indent with spaces; quote a text that begins with a special character"
	}
	if strings.HasPrefix(msg, "unknown anchor") {
		e.Line = breakingAlias(data, msg)
	}
	e.Line, e.Column = firstColumn(data, e.Line)
	return e
}

func librarySays(err error) (line int, msg string) {
	m := lineNumber.FindStringSubmatch(strings.SplitN(err.Error(), "\n", 2)[0])
	line, _ = strconv.Atoi(m[1]) // "" gives 0: the message names no line
	return line, m[2]
}

func isBlockError(msg string) bool {
	return msg == "did not find expected key" || msg == "did not find expected '-' indicator" || strings.Contains(msg, "<document start>")
}

// breakingLine returns the first line of the file at which the library reports the error msg.
func breakingLine(data []byte, line int, msg string) int {
	if len(data) > maxBisect {
		return line
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lo, hi := 0, len(lines) // the error occurs within the first hi lines but not within the first lo
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		_, err := documents(bytes.Join(lines[:mid], nil))
		if err != nil {
			if _, m := librarySays(err); m == msg {
				hi = mid
				continue
			}
		}
		lo = mid
	}
	return hi
}

// breakingAlias returns the line that first uses the alias named in the library's message.
func breakingAlias(data []byte, msg string) int {
	parts := strings.SplitN(msg, "'", 3)
	if len(parts) < 3 {
		return 1
	}
	i := bytes.Index(data, []byte("*"+parts[1]))
	if i < 0 {
		return 1
	}
	return 1 + bytes.Count(data[:i], []byte("\n"))
}

// firstColumn returns the line, limited to the lines of the file, and the column of its first
// text.
func firstColumn(data []byte, line int) (int, int) {
	at := 1
	for at < line {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		data = data[i+1:]
		at++
	}
	col := 1
	for _, b := range data {
		if b != ' ' && b != '\t' {
			break
		}
		col++
	}
	return at, col
}
