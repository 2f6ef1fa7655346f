package eos

import "github.com/roce-fabric/roce-fabric/render"

// Account is what becomes of each line of a configuration, in its order.
func Account(c *Config) []render.Line {
	var out []render.Line
	_, unknown := Decode(c)
	for _, u := range unknown {
		out = append(out, render.Line{No: u.Line, Where: u.Section, Text: u.Text, Fate: render.Unknown, Why: u.Why})
	}
	return out
}
