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
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
)

// State is what became of a device.
type State string

// The states.
const (
	Unchanged State = "unchanged" // it was as intended before
	Applied   State = "applied"   // it is as intended now
	Blocked   State = "blocked"   // the plan holds a change that cannot be made; nothing was written
	Refused   State = "refused"   // stale, not ready, or more impact than allowed; nothing was written
	Failed    State = "failed"    // an error before anything was written
	Reverted  State = "reverted"  // an error, and it is as it was before
	Partial   State = "partial"   // an error, and it is neither as it was nor as intended
	Unsaved   State = "unsaved"   // it is as intended, and cannot be saved
	Skipped   State = "skipped"   // the run stopped before it
	LeftOut   State = "left-out"  // it could not be reached, and the run was to go on without such devices
	Restored  State = "restored"  // as it was before an earlier run
)

// Outcome is the result on one device.
type Outcome struct {
	Device string        `json:"device"`
	State  State         `json:"state"`
	Steps  int           `json:"steps"` // native steps carried out
	Took   time.Duration `json:"took_ns"`
	// Gate is the one that the device passed before it was confirmed; "" for none.
	Gate GateMode `json:"gate,omitempty"`
	// Error is why the device is not as it was to be.
	*Error
	// Left says, a line each, what of the device is not as intended and was no
	// work for the run: another user's, not to be read, refused by the device,
	// or what of it could not be confirmed.
	Left []string `json:"left,omitempty"`
	// Resets are what of the device waits for a reset.
	Resets []drivers.Reset `json:"resets,omitempty"`

	unit drivers.Unit // of a device that was read and is as intended
}

// task is a device and what is to be done on it.
type task struct {
	Device
	plan    *DevicePlan
	desired drivers.Desired
	steps   string // digest of the plan's
	hold    time.Duration
	// plain is the device without an interim run, nil where there is none.
	plain *Device
}

// run is an apply or a rollback.
type run struct {
	RunOptions
	id      string
	allow   qos.Impact
	accepts bool // warnings of devices
	devices map[string]Device
	plain   map[string]Device // without the interim run of the plan; nil where it has none
	journal *journal          // nil for a run without a write
	plan    string            // digest of the plan that it carries out
	audit   *audit
	// approved names who approved of it; "" for nobody.
	approved string
	request  ApprovalRequest // that was approved
}

func (o RunOptions) withDefaults() RunOptions {
	o.AppliedTimeout = cmp.Or(o.AppliedTimeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// errStopped says that a run did not go to its end.
var errStopped = errors.New("run stopped")

// each works through waves of devices, with as many workers as there are writers, and
// returns one outcome a device, in the order of the waves. do may leave a device pending:
// it is confirmed, or reverted, when its wave has passed the gate. After an error that do
// returns in addition to an outcome no further device is begun; those at work are ended.
// The error is errStopped or the journal's.
func (r *run) each(ctx context.Context, waves []Wave, do func(ctx context.Context, device string, out *Outcome) (*pending, error)) (outs []Outcome, err error) {
	devices := 0
	for _, w := range waves {
		devices += len(w.Devices)
	}
	defer r.Progress.phase(Writing, devices)()
	ctx, cancel := r.journal.guard(ctx)
	defer cancel()
	e := &effort{run: r, gate: r.newGated(waves), do: do, locks: map[string]store.Lock{}}
	e.over, e.end = context.WithCancelCause(context.Background())
	defer e.end(nil)
	if err := e.gate.baseline(ctx, waves); err != nil {
		e.end(fmt.Errorf("%w before its first wave: %w", errStopped, err))
		e.why = NewError("", OpGate, err)
	}
	for i, w := range waves {
		if len(w.Devices) == 0 {
			continue
		}
		if e.over.Err() == nil && w.Kind != "" {
			if err := r.approveWave(ctx, w, i, len(waves)-1); err != nil {
				e.why = NewError("", OpJudge, err)
				e.end(fmt.Errorf("%w between two waves: %w", errStopped, err))
			}
		}
		if e.over.Err() == nil && w.Kind != "" {
			r.Progress.report(Event{Kind: WaveBegins, Phase: Writing, Devices: len(w.Devices), Text: natural.Fold(w.Devices), I: i - 1, N: len(waves) - 1})
			if err := r.journal.Write(entry{Event: "wave", Wave: w.brief()}); err != nil {
				e.end(err)
			}
		}
		more, stopped := e.wave(ctx, w)
		outs, err = append(outs, more...), cmp.Or(err, stopped)
	}
	return outs, cmp.Or(err, context.Cause(e.over))
}

// effort is the work on waves.
type effort struct {
	*run
	gate *gated
	do   func(ctx context.Context, device string, out *Outcome) (*pending, error)
	// over ends when no further device is to begin; why is the reason that the devices
	// do not have themselves.
	over context.Context
	end  context.CancelCauseFunc
	why  *Error

	mu    sync.Mutex
	locks map[string]store.Lock // of the devices at work
}

// lock takes the lock of a device, which close gives back.
func (e *effort) lock(ctx context.Context, device string) error {
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

// guard ends a context when the lock of a device is lost.
func (e *effort) guard(ctx context.Context, device string) (context.Context, context.CancelFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if l := e.locks[device]; l != nil {
		return l.Guard(ctx)
	}
	return ctx, func() {}
}

func (e *effort) unlock(device string) {
	e.mu.Lock()
	l := e.locks[device]
	delete(e.locks, device)
	e.mu.Unlock()
	if l != nil {
		_ = l.Release() // one that cannot be given back runs out
	}
}

// wave works on one wave.
func (e *effort) wave(ctx context.Context, w Wave) ([]Outcome, error) {
	type work struct {
		Outcome
		*pending
	}
	var was map[string]seen
	if e.over.Err() == nil {
		var err error
		if was, err = e.gate.before(ctx, w); err != nil {
			e.why = NewError("", OpGate, err)
			e.end(fmt.Errorf("%w before a wave: %w", errStopped, err))
		}
	}
	var all []work
	err := pool.Ordered(ctx, e.Writers, w.Devices, func(ctx context.Context, device string) work {
		out, p := e.start(ctx, device)
		if p != nil && was == nil {
			e.finish(ctx, p, &out, nil)
			p, out.Gate = nil, "" // it did not look at this wave
		}
		if p == nil {
			e.close(out)
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
			bad = e.gate.pass(ctx, w, was)
		}
		if bad != nil {
			e.end(fmt.Errorf("%w by the gate: %w", errStopped, bad))
			slices.Reverse(open) // the last one first
		}
		err = cmp.Or(err, pool.Ordered(ctx, e.Writers, open, func(ctx context.Context, one work) work {
			e.finish(ctx, one.pending, &one.Outcome, bad)
			e.close(one.Outcome)
			return one
		}, func(one work) error {
			all[slices.IndexFunc(all, func(w work) bool { return w.Device == one.Device })] = one
			return nil
		}))
	}
	if len(open) == 0 && was != nil && slices.ContainsFunc(all, func(one work) bool { return one.State == Restored }) {
		bad := cmp.Or(err, context.Cause(ctx))
		if bad == nil {
			bad = e.gate.pass(ctx, w, was)
		}
		if bad != nil {
			e.end(fmt.Errorf("%w by the gate: %w", errStopped, bad))
			e.why = NewError("", OpGate, bad)
		}
	}
	var outs []Outcome
	for _, one := range all {
		outs = append(outs, one.Outcome)
	}
	return outs, err
}

// start works on a device until it is pending, or done.
func (e *effort) start(ctx context.Context, device string) (Outcome, *pending) {
	out, start := Outcome{Device: device, State: Skipped, Error: e.why}, time.Now()
	if ctx.Err() != nil {
		e.end(fmt.Errorf("%w: %w", errStopped, context.Cause(ctx)))
	}
	if err := e.stillInWindow(); err != nil && e.over.Err() == nil {
		out.Error = NewError(device, OpJudge, err)
		e.end(fmt.Errorf("%w before %s: %w", errStopped, device, err))
	}
	if e.over.Err() != nil {
		return out, nil
	}
	e.Progress.report(Event{Kind: DeviceBegins, Phase: Writing, Device: device})
	if most := e.deviceTimeout(); most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, fmt.Errorf("deviceTimeout of the rollout: %w", context.DeadlineExceeded))
		defer cancel()
	}
	if err := e.lock(ctx, device); err != nil {
		out.State, out.Error = Failed, NewError(device, OpConnect, err)
		e.end(fmt.Errorf("%w at %s: %w", errStopped, device, err))
		return out, nil
	}
	ctx, stop := e.guard(ctx, device)
	defer stop()
	p, err := e.do(ctx, device, &out)
	if out.Took = time.Since(start); err != nil {
		e.end(fmt.Errorf("%w at %s: %w", errStopped, device, err))
	}
	return out, p
}

// deviceTimeout bounds the work on a device; 0 is no bound.
func (e *effort) deviceTimeout() time.Duration {
	if e.Fabric == nil {
		return 0
	}
	return e.Fabric.Rollout.DeviceTimeout.V
}

// close records what became of a device.
func (e *effort) close(out Outcome) {
	e.unlock(out.Device)
	if err := errors.Join(e.journal.record(out), e.audit.device(out)); err != nil {
		e.end(err)
	}
	e.Progress.report(Event{Kind: DeviceEnds, Phase: Writing, Device: out.Device, Error: out.Error, State: out.State})
}

// finish confirms a device that is pending, or reverts it for a reason.
func (e *effort) finish(ctx context.Context, p *pending, out *Outcome, bad error) {
	defer func() { _ = p.drv.Close() }() // a session that does not close cleanly changes nothing about the state
	ctx, stop := e.guard(ctx, p.Name)
	defer stop()
	err := bad
	if err == nil && e.gate != nil {
		// The gate takes minutes, in which a device may restart.
		if _, _, err = inForce(ctx, p.drv, p.facts, p.task, p.blind); err != nil {
			err = NewError("", OpVerify, err)
		}
	}
	if err == nil {
		err = p.drv.Confirm(ctx, p.token)
		var unsaved *Error
		if errors.Is(err, drivers.ErrNoSave) { // a revert would not help
			unsaved, err = NewError(out.Device, OpSave, err), nil
		}
		if err == nil {
			err = e.lasts(ctx, p, false)
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
		e.end(fmt.Errorf("%w at %s: %w", errStopped, out.Device, err))
	}
}

// pending is a device that holds what was written, read back, and not confirmed.
type pending struct {
	task
	drv   drivers.Driver
	token *drivers.Token
	unfit string
	facts drivers.Facts
	blind bool // the device showed nothing of what was in force before either
}

// revert undoes what was written. It must not end with the run: Ctrl-C has to leave the
// device in one of two known states. Whoever has lost the lock writes nothing more: the next
// run finds the device as one that this run was cut off at.
func (r *run) revert(ctx context.Context, p *pending, why error) (State, error) {
	ctx, cancel := p.revertTime(ctx)
	defer cancel()
	if ctx.Err() != nil {
		return Partial, fmt.Errorf("%w; and it was not reverted: %w", why, context.Cause(ctx))
	}
	defer r.Progress.long(Writing, p.drv, p.Name, "reverting", oneLine(why))()
	if err := p.drv.Revert(ctx, p.token); err != nil {
		return Partial, fmt.Errorf("%w; and the revert also failed: %w", why, err)
	}
	if err := r.lasts(ctx, p, true); err != nil {
		return Partial, fmt.Errorf("%w; and it was not reverted: %w", why, err)
	}
	return Reverted, why
}

// apply works on a device that was judged. A device that could not be planned stops
// nothing.
func (r *run) apply(ctx context.Context, out *Outcome, judged Outcome, find func() (task, error)) (p *pending, err error) {
	if judged.Error != nil {
		*out = judged
		return nil, nil
	}
	t, err := find()
	if out.State = Failed; err == nil {
		p, out.State, out.Steps, err = r.device(ctx, t, out)
	}
	if out.Error = NewError(out.Device, OpApply, err); err == nil || out.State == Unsaved || out.Error.Kind == KindUnfit {
		return p, nil
	}
	return nil, err
}

// readAsPlanned reads a device, which must be in the state that was planned for,
// once it has done what a run that was cut off sent it. cutOff reports whether
// there was one.
func (r *run) readAsPlanned(ctx context.Context, drv drivers.Driver, t task) (f drivers.Facts, _ *drivers.Snapshot, cutOff bool, err error) {
	if err := r.inherit(drv); err != nil {
		return f, nil, false, err
	}
	if f, err = drv.Probe(ctx); err != nil {
		return f, nil, false, NewError("", OpRead, err)
	}
	left, err := r.journal.left(t.Name)
	if err != nil {
		return f, nil, false, err
	}
	left = left.on(t.Name, f)
	left.tell(drv, t.desired, r.journal.ports(t.Name))
	if left.CutOff != nil {
		if err := r.Progress.settle(ctx, Writing, drv, t.Name, left); err != nil {
			return f, nil, true, NewError("", OpSettle, err)
		}
	}
	snap, err := r.readPlanned(ctx, drv, &f, t)
	return f, snap, left.CutOff != nil, err
}

// inherit tells a driver which runs have ended.
func (r *run) inherit(drv drivers.Driver) error {
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

// device works on one device until it is pending: it holds what was written, and that is
// in force. out takes what stays open on it.
func (r *run) device(ctx context.Context, t task, out *Outcome) (made *pending, _ State, steps int, err error) {
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
	// To confirm or save would be a change to a switch of which nothing is managed.
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
		out.unit = facts.Unit
		state, steps, err := keep(ctx, k)
		return nil, state, steps, err
	}
	todo, state, err := r.planned(drv, facts, snap, t)
	if err != nil {
		return nil, state, 0, err
	}
	// The journal of a run that was cut off may be on another machine.
	if _, ok := drv.(drivers.Settler); ok && !cutOff {
		if err := drv.(drivers.Settler).Settle(ctx); err != nil {
			return nil, Failed, 0, NewError("", OpSettle, err)
		}
		if snap, err = r.readPlanned(ctx, drv, &facts, t); err != nil {
			return nil, unwritten(err), 0, err
		}
	}
	return r.write(ctx, drv, facts, snap, todo, t, out)
}

// write writes to a device that is in the state that was planned for, and reads it back.
func (r *run) write(ctx context.Context, drv drivers.Driver, facts drivers.Facts, snap *drivers.Snapshot, todo *drivers.Steps, t task, out *Outcome) (_ *pending, _ State, steps int, err error) {
	p := t.plan
	// A device that shows nothing of what is in force before the change proves
	// nothing by showing nothing after it; one that did has lost its daemons.
	blind, err := r.ready(ctx, drv, snap, &t, t.waits)
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
			r.Progress.report(Event{Kind: DeviceSays, Phase: Writing, Device: p.Name, Text: text})
		},
		Token: func(undo *drivers.Token) error {
			return r.journal.Write(entry{Device: p.Name, Event: "undo", Undo: undo})
		},
		Progress: func(i, n int, s drivers.Step) {
			steps = i + 1
			r.step(p.Name, s, i, n)
		},
	})
	if err == nil {
		var now *drivers.Steps
		var unseen error
		if now, unseen, err = r.verify(ctx, drv, facts, t, blind); err == nil {
			out.Left, out.Resets = now.Left, now.Resets
			if unseen != nil {
				out.Left = append(out.Left, fmt.Sprintf("could not confirm that it is in force: %s", oneLine(unseen)))
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

// step takes in that a request to a device begins. An audit log that cannot be written
// in the middle of a device ends the run after it.
func (r *run) step(device string, s drivers.Step, i, n int) {
	_ = r.audit.request(device, s, i, n) // as does the record of the device
	r.Progress.report(Event{Kind: StepBegins, Phase: Writing, Device: device, Step: s, I: i, N: n})
}

// readPlanned reads a device, which must be the one and in the state that was planned for. It
// sets the unit of the facts to the one to record.
func (r *run) readPlanned(ctx context.Context, drv drivers.Driver, f *drivers.Facts, t task) (*drivers.Snapshot, error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, NewError("", OpRead, err)
	}
	unit, err := r.identify(ctx, drv, *f, snap, t.Device)
	if err != nil {
		return nil, err
	}
	if what := otherUnit("the plan", t.plan.Facts.Unit, unit); what != "" {
		return nil, fmt.Errorf("%w: %s", drivers.ErrStale, what)
	}
	if f.Unit = unit; drv.Digest(snap, t.desired) != t.plan.Base {
		return nil, drivers.ErrStale
	}
	return snap, nil
}

// unwritten is the state of a device to which nothing was written.
func unwritten(err error) State {
	if errors.Is(err, drivers.ErrStale) || errors.Is(err, drivers.ErrNotReady) || isMistaken(err) {
		return Refused
	}
	return Failed
}

// tell tells a driver what earlier runs left on its device: the ports that the
// intent has and leaves the admin state of alone, all ports where desired is nil.
// record is called with the ports that go down and come up.
func (l leftover) tell(drv drivers.Driver, desired drivers.Desired, record func(down, up []string) error) {
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

// settle waits until a device has done what a run that was cut off sent it, where it goes
// on without the sender.
func (p Progress) settle(ctx context.Context, ph Phase, drv drivers.Driver, device string, l leftover) error {
	s, ok := drv.(drivers.Settler)
	if !ok {
		return nil
	}
	defer p.long(ph, drv, device, fmt.Sprintf("waiting until it has done what run %s, which was cut off, sent it", l.CutOff.ID), "")()
	return s.Settle(ctx)
}

// unfit says that a device is not as intended for reasons that are no work for a
// run. It does not stop the run.
func unfit(why string) *Error { return errorAs("", OpApply, KindUnfit, errors.New(why)) }

// keep makes what an earlier run left unconfirmed or unsaved last, on a device
// that holds what is desired.
func keep(ctx context.Context, k drivers.Keeper) (State, int, error) {
	kept, err := k.Keep(ctx)
	if err != nil {
		err = NewError("", OpSave, err)
	}
	switch {
	case errors.Is(err, drivers.ErrUnsaved):
		// Nothing was written, so that nothing is wrong with the plan.
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
