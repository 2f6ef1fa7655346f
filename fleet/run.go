package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
)

// task is a device with what is to be done on it.
type task struct {
	Device
	plan    *DevicePlan
	desired drivers.Desired
	steps   string // digest of the plan's steps
	hold    time.Duration
	// plain is the device without the interim run; nil if there is none.
	plain *Device
}

// run is the state of an apply, a rollback or a reset.
type run struct {
	RunOptions
	id      string
	allow   qos.Impact
	accepts bool // answer yes to warnings of devices
	devices map[string]Device
	plain   map[string]Device // devices without the interim run of the plan; nil if it has none
	journal *journal          // nil for a run that writes none
	plan    string            // digest of the plan that is carried out
	audit   *audit
	// approved names the approver that approved the run; "" for none.
	approved string
	request  ApprovalRequest // the request that was approved
}

func (o RunOptions) withDefaults() RunOptions {
	o.AppliedTimeout = cmp.Or(o.AppliedTimeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// errStopped means that a run stopped before its end.
var errStopped = errors.New("run stopped")

// runWaves works through waves of devices, with r.Writers workers, and returns one outcome per
// device, in the order of the waves. do may return a device as pending: it is confirmed when
// its wave passes the gate, and otherwise reverted. If do returns an error, no further device
// is started, and the devices in progress are finished. The error of each is errStopped or
// that of the journal.
func (r *run) runWaves(ctx context.Context, waves []Wave, do func(ctx context.Context, device string, out *Outcome) (*pending, error)) (outs []Outcome, err error) {
	devices := 0
	for _, w := range waves {
		devices += len(w.Devices)
	}
	defer r.Progress.Phase(Writing, devices)()
	ctx, cancel := r.journal.guard(ctx)
	defer cancel()
	e := &waveRunner{run: r, gate: r.newGated(waves), do: do, locks: map[string]store.Lock{}}
	e.stopped, e.stop = context.WithCancelCause(context.Background())
	defer e.stop(nil)
	if err := e.gate.baseline(ctx, waves); err != nil {
		e.stop(fmt.Errorf("%w before its first wave: %w", errStopped, err))
		e.cause = NewError("", OpGate, err)
	}
	for i, w := range waves {
		if len(w.Devices) == 0 {
			continue
		}
		if e.stopped.Err() == nil && w.Kind != "" {
			if err := r.approveWave(ctx, w, i, len(waves)-1); err != nil {
				e.cause = NewError("", OpJudge, err)
				e.stop(fmt.Errorf("%w between two waves: %w", errStopped, err))
			}
		}
		if e.stopped.Err() == nil && w.Kind != "" {
			r.Progress.Report(Event{Kind: WaveBegins, Phase: Writing, Devices: len(w.Devices), Text: natural.Fold(w.Devices), I: i - 1, N: len(waves) - 1})
			if err := r.journal.Write(entry{Event: "wave", Wave: w.Brief()}); err != nil {
				e.stop(err)
			}
		}
		more, stopped := e.runWave(ctx, w)
		outs, err = append(outs, more...), cmp.Or(err, stopped)
	}
	return outs, cmp.Or(err, context.Cause(e.stopped))
}

// waveRunner is the state of the work on the waves of a run.
type waveRunner struct {
	*run
	gate *gateRun
	do   func(ctx context.Context, device string, out *Outcome) (*pending, error)
	// stopped is cancelled, by stop, when no further device may start; cause is the error reported
	// for devices that were never started, if it does not come from another device.
	stopped context.Context
	stop    context.CancelCauseFunc
	cause   *Error

	mu    sync.Mutex
	locks map[string]store.Lock // locks of the devices in progress
}

// lock takes the lock of a device, which close releases.
func (e *waveRunner) lock(ctx context.Context, device string) error {
	if e.DeviceLock == nil {
		return nil
	}
	l, err := e.DeviceLock(ctx, device)
	if err != nil {
		return fmt.Errorf("lock of the device: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.locks[device] = l
	return nil
}

// guard returns a context that ends when the lock of a device is lost.
func (e *waveRunner) guard(ctx context.Context, device string) (context.Context, context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.locks[device]; l != nil {
		return l.Guard(ctx)
	}
	return ctx, func() {}
}

func (e *waveRunner) unlock(device string) {
	e.mu.Lock()
	l := e.locks[device]
	delete(e.locks, device)
	e.mu.Unlock()
	if l != nil {
		_ = l.Release() // a lock that cannot be released expires
	}
}

// runWave changes the devices of one wave, passes the wave through the gate, and confirms or
// reverts the devices.
func (e *waveRunner) runWave(ctx context.Context, w Wave) ([]Outcome, error) {
	type work struct {
		Outcome
		*pending
	}
	var was map[string]gateReading
	if e.stopped.Err() == nil {
		var err error
		if was, err = e.gate.readBefore(ctx, w); err != nil {
			e.cause = NewError("", OpGate, err)
			e.stop(fmt.Errorf("%w before a wave: %w", errStopped, err))
		}
	}
	var all []work
	err := pool.Ordered(ctx, e.Writers, w.Devices, func(ctx context.Context, device string) work {
		out, p := e.startDevice(ctx, device)
		if p != nil && was == nil {
			e.confirmOrRevert(ctx, p, &out, nil)
			p, out.Gate = nil, "" // the gate did not check this wave
		}
		if p == nil {
			e.endDevice(out)
		}
		return work{out, p}
	}, func(one work) error {
		all = append(all, one)
		return nil
	})
	open := slices.DeleteFunc(slices.Clone(all), func(one work) bool { return one.pending == nil })
	if len(open) > 0 {
		bad := cmp.Or(err, context.Cause(ctx))
		if bad == nil {
			bad = e.gate.checkWave(ctx, w, was)
		}
		if bad != nil {
			e.stop(fmt.Errorf("%w by the gate: %w", errStopped, bad))
			slices.Reverse(open) // revert the last device first
		}
		err = cmp.Or(err, pool.Ordered(ctx, e.Writers, open, func(ctx context.Context, one work) work {
			e.confirmOrRevert(ctx, one.pending, &one.Outcome, bad)
			e.endDevice(one.Outcome)
			return one
		}, func(one work) error {
			all[slices.IndexFunc(all, func(w work) bool { return w.Device == one.Device })] = one
			return nil
		}))
	}
	if len(open) == 0 && was != nil && slices.ContainsFunc(all, func(one work) bool { return one.State == Restored }) {
		bad := cmp.Or(err, context.Cause(ctx))
		if bad == nil {
			bad = e.gate.checkWave(ctx, w, was)
		}
		if bad != nil {
			e.stop(fmt.Errorf("%w by the gate: %w", errStopped, bad))
			e.cause = NewError("", OpGate, bad)
		}
	}
	var outs []Outcome
	for _, one := range all {
		outs = append(outs, one.Outcome)
	}
	return outs, err
}

// startDevice works on a device until it is pending or done.
func (e *waveRunner) startDevice(ctx context.Context, device string) (Outcome, *pending) {
	out, start := Outcome{Device: device, State: Skipped, Error: e.cause}, time.Now()
	if ctx.Err() != nil {
		e.stop(fmt.Errorf("%w: %w", errStopped, context.Cause(ctx)))
	}
	if err := e.stillInWindow(); err != nil && e.stopped.Err() == nil {
		out.Error = NewError(device, OpJudge, err)
		e.stop(fmt.Errorf("%w before %s: %w", errStopped, device, err))
	}
	if e.stopped.Err() != nil {
		return out, nil
	}
	e.Progress.Report(Event{Kind: DeviceBegins, Phase: Writing, Device: device})
	if most := e.deviceTimeout(); most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, fmt.Errorf("deviceTimeout of the rollout: %w", context.DeadlineExceeded))
		defer cancel()
	}
	if err := e.lock(ctx, device); err != nil {
		out.State, out.Error = Failed, NewError(device, OpConnect, err)
		e.stop(fmt.Errorf("%w at %s: %w", errStopped, device, err))
		return out, nil
	}
	ctx, stop := e.guard(ctx, device)
	defer stop()
	p, err := e.do(ctx, device, &out)
	if out.Took = time.Since(start); err != nil {
		e.stop(fmt.Errorf("%w at %s: %w", errStopped, device, err))
	}
	return out, p
}

// deviceTimeout returns the timeout for the work on a device; 0 is none.
func (e *waveRunner) deviceTimeout() time.Duration {
	if e.Fabric == nil {
		return 0
	}
	return e.Fabric.Rollout.DeviceTimeout.V
}

// endDevice releases the lock of a device and records its outcome.
func (e *waveRunner) endDevice(out Outcome) {
	e.unlock(out.Device)
	if err := errors.Join(e.journal.record(out), e.audit.device(out)); err != nil {
		e.stop(err)
	}
	e.Progress.Report(Event{Kind: DeviceEnds, Phase: Writing, Device: out.Device, Error: out.Error, State: out.State})
}

// confirmOrRevert confirms a pending device. It reverts the device if bad is not nil or confirming
// fails.
func (e *waveRunner) confirmOrRevert(ctx context.Context, p *pending, out *Outcome, bad error) {
	defer func() { _ = p.drv.Close() }() // a session that does not close cleanly changes nothing about the state
	ctx, stop := e.guard(ctx, p.Name)
	defer stop()
	err := bad
	if err == nil && e.gate != nil {
		// Check again: the gate takes minutes, and the device may have restarted meanwhile.
		if _, _, err = checkInForce(ctx, p.drv, p.facts, p.task, p.blind); err != nil {
			err = NewError("", OpVerify, err)
		}
	}
	if err == nil {
		err = p.drv.Confirm(ctx, p.token)
		var unsaved *Error
		if errors.Is(err, drivers.ErrNoSave) { // reverting would not help
			unsaved, err = NewError(out.Device, OpSave, err), nil
		}
		if err == nil {
			err = e.verifyAfterSave(ctx, p, false)
		}
		if err == nil {
			if out.State = Applied; unsaved != nil {
				out.State, out.Error = Unsaved, unsaved
			}
			if e.gate != nil && e.gate.passed {
				out.Gate = e.gate.opts.Mode
			}
			if p.unfit != "" {
				out.State, out.Error = Partial, NewError(out.Device, OpApply, unfit(p.unfit))
			}
			return
		}
		err = NewError("", OpConfirm, err)
	}
	out.State, err = e.revert(ctx, p, err)
	out.Left, out.Resets, out.Error = nil, nil, NewError(out.Device, OpApply, err)
	if bad == nil {
		e.stop(fmt.Errorf("%w at %s: %w", errStopped, out.Device, err))
	}
}

// pending is a device whose changes were written and read back, but not confirmed.
type pending struct {
	task
	drv   drivers.Driver
	token *drivers.Token
	unfit string
	facts drivers.Facts
	blind bool // the device did not show what was in force before the change either
}

// revert undoes what was written to a device. It continues when the run is interrupted,
// because Ctrl-C must leave the device in one of two known states. If the lock is lost, it
// writes nothing more; the next run then sees that this run was cut off at the device.
func (r *run) revert(ctx context.Context, p *pending, why error) (State, error) {
	ctx, cancel := p.revertTime(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return Partial, fmt.Errorf("%w; and it was not reverted: %w", why, context.Cause(ctx))
	}
	defer r.Progress.ReportLongWork(Writing, p.drv, p.Name, "reverting", engine.OneLine(why))()
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
func (r *run) applyJudged(ctx context.Context, out *Outcome, judged Outcome, find func() (task, error)) (p *pending, err error) {
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
func (r *run) readAsPlanned(ctx context.Context, drv drivers.Driver, t task) (f drivers.Facts, _ *drivers.Snapshot, cutOff bool, err error) {
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
	left.passTo(drv, t.desired, r.journal.ports(t.Name))
	if left.CutOff != nil {
		if err := left.settle(ctx, r.Progress, Writing, drv, t.Name); err != nil {
			return f, nil, true, NewError("", OpSettle, err)
		}
	}
	snap, err := r.readPlanned(ctx, drv, &f, t)
	return f, snap, left.CutOff != nil, err
}

// nameOtherRuns tells a driver which other runs there were. None of them is in progress.
func (r *run) nameOtherRuns(drv drivers.Driver) error {
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
func (r *run) changeDevice(ctx context.Context, t task, out *Outcome) (made *pending, _ State, steps int, err error) {
	p := t.plan
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
	if len(p.Steps) == 0 && (!keeps || t.desired.Empty()) {
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
func (r *run) writeSteps(ctx context.Context, drv drivers.Driver, facts drivers.Facts, snap *drivers.Snapshot, todo *drivers.Steps, t task, out *Outcome) (_ *pending, _ State, steps int, err error) {
	p := t.plan
	// If a device did not show what is in force before the change, it need not do so after it.
	// If it did and now does not, its daemons have died.
	blind, err := r.checkReady(ctx, drv, snap, &t, t.mustBeInForce)
	if err != nil {
		return nil, unwritten(err), 0, NewError("", OpVerify, err)
	}
	if t.explain != nil {
		t.explain(t.desired, todo)
	}
	continues, err := r.journal.inherits(p.Name, facts)
	if err != nil {
		return nil, Failed, 0, err
	}
	start := entry{
		Device: p.Name, Event: "start", Kind: p.kind(), Steps: len(p.Steps), Base: p.Base, Unit: facts.Unit,
		Changes: group(undoable(todo, t.desired)), Impact: new(drivers.ImpactOf(todo.Items)), Ports: (&DevicePlan{Steps: todo.Items}).Down(),
	}
	if err := r.journal.Write(start); err != nil {
		return nil, Failed, 0, err
	}
	token, err := drv.Apply(ctx, snap, todo, drivers.ApplyOptions{
		ID:             r.id,
		Hold:           t.hold,
		AcceptWarnings: r.accepts,
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
				out.Left = append(out.Left, fmt.Sprintf("could not confirm that it is in force: %s", engine.OneLine(unseen)))
			}
			return &pending{t, drv, token, now.Unfit, facts, blind}, Partial, steps, nil
		}
		err = NewError("", OpVerify, err)
	}
	if token == nil {
		return nil, unwritten(err), steps, err
	}
	state, err := r.revert(ctx, &pending{task: t, drv: drv, token: token, facts: facts, blind: blind}, err)
	return nil, state, steps, err
}

// noteStep records and reports that a request to a device begins. If the audit log cannot be
// written, the run continues until the end of the device.
func (r *run) noteStep(device string, s drivers.Step, i, n int) {
	_ = r.audit.request(device, s, i, n) // writing the outcome of the device will fail too
	r.Progress.Report(Event{Kind: StepBegins, Phase: Writing, Device: device, Step: s, I: i, N: n})
}

// readPlanned reads a device. It returns an error unless the device is the one that was
// planned for, in the same state. It sets f.Unit to the unit to record.
func (r *run) readPlanned(ctx context.Context, drv drivers.Driver, f *drivers.Facts, t task) (*drivers.Snapshot, error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, NewError("", OpRead, err)
	}
	unit, err := r.identify(ctx, drv, *f, snap, t.Device)
	if err != nil {
		return nil, err
	}
	if what := describeUnitMismatch("the plan", t.plan.Facts.Unit, unit); what != "" {
		return nil, fmt.Errorf("%w: %s", drivers.ErrStale, what)
	}
	if f.Unit = unit; drv.Digest(snap, t.desired) != t.plan.Base {
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

// passTo passes what earlier runs left on a device to its driver: the run that was cut off, and
// the ports that are down and that desired raises, or all of them if desired is nil. The
// driver calls record with the ports that go down and come up.
func (l leftover) passTo(drv drivers.Driver, desired drivers.Desired, record func(down, up []string) error) {
	r, ok := drv.(drivers.Resumer)
	if !ok {
		return
	}
	out := drivers.Leftover{Down: map[string]string{}, Record: record}
	if l.CutOff != nil {
		out.Run = l.CutOff.ID
	}
	for name, run := range l.Down {
		if desired == nil || desired.Raises(name) {
			out.Down[name] = run
		}
	}
	r.Resume(out)
}

// settle waits until a device has processed the writes of a run that was cut off, if it does
// so without the sender.
func (l leftover) settle(ctx context.Context, p Progress, ph Phase, drv drivers.Driver, device string) error {
	s, ok := drv.(drivers.Settler)
	if !ok {
		return nil
	}
	defer p.ReportLongWork(ph, drv, device, fmt.Sprintf("waiting for the device to finish the writes of run %s, which was cut off", l.CutOff.ID), "")()
	return s.Settle(ctx)
}

// unfit returns the error for a device that is not as intended for reasons that a run cannot
// fix. It does not stop the run.
func unfit(why string) *Error { return engine.ErrorOf("", OpApply, KindUnfit, errors.New(why)) }

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
