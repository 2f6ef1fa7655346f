package sonic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// errFormat is wrapped by errors about text that is not CONFIG_DB JSON.
var errFormat = errors.New("not CONFIG_DB")

// Parse reads a whole CONFIG_DB as JSON and keeps the tables that want accepts, or all if want is
// nil. The structure must be table, key and field, with values that are text or lists of text;
// errors name the place.
func Parse(data []byte, want func(table string) bool) (Config, error) {
	cfg, err := readAll(data, func(r *reader) (Config, error) {
		cfg := Config{}
		return cfg, r.object("", func(tn string) error {
			if want != nil && !want(tn) {
				_, err := r.skip(tn)
				return err
			}
			t, err := r.table(tn)
			cfg[tn] = t
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// ParseTable reads one table as JSON; name is used in errors.
func ParseTable(name string, data []byte) (Table, error) {
	return readAll(data, func(r *reader) (Table, error) { return r.table(name) })
}

// ParseRow reads one row as JSON; where is used in errors.
func ParseRow(where string, data []byte) (Row, error) {
	return readAll(data, func(r *reader) (Row, error) { return r.row(where) })
}

// ParseDumps reads the concatenated output of one or more calls of sonic-db-dump or redis-dump and
// returns the hashes by Redis key. Keys of other types are left out.
func ParseDumps(data []byte) (map[string]Row, error) {
	const each = 400 // bytes per hash, roughly
	r := newReader(data)
	out := make(map[string]Row, len(data)/each)
	for r.peek() != 0 || r.at < len(data) {
		if err := r.object("", func(key string) error { return r.dumped(key, out) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dumped reads the entry of a key in a dump: its time to live, type and value.
func (r *reader) dumped(key string, out map[string]Row) error {
	return r.object(key, func(name string) error {
		if name != "value" || r.peek() != '{' {
			_, err := r.skip(key)
			return err
		}
		row, err := r.row(key)
		out[key] = row
		return err
	})
}

// readAll parses data with read and returns an error if anything is left over.
func readAll[T any](data []byte, read func(*reader) (T, error)) (T, error) {
	r := newReader(data)
	v, err := read(r)
	if err == nil {
		err = r.end()
	}
	return v, err
}

// reader parses JSON text of tables, rows and fields, and accepts the same text as encoding/json.
// Tokenizing with encoding/json takes several times as long, and reading is most of the work on a
// switch that needs no change.
type reader struct {
	data []byte
	at   int
	// seen interns texts, because names and values repeat from port to port.
	seen map[string]string
	rows map[string]Row // by their text
}

func newReader(data []byte) *reader {
	return &reader{data: data, seen: map[string]string{}, rows: map[string]Row{}}
}

func (r *reader) table(tn string) (Table, error) {
	t := Table{}
	err := r.object(tn, func(key string) error {
		row, err := r.row(tn + "|" + key)
		t[key] = row
		return err
	})
	return t, err
}

// row reads a row. Rows with the same text share one map: ports repeat them, and rows are never
// modified after reading.
func (r *reader) row(where string) (Row, error) {
	text := r.flat()
	if row, ok := r.rows[string(text)]; ok {
		r.at += len(text)
		return row, nil
	}
	row := Row{}
	err := r.object(where, func(field string) error { return r.value(where, field, row) })
	// Redis cannot store an empty hash; this field stands for one.
	if row["NULL"] == "NULL" {
		delete(row, "NULL")
	}
	if err == nil && len(text) > 0 && len(text) <= maxAlike {
		r.rows[string(text)] = row
	}
	return row, err
}

// maxAlike is the maximum length of a row's text for sharing its map.
const maxAlike = 512

// flat returns the text of the object at the current position, or nil if it contains other objects.
func (r *reader) flat() []byte {
	if r.peek() != '{' {
		return nil
	}
	inside := false
	for i := r.at + 1; i < len(r.data); i++ {
		switch c := r.data[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && c == '{':
			return nil
		case !inside && c == '}':
			return r.data[r.at : i+1]
		}
	}
	return nil
}

func (r *reader) value(where, field string, row Row) error {
	switch c := r.peek(); {
	case c == '"':
		v, err := r.text(where)
		row[field] = v
		return err
	case c == '-' || c >= '0' && c <= '9':
		v, err := r.skip(where)
		row[field] = string(v)
		return err
	case c == '[':
		v, err := r.list(where, field)
		row[field+"@"] = v
		return err
	case c == 'n' || c == 't' || c == 'f':
		// The switch stores what Python prints (sonic-swss-common:common/configdb.h).
		v, err := r.skip(where)
		if text, ok := literals[string(v)]; ok {
			row[field] = text
		} else if err == nil {
			err = r.unexpected(where)
		}
		return err
	case r.at == len(r.data):
		return r.unexpected(where)
	}
	return fmt.Errorf("%w: %s %s: value is neither text nor a list", errFormat, where, field)
}

var literals = map[string]string{"null": "None", "true": "True", "false": "False"}

// list reads a list of strings and joins the members with commas.
func (r *reader) list(where, field string) (string, error) {
	r.at++
	var members []string
	for r.peek() != ']' {
		if len(members) > 0 {
			if err := r.expect(where, ','); err != nil {
				return "", err
			}
		}
		if r.peek() != '"' {
			v, err := r.skip(where)
			if err == nil {
				err = fmt.Errorf("%w: %s %s: list member %s is not text", errFormat, where, field, brief(string(v)))
			}
			return "", err
		}
		m, err := r.text(where)
		if err != nil {
			return "", err
		}
		members = append(members, m)
	}
	r.at++
	return strings.Join(members, ","), nil
}

// object reads an object and calls member for each name to read its value.
func (r *reader) object(where string, member func(name string) error) error {
	if r.peek() != '{' {
		return r.notObject(where)
	}
	r.at++
	if r.peek() == '}' {
		r.at++
		return nil
	}
	for {
		name, err := r.text(where)
		if err != nil {
			return err
		}
		if err := r.expect(where, ':'); err != nil {
			return err
		}
		r.peek()
		if err := member(name); err != nil {
			return err
		}
		if r.peek() == '}' {
			r.at++
			return nil
		}
		if err := r.expect(where, ','); err != nil {
			return err
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) expect(where string, c byte) error {
	if r.peek() != c {
		return r.unexpected(where)
	}
	r.at++
	return nil
}

func (r *reader) end() error {
	if r.peek(); r.at < len(r.data) {
		return fmt.Errorf("%w: text after the end", errFormat)
	}
	return nil
}

// text reads a string.
func (r *reader) text(where string) (string, error) {
	if r.peek() != '"' {
		return "", r.unexpected(where)
	}
	quoted, plain, err := r.quoted(where)
	if err != nil {
		return "", err
	}
	if !plain {
		var s string
		if err := json.Unmarshal(quoted, &s); err != nil {
			return "", r.fault(where, err)
		}
		return s, nil
	}
	quoted = quoted[1 : len(quoted)-1]
	if where == "" {
		return string(quoted), nil // a top-level name occurs only once, so interning is useless
	}
	if s, ok := r.seen[string(quoted)]; ok {
		return s, nil
	}
	s := string(quoted)
	r.seen[s] = s
	return s, nil
}

// quoted skips a string and returns it with its quotes; plain is set if it has no escapes and is
// pure ASCII.
func (r *reader) quoted(where string) (b []byte, plain bool, err error) {
	start := r.at
	plain = true
	for r.at++; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return r.data[start:r.at], plain, nil
		case c == '\\':
			plain = false
			r.at++
		case c < ' ':
			return nil, false, r.unexpected(where)
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	r.at = len(r.data)
	return nil, false, r.unexpected(where)
}

// skip skips any value and returns its text.
func (r *reader) skip(where string) ([]byte, error) {
	r.peek()
	start, depth := r.at, 0
scan:
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case '"':
			if _, _, err := r.quoted(where); err != nil {
				return nil, err
			}
			r.at--
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				break scan
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				break scan
			}
		}
	}
	v := r.data[start:r.at]
	if depth > 0 {
		return nil, r.unexpected(where)
	}
	if !json.Valid(v) {
		return nil, r.fault(where, errors.New("broken value"))
	}
	return v, nil
}

// fault returns an error at the current position of the reader.
func (r *reader) fault(where string, err error) error {
	if where != "" {
		where += ": "
	}
	return fmt.Errorf("%w: %s%w at byte %d", errFormat, where, err, r.at)
}

func (r *reader) unexpected(where string) error {
	if r.at >= len(r.data) {
		return r.fault(where, io.ErrUnexpectedEOF)
	}
	return r.fault(where, fmt.Errorf("unexpected character %q", r.data[r.at]))
}

func (r *reader) notObject(where string) error {
	found := string(r.peek())
	switch {
	case r.at == len(r.data):
		return r.unexpected(where)
	case found == `"`:
		s, err := r.text(where)
		if err != nil {
			return err
		}
		found = s
	case found != "[":
		v, err := r.skip(where)
		if err != nil {
			return err
		}
		found = string(v)
	}
	return r.fault(where, fmt.Errorf("found %s where an object belongs", brief(found)))
}

// brief shortens text from outside for a message.
func brief(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}
