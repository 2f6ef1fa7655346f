package sonic

import "github.com/roce-fabric/roce-fabric/render"

// Account is what becomes of each field of the tables that concern this tool, sorted
// by table, key and field.
func Account(cfg Config) []render.Line {
	var out []render.Line
	_, unknown := Decode(cfg)
	for _, u := range unknown {
		out = append(out, render.Line{Where: u.Table + "|" + u.Key, Text: u.Field + ": " + u.Value, Fate: render.Unknown, Why: u.Why})
	}
	return out
}
