// Package sonic turns the device-independent model into SONiC's CONFIG_DB and
// back. It is pure: no I/O, no clock, no device.
//
// [Encode] writes the rows that this tool owns on a device and no others;
// [Document] adds what those rows refer to (ports, buffer pools and profiles
// of the platform), so that the result is valid by itself against SONiC's YANG
// models. [Decode] reads CONFIG_DB into a running model and reports what it
// does not understand. [Site.Plan] works out the requests that bring a switch
// from one state to another: what differs (ops.go), what the switch refuses
// (rules.go), in which order and groups (schedule.go, steps.go), and what is kept
// to revert it (undo.go).
//
// Rows that a daemon of the switch derives (the lossless priority groups of
// the traditional buffer model) are never written here and never drift.
package sonic

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Row is one entry of a table: field to value. Every value is text; the field of
// a true leaf-list is spelt "name@" with commas between members, as in Redis.
type Row map[string]string

// Table is a table: key ("Ethernet0|3") to row.
type Table map[string]Row

// Config is CONFIG_DB: table name to table.
type Config map[string]Table

// Put stores a row and creates its table if needed.
func (c Config) Put(table, key string, row Row) {
	t := c[table]
	if t == nil {
		t = Table{}
		c[table] = t
	}
	t[key] = row
}

// Row returns a row, or nil.
func (c Config) Row(table, key string) Row { return c[table][key] }

// Clone returns a deep copy.
func (c Config) Clone() Config {
	out := make(Config, len(c))
	for tn, t := range c {
		nt := make(Table, len(t))
		for k, r := range t {
			nt[k] = maps.Clone(r)
		}
		out[tn] = nt
	}
	return out
}

// AppendJSON appends the configuration in the format of config_db.json on a switch: indented by
// four spaces, keys sorted by byte, every value a string or a list of strings.
func (c Config) AppendJSON(b []byte) []byte {
	if len(c) == 0 {
		return append(b, "{}\n"...)
	}
	var rows []entry[Row]
	b = append(b, '{')
	for i, t := range sorted(c, nil) {
		b = appendKey(b, i, 1, t.key)
		if len(t.value) == 0 {
			b = append(b, "{}"...)
			continue
		}
		b = append(b, '{')
		rows = sorted(t.value, rows)
		for j, r := range rows {
			b = appendKey(b, j, 2, r.key)
			b = r.value.append(b, 3)
		}
		b = append(b, newline(1)...)
		b = append(b, '}')
	}
	return append(b, "\n}\n"...)
}

// JSON returns the row as compact JSON, keys sorted: the value of a gNMI update.
func (r Row) JSON() []byte { return r.append(nil, compact) }

// JSON returns the table as one compact JSON object.
func (t Table) JSON() []byte {
	b := []byte{'{'}
	for i, r := range sorted(t, nil) {
		b = r.value.append(appendKey(b, i, compact, r.key), compact)
	}
	return append(b, '}')
}

// append appends the row as a JSON object whose fields are indented to the given depth.
func (r Row) append(b []byte, depth int) []byte {
	if len(r) == 0 {
		return append(b, "{}"...)
	}
	var buf [16]entry[string]
	b = append(b, '{')
	for i, f := range sorted(r, buf[:]) {
		name, isList := strings.CutSuffix(f.key, "@")
		b = appendKey(b, i, depth, name)
		switch {
		case !isList:
			b = appendString(b, f.value)
		case f.value == "":
			b = append(b, "[]"...)
		default:
			b = append(b, '[')
			for j, m := range strings.Split(f.value, ",") {
				b = appendString(appendItem(b, j, depth+1), m)
			}
			b = append(append(b, newline(depth)...), ']')
		}
	}
	return append(append(b, newline(depth-1)...), '}')
}

// compact is a depth that puts everything on one line; any depth below 0 does.
const compact = -2

const indent = "    "

// newline returns a line break and the indentation of a depth.
func newline(depth int) string {
	if depth < 0 {
		return ""
	}
	return ("\n" + indent + indent + indent + indent)[:1+depth*len(indent)]
}

func appendKey(b []byte, i, depth int, key string) []byte {
	b = append(appendString(appendItem(b, i, depth), key), ':')
	if depth == compact {
		return b
	}
	return append(b, ' ')
}

// appendItem starts the i-th member of an object or a list.
func appendItem(b []byte, i, depth int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return append(b, newline(depth)...)
}

// JSONString returns s as JSON text.
func JSONString(s string) []byte { return appendString(nil, s) }

func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("a text does not encode: " + err.Error()) // cannot happen
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// entry is one entry of a map.
type entry[V any] struct {
	key   string
	value V
}

// sorted returns the entries of m by key. It uses the memory of buf if they fit.
func sorted[M ~map[string]V, V any](m M, buf []entry[V]) []entry[V] {
	buf = buf[:0]
	for k, v := range m {
		buf = append(buf, entry[V]{k, v})
	}
	ordered.Sort(buf, func(a, b entry[V]) int { return strings.Compare(a.key, b.key) })
	return buf
}

// Indexes parses the last part of a BUFFER_PG, BUFFER_QUEUE or QUEUE key: one index or a range
// within 0..15, such as "3" or "0-2".
func Indexes(s string) (from, to int, ok bool) {
	a, b, ranged := strings.Cut(s, "-")
	if !ranged {
		b = a
	}
	from, err := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	if err != nil || err2 != nil || from < 0 || to < from || to > 15 || a != strconv.Itoa(from) || b != strconv.Itoa(to) {
		return 0, 0, false
	}
	return from, to, true
}

// Plain returns the configuration as plain maps, for packages that do not know the types of this
// one. The rows are shared with c.
func (c Config) Plain() map[string]map[string]map[string]string {
	out := make(map[string]map[string]map[string]string, len(c))
	for tn, t := range c {
		out[tn] = make(map[string]map[string]string, len(t))
		for k, r := range t {
			out[tn][k] = r
		}
	}
	return out
}
