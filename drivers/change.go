package drivers

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Block marks all changes within the given place as blocked, with the reason why. Changes that
// are already blocked keep their reason.
func Block(changes []qos.Change, at qos.Place, why string) {
	for i := range changes {
		c := &changes[i]
		if c.Blocked == "" && c.Port == at.Port && at.Field.Covers(c.Field) {
			c.Blocked = why
		}
	}
}

// BlockUnmade finds the changes that the driver's steps cannot make. It calls bring with the allowed
// part of desired; bring computes the steps and returns the resulting device. Changes missing in
// that device are blocked with the reason why, and bring is called again until every change is
// either made or blocked. BlockUnmade returns the marked changes and the last result of bring.
func BlockUnmade(have, desired *qos.Device, changes []qos.Change, why string, bring func(allowed *qos.Device) *qos.Device) ([]qos.Change, *qos.Device) {
	for {
		after := bring(keeping(have, desired, changes))
		fresh := false
		for _, left := range qos.Diff(after, desired) {
			i := slices.IndexFunc(changes, func(c qos.Change) bool { return c.Place() == left.Place() })
			if i < 0 {
				left.Old = qos.Absent
				changes, i = append(changes, left), len(changes)
			}
			if changes[i].Blocked == "" {
				changes[i].Blocked, fresh = why, true
			}
		}
		// Every round blocks at least one more change.
		if !fresh {
			return changes, after
		}
	}
}

// keeping returns a copy of desired in which the values of blocked changes are replaced by those
// of have.
func keeping(have, desired *qos.Device, changes []qos.Change) *qos.Device {
	var blocked []qos.Place
	for _, c := range changes {
		if c.Blocked != "" {
			blocked = append(blocked, c.Place())
		}
	}
	return desired.Keeping(have, blocked)
}

// WithOthers appends the differences between have and after that changes does not list, with the
// given reason.
func WithOthers(changes []qos.Change, have, after *qos.Device, reason string) []qos.Change {
	listed := map[qos.Place]bool{}
	for _, c := range changes {
		listed[c.Place()] = true
	}
	for _, c := range qos.Diff(have, after) {
		if !listed[c.Place()] {
			c.Reason = reason
			changes = append(changes, c)
		}
	}
	return changes
}

// SetMoves sets the ports that the step shuts down and brings up, for a step that makes all changes.
func (s *Step) SetMoves(changes []qos.Change) {
	for _, c := range changes {
		switch {
		case c.Field.Kind != qos.KindAdminUp || c.Blocked != "":
		case c.New == "false":
			s.Down = append(s.Down, c.Port)
		default:
			s.Up = append(s.Up, c.Port)
		}
	}
}
