package drivers

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Checker is a Driver that knows what its own steps and undo records can hold. Both
// come back from files, which anybody may have edited. managed reports whether the
// intent has a port; nil takes every port. The methods do no I/O.
type Checker interface {
	// CheckSteps returns an error, with the place, for the first thing that Plan
	// never makes, and the least impact of steps on any device, whatever a plan
	// says of them.
	CheckSteps(steps []Step, managed func(port string) bool) (qos.Impact, error)
	// CheckUndo does the same for what Apply hands out as an undo record, and returns the
	// least impact of Revert.
	CheckUndo(t *Token, managed func(port string) bool) (qos.Impact, error)
}
