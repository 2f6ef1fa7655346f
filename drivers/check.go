package drivers

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Checker is a Driver that validates steps and undo records read from files, which anyone may
// have edited. managed reports whether the intent manages a port; nil accepts every port. The
// methods do no I/O.
type Checker interface {
	// CheckSteps returns an error, with its position, for the first step that Plan would never
	// create. It also returns the minimum impact of the steps on any device, regardless of the
	// impact stated in the plan.
	CheckSteps(steps []Step, managed func(port string) bool) (qos.Impact, error)
	// CheckUndo does the same for undo records from Apply, and returns the minimum impact of
	// Revert.
	CheckUndo(t *Token, managed func(port string) bool) (qos.Impact, error)
}
