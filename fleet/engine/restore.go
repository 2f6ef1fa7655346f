package engine

import (
	"context"
	"errors"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
)

// Rollback restores the devices of an earlier run, wave by wave. It continues if a device
// fails.
func (r *Run) Rollback(ctx context.Context, u *Undo, waves []rollout.Wave) ([]Outcome, error) {
	of := map[string]PastDevice{}
	for _, d := range u.Devices {
		of[d.Name] = d
	}
	return r.runWaves(ctx, waves, func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		state, err := r.rollback(ctx, u, of[device])
		out.State, out.Error = state, NewError(out.Device, OpRollback, err)
		return nil, nil
	})
}

func (r *Run) rollback(ctx context.Context, u *Undo, d PastDevice) (State, error) {
	plan, err := u.planDevice(d)
	if err != nil {
		return Failed, err
	}
	drv, tokens, _, err := r.openUndo(ctx, d)
	if err != nil {
		return Failed, err
	}
	defer func() { _ = drv.Close() }()
	if err := r.nameOtherRuns(drv); err != nil {
		return Failed, err
	}
	facts, err := drv.Probe(ctx)
	if err != nil {
		return Failed, NewError("", OpRead, err)
	}
	if facts.Unit, err = r.identifyPast(ctx, drv, facts, d); err != nil {
		return unwritten(err), err
	}
	left, err := r.journal.left(d.Name)
	if err != nil {
		return Failed, err
	}
	left.passTo(drv, nil, r.journal.ports(d.Name))
	if b, ok := drv.(drivers.Bounded); ok {
		b.Bound(r.devices[d.Name].Policy)
	}
	dev := r.devices[d.Name]
	out := &pending{Task: Task{Device: dev, Plan: plan, Want: dev.Desired()}, drv: drv, facts: facts}
	if out.blind, err = r.readyToRevert(ctx, out, left); err != nil {
		return unwritten(err), err
	}
	if err := r.journal.Write(entry{Device: d.Name, Event: "start", Unit: facts.Unit}); err != nil {
		return Failed, err
	}
	r.noteStep(d.Name, plan.Steps[0], 0, 1)
	// Once begun, finish the revert even on Ctrl-C, to leave a known state.
	rctx, cancel := dev.revertTime(ctx)
	defer cancel()
	defer r.Progress.ReportLongWork(Writing, drv, d.Name, "rolling back", "")()
	for i, token := range tokens {
		switch err := drv.Revert(rctx, token); {
		case i == 0 && (errors.Is(err, drivers.ErrBusy) || errors.Is(err, drivers.ErrGone)) && !errors.Is(err, drivers.ErrPartial):
			return Failed, err
		case err != nil:
			return Partial, err
		}
	}
	// The last token is of the oldest run, and leads to the state before all of them.
	out.token = tokens[len(tokens)-1]
	if err := r.verifyAfterSave(rctx, out, true); err != nil {
		return Partial, err
	}
	return Restored, nil
}

// identifyPast is like [Run.identify], for a device that is rolled back. It also returns an
// error if the undo records are for a different device, unless the operator accepts that.
func (r *Run) identifyPast(ctx context.Context, drv drivers.Driver, f drivers.Facts, d PastDevice) (unit drivers.Unit, err error) {
	dev := r.devices[d.Name]
	unit = f.Unit
	// Ignore a failed read: the revert will then report what is wrong.
	if snap, err := drv.Read(ctx); err == nil {
		if unit, err = r.identify(ctx, drv, f, snap, dev); err != nil {
			return unit, err
		}
	}
	for _, run := range d.runs() {
		err := run.checkUnit(unit)
		switch {
		case err != nil && !dev.Accepted:
			return unit, err
		case err != nil:
			return unit, r.audit.accept(d.Name, OneLine(err), unit)
		}
	}
	return unit, nil
}

// readyToRevert waits until a device has processed the writes of a run that was cut off, and
// then calls ready before a rollback.
func (r *Run) readyToRevert(ctx context.Context, p *pending, left leftover) (blind bool, err error) {
	if left.CutOff != nil {
		if err := left.settle(ctx, r.Progress, Writing, p.drv, p.Name); err != nil {
			return false, NewError("", OpSettle, err)
		}
	}
	snap, err := p.drv.Read(ctx)
	if err != nil {
		return false, NewError("", OpRead, err)
	}
	// Ignore ports that the run did not change: nothing is written to them.
	return r.checkReady(ctx, p.drv, snap, &p.Task, func(m drivers.Mismatch, sure bool) bool { return p.isResponsibleFor(m) && p.mustBeInForce(m, sure) })
}
