package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// checkTimeout is the timeout for checking one device before the first write. A device that
// is still processing the writes of a run that was cut off gets ten minutes of it.
const checkTimeout = 15 * time.Minute

// CheckedDevice is the outcome of the check of a device, with its new plans; nil if the device was
// not planned again.
type CheckedDevice struct {
	Outcome
	Made, Plain *DevicePlan
}

// Check reads a device and compares it with the state that was planned for, without writing.
// The state is Failed if the device cannot be read, Refused if it has changed or if a new plan
// has other steps, and otherwise Skipped. A saved plan must also be equal to the new plan; for
// other plans the task needs no steps.
func (r *Run) Check(ctx context.Context, t Task, saved bool) (out CheckedDevice) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var err error
	out.Device = t.Name
	out.State, err = r.checkDeviceOn(ctx, t, saved, &out)
	out.Error = NewError(t.Name, OpJudge, err)
	return out
}

func (r *Run) checkDeviceOn(ctx context.Context, t Task, saved bool, out *CheckedDevice) (State, error) {
	drv, err := t.Open(ctx)
	if err != nil {
		return Failed, NewError("", OpConnect, err)
	}
	// A session that does not close cleanly changes nothing about the state.
	defer func() { _ = drv.Close() }()
	facts, snap, _, err := r.readAsPlanned(ctx, drv, t)
	if err != nil {
		return unwritten(err), err
	}
	steps, state, err := r.replan(drv, facts, snap, t)
	if err != nil || !saved {
		return cmp.Or(state, Skipped), err
	}
	if out.Made, out.Plain, err = r.replanSaved(ctx, drv, facts, snap, t, steps); err != nil {
		return Refused, err
	}
	return Skipped, nil
}

// replanSaved plans a device of a saved plan again, from the state that was just read; the waves
// are then computed from the new plan. It returns an error unless the saved plan says the
// same as the new one. plain is the plan without the interim run of the saved plan; nil if
// that has none.
func (r *Run) replanSaved(ctx context.Context, drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, t Task, fresh *drivers.Steps) (made, plain *DevicePlan, err error) {
	past, err := r.journal.pastRuns()
	if err != nil {
		return nil, nil, err
	}
	made = t.describePlan(ctx, past, drv, f, snap, t.Want, fresh)
	have, want := *t.Plan, *made
	if was, is := have.Facts.Unit, want.Facts.Unit; was != is {
		return nil, nil, ErrorOf("", OpJudge, KindPlan, fmt.Errorf("the plan was made for a device with %s, and this one shows %s", was, is))
	}
	have.Notes, want.Notes = nil, nil     // they depend on the history of the fabric
	have.Mistaken, want.Mistaken = "", "" // depends on it too; identify has judged it
	if !EqualJSON(have, want) {
		return nil, nil, ErrorOf("", OpJudge, KindPlan, errors.New("the plan's description does not match its steps"))
	}
	if t.Plain == nil {
		return made, nil, nil
	}
	plain, fault := Planner{Intent: r.Fabric.Intent}.Plan(ctx, *t.Plain)
	if fault != nil {
		return nil, nil, fault
	}
	return made, plain, nil
}
