package drivers

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Block marks the changes of what a refusal names as ones that cannot be made.
// Those that are marked already keep their word.
func Block(changes []qos.Change, at qos.Place, why string) {
	for i := range changes {
		c := &changes[i]
		if c.Blocked == "" && c.Port == at.Port && at.Field.Covers(c.Field) {
			c.Blocked = why
		}
	}
}

// Prove has steps worked out for what is allowed of desired until they bring
// about every change that is not blocked. bring works them out and returns
// what the device will be; a change that does not come about is blocked with
// the given word. It returns the changes with those marks, and what bring
// returned last.
func Prove(have, desired *qos.Device, changes []qos.Change, why string, bring func(allowed *qos.Device) *qos.Device) ([]qos.Change, *qos.Device) {
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
		// Each round blocks at least one change more.
		if !fresh {
			return changes, after
		}
	}
}

// keeping returns desired with every value that a change is blocked for
// replaced by the one that the device holds. desired is not changed.
func keeping(have, desired *qos.Device, changes []qos.Change) *qos.Device {
	var blocked []qos.Place
	for _, c := range changes {
		if c.Blocked != "" {
			blocked = append(blocked, c.Place())
		}
	}
	return desired.Keeping(have, blocked)
}

// WithOthers adds changes in addition to those that were asked for, with a reason.
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

// Moves fills in which ports a step of all changes takes down and brings back.
func (s *Step) Moves(changes []qos.Change) {
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
