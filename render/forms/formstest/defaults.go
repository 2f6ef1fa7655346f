package formstest

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Defaults checks the table of what a decoder assumes: each value that it gives to switches whose
// configurations state nothing is in the table, each default of a whole value is one of those values,
// and each has a source and releases.
func Defaults(t *testing.T, table []render.Usual, bare ...*qos.Device) {
	t.Helper()
	used := make([]bool, len(table))
	for _, d := range bare {
		none := &qos.Device{Ports: map[string]*qos.Port{}}
		for name := range d.Ports {
			none.Ports[name] = &qos.Port{}
		}
		for _, c := range qos.Diff(none, d) {
			if c.Field.Kind == qos.KindLAG {
				continue // a port that no line puts into a bundle is in none
			}
			if !lists(table, c, used) {
				t.Errorf("%s is %s without a line, and the table of defaults does not say so", c.Path(), c.New)
			}
		}
	}
	for i, u := range table {
		if u.Part == nil && !used[i] {
			t.Errorf("%q: no switch without lines has it", u.What)
		}
		if u.What == "" || u.Source == "" || u.Releases == "" {
			t.Errorf("a default without a text, source or releases: %+v", u)
		}
	}
}

// lists reports whether a table has the value that a change makes, and marks its defaults as used.
func lists(table []render.Usual, c qos.Change, used []bool) (listed bool) {
	for i, u := range table {
		if u.Kind == c.Field.Kind && u.Part == nil && (u.Value == "" || u.Value == c.New) {
			listed, used[i] = true, true
		}
	}
	return listed
}
