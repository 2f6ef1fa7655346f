package render

import (
	"slices"

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
	d := decider{want: want, table: table, set: settings(account), by: make([][]string, len(table)), whole: make([]bool, len(table))}
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
}

// compare takes the values of a port, or with "" of the switch, that the intent states and no line
// sets. They are the differences between two devices.
func (d *decider) compare(name string, from, to *qos.Device) {
	for _, c := range qos.Diff(from, to) {
		if c.Port != name || !d.want.Holds(name, c.Field) || d.set.has(name, c.Field) {
			continue
		}
		i := slices.IndexFunc(d.table, func(u Usual) bool { return u.Kind == c.Field.Kind && (u.Value == "" || u.Value == c.New) })
		switch {
		case i < 0:
		case name == "":
			d.whole[i] = true
		case len(d.by[i]) == 0 || d.by[i][len(d.by[i])-1] != name:
			d.by[i] = append(d.by[i], name)
		}
	}
}

// setting holds the attributes that lines of an account set, on all ports and by port.
type setting struct {
	all    map[qos.Attr]bool
	onPort map[string]map[qos.Attr]bool
}

func settings(account []Line) setting {
	s := setting{map[qos.Attr]bool{}, map[string]map[qos.Attr]bool{}}
	for i := range account {
		l := &account[i]
		for _, a := range l.Attrs {
			if l.Ports == nil {
				s.all[a] = true
			}
			for _, p := range l.Ports {
				if s.onPort[p] == nil {
					s.onPort[p] = map[qos.Attr]bool{}
				}
				s.onPort[p][a] = true
			}
		}
	}
	return s
}

// has reports whether a line sets an attribute of a port.
func (s setting) has(port string, attr qos.Attr) bool {
	covers := func(set map[qos.Attr]bool) bool {
		if set[attr] {
			return true
		}
		for a := range set {
			if a.Covers(attr) {
				return true
			}
		}
		return false
	}
	return covers(s.all) || covers(s.onPort[port])
}
