package validate

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
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

// outcome collects what the checks of one switch found, and which differences from the intent the
// findings explain.
type outcome struct {
	findings  collector
	drift     *drift
	instead   map[qos.Place]Finding // findings that replace the finding of a change of drift
	drifted   map[string]bool       // ports with drift; "" is the switch
	odd       map[qos.Place]string  // checks that find a change of drift by comparison with other devices
	explained map[qos.Place]bool    // attributes that findings are about and that do not differ
	reported  []bool                // by change of drift: whether a finding is about it
	traits    []trait
}

// outcomes holds the outcomes of switches by name.
type outcomes map[string]*outcome

// differing returns the devices, in the order of the ends, on which an end differs from the
// intent in an attribute.
func (o outcomes) differing(attr qos.Attr, ends ...intent.Endpoint) (devices []string) {
	for _, e := range ends {
		if o[e.Device].differs(e.Port, attr) && !slices.Contains(devices, e.Device) {
			devices = append(devices, e.Device)
		}
	}
	return devices
}
