package keep

import (
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Format is the version of the JSON form of [Event] and [State].
const Format = 1

// Type is the type of an event.
type Type string

// The event types.
const (
	Differs     Type = "differs"      // a setting differs from the wanted state
	ChangedBack Type = "changed-back" // something else changed a setting after a repair
	Missing     Type = "missing"      // a NIC, or an interface on top of NICs, is missing
	Created     Type = "created"      // a NIC, or an interface on top of NICs, appeared since the last check
	Cleared     Type = "cleared"      // a setting is as wanted again without a repair
	Repaired    Type = "repaired"
	NotRepaired Type = "not-repaired"
	Left        Type = "left"   // left as another run on this host set it
	Loaded      Type = "loaded" // the wanted state changed
	Failed      Type = "failed"
)

// TypeOf returns the type of an event about a difference.
func TypeOf(k nic.Kind) Type {
	if k == nic.KindMissing {
		return Missing
	}
	return Differs
}

// Event is something that happened, with all ports that it happened to at that time.
type Event struct {
	Format int       `json:"format"`
	Type   Type      `json:"type"`
	Time   time.Time `json:"time"`
	Host   string    `json:"host"`
	Ports  []string  `json:"ports,omitempty"` // empty for the whole host
	Field  string    `json:"field,omitempty"`
	Old    string    `json:"old,omitempty"`
	New    string    `json:"new,omitempty"`
	Kind   nic.Kind  `json:"kind,omitempty"` // kind of the difference
	// Suspects names who may have written the value, Blocked why it is not repaired.
	Suspects string `json:"suspects,omitempty"`
	Blocked  string `json:"blocked,omitempty"`
	Text     string `json:"text,omitempty"` // for events that are not about a setting
}

// emit emits events, merging those that differ only in their port.
func (k *Keeper) emit(events ...Event) {
	type alike struct {
		typ                                      Type
		field, old, new, suspects, blocked, text string
		kind                                     nic.Kind
	}
	var same ordered.Groups[alike, Event]
	for _, e := range events {
		same.Add(alike{e.Type, e.Field, e.Old, e.New, e.Suspects, e.Blocked, e.Text, e.Kind}, e)
	}
	for _, l := range same.All() {
		e := l[0]
		var ports []string
		for _, o := range l {
			for _, p := range o.Ports {
				if p != "" {
					ports = append(ports, p)
				}
			}
		}
		e.Format, e.Time, e.Host, e.Ports = Format, k.cfg.Clock.Now().UTC().Truncate(time.Millisecond), k.wanted.Host.Name, natural.Sorted(ports)
		k.cfg.Emit(e)
	}
}

// String returns the event as one line, without its time.
func (e Event) String() string {
	what := e.Field
	if len(e.Ports) > 0 {
		what += " of " + natural.Fold(e.Ports)
	}
	var out string
	switch e.Type {
	case Differs:
		out = fmt.Sprintf("%s is %s, wanted %s", what, e.Old, e.New)
		switch {
		case e.Kind == nic.KindUnknown:
			out = fmt.Sprintf("%s is not known, wanted %s", what, e.New)
		case e.Kind == nic.KindConflict && e.New == qos.Absent:
			out = fmt.Sprintf("%s: %s is in the way", what, e.Old)
		}
	case Missing:
		out = natural.Fold(e.Ports) + " is missing"
		if len(e.Ports) > 1 {
			out = natural.Fold(e.Ports) + " are missing"
		}
	case Created:
		out = "the interface of " + natural.Fold(e.Ports) + " was created: its driver has set it to defaults"
	case ChangedBack:
		out = fmt.Sprintf("%s was set to %s, and something else has set it to %s since", what, e.New, e.Old)
	case Cleared:
		out = what + " is as wanted"
	case Repaired:
		out = fmt.Sprintf("%s was %s and is set to %s", what, e.Old, e.New)
	case NotRepaired:
		out = fmt.Sprintf("%s is not set to %s", what, e.New)
	default:
		out = e.Text
	}
	for _, more := range []string{e.Blocked, e.Suspects} {
		if more != "" {
			out += ": " + more
		}
	}
	return term.CleanLine(strings.TrimSpace(out))
}
