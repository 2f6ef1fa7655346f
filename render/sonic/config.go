// Package sonic turns the device-independent model into SONiC's CONFIG_DB and
// back. It is pure: no I/O, no clock, no device.
//
// [Encode] writes the rows that this tool owns on a device and no others;
// [Document] adds what those rows refer to (ports, buffer pools and profiles
// of the platform), so that the result is valid by itself against SONiC's YANG
// models. [Decode] reads CONFIG_DB into a running model and reports what it
// does not understand.
//
// Rows that a daemon of the switch derives (the lossless priority groups of
// the traditional buffer model) are never written here and never drift.
package sonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Row is one entry of a table: field to value. Every value is text; the field
// of a true leaf-list is spelt "name@" and its members are joined by commas,
// as in Redis.
type Row map[string]string

// Table is a table: key ("Ethernet0|3") to row.
type Table map[string]Row

// Config is CONFIG_DB: table name to table.
type Config map[string]Table

// Put stores a row, making its table.
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
			nr := make(Row, len(r))
			for f, v := range r {
				nr[f] = v
			}
			nt[k] = nr
		}
		out[tn] = nt
	}
	return out
}

const indent = "    "

// AppendJSON appends the configuration as config_db.json is written on a
// switch: four blanks of indent, keys sorted by byte, every value a string or
// a list of strings.
func (c Config) AppendJSON(b []byte) []byte {
	if len(c) == 0 {
		return append(b, "{}\n"...)
	}
	var tables, keys []string
	b = append(b, '{')
	for i, tn := range sortedKeys(c, &tables) {
		b = appendKey(b, i, 1, tn)
		t := c[tn]
		if len(t) == 0 {
			b = append(b, "{}"...)
			continue
		}
		b = append(b, '{')
		for j, k := range sortedKeys(t, &keys) {
			b = appendKey(b, j, 2, k)
			b = t[k].appendIndented(b, 3)
		}
		b = appendClose(b, 1)
	}
	b = appendClose(b, 0)
	return append(b, '\n')
}

// JSON returns the row as one compact JSON object, keys sorted: the value of a
// gNMI update.
func (r Row) JSON() []byte {
	var fields []string
	b := []byte{'{'}
	for i, f := range sortedKeys(r, &fields) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, strings.TrimSuffix(f, "@"))
		b = append(b, ':')
		b = appendValue(b, f, r[f])
	}
	return append(b, '}')
}

// JSON returns the table as one compact JSON object.
func (t Table) JSON() []byte {
	var keys []string
	b := []byte{'{'}
	for i, k := range sortedKeys(t, &keys) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = append(b, t[k].JSON()...)
	}
	return append(b, '}')
}

func (r Row) appendIndented(b []byte, depth int) []byte {
	if len(r) == 0 {
		return append(b, "{}"...)
	}
	var buf [16]string
	fields := buf[:0]
	b = append(b, '{')
	for i, f := range sortedKeys(r, &fields) {
		b = appendKey(b, i, depth, strings.TrimSuffix(f, "@"))
		if !strings.HasSuffix(f, "@") || r[f] == "" {
			b = appendValue(b, f, r[f])
			continue
		}
		b = append(b, '[')
		for j, m := range splitList(r[f]) {
			b = appendItem(b, j, depth+1)
			b = appendString(b, m)
		}
		b = appendLine(b, depth)
		b = append(b, ']')
	}
	return appendClose(b, depth-1)
}

func appendKey(b []byte, i, depth int, key string) []byte {
	b = appendItem(b, i, depth)
	b = appendString(b, key)
	return append(b, ": "...)
}

// appendItem begins the i-th member of an object or a list.
func appendItem(b []byte, i, depth int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return appendLine(b, depth)
}

func appendLine(b []byte, depth int) []byte {
	b = append(b, '\n')
	for range depth {
		b = append(b, indent...)
	}
	return b
}

func appendClose(b []byte, depth int) []byte { return append(appendLine(b, depth), '}') }

func appendValue(b []byte, field, v string) []byte {
	if !strings.HasSuffix(field, "@") {
		return appendString(b, v)
	}
	b = append(b, '[')
	for i, m := range splitList(v) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, m)
	}
	return append(b, ']')
}

// JSONString returns s as JSON text.
func JSONString(s string) []byte { return appendString(nil, s) }

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\b':
				b = append(b, `\b`...)
			case '\f':
				b = append(b, `\f`...)
			case '\n':
				b = append(b, `\n`...)
			case '\r':
				b = append(b, `\r`...)
			case '\t':
				b = append(b, `\t`...)
			default:
				b = append(b, `\u00`...)
				b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		// encoding/json escapes these two for JavaScript's sake, and broken
		// UTF-8 must not reach the wire.
		if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' {
			b = append(b, s[start:i]...)
			if n == 1 {
				b = append(b, `\ufffd`...)
			} else {
				b = append(b, `\u202`...)
				b = append(b, "0123456789abcdef"[r&15])
			}
			i += n
			start = i
			continue
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func sortedKeys[V any](m map[string]V, buf *[]string) []string {
	ks := (*buf)[:0]
	for k := range m {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	*buf = ks
	return ks
}

func splitList(v string) []string {
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

// ErrFormat is wrapped by errors about text that is not CONFIG_DB.
var ErrFormat = errors.New("not CONFIG_DB")

// Parse reads a whole CONFIG_DB as JSON and keeps the wanted tables (all of
// them where want is nil). Anything but table, entry, field and text or list
// of text is an error that names the place.
func Parse(data []byte, want func(table string) bool) (Config, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	cfg := Config{}
	err := object(dec, "", func(tn string) error {
		if want != nil && !want(tn) {
			var skip json.RawMessage
			return dec.Decode(&skip)
		}
		t, err := table(dec, tn)
		cfg[tn] = t
		return err
	})
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = fmt.Errorf("%w: text after the end", ErrFormat)
		}
	}
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// ParseTable reads one table as JSON; name is for errors.
func ParseTable(name string, data []byte) (Table, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return table(dec, name)
}

func table(dec *json.Decoder, tn string) (Table, error) {
	t := Table{}
	err := object(dec, tn, func(key string) error {
		row := Row{}
		err := object(dec, tn+"|"+key, func(field string) error {
			var v any
			if err := dec.Decode(&v); err != nil {
				return fmt.Errorf("%w: %s|%s %s: %w", ErrFormat, tn, key, field, err)
			}
			switch v := v.(type) {
			case string:
				row[field] = v
			case json.Number:
				row[field] = v.String()
			case []any:
				var ms []string
				for _, m := range v {
					s, ok := m.(string)
					if !ok {
						return fmt.Errorf("%w: %s|%s %s: list member %v is not text", ErrFormat, tn, key, field, m)
					}
					ms = append(ms, s)
				}
				row[field+"@"] = strings.Join(ms, ",")
			default:
				return fmt.Errorf("%w: %s|%s %s: value is neither text nor a list", ErrFormat, tn, key, field)
			}
			return nil
		})
		// Redis cannot hold an empty hash; this field stands for one.
		if row["NULL"] == "NULL" {
			delete(row, "NULL")
		}
		t[key] = row
		return err
	})
	return t, err
}

func object(dec *json.Decoder, where string, member func(string) error) error {
	place := func(err error) error {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if where == "" {
			return fmt.Errorf("%w: %w at byte %d", ErrFormat, err, dec.InputOffset())
		}
		return fmt.Errorf("%w: %s: %w at byte %d", ErrFormat, where, err, dec.InputOffset())
	}
	tok, err := dec.Token()
	if err != nil {
		return place(err)
	}
	if tok != json.Delim('{') {
		return place(fmt.Errorf("found %v where an object belongs", tok))
	}
	for dec.More() {
		k, err := dec.Token()
		if err != nil {
			return place(err)
		}
		if err := member(k.(string)); err != nil {
			if errors.Is(err, ErrFormat) {
				return err
			}
			return place(err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return place(err)
	}
	return nil
}

// expand reads an index or a range of a key, "3" or "0-2"; ok is false for
// anything else or beyond limit.
func expand(s string, limit int) (from, to int, ok bool) {
	a, b, ranged := strings.Cut(s, "-")
	from, err := strconv.Atoi(a)
	if err != nil || from < 0 || from >= limit || a != strconv.Itoa(from) {
		return 0, 0, false
	}
	if !ranged {
		return from, from, true
	}
	to, err = strconv.Atoi(b)
	if err != nil || to < from || to >= limit || b != strconv.Itoa(to) {
		return 0, 0, false
	}
	return from, to, true
}

// Indexes reads the last part of a BUFFER_PG, BUFFER_QUEUE or QUEUE key: one
// index or a range, 0..15.
func Indexes(s string) (from, to int, ok bool) { return expand(s, 16) }

// ParseRow reads one row as JSON; where is for errors.
func ParseRow(where string, data []byte) (Row, error) {
	t, err := ParseTable(where, append(append([]byte(`{"":`), data...), '}'))
	if err != nil {
		return nil, err
	}
	return t[""], nil
}

// Plain returns the same rows as plain maps, for packages that do not know the
// types of this one. The rows are shared.
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
