package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/pool"
)

// State is what became of a device.
type State string

// The states.
const (
	Unchanged State = "unchanged" // it was as intended before
	Applied   State = "applied"   // it is as intended now
	Blocked   State = "blocked"   // the plan holds a change that cannot be made; nothing was written
	Refused   State = "refused"   // stale, or more impact than allowed; nothing was written
	Failed    State = "failed"    // an error before anything was written
	Reverted  State = "reverted"  // an error, and it is as it was before
	Partial   State = "partial"   // an error, and it is neither as it was nor as intended
	Unsaved   State = "unsaved"   // it is as intended, was so before, and cannot be saved
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
	// Error is why the device is not as it was to be.
	*Error
	// Left says, a line each, what of the device is not as intended and was no
	// work for the run: another user's, not to be read, refused by the device,
	// or what of it could not be confirmed.
	Left []string `json:"left,omitempty"`
}

// task is a device and what is to be done on it.
type task struct {
	Device
	plan    *DevicePlan
	desired drivers.Desired
	steps   string // digest of the plan's
}

// run is an apply or a rollback.
type run struct {
	RunOptions
	id      string
	allow   qos.Impact
	devices map[string]Device
	journal *journal // nil for a run without a write
	plan    string   // digest of the plan that it carries out
	audit   *audit
	// approved names who approved of it; "" for nobody.
	approved string
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

// each works through devices, in order, with as many workers as there are writers,
// and returns one outcome a device. After an error that do returns in addition to an outcome
// no further device is begun; those at work are ended. The error is errStopped or the
// journal's.
func (r *run) each(ctx context.Context, devices []string, do func(ctx context.Context, i int, out *Outcome) error) (outs []Outcome, _ error) {
	defer r.Progress.phase(Writing, len(devices))()
	ctx, cancel := r.journal.guard(ctx)
	defer cancel()
	over, end := context.WithCancelCause(context.Background())
	defer end(nil)
	todo := make([]int, len(devices))
	for i := range todo {
		todo[i] = i
	}
	err := pool.Ordered(ctx, r.Writers, todo, func(ctx context.Context, i int) Outcome {
		out, start := Outcome{Device: devices[i], State: Skipped}, time.Now()
		if ctx.Err() != nil {
			end(fmt.Errorf("%w: %w", errStopped, context.Cause(ctx)))
		}
		if err := r.stillInWindow(); err != nil && over.Err() == nil {
			out.Error = NewError(out.Device, OpJudge, err)
			end(fmt.Errorf("%w before %s: %w", errStopped, out.Device, err))
		}
		if over.Err() == nil {
			r.Progress.report(Event{Kind: DeviceBegins, Phase: Writing, Device: out.Device})
			if err := do(ctx, i, &out); err != nil {
				end(fmt.Errorf("%w at %s: %w", errStopped, out.Device, err))
			}
			out.Took = time.Since(start)
		}
		if err := errors.Join(r.journal.record(out), r.audit.device(out)); err != nil {
			end(err)
		}
		r.Progress.report(Event{Kind: DeviceEnds, Phase: Writing, Device: out.Device, Error: out.Error, State: out.State})
		return out
	}, func(out Outcome) error {
		outs = append(outs, out)
		return nil
	})
	return outs, cmp.Or(err, context.Cause(over))
}

// apply works on a device that was judged. A device that could not be planned stops
// nothing.
func (r *run) apply(ctx context.Context, out *Outcome, judged Outcome, find func() (task, error)) error {
	if judged.Error != nil {
		*out = judged
		return nil
	}
	t, err := find()
	if out.State = Failed; err == nil {
		out.State, out.Steps, err = r.device(ctx, t, &out.Left)
	}
	if out.Error = NewError(out.Device, OpApply, err); err == nil || out.State == Unsaved || out.Error.Kind == KindUnfit {
		return nil
	}
	return err
}

// readAsPlanned reads a device, which must be in the state that was planned for,
// once it has done what a run that was cut off sent it. cutOff reports whether
// there was one.
func (r *run) readAsPlanned(ctx context.Context, drv drivers.Driver, t task) (f drivers.Facts, _ *drivers.Snapshot, cutOff bool, err error) {
	if h, ok := drv.(drivers.Heir); ok {
		past, err := r.journal.others()
		if err != nil {
			return f, nil, false, err
		}
		h.Inherit(past)
	}
	if f, err = drv.Probe(ctx); err != nil {
		return f, nil, false, NewError("", OpRead, err)
	}
	left, err := r.journal.left(t.Name)
	if err != nil {
		return f, nil, false, err
	}
	left.tell(drv, t.desired, r.journal.ports(t.Name))
	if left.CutOff != nil {
		if err := settle(ctx, drv); err != nil {
			return f, nil, true, NewError("", OpSettle, err)
		}
	}
	snap, err := readPlanned(ctx, drv, t)
	return f, snap, left.CutOff != nil, err
}

// device works on one device. left is what stays open on one that was applied.
func (r *run) device(ctx context.Context, t task, left *[]string) (_ State, steps int, err error) {
	p := t.plan
	drv, err := t.Open(ctx)
	if err != nil {
		return Failed, 0, NewError("", OpConnect, err)
	}
	// A session that does not close cleanly changes nothing about the state.
	defer func() { _ = drv.Close() }()
	k, keeps := drv.(drivers.Keeper)
	// To confirm or save would be a change to a switch of which nothing is managed.
	if len(p.Steps) == 0 && (!keeps || t.desired.Empty()) {
		*left = p.Left
		if p.Unfit != "" {
			return Blocked, 0, unfit(p.Unfit)
		}
		return Unchanged, 0, nil
	}
	facts, snap, cutOff, err := r.readAsPlanned(ctx, drv, t)
	if err != nil {
		return unwritten(err), 0, err
	}
	if len(p.Steps) == 0 {
		return keep(ctx, k)
	}
	todo, state, err := r.planned(drv, facts, snap, t)
	if err != nil {
		return state, 0, err
	}
	// The journal of a run that was cut off may be on another machine.
	if _, ok := drv.(drivers.Settler); ok && !cutOff {
		if err := settle(ctx, drv); err != nil {
			return Failed, 0, NewError("", OpSettle, err)
		}
		if snap, err = readPlanned(ctx, drv, t); err != nil {
			return unwritten(err), 0, err
		}
	}
	// A device that shows nothing of what is in force before the change proves
	// nothing by showing nothing after it; one that did has lost its daemons.
	_, before := drv.Applied(ctx, t.desired)
	if err := r.journal.Write(entry{Device: p.Name, Event: "start", Steps: len(p.Steps), Base: p.Base}); err != nil {
		return Failed, 0, err
	}
	token, err := drv.Apply(ctx, snap, todo, drivers.ApplyOptions{
		ID: r.id,
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
		if now, unseen, err = r.verify(ctx, drv, facts, t, errors.Is(before, drivers.ErrNoState)); err != nil {
			err = NewError("", OpVerify, err)
		} else {
			if err = drv.Confirm(ctx, token); err == nil {
				*left = now.Left
				if unseen != nil {
					*left = append(*left, fmt.Sprintf("could not confirm that it is in force: %s", oneLine(unseen)))
				}
				if now.Unfit != "" {
					return Partial, steps, unfit(now.Unfit)
				}
				return Applied, steps, nil
			}
			err = NewError("", OpConfirm, err)
		}
	}
	if token == nil {
		return unwritten(err), steps, err
	}
	// The revert must not end with the run: Ctrl-C has to leave the device in one of
	// two known states.
	rctx, cancel := t.revertTime(ctx)
	defer cancel()
	if rerr := drv.Revert(rctx, token); rerr != nil {
		return Partial, steps, fmt.Errorf("%w; and the revert also failed: %w", err, rerr)
	}
	return Reverted, steps, err
}

// step takes in that a request to a device begins. An audit log that cannot be written
// in the middle of a device ends the run after it.
func (r *run) step(device string, s drivers.Step, i, n int) {
	_ = r.audit.request(device, s, i, n) // as does the record of the device
	r.Progress.report(Event{Kind: StepBegins, Phase: Writing, Device: device, Step: s, I: i, N: n})
}

// readPlanned reads a device that must be in the state that was planned for.
func readPlanned(ctx context.Context, drv drivers.Driver, t task) (*drivers.Snapshot, error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, NewError("", OpRead, err)
	}
	if drv.Digest(snap, t.desired) != t.plan.Base {
		return nil, drivers.ErrStale
	}
	return snap, nil
}

// unwritten is the state of a device to which nothing was written.
func unwritten(err error) State {
	if errors.Is(err, drivers.ErrStale) {
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

// settle waits until the device has done what it was sent, where it goes on
// without the sender.
func settle(ctx context.Context, drv drivers.Driver) error {
	if s, ok := drv.(drivers.Settler); ok {
		return s.Settle(ctx)
	}
	return nil
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

// verify reads the device back until a plan for it has nothing left to do and its
// daemons have taken up what is configured, for at most AppliedTimeout: they work on
// their own time, and some of what is read back is theirs. It returns that plan.
// unseen is why the device does not show what they have taken up; nil where it does.
// blind says that the device had nothing to show before the change either.
func (r *run) verify(ctx context.Context, drv drivers.Driver, f drivers.Facts, t task, blind bool) (now *drivers.Steps, unseen, err error) {
	deadline := time.NewTimer(r.AppliedTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		now, unseen, err = inForce(ctx, drv, f, t, blind)
		if err == nil {
			return now, unseen, nil
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		case <-deadline.C:
		}
		return nil, nil, err
	}
}

func inForce(ctx context.Context, drv drivers.Driver, f drivers.Facts, t task, blind bool) (now *drivers.Steps, unseen, err error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read back: %w", drivers.ErrPartial, err)
	}
	if now, err = drv.Plan(f, snap, t.desired, t.plan.Policy); err != nil {
		return nil, nil, fmt.Errorf("%w: plan again: %w", drivers.ErrPartial, err)
	}
	if left := slices.DeleteFunc(slices.Clone(now.Changes), func(c qos.Change) bool { return c.Open }); len(left) > 0 {
		return nil, nil, fmt.Errorf("%w: read back, %d values differ from the intent, first %s: %s, not %s", drivers.ErrPartial, len(left), left[0].Path(), left[0].Old, left[0].New)
	}
	if n := len(now.Items); n > 0 {
		return nil, nil, fmt.Errorf("%w: read back, %d steps are left, first: %s", drivers.ErrPartial, n, now.Items[0].What)
	}
	bad, err := drv.Applied(ctx, t.desired)
	switch {
	case errors.Is(err, drivers.ErrUnsupported), blind && errors.Is(err, drivers.ErrNoState):
		return now, err, nil
	case err != nil:
		return nil, nil, fmt.Errorf("%w: read what is in force: %w", drivers.ErrPartial, err)
	}
	if bad = slices.DeleteFunc(bad, func(m drivers.Mismatch) bool { return m.Unsure || m.Slow }); len(bad) > 0 {
		m := bad[0]
		return nil, nil, fmt.Errorf("%w: configured and not in force: %s (%d more)", drivers.ErrPartial, strings.TrimSpace(m.Port+" "+m.What())+": "+m.Have+", not "+m.Want, len(bad)-1)
	}
	return now, nil, nil
}
