package intent

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// element is a raw type that decodes itself and describes its own schema.
type element interface {
	decode(d *decoder, n *yaml.Node, f *field)
	schema(g *generator, f *field) map[string]any
}

// opt is an optional scalar. Stated means that the file has the key, Set that its value is valid.
type opt[T any] struct {
	V      T
	Pos    Pos
	Stated bool
	Set    bool
}

func (o opt[T]) value() T { return o.V }

// orWord is a map or list, or a single word instead.
type orWord[T any] struct {
	Word   string // "" if Body is stated
	Body   T
	Pos    Pos
	Stated bool
	Set    bool
}

// rawMap is a map whose keys are chosen by the operator, in file order.
type rawMap[T any] struct {
	Entries []*entry[T]
	Pos     Pos
	Bad     bool // stated, but not a map
}

type entry[T any] struct {
	Key string
	Pos Pos // of the key
	V   T
}

// list is a list of elements or structs.
type list[T any] struct {
	Items  []T
	Pos    Pos
	Stated bool
	Bad    bool // stated, but not a list, or with an invalid item
}

// field describes one key of a raw struct, read from its tags.
type field struct {
	index    []int
	key, doc string
	req      bool
	enum     []string
	words    []string
	limited  bool
	min, max float64
	rule     string
	keys     string
	secret   bool
	loose    bool
}

// structure describes a raw struct: its keys and the field that stores its position.
type structure struct {
	fields []*field
	byKey  map[string]*field
	keys   []string // in the order of the struct fields, for hints
	pos    []int    // index path of the Pos field; nil if there is none
}

var structures sync.Map // cache: reflect.Type -> *structure

func structureOf(t reflect.Type) *structure {
	if s, ok := structures.Load(t); ok {
		return s.(*structure)
	}
	s := &structure{byKey: map[string]*field{}}
	s.collect(t, nil)
	structures.Store(t, s)
	return s
}

// collect reads the tags of a struct type. The tags are constants of this package; an invalid one
// panics in the first test that uses it.
func (s *structure) collect(t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int{}, index...), i)
		if sf.Anonymous {
			s.collect(sf.Type, at)
			continue
		}
		if sf.Type == reflect.TypeFor[Pos]() {
			if s.pos == nil {
				s.pos = at
			}
			continue
		}
		f := &field{index: at, key: sf.Tag.Get("key"), doc: ofSystems.Replace(sf.Tag.Get("doc")), req: sf.Tag.Get("req") != "",
			rule: sf.Tag.Get("rule"), keys: sf.Tag.Get("keys"), secret: sf.Tag.Get("secret") != "", loose: sf.Tag.Get("loose") != ""}
		if v := sf.Tag.Get("enum"); v != "" {
			f.enum = strings.Split(ofSystems.Replace(v), ",")
		}
		if v := sf.Tag.Get("words"); v != "" {
			f.words = strings.Split(v, ",")
		}
		if v := sf.Tag.Get("min"); v != "" {
			f.limited, f.min, f.max = true, mustFloat(v), mustFloat(sf.Tag.Get("max"))
		}
		s.fields = append(s.fields, f)
		s.byKey[f.key] = f
		s.keys = append(s.keys, f.key)
	}
}

func mustFloat(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// decoder reads YAML nodes into raw values and collects problems.
type decoder struct{ problems *problems }

func posOf(n *yaml.Node) Pos { return Pos{File: n.File, Line: n.Line, Column: n.Column} }

// structure reads a map node into a raw struct. owner is the name of the struct in error
// messages.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, owner string) {
	s := structureOf(v.Type())
	if s.pos != nil {
		v.FieldByIndex(s.pos).Set(reflect.ValueOf(posOf(n)))
	}
	if n.Kind != yaml.Map {
		d.problems.addf(posOf(n), "", "%s must be a map, not %s", owner, n.Kind)
		return
	}
	d.pairs(n, v, s)
	for _, f := range s.fields {
		if f.req && n.Get(f.key) == nil {
			d.problems.addf(posOf(n), "", "%s has no %s", owner, f.key)
		}
	}
}

// pairs reads the pairs of a map node into the fields of a raw struct.
func (d *decoder) pairs(n *yaml.Node, v reflect.Value, s *structure) {
	for _, p := range n.Pairs {
		f := s.byKey[p.Key.Value]
		if f == nil {
			d.unknownKey(p.Key, s.keys)
			continue
		}
		d.value(p.Value, v.FieldByIndex(f.index), f)
	}
}

func (d *decoder) unknownKey(key *yaml.Node, known []string) {
	word, _, glued := strings.Cut(key.Value, ":")
	hint := didYouMean(word, known)
	if glued {
		hint = "a colon needs a space after it"
	}
	d.problems.addf(posOf(key), hint, "unknown key %s", yaml.Quote(key.Value))
}

// value reads a node into an element, a struct, or a pointer to a struct.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f *field) {
	if e, ok := v.Addr().Interface().(element); ok {
		e.decode(d, n, f)
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	d.structure(n, v, f.key)
}

func (o *opt[T]) decode(d *decoder, n *yaml.Node, f *field) {
	o.Pos, o.Stated = posOf(n), true
	if err := parseScalar(n, &o.V, f); err != nil {
		sep := " "
		if strings.HasPrefix(err.msg, `"`) {
			sep = ": "
		}
		d.problems.addf(o.Pos, err.hint, "%s%s%s", f.key, sep, err.msg)
		return
	}
	o.Set = true
}

func (o *orWord[T]) decode(d *decoder, n *yaml.Node, f *field) {
	o.Pos, o.Stated = posOf(n), true
	body := reflect.ValueOf(&o.Body).Elem()
	wantKind := yaml.Map
	if _, ok := any(&o.Body).(element); ok {
		wantKind = yaml.List
	}
	if n.Kind == yaml.Text && slices.Contains(f.words, n.Value) {
		o.Word, o.Set = n.Value, true
		return
	}
	if n.Kind != wantKind {
		hint := ""
		if n.Kind == yaml.Text {
			hint = hintFor(n.Value, f.words)
		}
		if wantKind == yaml.List && n.Kind == yaml.Int {
			hint = "write [" + n.Value + "]"
		}
		d.problems.addf(o.Pos, hint, "%s must be %s, not %s", f.key, listed(append(slices.Clip(f.words), wantKind.String()), "or"), given(n, f))
		return
	}
	before := d.problems.count
	d.value(n, body, f)
	o.Set = d.problems.count == before
}

func (m *rawMap[T]) decode(d *decoder, n *yaml.Node, f *field) {
	m.Pos = posOf(n)
	if n.Kind != yaml.Map {
		m.Bad = true
		d.problems.addf(m.Pos, "", "%s must be a map, not %s", f.key, n.Kind)
		return
	}
	r := textRules[f.keys]
	m.Entries = make([]*entry[T], 0, len(n.Pairs))
	for _, p := range n.Pairs {
		e := &entry[T]{Key: p.Key.Value, Pos: posOf(p.Key)}
		if !r.match(e.Key) {
			d.problems.addf(e.Pos, r.hint, "%s is not %s", yaml.Quote(e.Key), r.want)
			m.Bad = true
			continue
		}
		d.structure(p.Value, reflect.ValueOf(&e.V).Elem(), yaml.Quote(e.Key))
		m.Entries = append(m.Entries, e)
	}
}

func (l *list[T]) decode(d *decoder, n *yaml.Node, f *field) {
	l.Pos, l.Stated = posOf(n), true
	if n.Kind != yaml.List {
		l.Bad = true
		d.problems.addf(l.Pos, "", "%s must be a list, not %s", f.key, given(n, f))
		return
	}
	before := d.problems.count
	l.Items = make([]T, len(n.Items))
	item := *f
	if _, ok := any(new(T)).(element); !ok {
		item.key = "an entry of " + f.key
	}
	for i, n := range n.Items {
		d.value(n, reflect.ValueOf(&l.Items[i]).Elem(), &item)
	}
	l.Bad = d.problems.count != before
}
