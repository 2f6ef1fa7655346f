package sonic

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Removed are fields that go from a row.
type Removed struct {
	Table, Key string
	Fields     []string
}

// Loads turns ops into what 'config load' merges into a switch that holds cfg: a file of
// rows, the fields to remove after it, and a file of rows to remove after that. A file is
// nil where it would be empty. What is removed is not referred to any more by then.
func Loads(cfg Config, ops []Op) (put, gone []byte, fields []Removed) {
	rows, nulls := Config{}, map[string][]string{}
	for _, o := range ops {
		switch {
		case o.Del && o.Field != "":
			fields = append(fields, Removed{o.Table, o.Key, []string{o.Field}})
		case o.Del:
			nulls[o.Table] = append(nulls[o.Table], o.Key)
		default:
			o.apply(rows)
		}
		if o.Del || o.Field != "" {
			continue
		}
		var old []string
		for _, f := range natural.Keys(cfg.Row(o.Table, o.Key)) {
			if _, stays := o.Row[f]; !stays {
				old = append(old, f)
			}
		}
		if len(old) > 0 {
			fields = append(fields, Removed{o.Table, o.Key, old})
		}
	}
	if len(rows) > 0 {
		put = rows.AppendJSON(nil)
	}
	if len(nulls) > 0 {
		gone = appendNulls(nil, nulls)
	}
	return put, gone, fields
}

// appendNulls appends a file that removes rows.
func appendNulls(b []byte, rows map[string][]string) []byte {
	b = append(b, '{')
	for i, table := range natural.Keys(rows) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, "\n    "...), JSONString(table)...), ": {"...)
		for j, key := range natural.Sorted(slices.Clone(rows[table])) {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(append(append(b, "\n        "...), JSONString(key)...), ": null"...)
		}
		b = append(b, "\n    }"...)
	}
	return append(b, "\n}\n"...)
}
