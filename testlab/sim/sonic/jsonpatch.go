//lint:file-ignore ST1005 these are the texts that the switch's own library prints

package sonic

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// patchOp is one operation of an RFC 6902 patch.
type patchOp struct {
	op, path, from string
	value          any // for add and replace
}

func parsePatch(data []byte) ([]patchOp, error) {
	var raw []map[string]any
	if err := decodeJSON(data, &raw); err != nil {
		return nil, err
	}
	ops := make([]patchOp, 0, len(raw))
	for _, m := range raw {
		op, _ := m["op"].(string)
		path, ok := m["path"].(string)
		if !ok {
			return nil, fmt.Errorf("The operation does not contain a 'path' member")
		}
		from, _ := m["from"].(string)
		_, hasValue := m["value"]
		switch op {
		case "add", "replace":
			if !hasValue {
				return nil, fmt.Errorf("The operation does not contain a 'value' member")
			}
		case "remove", "move", "copy":
		default:
			return nil, fmt.Errorf("Unknown operation '%s'", op)
		}
		ops = append(ops, patchOp{op: op, path: path, from: from, value: m["value"]})
	}
	return ops, nil
}

// decodeJSON keeps the text of numbers, because the switch compares by type.
func decodeJSON(data []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("trailing data")
	}
	return nil
}

// py formats a JSON value like Python's repr, with objects in key order.
func py(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return text(v)
	case json.Number:
		return v.String()
	case string:
		return pyString(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = py(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range naturalKeys(v) {
			parts = append(parts, pyString(k)+": "+py(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

func pyString(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	r := strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	s = r.Replace(s)
	if quote == "'" {
		s = strings.ReplaceAll(s, "'", `\'`)
	}
	return quote + s + quote
}

func pyOps(ops []patchOp) string {
	parts := make([]string, len(ops))
	for i, o := range ops {
		p := "{'op': " + pyString(o.op) + ", 'path': " + pyString(o.path)
		if o.op == "move" || o.op == "copy" {
			p = "{'op': " + pyString(o.op) + ", 'from': " + pyString(o.from) + ", 'path': " + pyString(o.path)
		}
		if o.op == "add" || o.op == "replace" {
			p += ", 'value': " + py(o.value)
		}
		parts[i] = p + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func pointer(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("Location must start with /")
	}
	parts := strings.Split(path[1:], "/")
	for i, p := range parts {
		parts[i] = unescape(p)
	}
	return parts, nil
}

func unescape(p string) string {
	return strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
}

func escapePart(p string) string {
	return strings.ReplaceAll(strings.ReplaceAll(p, "~", "~0"), "/", "~1")
}

// applyOps returns the result of applying the patch to doc, which is not modified. Errors have the
// wording of python-jsonpatch.
func applyOps(doc map[string]any, ops []patchOp) (map[string]any, error) {
	outer := make(map[string]any, len(doc))
	for table, v := range doc {
		if m, ok := v.(map[string]any); ok {
			v = maps.Clone(m)
		}
		outer[table] = v
	}
	var root any = outer
	for _, o := range ops {
		var err error
		if root, err = applyOp(root, o); err != nil {
			return nil, err
		}
	}
	m, ok := root.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the patched configuration is not an object")
	}
	return m, nil
}

func applyOp(root any, o patchOp) (any, error) {
	parts, err := pointer(o.path)
	if err != nil {
		return nil, err
	}
	switch o.op {
	case "move", "copy":
		from, err := pointer(o.from)
		if err != nil {
			return nil, err
		}
		v, err := lookup(root, from)
		if err != nil {
			return nil, err
		}
		if o.op == "move" {
			if root, err = applyOp(root, patchOp{op: "remove", path: o.from}); err != nil {
				return nil, err
			}
		}
		return applyOp(root, patchOp{op: "add", path: o.path, value: deepCopy(v)})
	}
	if len(parts) == 0 {
		if o.op == "remove" {
			return nil, fmt.Errorf("can't remove the root")
		}
		return deepCopy(o.value), nil
	}
	return edit(root, parts, 0, o)
}

func lookup(v any, parts []string) (any, error) {
	for _, p := range parts {
		switch n := v.(type) {
		case map[string]any:
			c, ok := n[p]
			if !ok {
				return nil, fmt.Errorf("member %s not found in %s", pyString(p), py(n))
			}
			v = c
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil {
				return nil, fmt.Errorf("%s is not a valid sequence index", pyString(p))
			}
			if i < 0 || i >= len(n) {
				return nil, fmt.Errorf("index %s is out of bounds", pyString(p))
			}
			v = n[i]
		default:
			return nil, fmt.Errorf("document is not subscriptable at %s", pyString(p))
		}
	}
	return v, nil
}

// edit returns node, which is depth levels below the root, after applying the operation below it.
// Entries, which trees share, are copied before they are changed.
func edit(node any, parts []string, depth int, o patchOp) (any, error) {
	p := parts[0]
	switch n := node.(type) {
	case map[string]any:
		if depth > 1 {
			node = maps.Clone(n)
		}
	case []any:
		node = slices.Clone(n)
	}
	if len(parts) > 1 {
		child, err := lookup(node, parts[:1])
		if err != nil {
			return nil, err
		}
		changed, err := edit(child, parts[1:], depth+1, o)
		if err != nil {
			return nil, err
		}
		switch n := node.(type) {
		case map[string]any:
			n[p] = changed
		case []any:
			i, _ := strconv.Atoi(p)
			n[i] = changed
		}
		return node, nil
	}
	switch n := node.(type) {
	case map[string]any:
		_, have := n[p]
		switch {
		case o.op == "remove" && !have:
			return nil, fmt.Errorf("can't remove a non-existent object %s", pyString(p))
		case o.op == "replace" && !have:
			return nil, fmt.Errorf("can't replace a non-existent object %s", pyString(p))
		case o.op == "remove":
			delete(n, p)
		default:
			n[p] = deepCopy(o.value)
		}
		return n, nil
	case []any:
		i := len(n)
		if p != "-" || o.op != "add" {
			var err error
			if i, err = strconv.Atoi(p); err != nil || i < 0 {
				return nil, fmt.Errorf("%s is not a valid sequence index", pyString(p))
			}
		}
		if i > len(n) || (o.op != "add" && i == len(n)) {
			return nil, fmt.Errorf("can't %s outside of list", map[string]string{"add": "insert", "remove": "remove", "replace": "replace"}[o.op])
		}
		switch o.op {
		case "remove":
			return append(n[:i:i], n[i+1:]...), nil
		case "replace":
			n[i] = deepCopy(o.value)
			return n, nil
		}
		return append(append(n[:i:i], deepCopy(o.value)), n[i:]...), nil
	}
	return nil, fmt.Errorf("invalid document type %T", node)
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = deepCopy(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = deepCopy(e)
		}
		return l
	}
	return v
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// minimalDiff returns the patch that python-jsonpatch makes from old to target: whole subtrees are
// added and removed, and a removed value that is added elsewhere becomes a move.
func minimalDiff(old, target map[string]any) []patchOp {
	var d differ
	d.dicts("", old, target)
	var ops []patchOp
	for _, o := range d.ops {
		if o.op != "" {
			ops = append(ops, o)
		}
	}
	return ops
}

type differ struct {
	ops            []patchOp
	adds, removals []int // indexes of ops that are not paired yet
	old            []any // removed values, by index of ops
}

func (d *differ) push(o patchOp, old any) int {
	d.ops, d.old = append(d.ops, o), append(d.old, old)
	return len(d.ops) - 1
}

func (d *differ) removed(path string, v any) {
	for i, a := range d.adds {
		if equal(d.ops[a].value, v) {
			d.ops[a] = patchOp{op: "move", from: path, path: d.ops[a].path}
			d.adds = append(d.adds[:i], d.adds[i+1:]...)
			return
		}
	}
	d.removals = append(d.removals, d.push(patchOp{op: "remove", path: path}, v))
}

func (d *differ) added(path string, v any) {
	for i, r := range d.removals {
		if equal(d.old[r], v) {
			from := d.ops[r].path
			d.ops[r] = patchOp{}
			d.removals = append(d.removals[:i], d.removals[i+1:]...)
			d.push(patchOp{op: "move", from: from, path: path}, nil)
			return
		}
	}
	d.adds = append(d.adds, d.push(patchOp{op: "add", path: path, value: v}, nil))
}

func (d *differ) dicts(path string, a, b map[string]any) {
	lacks := func(m map[string]any) func(string, any) bool {
		return func(k string, _ any) bool { _, ok := m[k]; return !ok }
	}
	for _, k := range naturalOf(a, lacks(b)) {
		d.removed(path+"/"+escapePart(k), a[k])
	}
	for _, k := range naturalOf(b, lacks(a)) {
		d.added(path+"/"+escapePart(k), b[k])
	}
	for _, k := range naturalOf(a, func(k string, v any) bool { w, ok := b[k]; return ok && !equal(v, w) }) {
		v := b[k]
		am, aok := a[k].(map[string]any)
		bm, bok := v.(map[string]any)
		if aok && bok {
			d.dicts(path+"/"+escapePart(k), am, bm)
		} else {
			d.push(patchOp{op: "replace", path: path + "/" + escapePart(k), value: v}, nil)
		}
	}
}
