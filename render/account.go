package render

import (
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Line is a line of a configuration, or a field of a row, that says something of
// classification, pause, marking, scheduling, buffers or the MTU, and its fate when
// the configuration becomes an intent. Every such line of a configuration has one.
type Line struct {
	No    int    `json:"line,omitempty"` // in the text, from 1; 0 where that has no lines
	Where string `json:"where"`          // the header of its block, or "TABLE|key"; "" for the top level
	Text  string `json:"text"`           // the line, or "field: value"
	Fate  Fate   `json:"fate"`
	Why   string `json:"why,omitempty"` // of what is represented, only where the line does not say all of it itself
	// Check is the check of the catalogue that the line fails by itself, whatever an
	// intent says; "" for none.
	Check string `json:"check,omitempty"`
	// Ports are those that it does something on, nil for the switch as a whole, and
	// Attrs what it sets there. Both count where it is represented, and may be shared.
	Ports []string   `json:"-"`
	Attrs []qos.Attr `json:"-"`
	// Keys are, of a table of maps, the entries that it sets; nil for all of them.
	Keys []int `json:"-"`
}

// Fate is what becomes of a line of a configuration.
type Fate string

// The fates. A decoder knows the first four: it says Represented of what is in the
// model. Whether that is in an intent, too, only the intent tells.
const (
	Represented Fate = "represented"
	Default     Fate = "default"        // it says what holds without it
	Inert       Fate = "inert"          // it does nothing on the switch
	Unknown     Fate = "not understood" // it stays as it is
	Left        Fate = "left alone"     // the intent does not speak of it
	Differs     Fate = "would change"   // the intent says something else
)

// Place is where the line stands, for people: "interface Ethernet1, line 812".
func (l *Line) Place() string {
	switch {
	case l.No == 0:
		return l.Where
	case l.Where == "":
		return "line " + strconv.Itoa(l.No)
	}
	return l.Where + ", line " + strconv.Itoa(l.No)
}

// Settle says of the lines that are represented in the model of a switch what an intent
// makes of them: want is what it says of the switch, and changes what it would change.
func Settle(account []Line, want *qos.Device, changes []qos.Change) {
	held := map[qos.Attr]bool{}
	anywhere := func(a qos.Attr, keys []int) bool {
		is, known := held[a]
		if !known || keys != nil {
			is = want.Holds("", a, keys...)
			for name := range want.Ports {
				if is = is || want.Holds(name, a, keys...); is {
					break
				}
			}
		}
		if keys == nil {
			held[a] = is
		}
		return is
	}
	differs := map[qos.Place]string{}
	for _, c := range changes {
		differs[c.Place()] = "the intent would make it " + c.New
		differs[qos.Place{Field: c.Field}] = differs[c.Place()]
	}
	for i := range account {
		l := &account[i]
		if l.Fate != Represented {
			continue
		}
		how := l.Why
		l.Fate, l.Why = Left, "the intent says nothing of it"
		managed := l.Ports == nil
		for _, a := range l.Attrs {
			for _, p := range l.Ports {
				if !want.Manages(p) {
					continue
				}
				managed = true
				l.settle(want.Holds(p, a, l.Keys...), differs[qos.Place{Port: p, Field: a}])
			}
			if l.Ports == nil {
				l.settle(anywhere(a, l.Keys), differs[qos.Place{Field: a}])
			}
			if l.Fate == Differs {
				break
			}
		}
		switch {
		case !managed:
			l.Why = "no port that it concerns is in the intent"
		case l.Fate == Represented:
			l.Why = how
		}
	}
}

func (l *Line) settle(held bool, differs string) {
	switch {
	case differs != "":
		l.Fate, l.Why = Differs, differs
	case held:
		l.Fate, l.Why = Represented, ""
	}
}
