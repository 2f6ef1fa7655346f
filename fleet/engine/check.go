package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
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

func TooMuch(device string, is, most qos.Impact) *Error {
	return ErrorOf(device, OpJudge, KindImpact, fmt.Errorf("the plan disturbs more than allowed: %s, allowed is %s", is, most))
}

// replan plans a device again, from the state that the plan was made for, and returns the
// steps. They must match the digest of the task. The blocked changes and the impact are
// computed anew too, because the plan may come from a file that someone edited.
func (r *Run) replan(drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, t Task) (*drivers.Steps, State, error) {
	fresh, err := drv.Plan(f, snap, t.Want, t.Plan.Policy)
	switch {
	case err != nil:
		return nil, Failed, NewError("", OpPlan, fmt.Errorf("plan again: %w", err))
	case len(fresh.Blocked()) > 0:
		return nil, Blocked, ErrorOf("", OpJudge, KindBlocked, errors.New(CannotBeMade))
	case fresh.Impact() > r.Allow:
		return nil, Refused, TooMuch("", fresh.Impact(), r.Allow)
	case StepsDigest(fresh.Items) != t.Steps:
		return nil, Refused, ErrorOf("", OpJudge, KindPlan, errors.New("the plan's steps do not lead to the intent"))
	}
	return fresh, "", nil
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

// StepsDigest returns a digest of what the steps send to a device. It does not depend on how
// the JSON is formatted.
func StepsDigest(steps []drivers.Step) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, s := range steps {
		// The last element keeps the digest of invalid JSON different from that of any step.
		var native any
		d := json.NewDecoder(bytes.NewReader(s.Native))
		d.UseNumber()
		err := d.Decode(&native)
		_ = enc.Encode([]any{s.Via, slices.Concat(s.Down), slices.Concat(s.Up), native, err != nil})
	}
	return hex.EncodeToString(h.Sum(nil))
}

const CannotBeMade = "the plan has changes that cannot be made"

// EqualJSON reports whether two values encode to equivalent JSON.
func EqualJSON(a, b any) bool {
	var said [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err != nil || dec.Decode(&said[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(said[0], said[1])
}
