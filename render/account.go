package render

import (
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Line is a line of a configuration, or a field of a row, that concerns classification, pause,
// marking, scheduling, buffers or the MTU, together with its fate on import. The account of a
// configuration holds every such line.
type Line struct {
	No    int    `json:"line,omitempty"` // line number in the text, from 1; 0 if the text has no line numbers
	Where string `json:"where"`          // header of the enclosing block, or "TABLE|key"; "" for the top level
	Text  string `json:"text"`           // the line, or "field: value"
	Fate  Fate   `json:"fate"`
	Why   string `json:"why,omitempty"` // reason for the fate; for a represented line, set only where the line alone does not explain it
	// Check is the ID of the catalogue check that the line fails whatever the intent says; ""
	// for none.
	Check string `json:"check,omitempty"`
	// Sure is set if the line fails the check for certain, and not only where nothing outside of the
	// configuration makes up for it.
	Sure bool `json:"-"`
	// Doubt is set if the line may be on purpose, so that the failed check is no error.
	Doubt bool `json:"-"`
	// Ports lists the ports that the line affects (nil for the switch as a whole), and Attrs the
	// attributes that it sets there. Both matter only for represented lines, and lines may share
	// the slices.
	Ports []string   `json:"-"`
	Attrs []qos.Attr `json:"-"`
	// Keys lists the map entries that a line of a map table sets; nil for all of them.
	Keys []int `json:"-"`
}

// Fate tells what an import does with a line of a configuration.
type Fate string

// Fates of a line. Decoders use only the first four; they mark a line Represented if its value
// is in the model. [Settle] then decides whether the intent states that value as well.
const (
	Represented Fate = "represented"
	Default     Fate = "default"        // it states the default
	Inert       Fate = "inert"          // it does nothing on the switch
	Unknown     Fate = "not understood" // its meaning is not known; it stays unchanged
	Left        Fate = "left alone"     // the intent does not set it
	Differs     Fate = "would change"   // the intent sets another value
)

// Place returns the place of the line for people: "interface Ethernet1, line 812".
func (l *Line) Place() string {
	switch {
	case l.No == 0:
		return l.Where
	case l.Where == "":
		return "line " + strconv.Itoa(l.No)
	}
	return l.Where + ", line " + strconv.Itoa(l.No)
}

// Settle updates the fate of the lines that the model of a switch represents: to Left, Differs
// or Represented. want is what the intent sets on the switch, changes what applying it would
// change.
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
		l.Fate, l.Why = Left, "the intent does not set it"
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
			l.Why = "none of its ports is in the intent"
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
