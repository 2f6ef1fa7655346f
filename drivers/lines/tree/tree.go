// Package tree reads the JSON that switches send, as values of gNMI and as the
// output of show commands, without a model of it. Releases differ in what is a
// string and what a number, in the module in front of a name (RFC 7951, section
// 4), and in whether the one entry of a list stands in an array. A value in one
// of these forms is used; one that is missing or in any other form is not set.
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

// Bounds of what is taken from a device.
const (
	// MaxInput is the largest output of a command that is read, in bytes.
	MaxInput = 64 << 20
	// MaxEntries is far above the ports, subinterfaces and VLANs of a chassis.
	MaxEntries = 1 << 14
	// MaxText is what an LLDP name has at most, in bytes (IEEE 802.1AB).
	MaxText = 255
)

// Object is one object of a tree; nil has nothing in it.
type Object map[string]any

// Parse reads the object that a command prints; more says that something follows it.
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

// Local returns a name without the module in front.
func Local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// Get returns a member by its name, whichever module is in front of it: vendors
// add to a tree from modules of their own.
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

// single returns the object that v is, or that is alone in the array v.
func single(v any) (Object, bool) {
	if l, ok := v.([]any); ok && len(l) == 1 {
		v = l[0]
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// At returns the object at the end of a path; nil where there is none.
func (o Object) At(names ...string) Object {
	for _, n := range names {
		o, _ = single(o.Get(n))
	}
	return o
}

// List returns the entries of a list, which may be one object.
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

// String returns a string, cleaned; "" where it is missing, long or no string.
func (o Object) String(name string) string {
	s, _ := o.Get(name).(string)
	return clean(s)
}

// Text returns a string or a number, as String does.
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

// Name returns a string that may name a thing as it stands, and "" for others.
func (o Object) Name(name string) string {
	if s, _ := o.Get(name).(string); IsName(s) {
		return s
	}
	return ""
}

// IsName reports whether a string may name a thing as it stands.
func IsName(s string) bool { return s != "" && len(s) <= MaxText && term.CleanLine(s) == s }

// Count returns a counter: a number or a string of digits.
func (o Object) Count(name string) qos.Opt[uint64] {
	n, err := strconv.ParseUint(o.Text(name), 10, 64)
	return qos.Opt[uint64]{V: n, Set: err == nil}
}

// Flag reports whether a boolean is there and true.
func (o Object) Flag(name string) bool {
	b, _ := o.Get(name).(bool)
	return b || o.Text(name) == "true" || o.Text(name) == "1"
}

// Keep sets what the device shows, and leaves what it does not.
func Keep[T any](dst *qos.Opt[T], v qos.Opt[T]) {
	if v.Set {
		*dst = v
	}
}
