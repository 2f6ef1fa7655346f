package render

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Usual is a value that a decoder assumes where a configuration has no line for it.
type Usual struct {
	Kind qos.Kind `json:"-"`
	// Value is the value as the model writes it; "" for any.
	Value string `json:"value,omitempty"`
	// What states the default, Source says who documents it, and Releases for which releases.
	What     string `json:"default"`
	Source   string `json:"source"`
	Releases string `json:"releases"`
	// Part lists texts of lines that state a part of the value, such as the timers of a watchdog.
	// Without any of them, the default decides that part of a value which other lines turn on. nil
	// for a default of the whole value.
	Part []string `json:"-"`
}

// Assumed is a default that decides a value which the intent states.
type Assumed struct {
	Usual
	Ports []string `json:"ports,omitempty"` // nil for the switch as a whole
}

// Assume returns the defaults that decide values of ports in the intent want: values of running
// that no line of the account sets. table lists the defaults of the system; of those for a kind, the
// first with the value counts.
func Assume(account []Line, running, want *qos.Device, table []Usual) []Assumed {
	if want == nil || len(table) == 0 {
		return nil
	}
	d := decider{want: want, table: table, set: settings(account), by: make([][]string, len(table)), whole: make([]bool, len(table)), stated: make([]bool, len(table))}
	for i, u := range table {
		d.stated[i] = u.Part == nil || slices.ContainsFunc(account, func(l Line) bool { return l.Fate != Unknown && l.begins(u.Part) })
	}
	d.compare("", &qos.Device{}, &qos.Device{GlobalMaps: running.GlobalMaps})
	for _, name := range natural.Keys(want.Ports) {
		if p := running.Ports[name]; p != nil {
			d.compare(name, &qos.Device{Ports: map[string]*qos.Port{name: {}}}, &qos.Device{Ports: map[string]*qos.Port{name: p}})
		}
	}
	var out []Assumed
	for i, ports := range d.by {
		if len(ports) > 0 || d.whole[i] {
			out = append(out, Assumed{table[i], ports})
		}
	}
	return out
}

// decider finds the defaults that decide values: by lists the ports of each, whole those that
// decide for the switch.
type decider struct {
	want  *qos.Device
	table []Usual
	set   setting
	by    [][]string
	whole []bool
	// stated is set for a part of a value that a line states, and for whole values.
	stated []bool
}

// begins reports whether a line, or its block and the line, begins with one of some texts.
func (l *Line) begins(texts []string) bool {
	return slices.ContainsFunc(texts, func(t string) bool {
		return strings.HasPrefix(l.Text, t) || strings.HasPrefix(l.Where+" "+l.Text, t)
	})
}

// compare takes the values of a port, or with "" of the switch, that the intent states and no line
// sets. They are the differences between two devices.
func (d *decider) compare(name string, from, to *qos.Device) {
	for _, c := range qos.Diff(from, to) {
		if c.Port != name || !d.want.Holds(name, c.Field) {
			continue
		}
		for i, u := range d.table {
			if !d.stated[i] && u.Kind == c.Field.Kind && c.New != off {
				d.decides(i, name)
			}
		}
		if d.set.has(name, c.Field, d.want) {
			continue
		}
		if i := slices.IndexFunc(d.table, func(u Usual) bool {
			return u.Part == nil && u.Kind == c.Field.Kind && (u.Value == "" || u.Value == c.New)
		}); i >= 0 {
			d.decides(i, name)
		}
	}
}

// off is the text of a value that is turned off, of which no part matters.
const off = "off"

// decides records that a default decides a value of a port, or with "" of the switch.
func (d *decider) decides(i int, name string) {
	switch {
	case name == "":
		d.whole[i] = true
	case len(d.by[i]) == 0 || d.by[i][len(d.by[i])-1] != name:
		d.by[i] = append(d.by[i], name)
	}
}

// entries holds the entries of a map table that lines set; nil for all of an attribute.
type entries map[int]bool

// setting holds the attributes that lines of an account set, on all ports and by port.
type setting struct {
	all    map[qos.Attr]entries
	onPort map[string]map[qos.Attr]entries
}

func settings(account []Line) setting {
	s := setting{map[qos.Attr]entries{}, map[string]map[qos.Attr]entries{}}
	add := func(to map[qos.Attr]entries, a qos.Attr, keys []int) {
		have, ok := to[a]
		if keys == nil || ok && have == nil {
			to[a] = nil
			return
		}
		if !ok {
			have = entries{}
			to[a] = have
		}
		for _, k := range keys {
			have[k] = true
		}
	}
	for i := range account {
		l := &account[i]
		for _, a := range l.Attrs {
			if l.Ports == nil {
				add(s.all, a, l.Keys)
			}
			for _, p := range l.Ports {
				if s.onPort[p] == nil {
					s.onPort[p] = map[qos.Attr]entries{}
				}
				add(s.onPort[p], a, l.Keys)
			}
		}
	}
	return s
}

// has reports whether lines set an attribute of a port, for a map table all entries that want states.
func (s setting) has(port string, attr qos.Attr, want *qos.Device) bool {
	for _, set := range []map[qos.Attr]entries{s.all, s.onPort[port]} {
		for a, keys := range set {
			if a.Covers(attr) && (keys == nil || !statesMore(want, port, attr, keys)) {
				return true
			}
		}
	}
	return false
}

// statesMore reports whether an intent states an entry of a map table besides some.
func statesMore(want *qos.Device, port string, attr qos.Attr, besides entries) bool {
	for k := range qos.NumDSCP {
		if !besides[k] && want.Holds(port, attr, k) {
			return true
		}
	}
	return false
}
