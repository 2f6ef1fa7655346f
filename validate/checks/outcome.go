package checks

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Drift holds the differences between the checked configuration and the intended one.
type Drift struct {
	Changes []qos.Change
	at      map[qos.Place]int32 // indices of changes
}

// DriftOf returns the drift that consists of these changes.
func DriftOf(changes []qos.Change) *Drift {
	d := &Drift{slices.Clip(changes), make(map[qos.Place]int32, len(changes))}
	for i, ch := range changes {
		d.at[ch.Place()] = int32(i)
	}
	return d
}

// Empty reports whether the configuration is as intended.
func (d *Drift) Empty() bool { return len(d.Changes) == 0 }

// find returns the change of an attribute of a port; port is "" for the switch.
func (d *Drift) find(port string, attr qos.Attr) (qos.Change, bool) {
	i, ok := d.at[qos.Place{Port: port, Field: attr}]
	if !ok {
		return qos.Change{}, false
	}
	return d.Changes[i], true
}

// Outcome collects what the checks of one switch found, and which differences from the intent the
// findings explain.
type Outcome struct {
	Findings  Collector
	Drift     *Drift
	Unknown   []qos.Change       // values of which it is not known whether they differ from the intent
	explained map[qos.Place]bool // attributes that findings are about and that do not differ
	Reported  []bool             // by change of drift: whether a finding is about it
	Traits    []Trait
}

// Outcomes holds the outcomes of switches by name.
type Outcomes map[string]*Outcome

// differing returns the devices, in the order of the ends, on which an end differs from the
// intent in an attribute.
func (o Outcomes) differing(attr qos.Attr, ends ...intent.Endpoint) (devices []string) {
	for _, e := range ends {
		if o[e.Device].Differs(e.Port, attr) && !slices.Contains(devices, e.Device) {
			devices = append(devices, e.Device)
		}
	}
	return devices
}

// MarkReported records that a finding is about these attributes, so that their drift is not
// reported again. A run keeps no outcome of a switch without drift, so it may be nil.
func (s *Outcome) MarkReported(port string, attrs ...qos.Attr) {
	if s == nil {
		return
	}
	for _, attr := range attrs {
		at := qos.Place{Port: port, Field: attr}
		if i, differs := s.Drift.at[at]; differs {
			s.Reported[i] = true
		} else if s.explained != nil {
			s.explained[at] = true
		}
	}
}

// RootsOf returns the [Finding.Roots] of a finding about attributes of a port: those that differ
// from the intent, or else the attribute if there is only one. The outcome may be nil.
func (s *Outcome) RootsOf(port string, attrs ...qos.Attr) (roots []string) {
	for _, a := range attrs {
		if s.Differs(port, a) {
			roots = append(roots, a.String())
		}
	}
	if len(roots) == 0 && len(attrs) == 1 {
		roots = []string{attrs[0].String()}
	}
	return roots
}

// IsReported reports whether a finding is already about an attribute of a port.
func (s *Outcome) IsReported(port string, attr qos.Attr) bool {
	at := qos.Place{Port: port, Field: attr}
	if i, differs := s.Drift.at[at]; differs {
		return s.Reported[i]
	}
	return s.explained[at]
}

// Differs reports whether any of the attributes of a port differs from the intent. The outcome
// may be nil.
func (s *Outcome) Differs(port string, attrs ...qos.Attr) bool {
	return s != nil && slices.ContainsFunc(attrs, func(a qos.Attr) bool { _, ok := s.Drift.find(port, a); return ok })
}
