package validate

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// drift holds the differences between the checked configuration and the intended one.
type drift struct {
	changes []qos.Change
	at      map[qos.Place]int32 // indices of changes
}

func driftOf(changes []qos.Change) *drift {
	d := &drift{slices.Clip(changes), make(map[qos.Place]int32, len(changes))}
	for i, ch := range changes {
		d.at[ch.Place()] = int32(i)
	}
	return d
}

func (d *drift) empty() bool { return len(d.changes) == 0 }

// find returns the change of an attribute of a port; port is "" for the switch.
func (d *drift) find(port string, attr qos.Attr) (qos.Change, bool) {
	i, ok := d.at[qos.Place{Port: port, Field: attr}]
	if !ok {
		return qos.Change{}, false
	}
	return d.changes[i], true
}

// Drift returns the number of settings that differ from the intent.
func (r *Result) Drift() int { return len(r.drift.changes) }
