package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// trust returns an error, with the position in the file, unless all devices of a plan belong
// to the run. A plan that was read from a file may contain anything, so it must also be one
// that this tool could have made from the intent.
func (r *run) trust(ctx context.Context, plan *PlanFile) error {
	if !plan.Rollout.Interim.Lossless(r.Fabric) {
		return NewError("", OpJudge, fmt.Errorf("%s keeps code points in a class that is not lossless in the intent; nothing was written", plan.path))
	}
	if mode := r.gateMode(); plan.Rollout.Gate != mode {
		e := engine.ErrorOf("", OpJudge, KindPlan, fmt.Errorf("%s is for --gate %s, and this run has --gate %s; nothing was written", plan.path, plan.Rollout.Gate, mode))
		e.Hint = "plan and apply with the same --gate"
		return e
	}
	if !slices.Equal(plan.Rollout.Windows, rollout.Windows(r.Fabric)) {
		return engine.ErrorOf("", OpJudge, KindPlan, fmt.Errorf("%s and the intent have different maintenance windows; nothing was written", plan.path))
	}
	seen := map[string]bool{}
	for i, p := range plan.devices {
		dev, ok := r.devices[p.name]
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("device %s is not in the intent", p.name)
		case seen[p.name]:
			err = fmt.Errorf("device %s has two plans", p.name)
		case !p.empty && !plan.fresh():
			err = r.checkPlan(ctx, plan, p, dev)
		}
		if err != nil {
			return NewError(p.name, OpJudge, fmt.Errorf("%s:%d: %w; nothing was written", plan.path, i+2, err))
		}
		seen[p.name] = true
	}
	return nil
}

// checkPlan returns an error for a plan that cannot come from the intent: it has steps that
// this tool never makes, changes ports that are not managed, has a different policy than the
// intent, or hides an impact above the allowed one. It does not connect to the device.
func (r *run) checkPlan(ctx context.Context, plan *PlanFile, p planSummary, dev Device) (err error) {
	if p.policy.PortGroup != dev.Policy.PortGroup || !slices.Equal(p.policy.Uplinks, dev.Policy.Uplinks) {
		return errors.New("the plan and the intent have different port groups or uplinks")
	}
	d, err := plan.device(p)
	if err != nil {
		return err
	}
	drv, err := dev.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drv.Close()) }()
	c, ok := drv.(drivers.Checker)
	if !ok {
		return nil
	}
	least, err := c.CheckSteps(d.Steps, dev.Desired().Manages)
	if err != nil {
		return err
	}
	// An impact that the plan states is judged elsewhere; this detects one that it hides.
	if least > r.allow && least > p.impact && p.blocked == "" {
		return tooMuch("", least, r.allow)
	}
	return nil
}

func tooMuch(device string, is, most qos.Impact) *Error {
	return engine.ErrorOf(device, OpJudge, KindImpact, fmt.Errorf("the plan disturbs more than allowed: %s, allowed is %s", is, most))
}

// replan plans a device again, from the state that the plan was made for, and returns the
// steps. They must match the digest of the task. The blocked changes and the impact are
// computed anew too, because the plan may come from a file that someone edited.
func (r *run) replan(drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, t task) (*drivers.Steps, State, error) {
	fresh, err := drv.Plan(f, snap, t.desired, t.plan.Policy)
	switch {
	case err != nil:
		return nil, Failed, NewError("", OpPlan, fmt.Errorf("plan again: %w", err))
	case len(fresh.Blocked()) > 0:
		return nil, Blocked, engine.ErrorOf("", OpJudge, KindBlocked, errors.New(cannotBeMade))
	case fresh.Impact() > r.allow:
		return nil, Refused, tooMuch("", fresh.Impact(), r.allow)
	case stepsDigest(fresh.Items) != t.steps:
		return nil, Refused, engine.ErrorOf("", OpJudge, KindPlan, errors.New("the plan's steps do not lead to the intent"))
	}
	return fresh, "", nil
}

// replanSaved plans a device of a saved plan again, from the state that was just read; the waves
// are then computed from the new plan. It returns an error unless the saved plan says the
// same as the new one. plain is the plan without the interim run of the saved plan; nil if
// that has none.
func (r *run) replanSaved(ctx context.Context, drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, t task, fresh *drivers.Steps) (made, plain *DevicePlan, err error) {
	past, err := r.journal.pastRuns()
	if err != nil {
		return nil, nil, err
	}
	made = t.describePlan(ctx, past, drv, f, snap, t.desired, fresh)
	have, want := *t.plan, *made
	if was, is := have.Facts.Unit, want.Facts.Unit; was != is {
		return nil, nil, engine.ErrorOf("", OpJudge, KindPlan, fmt.Errorf("the plan was made for a device with %s, and this one shows %s", was, is))
	}
	have.Notes, want.Notes = nil, nil     // they depend on the history of the fabric
	have.Mistaken, want.Mistaken = "", "" // depends on it too; identify has judged it
	if !equalJSON(have, want) {
		return nil, nil, engine.ErrorOf("", OpJudge, KindPlan, errors.New("the plan's description does not match its steps"))
	}
	if t.plain == nil {
		return made, nil, nil
	}
	plain, fault := planOne(ctx, *t.plain, PlanOptions{Fabric: r.Fabric})
	if fault != nil {
		return nil, nil, fault
	}
	return made, plain, nil
}

// stepsDigest returns a digest of what the steps send to a device. It does not depend on how
// the JSON is formatted.
func stepsDigest(steps []drivers.Step) string {
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

// checkUndo returns the minimum impact of an undo record. It returns an error, with the
// position in the journal, unless the driver of the device could have made the record, for
// managed ports only. It does not connect to the device.
func checkUndo(drv drivers.Driver, d PastDevice, token *drivers.Token, managed func(port string) bool) (least qos.Impact, _ error) {
	c, ok := drv.(drivers.Checker)
	if !ok {
		return least, nil
	}
	least, err := c.CheckUndo(token, managed)
	if err != nil {
		return least, engine.ErrorOf("", OpJudge, KindUndo, fmt.Errorf("%s: %w", d.of.place(d), err))
	}
	return least, nil
}

// place returns where a journal holds the undo record of a device, as PATH:LINE.
func (p *Past) place(d PastDevice) string { return fmt.Sprintf("%s:%d", p.store.Place(p.id), d.line) }

// compareCourse returns an error that describes how the course of a saved rollout differs from that
// of now, a rollout that was just computed; nil if they are equal.
func compareCourse(saved, now *Rollout) error {
	have, want := saved.Course(), now.Course()
	if !equalJSON(have.Interim, want.Interim) {
		return errors.New("it is a different step of a change in several runs than the devices need now")
	}
	for i := range min(len(have.Waves), len(want.Waves)) {
		switch is, must := have.Waves[i], want.Waves[i]; {
		case !slices.Equal(is.Devices, must.Devices):
			return fmt.Errorf("its wave %d changes %s; by the intent it changes %s", i+1, natural.Fold(is.Devices), natural.Fold(must.Devices))
		case !equalJSON(is, must):
			return fmt.Errorf("its description of wave %d does not match the devices", i+1)
		}
	}
	if len(have.Waves) != len(want.Waves) {
		return fmt.Errorf("it has %s, but the devices need %d", words.Count(len(have.Waves), "wave"), len(want.Waves))
	}
	if !equalJSON(have, want) {
		return errors.New("what it lists as not proven or not checked does not match the devices")
	}
	return nil
}

// equalJSON reports whether two values encode to equivalent JSON.
func equalJSON(a, b any) bool {
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
