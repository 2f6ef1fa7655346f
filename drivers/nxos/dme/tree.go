package dme

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Bounds of what is taken from a device.
const (
	// maxEntries is far above the ports of a chassis, and above the counters of
	// one port.
	maxEntries = 1 << 14
	maxText    = 255 // bytes; LLDP has no longer names (IEEE 802.1AB)
)

// object is one object of the tree.
type object map[string]any

// tree returns the object, rooted at the top, that a value of a gNMI answer
// stands for wherever it lies: a leaf, an entry of a list, or a subtree. An
// error means that the value is not JSON.
func tree(v gnmi.Value) (object, error) {
	node, err := v.Decode()
	if err != nil {
		return nil, err
	}
	for i := len(v.Path) - 1; i >= 0; i-- {
		e := v.Path[i]
		if m, ok := single(node); ok {
			for k, key := range e.Keys {
				if key != "*" {
					m[k] = key
				}
			}
			node = map[string]any(m)
		}
		_, name, spelt := strings.Cut(e.Name, ":") // with the module in front
		if !spelt {
			name = e.Name
		}
		node = map[string]any{name: node}
	}
	top, _ := node.(map[string]any)
	return top, nil
}

// single returns the object that v is, or that is alone in the array v.
func single(v any) (object, bool) {
	if l, ok := v.([]any); ok && len(l) == 1 {
		v = l[0]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// at returns the object at the end of a path; nil where there is none.
func (o object) at(names ...string) object {
	for _, n := range names {
		o, _ = single(o[n])
	}
	return o
}

// list returns the entries of a list, which may be one object.
func (o object) list(name string) ([]object, error) {
	l, ok := o[name].([]any)
	if !ok {
		if one, ok := single(o[name]); ok {
			return []object{one}, nil
		}
		return nil, nil
	}
	if len(l) > maxEntries {
		return nil, fmt.Errorf("%s has %d entries, more than %d", name, len(l), maxEntries)
	}
	out := make([]object, 0, len(l))
	for _, e := range l {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// text returns a string or a number, cleaned; "" where it is missing or long.
func (o object) text(name string) string {
	var s string
	switch v := o[name].(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	}
	if len(s) > maxText {
		return ""
	}
	return term.CleanLine(s)
}

// count returns a counter.
func (o object) count(name string) qos.Opt[uint64] {
	n, err := strconv.ParseUint(o.text(name), 10, 64)
	return qos.Opt[uint64]{V: n, Set: err == nil}
}

// flag reports whether a boolean is there and true.
func (o object) flag(name string) bool {
	b, _ := o[name].(bool)
	return b || o.text(name) == "true" || o.text(name) == "1"
}
