// Package tree reads the JSON that switches send as gNMI values or as output of show commands,
// without a schema. Releases differ in which values are strings and which numbers, in the module
// prefix of names (RFC 7951, section 4), and in whether a list with one entry is an array. A
// value in any of these forms is used; a value that is missing or has another form is not set.
package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Limits on input from a device.
const (
	// MaxInput is the maximum size of command output, in bytes.
	MaxInput = 64 << 20
	// MaxEntries is far more than the ports, subinterfaces and VLANs of a chassis.
	MaxEntries = 1 << 14
	// MaxText is the maximum length of an LLDP name, in bytes (IEEE 802.1AB).
	MaxText = 255
)

// Object is one object of a tree; nil is empty.
type Object map[string]any

// Parse parses the object that a command prints; more reports whether other text follows.
func Parse(b []byte) (o Object, more bool, err error) {
	if len(b) > MaxInput {
		return nil, false, fmt.Errorf("output of %d bytes, more than %d", len(b), MaxInput)
	}
	if b = bytes.TrimSpace(b); !bytes.HasPrefix(b, []byte("{")) {
		return nil, false, fmt.Errorf("output is not a JSON object: %q", term.CleanLine(string(b[:min(len(b), 60)])))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, false, fmt.Errorf("output is not JSON: %w", err)
	}
	_, err = d.Token()
	return o, !errors.Is(err, io.EOF), nil
}

// Local returns a name without its module prefix.
func Local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// Get returns a member by its name with any module prefix, because vendors extend trees with
// their own modules.
func (o Object) Get(name string) any {
	if v, ok := o[name]; ok {
		return v
	}
	key := ""
	for k := range o {
		if len(k) > len(name) && Local(k) == name && (key == "" || k < key) {
			key = k
		}
	}
	return o[key]
}

// single returns v as an object, or the only object in the array v.
func single(v any) (Object, bool) {
	if l, ok := v.([]any); ok && len(l) == 1 {
		v = l[0]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// At returns the object at the end of a path; nil if it does not exist.
func (o Object) At(names ...string) Object {
	for _, n := range names {
		o, _ = single(o.Get(n))
	}
	return o
}

// List returns the entries of a list, which may also be a single object.
func (o Object) List(name string) []Object {
	v := o.Get(name)
	l, ok := v.([]any)
	if !ok {
		l = []any{v}
	}
	var out []Object
	for _, e := range l[:min(len(l), MaxEntries)] {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// String returns a member as a cleaned string; "" if it is missing, too long or not a string.
func (o Object) String(name string) string {
	s, _ := o.Get(name).(string)
	return clean(s)
}

// Text is like String, but also accepts a number.
func (o Object) Text(name string) string {
	if n, ok := o.Get(name).(json.Number); ok {
		return clean(n.String())
	}
	return o.String(name)
}

func clean(s string) string {
	if len(s) > MaxText {
		return ""
	}
	return strings.TrimSpace(term.CleanLine(s))
}

// Name returns a string member that can be used as a name without cleaning; otherwise "".
func (o Object) Name(name string) string {
	if s, _ := o.Get(name).(string); IsName(s) {
		return s
	}
	return ""
}

// IsName reports whether a string can be used as a name without cleaning.
func IsName(s string) bool { return s != "" && len(s) <= MaxText && term.CleanLine(s) == s }

// Count returns a counter, given as a number or a string of digits.
func (o Object) Count(name string) qos.Opt[uint64] {
	n, err := strconv.ParseUint(o.Text(name), 10, 64)
	return qos.Opt[uint64]{V: n, Set: err == nil}
}

// Flag reports whether a boolean member exists and is true.
func (o Object) Flag(name string) bool {
	b, _ := o.Get(name).(bool)
	return b || o.Text(name) == "true" || o.Text(name) == "1"
}

// Keep sets dst to v if v is set.
func Keep[T any](dst *qos.Opt[T], v qos.Opt[T]) {
	if v.Set {
		*dst = v
	}
}
