package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate"
)

// Undo is a run that can be rolled back, with the devices on which its writes, or those of
// the runs that it continued, still stand, in the order in which they were changed.
type Undo struct {
	*Past
	Devices []PastDevice

	waves []Wave // waves of all these runs
	of    map[string]Device
	costs map[string]cost

	// Fields for [find]: next is the next older of these runs, by the run that continues it,
	// and half holds the devices at which a rollback was cut off.
	next string
	by   *Past
	half map[string]bool
}

// cost is what the rollback of a device disturbs: least is the impact of its undo records
// alone, impact the total impact, down the number of ports that go down.
type cost struct {
	least, impact qos.Impact
	down          int
}

// Runs returns the IDs of the runs that are rolled back, newest first.
func (u *Undo) Runs() []string {
	var ids []string
	for _, d := range u.Devices {
		for _, run := range d.runs() {
			if !slices.Contains(ids, run.of.ID) {
				ids = append(ids, run.of.ID)
			}
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// Plans yields the plans of a rollback, in the order in which it changes the devices.
func (u *Undo) Plans() iter.Seq2[*DevicePlan, error] {
	return func(yield func(*DevicePlan, error) bool) {
		for _, d := range slices.Backward(u.Devices) {
			if !yield(u.planDevice(d)) {
				return
			}
		}
	}
}

// planDevice returns what a rollback of a device changes: the reverse of the changes in the journals
// of the runs. Its impact is the larger of two: the impact of the values, and the impact of
// the runs' steps, because a rollback takes down the same ports and changes the same tables.
func (u *Undo) planDevice(d PastDevice) (*DevicePlan, error) {
	out := &DevicePlan{Name: d.Name, OS: u.of[d.Name].OS, Changes: []Group{}}
	var changes []qos.Change
	var down []string
	impact := u.costs[d.Name].least
	for _, run := range d.runs() {
		start, err := run.of.record(run.start, d.Name, "start")
		if err != nil {
			return nil, NewError(d.Name, OpJournal, err)
		}
		for _, g := range start.Changes {
			if g.Blocked == "" && !g.Open {
				changes = withReverse(changes, g, u.ID)
			}
		}
		down = append(down, without(start.Ports, down)...)
		if start.Impact == nil { // journals of older versions do not tell
			start.Impact = new(qos.ImpactLoss)
		}
		impact = max(impact, *start.Impact)
	}
	if len(d.before) > 0 { // one run may have set a value, and another one reset it
		changes = slices.DeleteFunc(changes, func(c qos.Change) bool { return c.Old == c.New })
	}
	out.Changes = group(changes)
	out.Steps = []drivers.Step{{Via: "undo", What: "back to where it was before run " + d.first().ID, Impact: impact, Down: down}}
	return out, nil
}

// undoable returns the changes of a plan, each with the impact of undoing it: the larger of
// the impact of the reverse difference and the impact of the requests.
func undoable(todo *drivers.Steps, desired drivers.Desired) []qos.Change {
	out := slices.Clone(todo.Changes)
	want, ok := desired.(*qos.Device)
	if !ok || todo.Running == nil { // a host: a setting has the same impact in both directions
		for i := range out {
			out[i].Undo = out[i].Impact
		}
		return out
	}
	back := map[qos.Place]qos.Impact{}
	for _, c := range qos.Diff(validate.After(todo.Running, want, todo.Changes), todo.Running) {
		back[c.Place()] = c.Impact
	}
	for i := range out {
		c := &out[i]
		c.Undo = max(back[c.Place()], c.Requests)
	}
	return out
}

// withReverse adds the reverse of a change to the reversed changes of later runs.
func withReverse(later []qos.Change, g Group, run string) []qos.Change {
	ports := g.Ports
	if len(ports) == 0 {
		ports = []string{g.Port}
	}
	for _, port := range ports {
		c := g.Change
		c.Port, c.Old, c.New, c.Reason = port, g.New, g.Old, "run "+run
		c.Impact, c.Undo = g.Undo, qos.ImpactNone
		i := slices.IndexFunc(later, func(l qos.Change) bool { return l.Port == c.Port && l.Field == c.Field })
		if i < 0 {
			later = append(later, c)
			continue
		}
		later[i].New, later[i].Impact = c.New, max(later[i].Impact, c.Impact)
	}
	return later
}

// Rollout returns the waves of the run in reverse order, with the devices that are left to
// roll back, each with a gate. The intermediate states are the same as in the run.
func (u *Undo) Rollout(mode GateMode) *Rollout {
	var left []string
	for _, d := range u.Devices {
		left = append(left, d.Name)
	}
	return rollout.Reverse(u.waves, left, mode, func(device string) (qos.Impact, int) {
		return u.costs[device].impact, u.costs[device].down
	})
}

// FindOptions say which run to roll back.
type FindOptions struct {
	Store store.Store // the store with the journals
	Run   string      // ID of the run; "" is the newest run whose writes still stand
	// Among reports whether to roll back a device; nil rolls back all. Such a device must be
	// among the devices passed to [Find].
	Among func(device string) bool
}

// Find finds the run to roll back. It reads the undo records, and returns an error for a
// record that the driver of its device would not have made. It does not connect to devices.
func Find(ctx context.Context, devices []Device, o FindOptions) (*Undo, error) {
	r := newRun(devices, RunOptions{})
	if _, busy, err := AtWork(o.Store); busy != nil || err != nil {
		return nil, errors.Join(busy, err)
	}
	if err := notForeign(o.Store, o.Run); err != nil {
		return nil, NewError("", OpJudge, err)
	}
	u, err := find(o.Store, o.Run, o.Among)
	if err != nil {
		return nil, NewError("", OpJudge, err)
	}
	for _, d := range u.Devices {
		if _, ok := r.devices[d.Name]; !ok {
			return nil, engine.ErrorOf(d.Name, OpJudge, KindNoDevice, fmt.Errorf("a device of run %s cannot be reached with this intent; nothing was written", d.of.ID))
		}
	}
	u.of, u.costs = r.devices, map[string]cost{}
	for _, d := range u.Devices {
		drv, _, least, err := r.openUndo(ctx, d)
		if err == nil {
			err = drv.Close()
		}
		if err != nil {
			return nil, NewError(d.Name, OpJudge, fmt.Errorf("%w; nothing was written", err))
		}
		u.costs[d.Name] = cost{least: least}
		p, err := u.planDevice(d)
		if err != nil {
			return nil, err
		}
		u.costs[d.Name] = cost{least, p.Impact(), len(p.Down())}
	}
	return u, nil
}

// notForeign returns an error if a run with that ID belongs to another fabric.
func notForeign(s store.Store, run string) error {
	ids, err := newestFirst(s)
	for _, id := range ids {
		if id.Run == run {
			if err := isForeign(s, id); errors.Is(err, errForeign) {
				return err
			}
		}
	}
	return err
}

// RollbackOptions are the options of [Rollback].
type RollbackOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
}

// Rollback restores the devices of a run to their state before it, last wave first. It
// continues if a device fails, but stops if a wave does not pass its gate. The result has one
// outcome per device, in that order. An error with the operation OpJudge says why nothing was
// written; any other error is about the journal.
func Rollback(ctx context.Context, devices []Device, u *Undo, o RollbackOptions) (_ *Result, err error) {
	r := newRun(devices, o.RunOptions)
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	rollout := u.Rollout(r.gateMode())
	needs := rollout.Impact()
	of := map[string]PastDevice{}
	for _, d := range u.Devices {
		of[d.Name] = d
		needs = max(needs, u.costs[d.Name].impact)
	}
	if needs > o.Allow {
		return &Result{Needs: needs}, refusal(KindImpact, []string{fmt.Sprintf("the rollback disturbs more than is allowed: %s, allowed is %s", needs, o.Allow)})
	}
	if err := r.ask(ctx, nil, u.request); err != nil {
		return nil, err
	}
	if err := r.begin(u.ID, nil, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.journal.Close()) }()
	outs, err := r.runWaves(ctx, append([]Wave{{}}, rollout.Waves...), func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		state, err := r.rollback(ctx, u, of[device])
		out.State, out.Error = state, NewError(out.Device, OpRollback, err)
		return nil, nil
	})
	return r.endRun(outs, err)
}

func (r *run) rollback(ctx context.Context, u *Undo, d PastDevice) (State, error) {
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
	out := &pending{task: task{Device: dev, plan: plan, desired: dev.Desired()}, drv: drv, facts: facts}
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

// identifyPast is like [run.identify], for a device that is rolled back. It also returns an
// error if the undo records are for a different device, unless the operator accepts that.
func (r *run) identifyPast(ctx context.Context, drv drivers.Driver, f drivers.Facts, d PastDevice) (unit drivers.Unit, err error) {
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
		case err != nil && !dev.isRight:
			return unit, err
		case err != nil:
			return unit, r.audit.accept(d.Name, engine.OneLine(err), unit)
		}
	}
	return unit, nil
}

// readyToRevert waits until a device has processed the writes of a run that was cut off, and
// then calls ready before a rollback.
func (r *run) readyToRevert(ctx context.Context, p *pending, left leftover) (blind bool, err error) {
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
	return r.checkReady(ctx, p.drv, snap, &p.task, func(m drivers.Mismatch, sure bool) bool { return p.isResponsibleFor(m) && p.mustBeInForce(m, sure) })
}

// openUndo returns a driver for a device, and reads and checks its undo records. least is the
// minimum impact of the records.
func (r *run) openUndo(ctx context.Context, d PastDevice) (_ drivers.Driver, _ []*drivers.Token, least qos.Impact, _ error) {
	tokens, err := d.tokens()
	if err != nil {
		return nil, nil, least, err
	}
	dev := r.devices[d.Name]
	drv, err := dev.Open(ctx)
	if err != nil {
		return nil, nil, least, NewError("", OpConnect, err)
	}
	for _, token := range tokens {
		one, err := checkUndo(drv, d, token, dev.Desired().Manages)
		if err != nil {
			return nil, nil, least, errors.Join(err, drv.Close())
		}
		least = max(least, one)
	}
	return drv, tokens, least, nil
}
