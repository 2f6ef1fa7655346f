package sonic

import (
	"encoding/json"
	"strings"
)

// A database is megabytes of JSON, which clients read repeatedly. The functions below write it
// directly from the rows, without building a tree.

// encode returns the JSON of a database, with each table in the form of [tableDoc].
func (t tables) encode() []byte {
	b := []byte{'{'}
	for i, name := range sortedKeys(t) {
		b = appendName(b, i, name)
		b = appendTable(b, t[name])
	}
	return append(b, '}')
}

func appendTable(b []byte, keys map[string]row) []byte {
	if r, ok := keys[""]; ok && len(keys) == 1 {
		return r.append(b)
	}
	b = append(b, '{')
	for i, k := range sortedKeys(keys) {
		b = appendName(b, i, k)
		b = keys[k].append(b)
	}
	return append(b, '}')
}

// append appends the JSON of [row.doc].
func (r row) append(b []byte) []byte {
	b = append(b, '{')
	n := 0
	for _, f := range sortedKeys(r) {
		name, list := strings.CutSuffix(f, "@")
		if f == "NULL" {
			continue
		}
		b = appendName(b, n, name)
		n++
		if !list {
			b = appendText(b, r[f])
			continue
		}
		b = append(b, '[')
		if r[f] != "" {
			for i, e := range strings.Split(r[f], ",") {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendText(b, e)
			}
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendName appends the name of the member with this index.
func appendName(b []byte, index int, name string) []byte {
	if index > 0 {
		b = append(b, ',')
	}
	return append(appendText(b, name), ':')
}

// appendText appends a string like package json.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, err := json.Marshal(text)
			if err != nil {
				return append(b, `""`...) // strings always marshal
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}
