package sonic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
				return r.fault(tn, r.SkipValue())
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
	for r.rest(data) {
		if err := r.object("", func(key string) error { return r.dumped(key, out) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// dumped reads the entry of a key in a dump: its time to live, type and value.
func (r *reader) dumped(key string, out map[string]Row) error {
	return r.object(key, func(name string) error {
		if name != "value" || r.PeekKind() != '{' {
			return r.fault(key, r.SkipValue())
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
	if err == nil && r.rest(data) {
		err = fmt.Errorf("%w: text after the end", errFormat)
	}
	return v, err
}

// reader reads tables, rows and fields from JSON text. It accepts the same text as encoding/json;
// jsontext, which becomes part of the standard library with Go 1.27, needs a third of the time.
type reader struct {
	*jsontext.Decoder
	// texts interns texts, because names and values repeat from port to port.
	texts map[string]string
	rows  map[string]Row // by their text
}

func newReader(data []byte) *reader {
	return &reader{newDecoder(data), map[string]string{}, map[string]Row{}}
}

func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// rest reports whether data has more than white space after what was read.
func (r *reader) rest(data []byte) bool {
	return len(bytes.TrimLeft(data[r.InputOffset():], " \t\r\n")) > 0
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
	if r.PeekKind() != '{' {
		return nil, r.notObject(where)
	}
	text, err := r.ReadValue()
	if err != nil {
		return nil, r.fault(where, err)
	}
	if row, ok := r.rows[string(text)]; ok {
		return row, nil
	}
	row := Row{}
	inner := &reader{newDecoder(text), r.texts, nil}
	if err := inner.object(where, func(field string) error { return inner.value(where, field, row) }); err != nil {
		return nil, err
	}
	// Redis cannot store an empty hash; this field stands for one.
	if row["NULL"] == "NULL" {
		delete(row, "NULL")
	}
	r.rows[string(text)] = row
	return row, nil
}

// value reads the value of a field into a row.
func (r *reader) value(where, field string, row Row) error {
	t, err := r.ReadToken()
	if err != nil {
		return r.fault(where, err)
	}
	switch t.Kind() {
	case '"', '0':
		row[field] = r.text(t)
	case '[':
		row[field+"@"], err = r.list(where, field)
	case 'n', 't', 'f':
		// The switch stores what Python prints (sonic-swss-common:common/configdb.h).
		row[field] = literals[t.String()]
	default:
		return fmt.Errorf("%w: %s %s: value is neither text nor a list", errFormat, where, field)
	}
	return err
}

var literals = map[string]string{"null": "None", "true": "True", "false": "False"}

// list reads the rest of a list of strings and joins the members with commas.
func (r *reader) list(where, field string) (string, error) {
	var members []string
	for {
		t, err := r.ReadToken()
		switch {
		case err != nil:
			return "", r.fault(where, err)
		case t.Kind() == ']':
			return strings.Join(members, ","), nil
		case t.Kind() != '"':
			return "", fmt.Errorf("%w: %s %s: list member %s is not text", errFormat, where, field, brief(t.String()))
		}
		members = append(members, r.text(t))
	}
}

// object reads an object and calls member for each name to read its value.
func (r *reader) object(where string, member func(name string) error) error {
	if r.PeekKind() != '{' {
		return r.notObject(where)
	}
	_, err := r.ReadToken()
	for err == nil {
		var t jsontext.Token
		if t, err = r.ReadToken(); err != nil || t.Kind() == '}' {
			break
		}
		if err := member(r.text(t)); err != nil {
			return err
		}
	}
	return r.fault(where, err)
}

// text returns the text of a token, which is valid only until the next one is read.
func (r *reader) text(t jsontext.Token) string {
	s := t.String()
	if known, ok := r.texts[s]; ok {
		return known
	}
	r.texts[s] = s
	return s
}

// fault adds the place to an error of the decoder; nil stays nil.
func (r *reader) fault(where string, err error) error {
	if err == nil {
		return nil
	}
	if where != "" {
		where += ": "
	}
	at := r.InputOffset()
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		err, at = syntax.Err, syntax.ByteOffset
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %s%w at byte %d", errFormat, where, err, at)
}

// notObject returns the error for a value that is not an object.
func (r *reader) notObject(where string) error {
	v, err := r.ReadValue()
	if err == nil {
		err = fmt.Errorf("found %s where an object belongs", brief(string(v)))
	}
	return r.fault(where, err)
}

// brief shortens text from outside for a message.
func brief(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}
