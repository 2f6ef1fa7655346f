package cumulus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Config is the configuration of a switch, without the defaults.
type Config struct {
	Tree *Node
	// Release decides the syntax of the switch. The zero Release is unknown and is treated as
	// the newest.
	Release Release
	// Hostname and Model are as the text states them; "" if it does not.
	Hostname, Model string
	// Ports lists all ports of the switch, if known. The configuration itself names only ports
	// that have settings.
	Ports []string

	// sources lists the values of the text, in order.
	sources []*source
}

// source is one value of a text: a leaf of JSON or YAML, or a command.
type source struct {
	no          int
	where, text string
	removes     bool // it is an unset that removed something
	astray      bool // it is an unset of a path that the table does not list
}

// Parse reads a configuration: JSON or YAML as "nv config show" and the REST API return it, the
// commands of "nv config show -o commands", or an Ansible playbook.
func Parse(text []byte) (*Config, error) {
	c := &Config{Tree: &Node{}}
	p := &parser{c: c}
	// NVUE accepts only UTF-8, and JSON could not represent other text.
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("the text is empty")
	case trimmed[0] != '{' && !shown.Match(text) && !played.Match(text) && isCommands(text):
		if err := p.commands(string(text)); err != nil {
			return nil, err
		}
	default:
		doc, err := document(text, trimmed)
		if err != nil {
			return nil, err
		}
		read := p.document
		if trimmed[0] != '{' && played.Match(text) {
			read = p.playbook
		}
		if err := read(doc); err != nil {
			return nil, err
		}
	}
	if p.expanded > maxExpanded {
		return nil, fmt.Errorf("its ranges stand for more than %d values", maxExpanded)
	}
	if name := c.Tree.At("system", "hostname").Word(); name != "" {
		c.Hostname = name
	}
	return c, nil
}

func document(text, trimmed []byte) (*yaml.Node, error) {
	if trimmed[0] == '{' || trimmed[0] == '[' {
		return readJSON(text)
	}
	doc, errs := yaml.Parse("configuration", text)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return doc, nil
}

// readJSON parses one JSON value and records the line of each node.
func readJSON(text []byte) (*yaml.Node, error) {
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); err != io.EOF {
		return nil, errors.New("there is more behind the JSON value")
	}
	return n, nil
}

type jsonReader struct {
	dec  *json.Decoder
	text []byte
	line int
	at   int64
}

// maxNesting limits the nesting of JSON; NVUE's tree has about twenty levels.
const maxNesting = 64

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	end := r.dec.InputOffset()
	r.line += bytes.Count(r.text[r.at:end], []byte("\n"))
	r.at = end
	return t, err
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	t, err := r.token()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.line, err)
	}
	if depth > maxNesting {
		return nil, fmt.Errorf("line %d: nested more than %d levels deep", r.line, maxNesting)
	}
	n := &yaml.Node{Line: r.line}
	switch t := t.(type) {
	case string:
		n.Kind, n.Value = yaml.Text, t
	case json.Number:
		n.Kind, n.Value = yaml.Int, t.String()
	case bool:
		n.Kind, n.Value = yaml.Bool, strconv.FormatBool(t)
	case json.Delim:
		n.Kind = yaml.List
		if t == '{' {
			n.Kind = yaml.Map
		}
		for r.dec.More() {
			var key *yaml.Node
			if n.Kind == yaml.Map {
				k, err := r.token()
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", r.line, err)
				}
				name, _ := k.(string) // the decoder accepts no other keys
				key = &yaml.Node{Line: r.line, Kind: yaml.Text, Value: name}
			}
			v, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			if key != nil {
				n.Pairs = append(n.Pairs, yaml.Pair{Key: key, Value: v})
			} else {
				n.Items = append(n.Items, v)
			}
		}
		if _, err := r.token(); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	return n, nil
}

type parser struct {
	c        *Config
	expanded int
}

// document reads the output of "nv config show", a list with a header and the set values, or the
// tree itself.
func (p *parser) document(doc *yaml.Node) error {
	items := []*yaml.Node{doc}
	if doc.Kind == yaml.List {
		items = doc.Items
	}
	found := false
	for _, item := range items {
		if item.Kind != yaml.Map {
			continue
		}
		set := item.Get("set")
		if h := item.Get("header"); h != nil {
			p.header(h)
			found = true
		}
		switch {
		case set != nil && set.Kind == yaml.Map:
			p.tree(set, nil, []Path{nil})
			found = true
		case set == nil && item.Get("header") == nil && item.Get("unset") == nil && (doc.Kind == yaml.Map || p.isTree(item)):
			p.tree(item, nil, []Path{nil})
			found = found || p.isTree(item)
		}
	}
	if !found {
		return errors.New(`nothing of NVUE's tree in it: give what "nv config show" prints, in YAML, in JSON or as commands`)
	}
	return nil
}

// tops lists the top-level branches of NVUE's tree.
var tops = []string{"acl", "bridge", "evpn", "interface", "maintenance", "mlag", "nve", "platform", "qos", "router", "service", "system", "vrf"}

func (p *parser) isTree(n *yaml.Node) bool {
	for _, top := range tops {
		if v := n.Get(top); v != nil && (v.Kind == yaml.Map || v.Kind == yaml.Null) {
			return true
		}
	}
	return false
}

// header reads the header in the output of "nv config show".
func (p *parser) header(h *yaml.Node) {
	if v := h.Get("model"); v != nil {
		p.c.Model = v.Value
	}
	if v := h.Get("version"); v != nil {
		p.c.Release, _ = ReleaseOf(v.Value)
	}
}

// tree reads a map and puts its values at each of the paths, which result from ranges in the
// keys above it. written is the path as written in the text.
func (p *parser) tree(n *yaml.Node, written Path, at []Path) {
	for _, pair := range n.Pairs {
		key, v := pair.Key.Value, pair.Value
		var to []Path
		if p.expanded > maxExpanded {
			return
		}
		for _, base := range at {
			for _, k := range keysFor(base, key) {
				to = append(to, append(base[:len(base):len(base)], k))
			}
		}
		p.expanded += len(to) - 1
		here := append(written[:len(written):len(written)], key)
		if v.Kind == yaml.Map && len(v.Pairs) > 0 {
			p.tree(v, here, to)
			continue
		}
		leaf := &Node{from: &source{no: pair.Key.Line, where: written.String()}}
		switch v.Kind {
		case yaml.Map, yaml.Null:
			leaf.from.text = key + ": {}"
		case yaml.List:
			for _, item := range v.Items {
				leaf.add(item.Value, &Node{from: leaf.from})
			}
			leaf.from.text = key + ": [" + strings.Join(leaf.Keys(), ", ") + "]"
		case yaml.Int:
			leaf.Kind, leaf.Value = Number, v.Value
		case yaml.Bool:
			leaf.Kind, leaf.Value = Bool, v.Value
			if v.Value != "true" && v.Value != "false" {
				leaf.Kind = Text // such as "on" of YAML 1.1
			}
		default:
			leaf.Kind, leaf.Value = Text, v.Value
		}
		if leaf.Kind != Branch {
			leaf.from.text = key + ": " + v.Value
		}
		p.put(leaf, to)
	}
}

func (p *parser) put(leaf *Node, to []Path) {
	p.c.sources = append(p.c.sources, leaf.from)
	for _, path := range to {
		if have := p.c.Tree.At(path...); have != nil && leaf.Kind == Branch && len(leaf.Sub) == 0 {
			continue // it exists already
		}
		p.c.Tree.Put(leaf.Clone(), path...)
	}
}

// keysFor returns the keys that a key of a text stands for below a path. Ranges of interfaces,
// priorities and code points are expanded.
func keysFor(base Path, key string) []string {
	switch {
	case len(base) == 0:
	case len(base) == 1 && base[0] == "interface", base[len(base)-1] == "member":
		return expandPorts(key)
	case ranged[base[len(base)-1]] && strings.ContainsAny(key, ",-"):
		if ns := expandNumbers(key); ns != nil {
			return ns
		}
	}
	return []string{key}
}

// prompted matches a command, alone or after a shell prompt, a list dash or ssh with a quote. A # on
// its own begins a comment, but is the prompt of root in a text whose commands all follow one, which
// asRoot matches.
var (
	prompted = lazyre.New(`^(\s*(?:(?:[^\s#]\S*[$#>]|[$>]) ?|- ["']?|(?:\S+ )*ssh(?: \S+)+ ["'])?)(?:sudo )?(?:/usr/bin/)?nv ((?:set|unset) +(?s:\S.*))$`)
	asRoot   = lazyre.New(`^(\s*# ?)nv ((?:set|unset) +(?s:\S.*))$`)
)

// shown matches the start of the YAML output of "nv config show", in which a text may contain
// commands.
var shown = lazyre.New(`(?m)^- (?:header|set):`)

func isCommands(text []byte) bool { return formOf(string(text)) != nil }

// formOf returns the form of the commands of a text; nil if it has none.
func formOf(text string) *lazyre.Regexp {
	for _, form := range []*lazyre.Regexp{prompted, asRoot} {
		for line := range strings.Lines(text) {
			if form.MatchString(strings.TrimRight(line, "\r\n")) {
				return form
			}
		}
	}
	return nil
}

// maxQuoted limits the number of lines that a quoted text may span.
const maxQuoted = 500

// command applies one command, given without "nv".
func (p *parser) command(words []string, from *source) error {
	verb, words := words[0], words[1:]
	if slices.ContainsFunc(words, isTemplate) && (words[0] != "interface" && decides(words) || slices.Contains(words, "qos") || slices.Contains(words, "mtu")) {
		return unread(fmt.Errorf("line %d: %s: %w", from.no, strings.Join(words, " "), errTemplate))
	}
	if verb == "unset" {
		for _, path := range p.paths(words) {
			from.removes = from.removes || p.c.Tree.At(path...) != nil
			from.astray = from.astray || lookup(path).place == nil
			p.c.Tree.Remove(path...)
		}
		p.c.sources = append(p.c.sources, from)
		return nil
	}
	leaf := &Node{from: from}
	path := words
	if last := len(words) - 1; last > 0 && isLeaf(words[:last]) {
		path = words[:last]
		leaf.Kind, leaf.Value = Text, words[last]
		if _, ok := digits(leaf.Value); ok {
			leaf.Kind = Number
		}
	}
	p.put(leaf, p.paths(path))
	return nil
}

// paths returns the paths that the words of a command stand for.
func (p *parser) paths(words []string) []Path {
	at := []Path{nil}
	for _, w := range words {
		var to []Path
		for _, base := range at {
			for _, k := range keysFor(base, w) {
				to = append(to, append(base[:len(base):len(base)], k))
			}
		}
		if p.expanded += len(to) - len(at); p.expanded > maxExpanded {
			return nil
		}
		at = to
	}
	return at
}

// errQuote means that a quoted text has no end.
var errQuote = errors.New("a quote is not closed")

// shellWords splits a command like a shell and returns the rest of the line after the command.
// Quotes and backslashes keep words together, # begins a comment, and around at the end of the line
// closes a quote that was opened before the command.
func shellWords(line string, around byte) (out []string, rest string, err error) {
	var word strings.Builder
	open, in := byte(0), false
	flush := func() {
		if in {
			out = append(out, word.String())
			word.Reset()
			in = false
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case open != 0 && c == open:
			open = 0
		case c == '\\' && open != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			in = true
		case open != 0:
			word.WriteByte(c)
		case c == around && strings.TrimSpace(line[i+1:]) == "":
		case c == '\'' || c == '"':
			open, in = c, true
		case c == ' ' || c == '\t' || c == '\n':
			flush()
		case c == '#' && !in:
			return out, "", nil
		case c == ';' || c == '&' || c == '|':
			flush()
			return out, line[i:], nil
		case c == '>' && (!in || word.String() == "2"):
			_, rest, _ := strings.Cut(line[i:], " ")
			if j := strings.IndexAny(rest, ";&|"); j >= 0 {
				return out, rest[j:], nil
			}
			return out, "", nil
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if open != 0 {
		return nil, "", errQuote
	}
	flush()
	return out, "", nil
}
