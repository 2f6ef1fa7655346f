// Package yaml turns one YAML document into a tree of nodes that know their
// line and column. It is the only package that imports the YAML library.
//
// It is stricter than YAML: one document a file, text keys, no duplicate
// keys, no merge keys, no tags, and a bound on nesting and on what aliases
// expand to. It knows nothing of what the document means; that is the
// caller's part. Do not decode into Go types here.
//
// Messages never repeat the text of a value: it may be a secret that was put
// in the wrong place.
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

// The bounds of a document.
const (
	// maxDepth is how deep maps and lists may nest.
	maxDepth = 64
	// maxExpansion is how many nodes aliases may stand for, all together.
	maxExpansion = 200_000
	// maxErrors is how many faults of one document are kept.
	maxErrors = 50
	// maxBisect is the size up to which the line of a syntax error is
	// searched for by parsing prefixes of the file.
	maxBisect = 1 << 20
)

// Kind is the form of a node.
type Kind int

// The kinds of a node. A scalar's kind follows YAML's own resolution of plain
// text; a quoted one is Text.
const (
	Null Kind = iota
	Text
	Int
	Float
	Bool
	Map
	List
)

// String prints the kind as a message names it: "a map".
func (k Kind) String() string {
	return [...]string{"nothing", "text", "a whole number", "a number", "true or false", "a map", "a list"}[k]
}

// Node is one value of a document. Nodes that an alias stands for are shared
// and keep the place of the anchor.
type Node struct {
	File         string
	Line, Column int // from 1
	Kind         Kind
	Value        string // the text of a scalar
	Pairs        []Pair // of a map, in the order of the file; keys are unique
	Items        []*Node
}

// Pair is one entry of a map.
type Pair struct {
	Key   *Node // Kind is Text, whatever the key looks like
	Value *Node
}

// Get returns the value of a map's key, or nil.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key.Value == key {
			return p.Value
		}
	}
	return nil
}

// Error is a fault of the document itself.
type Error struct {
	File         string
	Line, Column int // from 1
	Msg, Hint    string
}

// Error prints "fabric.yaml:3:5: duplicate key ...".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// Parse reads one document. Syntax errors end it with a nil node and one
// error; other faults come together with the node, faulty entries left out.
// It never panics. The caller bounds the size of data.
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

// documents parses up to two documents: one more than is allowed.
func documents(data []byte) (docs []*yamlv3.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the parser gave up: %v", r)
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

// badText finds the first byte that YAML does not allow, except what only a
// quoted scalar could spell.
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
	done     map[*yamlv3.Node]*Node // anchored nodes that are converted
	size     map[*yamlv3.Node]int   // and what they expand to
	open     map[*yamlv3.Node]bool  // anchored nodes under conversion
	total    int                    // nodes so far, aliases expanded
	expanded int                    // nodes that aliases stand for
	stop     bool
}

func (c *converter) errorf(n *yamlv3.Node, hint, format string, args ...any) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, &Error{File: c.file, Line: n.Line, Column: n.Column, Msg: fmt.Sprintf(format, args...), Hint: hint})
	}
}

// fatal ends the conversion: what follows would be noise or a bomb.
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
		return c.fatal(n, "", "an alias stands inside the value it repeats")
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
		c.errorf(n, "take the ! away, or quote the text", "a tag")
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

// Quote prints a key for a message: shortened, and without what follows a
// colon, because "password:x" with the space forgotten is one key.
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

// syntaxError places the library's error. The library counts the lines of
// its grammar errors from 0, and names the place where the surrounding block
// begins; the line that breaks a block is found by parsing prefixes.
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
	line, _ = strconv.Atoi(m[1]) // "" gives 0: no line is named
	return line, m[2]
}

func isBlockError(msg string) bool {
	return msg == "did not find expected key" || msg == "did not find expected '-' indicator" || strings.Contains(msg, "<document start>")
}

// breakingLine returns the first line up to which the file has this fault.
func breakingLine(data []byte, line int, msg string) int {
	if len(data) > maxBisect {
		return line
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lo, hi := 0, len(lines) // the fault is within the first hi lines, not within the first lo
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

// breakingAlias returns the line of the first use of the alias that the
// library's message names.
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

// firstColumn returns the line, held within the file, and the column of its
// first text.
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
