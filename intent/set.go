package intent

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// setAll returns a copy of the document with the changes of Options.Set applied. A path that does
// not exist is a problem; the decoder checks whether the result is a valid intent.
func setAll(root *yaml.Node, sets []string, p *problems) *yaml.Node {
	for _, text := range sets {
		path, value, ok := strings.Cut(text, "=")
		s := setter{problems: p, path: path, at: Pos{File: "--set " + path}}
		if !ok || path == "" || value == "" {
			s.path, s.at.File = text, "--set "+text
			s.fail("write links[0].cable=30m", "a path and a value are needed")
			continue
		}
		n, errs := yaml.Parse(s.at.File, []byte(value))
		p.ofDocument(errs)
		if len(errs) > 0 {
			continue
		}
		s.move(n, map[*yaml.Node]bool{})
		if n = s.put(root, 0, n); n != nil {
			root = n
		}
	}
	return root
}

// setter makes one change.
type setter struct {
	problems *problems
	path     string
	at       Pos // position of every value that it sets
}

func (s *setter) fail(hint, format string, args ...any) *yaml.Node {
	s.problems.addf(s.at, hint, format, args...)
	return nil
}

// move sets the position of a node and all nodes below it to that of the change.
func (s *setter) move(n *yaml.Node, moved map[*yaml.Node]bool) {
	if moved[n] {
		return
	}
	moved[n] = true
	n.File, n.Line, n.Column = s.at.File, 0, 0
	for _, p := range n.Pairs {
		s.move(p.Key, moved)
		s.move(p.Value, moved)
	}
	for _, item := range n.Items {
		s.move(item, moved)
	}
}

// put returns a copy of n in which the path from offset from on is set to value; nil after a
// problem. A nil or empty n becomes a map.
func (s *setter) put(n *yaml.Node, from int, value *yaml.Node) *yaml.Node {
	rest := s.path[from:]
	if rest == "" {
		return value
	}
	owner := cmp.Or(strings.TrimSuffix(s.path[:from], "."), "the intent")
	if n == nil {
		n = &yaml.Node{File: s.at.File}
	}
	if rest[0] == '[' {
		return s.putItem(n, from, owner, value)
	}
	if n.Kind == yaml.Null {
		n = &yaml.Node{File: n.File, Kind: yaml.Map}
	}
	if n.Kind == yaml.List {
		return s.fail(fmt.Sprintf("name an entry by its number, from 0: %s[0]", owner), "%s is a list", owner)
	}
	if n.Kind != yaml.Map {
		return s.fail(fmt.Sprintf("set it as a whole: --set '%s={...}'", owner), "%s is %s, which has no %s", owner, n.Kind, rest)
	}
	key, length := keyAt(n, rest)
	next := from + length
	switch {
	case key == "", strings.HasPrefix(s.path[next:], ".") && next+1 == len(s.path):
		return s.fail("write links[0].cable=30m", "the path has an empty part")
	case strings.HasPrefix(s.path[next:], "."):
		next++
	}
	top := structureOf(reflect.TypeFor[rawFabric]())
	if from == 0 && top.byKey[key] == nil {
		return s.fail(didYouMean(key, top.keys), "unknown key %s", yaml.Quote(key))
	}
	old := n.Get(key)
	if hint, named := s.entries(n, owner, key, rest); old == nil && named {
		return s.fail(hint, "%s has no %s", owner, yaml.Quote(segment(rest)))
	}
	v := s.put(old, next, value)
	if v == nil {
		return nil
	}
	out := shallowCopy(n)
	for i, p := range out.Pairs {
		if p.Key.Value == key {
			out.Pairs[i].Value = v
			return out
		}
	}
	out.Pairs = append(out.Pairs, yaml.Pair{Key: &yaml.Node{File: s.at.File, Kind: yaml.Text, Value: key}, Value: v})
	return out
}

// putItem is put for a path that continues with a list index.
func (s *setter) putItem(n *yaml.Node, from int, owner string, value *yaml.Node) *yaml.Node {
	number, after, closed := strings.Cut(s.path[from+1:], "]")
	i, err := strconv.Atoi(number)
	switch {
	case err != nil || i < 0 || !closed || after != "" && after[0] != '.' && after[0] != '[':
		return s.fail("write links[0].cable=30m; the first entry has number 0", "%s is no number of an entry", yaml.Quote("["+number+"]"))
	case n.Kind != yaml.List:
		return s.fail("", "%s is %s, not a list", owner, n.Kind)
	case i >= len(n.Items):
		hint := ""
		if len(n.Items) > 0 {
			hint = fmt.Sprintf("its last one is %s[%d]", owner, len(n.Items)-1)
		}
		return s.fail(hint, "%s has %s, and no [%d]", owner, words.Plural(len(n.Items), "entry", "entries"), i)
	}
	next := len(s.path) - len(after)
	if strings.HasPrefix(after, ".") {
		next++
	}
	v := s.put(n.Items[i], next, value)
	if v == nil {
		return nil
	}
	out := shallowCopy(n)
	out.Items[i] = v
	return out
}

// entries reports whether owner is a top-level map whose keys the operator chooses. A missing key
// is then a mistake, and hint suggests the right one.
func (s *setter) entries(n *yaml.Node, owner, key, rest string) (hint string, named bool) {
	f := structureOf(reflect.TypeFor[rawFabric]()).byKey[owner]
	if f == nil || f.keys == "" {
		return "", false
	}
	var known []string
	for _, p := range n.Pairs {
		known = append(known, p.Key.Value)
		if of, err := parsePattern(p.Key.Value); err == nil && of.ranged && of.set()[key] {
			return fmt.Sprintf("%s stands for it: --set '%s.%s%s=...'", p.Key.Value, owner, p.Key.Value, strings.TrimPrefix(rest, key)), true
		}
	}
	return didYouMean(segment(rest), known), true
}

// keyAt returns the key that the rest of a path begins with, and its length in the path: a key of
// the map, which may contain dots and brackets, or else the text up to the first of these. A key
// may be quoted.
func keyAt(n *yaml.Node, rest string) (key string, length int) {
	if rest[0] == '"' {
		if key, _, ok := strings.Cut(rest[1:], `"`); ok {
			return key, len(key) + 2
		}
	}
	has := map[string]bool{}
	for _, p := range n.Pairs {
		if after, ok := strings.CutPrefix(rest, p.Key.Value); ok && (after == "" || after[0] == '.' || after[0] == '[') {
			has[p.Key.Value] = true
		}
	}
	if len(has) > 0 {
		key = slices.MaxFunc(slices.Collect(maps.Keys(has)), func(a, b string) int { return len(a) - len(b) })
		return key, len(key)
	}
	if i := strings.IndexAny(rest, ".["); i >= 0 {
		return rest[:i], i
	}
	return rest, len(rest)
}

// segment returns the rest of a path up to the next dot.
func segment(rest string) string {
	word, _, _ := strings.Cut(rest, ".")
	return word
}
