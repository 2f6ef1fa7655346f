package sonic

import (
	"encoding/json"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Load is a file for 'config load' and the ops that it carries out.
type Load struct {
	File []byte // nil if there are no ops
	Ops  []Op
}

// Removed lists fields to remove from a row.
type Removed struct {
	Table, Key string
	Fields     []string
}

// Loads turns ops into input for 'config load' on a switch that holds cfg: rows to merge, fields to
// remove after that, and finally rows to remove. By then nothing refers to the removed rows.
func Loads(cfg Config, ops []Op) (put, gone Load, fields []Removed) {
	rows, nulls := Config{}, map[string]map[string]any{}
	for _, o := range ops {
		switch {
		case o.Del && o.Field != "":
			fields = append(fields, Removed{o.Table, o.Key, []string{o.Field}})
		case o.Del:
			gone.Ops = append(gone.Ops, o)
			if nulls[o.Table] == nil {
				nulls[o.Table] = map[string]any{}
			}
			nulls[o.Table][o.Key] = nil
		default:
			put.Ops = append(put.Ops, o)
			o.apply(rows)
			if old := o.leaves(cfg.Row(o.Table, o.Key)); len(old) > 0 {
				fields = append(fields, Removed{o.Table, o.Key, old})
			}
		}
	}
	if len(rows) > 0 {
		put.File = rows.AppendJSON(nil)
	}
	if len(nulls) > 0 {
		gone.File, _ = json.Marshal(nulls) // cannot fail: names and nulls only
	}
	return put, gone, fields
}

// leaves returns the fields that have contains and the op does not, if the op writes the whole row.
func (o Op) leaves(have Row) (fields []string) {
	for _, f := range natural.Keys(have) {
		if _, stays := o.Row[f]; o.Field == "" && !stays {
			fields = append(fields, f)
		}
	}
	return fields
}
