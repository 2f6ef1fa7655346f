package openconfig

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// Bounds of what is taken from a device. LLDP names have 255 bytes at most
// (IEEE 802.1AB); a chassis with all its VLANs stays far below the entries.
const (
	maxText    = 255
	maxEntries = 1 << 14
)

// enumDefinition names one value of an enumeration; its form is that of
// ygot.EnumDefinition.
type enumDefinition struct{ Name, DefiningModule string }

// entry is a list entry of the generated structs.
type entry interface {
	ΛListKeyMap() (map[string]interface{}, error)
}

// tree returns the object, rooted at the top, that a value of a gNMI answer
// stands for wherever it lies, as leaf or as subtree; nil where it is no part
// of one. An error means that the value is not JSON.
func tree(v gnmi.Value) (map[string]any, error) {
	node, err := v.Decode()
	if err != nil {
		return nil, err
	}
	top, _ := rooted(v.Path, node).(map[string]any)
	return top, nil
}

// merge adds a tree to root, a pointer to a struct whose fields have path tags
// as ygot writes them. What the structs do not have and values of another type
// than theirs are passed over. The shadow paths (the configured value where
// there is a state) are not read: what is asked for is what the device does.
// An error means that a list has absurdly many entries.
func merge(root any, tree map[string]any) error {
	return fill(reflect.ValueOf(root).Elem(), tree)
}

// rooted returns the tree in which node stands at path.
func rooted(path []gnmi.Elem, node any) any {
	for i := len(path) - 1; i >= 0; i-- {
		name := local(path[i].Name)
		if len(path[i].Keys) > 0 {
			node = entries(name, path[i].Keys, node)
		}
		node = map[string]any{name: node}
	}
	return node
}

// entries returns the list whose entry, or whole, node is: a server may also
// answer a wildcard with the list, bare or under its name.
func entries(name string, keys map[string]string, node any) any {
	m, ok := node.(map[string]any)
	if !ok {
		return node
	}
	if l, ok := child(m, name); ok && len(m) == 1 {
		if l, ok := l.([]any); ok {
			return l
		}
	}
	for k, v := range keys {
		if v != "*" {
			m[local(k)] = v
		}
	}
	return []any{m}
}

// local returns a name without the module in front (RFC 7951, section 4).
func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// child returns the member of an object by its name, whichever module is in
// front of it: vendors add to the tree from modules of their own.
func child(node map[string]any, name string) (any, bool) {
	if v, ok := node[name]; ok {
		return v, true
	}
	key := ""
	for k := range node {
		if local(k) == name && (key == "" || k < key) {
			key = k
		}
	}
	v, ok := node[key]
	return v, ok && key != ""
}

// field is a field of a struct and the paths of its tag, split.
type field struct {
	index int
	paths [][]string
}

// plans has the fields of the types seen so far. There are as many types as
// structs here, and a chassis sends tens of thousands of leaves.
var plans sync.Map // reflect.Type: []field

func planOf(t reflect.Type) []field {
	if p, ok := plans.Load(t); ok {
		return p.([]field)
	}
	p := make([]field, t.NumField())
	for i := range p {
		p[i].index = i
		for path := range strings.SplitSeq(t.Field(i).Tag.Get("path"), "|") {
			p[i].paths = append(p[i].paths, strings.Split(path, "/"))
		}
	}
	plans.Store(t, p)
	return p
}

// find returns what stands at the first of the paths that is there.
func find(node map[string]any, paths [][]string) (any, bool) {
	for _, path := range paths {
		at, ok := any(node), true
		for _, name := range path {
			var m map[string]any
			if m, ok = at.(map[string]any); !ok {
				break
			}
			if at, ok = child(m, name); !ok {
				break
			}
		}
		if ok {
			return at, true
		}
	}
	return nil, false
}

func fill(s reflect.Value, node map[string]any) error {
	for _, f := range planOf(s.Type()) {
		v, ok := find(node, f.paths)
		if !ok {
			continue
		}
		if err := set(s.Field(f.index), v); err != nil {
			return err
		}
	}
	return nil
}

func set(f reflect.Value, v any) error {
	switch {
	case f.Kind() == reflect.Map:
		return list(f, v)
	case f.Kind() == reflect.Pointer && f.Type().Elem().Kind() == reflect.Struct:
		node, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		if f.IsNil() {
			f.Set(reflect.New(f.Type().Elem()))
		}
		return fill(f.Elem(), node)
	case f.Kind() == reflect.Pointer:
		leaf := reflect.New(f.Type().Elem())
		if scalar(leaf.Elem(), v) {
			f.Set(leaf)
		}
	case f.Kind() == reflect.Int64:
		if n, ok := enumValue(f.Type().Name(), v); ok {
			f.SetInt(n)
		}
	}
	return nil
}

// list adds entries to a map by their keys.
func list(f reflect.Value, v any) error {
	items, ok := v.([]any)
	if !ok {
		return nil
	}
	for _, it := range items {
		node, ok := it.(map[string]any)
		if !ok {
			continue
		}
		e := reflect.New(f.Type().Elem().Elem())
		if err := fill(e.Elem(), node); err != nil {
			return err
		}
		key, ok := keyOf(f.Type().Key(), e.Interface().(entry))
		if !ok {
			continue
		}
		if f.IsNil() {
			f.Set(reflect.MakeMap(f.Type()))
		}
		if old := f.MapIndex(key); old.IsValid() {
			if err := fill(old.Elem(), node); err != nil {
				return err
			}
			continue
		}
		if f.Len() >= maxEntries {
			return fmt.Errorf("a list has more than %d entries", maxEntries)
		}
		f.SetMapIndex(key, e)
	}
	return nil
}

// keyOf makes the map key of an entry: its one key, or a struct of several.
func keyOf(t reflect.Type, e entry) (reflect.Value, bool) {
	keys, err := e.ΛListKeyMap()
	if err != nil {
		// A key is missing: nobody can tell whose values these are.
		return reflect.Value{}, false
	}
	key := reflect.New(t).Elem()
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			key.Field(i).Set(reflect.ValueOf(keys[t.Field(i).Tag.Get("path")]))
		}
		return key, true
	}
	for _, k := range keys {
		key.Set(reflect.ValueOf(k))
	}
	return key, true
}

// scalar sets a leaf, and reports whether the value fits. Numbers may be
// strings, as those of 64 bits and the keys in a path are.
func scalar(f reflect.Value, v any) bool {
	text, isText := v.(string)
	if n, ok := v.(json.Number); ok {
		text = n.String()
	} else if !isText {
		b, ok := v.(bool)
		if ok = ok && f.Kind() == reflect.Bool; ok {
			f.SetBool(b)
		}
		return ok
	}
	switch f.Kind() {
	case reflect.String:
		if !isText || len(text) > maxText {
			return false
		}
		f.SetString(text)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, f.Type().Bits())
		if err != nil {
			return false
		}
		f.SetUint(n)
	case reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return false
		}
		f.SetInt(n)
	default:
		return false
	}
	return true
}

// enumValue returns the number of a named value of an enumeration.
func enumValue(enum string, v any) (int64, bool) {
	name, ok := v.(string)
	if !ok {
		return 0, false
	}
	name = local(name)
	for n, d := range ΛEnum[enum] {
		if d.Name == name {
			return n, true
		}
	}
	return 0, false
}
