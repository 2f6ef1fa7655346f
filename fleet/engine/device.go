package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// Device is a device of a fabric, a switch or a host.
type Device struct {
	Name, OS string
	// Open creates the driver of the device. It is called more than once, and concurrently
	// with the Open of other devices.
	Open func(context.Context) (drivers.Driver, error)
	// Desired computes the desired state of the device.
	Desired func() drivers.Desired
	// Policy limits what may be disturbed at once.
	Policy drivers.Policy
	// Timeout is the timeout of a plan of the device (0: 2 minutes), Revert that of a revert,
	// also after Ctrl-C (0: 15 minutes).
	Timeout, Revert time.Duration
	// Volatile is set if the device has no pending changes and no saved configuration, so
	// that a run can skip the device if its plan is empty.
	Volatile bool

	// Accepted is set if the operator accepts the device that answers, whatever identity it
	// shows.
	Accepted bool
	Hooks    Hooks
}

// Hooks add what the intent says of a device; each may be nil.
type Hooks struct {
	// Explain adds information to the steps that the driver does not have, such as lines of
	// the intent and notes.
	Explain func(drivers.Desired, *drivers.Steps)
	// Foresee returns the settings that neighbours depend on, before and after a plan (nil if
	// unknown), and notes about what the plan leaves wrong.
	Foresee func(context.Context, drivers.Driver, *drivers.Snapshot, drivers.Desired, *drivers.Steps) ([]order.State, []string)
	// Lacking returns findings about what no check can judge on the device.
	Lacking func(drivers.Desired) []checks.Finding
	// Identify explains why the device with this evidence is not the one that the intent
	// means; "" if nothing indicates that. proven reports whether the evidence proves the
	// identity. If nil, any device that answers is accepted.
	Identify func(identity.Evidence) (mistaken string, proven bool)
	// Interim returns the device with the desired state of an interim run; nil if that is the
	// same.
	Interim func(*rollout.Interim) Device
}

// revertTime returns the context of a revert. It does not end with the run, but it ends when
// a lock of the run is lost.
func (d Device) revertTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return fence.Outlive(ctx, cmp.Or(d.Revert, 15*time.Minute))
}

// mistaken explains why a device is not the one that the intent means; "" if nothing
// indicates that. If the evidence does not prove the identity, it reads the neighbours of
// the device too.
func (d Device) mistaken(ctx context.Context, drv drivers.Driver, e identity.Evidence) string {
	if d.Hooks.Identify == nil {
		return ""
	}
	what, proven := d.Hooks.Identify(e)
	if o, ok := drv.(drivers.Observer); ok && what == "" && !proven {
		// Ignore an error: a device that shows no neighbours proves nothing.
		if seen, err := o.Observe(ctx); err == nil {
			e.Ports = seen.Ports
			what, _ = d.Hooks.Identify(e)
		}
	}
	return what
}
