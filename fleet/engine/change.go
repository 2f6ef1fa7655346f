package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// revert undoes what was written to a device. It continues when the run is interrupted,
// because Ctrl-C must leave the device in one of two known states. If the lock is lost, it
// writes nothing more; the next run then sees that this run was cut off at the device.
func (r *Run) revert(ctx context.Context, p *pending, why error) (State, error) {
	ctx, cancel := p.revertTime(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return Partial, fmt.Errorf("%w; and it was not reverted: %w", why, context.Cause(ctx))
	}
	defer r.Progress.ReportLongWork(Writing, p.drv, p.Name, "reverting", OneLine(why))()
	if err := p.drv.Revert(ctx, p.token); err != nil {
		return Partial, fmt.Errorf("%w; and the revert also failed: %w", why, err)
	}
	if err := r.verifyAfterSave(ctx, p, true); err != nil {
		return Partial, fmt.Errorf("%w; and it was not reverted: %w", why, err)
	}
	return Reverted, why
}

// applyJudged changes a device that was judged, unless the judgement is an error. Such a device
// does not stop the run. find returns the task.
func (r *Run) applyJudged(ctx context.Context, out *Outcome, judged Outcome, find func() (Task, error)) (p *pending, err error) {
	if judged.Error != nil {
		*out = judged
		return nil, nil
	}
	t, err := find()
	if out.State = Failed; err == nil {
		p, out.State, out.Steps, err = r.changeDevice(ctx, t, out)
	}
	if out.Error = NewError(out.Device, OpApply, err); err == nil || out.State == Unsaved || out.Error.Kind == KindUnfit {
		return p, nil
	}
	return nil, err
}

// readAsPlanned waits until a device has processed the writes of a run that was cut off, if
// any, and reads the device. It returns an error unless the device is in the state that was
// planned for. cutOff reports whether a run was cut off there.
func (r *Run) readAsPlanned(ctx context.Context, drv drivers.Driver, t Task) (f drivers.Facts, _ *drivers.Snapshot, cutOff bool, err error) {
	if err := r.nameOtherRuns(drv); err != nil {
		return f, nil, false, err
	}
	if f, err = drv.Probe(ctx); err != nil {
		return f, nil, false, NewError("", OpRead, err)
	}
	left, err := r.journal.left(t.Name)
	if err != nil {
		return f, nil, false, err
	}
	left = left.onUnit(t.Name, f)
	left.passTo(drv, t.Want, r.journal.ports(t.Name))
	if left.CutOff != nil {
		if err := left.settle(ctx, r.Progress, Writing, drv, t.Name); err != nil {
			return f, nil, true, NewError("", OpSettle, err)
		}
	}
	snap, err := r.readPlanned(ctx, drv, &f, t)
	return f, snap, left.CutOff != nil, err
}

// nameOtherRuns tells a driver which other runs there were. None of them is in progress.
func (r *Run) nameOtherRuns(drv drivers.Driver) error {
	h, ok := drv.(drivers.Heir)
	if !ok {
		return nil
	}
	past, err := r.journal.others()
	if err == nil {
		h.Inherit(past)
	}
	return err
}

// changeDevice changes one device until it is pending: the changes are written and in force. It
// stores what remains open on the device in out.
func (r *Run) changeDevice(ctx context.Context, t Task, out *Outcome) (made *pending, _ State, steps int, err error) {
	p := t.Plan
	drv, err := t.Open(ctx)
	if err != nil {
		return nil, Failed, 0, NewError("", OpConnect, err)
	}
	defer func() {
		if made == nil {
			_ = drv.Close() // a session that does not close cleanly changes nothing about the state
		}
	}()
	k, keeps := drv.(drivers.Keeper)
	// Do not confirm or save on a switch of which nothing is managed: that would be a change.
	if len(p.Steps) == 0 && (!keeps || t.Want.Empty()) {
		out.Left, out.Resets = p.Left, p.Resets
		if p.Unfit != "" {
			return nil, Blocked, 0, unfit(p.Unfit)
		}
		return nil, Unchanged, 0, nil
	}
	facts, snap, cutOff, err := r.readAsPlanned(ctx, drv, t)
	if err != nil {
		return nil, unwritten(err), 0, err
	}
	if len(p.Steps) == 0 {
		out.Unit = facts.Unit
		state, steps, err := keep(ctx, k)
		return nil, state, steps, err
	}
	todo, state, err := r.replan(drv, facts, snap, t)
	if err != nil {
		return nil, state, 0, err
	}
	// Wait anyway: a run may have been cut off whose journal is on another machine.
	if _, ok := drv.(drivers.Settler); ok && !cutOff {
		if err := drv.(drivers.Settler).Settle(ctx); err != nil {
			return nil, Failed, 0, NewError("", OpSettle, err)
		}
		if snap, err = r.readPlanned(ctx, drv, &facts, t); err != nil {
			return nil, unwritten(err), 0, err
		}
	}
	return r.writeSteps(ctx, drv, facts, snap, todo, t, out)
}

// writeSteps carries out the steps on a device, which is in the state that was planned for, and
// reads the device back.
func (r *Run) writeSteps(ctx context.Context, drv drivers.Driver, facts drivers.Facts, snap *drivers.Snapshot, todo *drivers.Steps, t Task, out *Outcome) (_ *pending, _ State, steps int, err error) {
	p := t.Plan
	// If a device did not show what is in force before the change, it need not do so after it.
	// If it did and now does not, its daemons have died.
	blind, err := r.checkReady(ctx, drv, snap, &t, t.mustBeInForce)
	if err != nil {
		return nil, unwritten(err), 0, NewError("", OpVerify, err)
	}
	if t.Hooks.Explain != nil {
		t.Hooks.Explain(t.Want, todo)
	}
	continues, err := r.journal.inherits(p.Name, facts)
	if err != nil {
		return nil, Failed, 0, err
	}
	start := entry{
		Device: p.Name, Event: "start", Kind: p.kind(), Steps: len(p.Steps), Base: p.Base, Unit: facts.Unit,
		Changes: group(undoable(todo, t.Want)), Impact: new(drivers.ImpactOf(todo.Items)), Ports: (&DevicePlan{Steps: todo.Items}).Down(),
	}
	if err := r.journal.Write(start); err != nil {
		return nil, Failed, 0, err
	}
	token, err := drv.Apply(ctx, snap, todo, drivers.ApplyOptions{
		ID:             r.id,
		Hold:           t.Hold,
		AcceptWarnings: r.AcceptWarnings,
		Continues:      continues,
		Note: func(text string) {
			r.Progress.Report(Event{Kind: DeviceSays, Phase: Writing, Device: p.Name, Text: text})
		},
		Token: func(undo *drivers.Token) error {
			return r.journal.Write(entry{Device: p.Name, Event: "undo", Undo: undo})
		},
		Progress: func(i, n int, s drivers.Step) {
			steps = i + 1
			r.noteStep(p.Name, s, i, n)
		},
	})
	if err == nil {
		var now *drivers.Steps
		var unseen error
		if now, unseen, err = r.verify(ctx, drv, facts, t, blind); err == nil {
			out.Left, out.Resets = now.Left, now.Resets
			if unseen != nil {
				out.Left = append(out.Left, fmt.Sprintf("could not confirm that it is in force: %s", OneLine(unseen)))
			}
			return &pending{t, drv, token, now.Unfit, facts, blind}, Partial, steps, nil
		}
		err = NewError("", OpVerify, err)
	}
	if token == nil {
		return nil, unwritten(err), steps, err
	}
	state, err := r.revert(ctx, &pending{Task: t, drv: drv, token: token, facts: facts, blind: blind}, err)
	return nil, state, steps, err
}

// noteStep records and reports that a request to a device begins. If the audit log cannot be
// written, the run continues until the end of the device.
func (r *Run) noteStep(device string, s drivers.Step, i, n int) {
	_ = r.audit.request(device, s, i, n) // writing the outcome of the device will fail too
	r.Progress.Report(Event{Kind: StepBegins, Phase: Writing, Device: device, Step: s, I: i, N: n})
}

// readPlanned reads a device. It returns an error unless the device is the one that was
// planned for, in the same state. It sets f.Unit to the unit to record.
func (r *Run) readPlanned(ctx context.Context, drv drivers.Driver, f *drivers.Facts, t Task) (*drivers.Snapshot, error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, NewError("", OpRead, err)
	}
	unit, err := r.identify(ctx, drv, *f, snap, t.Device)
	if err != nil {
		return nil, err
	}
	if what := describeUnitMismatch("the plan", t.Plan.Facts.Unit, unit); what != "" {
		return nil, fmt.Errorf("%w: %s", drivers.ErrStale, what)
	}
	if f.Unit = unit; drv.Digest(snap, t.Want) != t.Plan.Base {
		return nil, drivers.ErrStale
	}
	return snap, nil
}

// unwritten returns the state for a device to which nothing was written because of err.
func unwritten(err error) State {
	if errors.Is(err, drivers.ErrStale) || errors.Is(err, drivers.ErrNotReady) || isMistaken(err) {
		return Refused
	}
	return Failed
}

// unfit returns the error for a device that is not as intended for reasons that a run cannot
// fix. It does not stop the run.
func unfit(why string) *Error {
	return ErrorOf("", OpApply, KindUnfit, errors.New(why))
}

// keep confirms or saves what an earlier run left unconfirmed or unsaved on a device that is
// as desired.
func keep(ctx context.Context, k drivers.Keeper) (State, int, error) {
	kept, err := k.Keep(ctx)
	if err != nil {
		err = NewError("", OpSave, err)
	}
	switch {
	case errors.Is(err, drivers.ErrUnsaved):
		// Nothing was written, so the plan is not at fault.
		return Unsaved, 0, err
	case errors.Is(err, drivers.ErrPartial):
		return Partial, 0, err
	case err != nil:
		return unwritten(err), 0, err
	case kept:
		return Applied, 0, nil
	}
	return Unchanged, 0, nil
}

// identify returns the unit to record for a device that was read. It returns an error if the
// device is not the one that the intent means, unless the operator accepts the device, which
// it then writes to the audit log.
func (r *Run) identify(ctx context.Context, drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, dev Device) (drivers.Unit, error) {
	h, err := r.journal.pastRuns()
	if err != nil {
		return drivers.Unit{}, err
	}
	e := h.evidence(dev.Name, drv, f, snap)
	what := dev.mistaken(ctx, drv, e)
	if what == "" {
		return e.Unit.With(e.Recorded), nil
	}
	if !dev.Accepted {
		return e.Recorded, RefuseMistaken(dev.Name, what)
	}
	return e.Unit, r.audit.accept(dev.Name, what, e.Unit)
}
