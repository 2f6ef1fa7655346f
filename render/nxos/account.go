package nxos

import "github.com/roce-fabric/roce-fabric/render"

// Account is what becomes of each line of a configuration of a switch of a class
// model, in its order.
func Account(c *Config, m ClassModel) []render.Line {
	var out []render.Line
	_, unknown := Decode(c, m)
	for _, u := range unknown {
		out = append(out, render.Line{No: u.Line, Where: u.Section, Text: u.Text, Fate: render.Unknown, Why: u.Why})
	}
	return out
}
