package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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
	Skipped   State = "skipped"   // the rollout stopped before it
	Restored  State = "restored"  // as it was before an earlier run
)

// Outcome is the result on one device.
type Outcome struct {
	Device string        `json:"device"`
	State  State         `json:"state"`
	Steps  int           `json:"steps"` // native steps carried out
	Took   time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"`
	Err    error         `json:"-"`
	// Left says, a line each, what of the device is not as intended and was no
	// work for the run: another user's, not to be read, refused by the device,
	// or what of it could not be confirmed.
	Left []string `json:"left,omitempty"`
}

// Job is one device to work on.
type Job struct {
	Plan    *DevicePlan
	Open    func(context.Context) (drivers.Driver, error)
	Desired drivers.Desired
}

// RunOptions tune a rollout.
type RunOptions struct {
	ID string // names the run
	// MaxImpact is the largest impact that the operator allows.
	MaxImpact qos.Impact
	Journal   *Journal
	// Workers is how many devices of a wave are worked on at a time; 0 is one.
	Workers int
	// Gate is asked after each wave whether the next may start; nil says yes.
	Gate func(context.Context, []Outcome) error
	// Progress is called with each step, for several devices at a time where there
	// are several workers; nil is silence.
	Progress func(device string, i, n int, s drivers.Step)
	// Desired is what the intent asks of a device that a [Rollback] is about: its
	// undo record is checked against that. nil checks none.
	Desired func(device string) drivers.Desired
	// Policy bounds what a [Rollback] may disturb at once on a device; nil takes
	// the bounds that its undo record states.
	Policy func(device string) drivers.Policy
	// RevertTimeout bounds the revert of one device, also after Ctrl-C; 0 is 15
	// minutes.
	RevertTimeout time.Duration
	// AppliedTimeout bounds the wait for the daemons of a device to take up
	// what was written; 0 is 30 s.
	AppliedTimeout time.Duration
}

func (o RunOptions) withDefaults() RunOptions {
	o.RevertTimeout = cmp.Or(o.RevertTimeout, 15*time.Minute)
	o.AppliedTimeout = cmp.Or(o.AppliedTimeout, 30*time.Second)
	return o
}

// ErrStopped says that a rollout did not go to its end.
var ErrStopped = errors.New("rollout stopped")

// errUnfit says that a device is not as intended for reasons that are no work for
// a run. It does not stop the run.
type errUnfit struct{ device, why string }

func (e errUnfit) Error() string { return e.device + ": " + e.why }

// stopper remembers the first reason to begin no further device. It is safe for
// concurrent use.
type stopper struct {
	mu  sync.Mutex
	err error
}

func (s *stopper) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

func (s *stopper) stopped() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Run works through waves of jobs, in order, and through the devices of a wave with
// as many workers as there are. It always returns one outcome a job, in their
// order. After a failure no further device is begun; those at work are ended. A
// device that could not be planned is no such failure: callers that want all or none
// call Judge first. The error is ErrStopped, a gate's or a journal's.
func Run(ctx context.Context, waves [][]Job, o RunOptions) ([]Outcome, error) {
	o = o.withDefaults()
	var all []Outcome
	var end stopper
	for _, wave := range waves {
		var outs []Outcome
		end.stop(pool.Ordered(ctx, o.Workers, wave, func(ctx context.Context, j Job) Outcome {
			return runOne(ctx, j, o, &end)
		}, func(out Outcome) error {
			outs = append(outs, out)
			return nil
		}))
		if end.stopped() == nil && o.Gate != nil {
			end.stop(o.Gate(ctx, outs))
		}
		all = append(all, outs...)
	}
	return all, end.stopped()
}

func runOne(ctx context.Context, j Job, o RunOptions, end *stopper) Outcome {
	if ctx.Err() != nil {
		end.stop(fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx)))
	}
	if end.stopped() != nil {
		end.stop(o.Journal.Write(Record{Device: j.Plan.Name, Event: string(Skipped)}))
		return Outcome{Device: j.Plan.Name, State: Skipped}
	}
	start := time.Now()
	var left []string
	state, steps, err := device(ctx, j, o, &left)
	out := outcome(j.Plan.Name, state, err)
	out.Steps, out.Left, out.Took = steps, left, time.Since(start)
	noPlan := j.Plan.Err != nil || j.Plan.Error != ""
	if err := o.Journal.Write(Record{Device: out.Device, Event: string(out.State), Error: out.Error}); err != nil {
		end.stop(err)
	} else if out.Err != nil && !noPlan && out.State != Unsaved && !errors.As(out.Err, new(errUnfit)) {
		end.stop(fmt.Errorf("%w at %s", ErrStopped, out.Device))
	}
	return out
}

// oneLine says an error in one line, also one that was joined of several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// readAsPlanned reads a device, which must be in the state that was planned for,
// once it has done what a run that was cut off sent it. cutOff reports whether
// there was one.
func readAsPlanned(ctx context.Context, drv drivers.Driver, j Job, o RunOptions) (f drivers.Facts, _ *drivers.Snapshot, cutOff bool, err error) {
	if h, ok := drv.(drivers.Heir); ok {
		past, err := o.Journal.others()
		if err != nil {
			return f, nil, false, err
		}
		h.Inherit(past)
	}
	if f, err = drv.Probe(ctx); err != nil {
		return f, nil, false, err
	}
	left, err := o.Journal.left(j.Plan.Name)
	if err != nil {
		return f, nil, false, err
	}
	left.Tell(drv, j.Desired, o.Journal.ports(j.Plan.Name))
	if left.CutOff != nil {
		if err := Settle(ctx, drv); err != nil {
			return f, nil, true, err
		}
	}
	snap, err := readPlanned(ctx, drv, j)
	return f, snap, left.CutOff != nil, err
}

// device works on one device. left is what stays open on one that was applied.
func device(ctx context.Context, j Job, o RunOptions, left *[]string) (_ State, steps int, err error) {
	p := j.Plan
	if state, err := judge(p, o.MaxImpact); err != nil {
		return state, 0, err
	}
	drv, err := j.Open(ctx)
	if err != nil {
		return Failed, 0, err
	}
	// A session that does not close cleanly changes nothing about the state.
	defer func() { _ = drv.Close() }()
	k, keeps := drv.(drivers.Keeper)
	// To confirm or save would be a change to a switch of which nothing is managed.
	if len(p.Steps) == 0 && (!keeps || j.Desired.Empty()) {
		*left = p.Left
		if p.Unfit != "" {
			return Blocked, 0, errUnfit{p.Name, p.Unfit}
		}
		return Unchanged, 0, nil
	}
	facts, snap, cutOff, err := readAsPlanned(ctx, drv, j, o)
	if err != nil {
		return unwritten(err), 0, err
	}
	if len(p.Steps) == 0 {
		return keep(ctx, k)
	}
	todo, state, err := planned(drv, facts, snap, j, StepsDigest(p.Steps), o)
	if err != nil {
		return state, 0, err
	}
	// The journal of a run that was cut off may be on another machine.
	if _, ok := drv.(drivers.Settler); ok && !cutOff {
		if err := Settle(ctx, drv); err != nil {
			return Failed, 0, err
		}
		if snap, err = readPlanned(ctx, drv, j); err != nil {
			return unwritten(err), 0, err
		}
	}
	// A device that shows nothing of what is in force before the change proves
	// nothing by showing nothing after it; one that did has lost its daemons.
	_, before := drv.Applied(ctx, j.Desired)
	if err := o.Journal.Write(Record{Device: p.Name, Event: "start", Steps: len(p.Steps), Base: p.Base}); err != nil {
		return Failed, 0, err
	}
	token, err := drv.Apply(ctx, snap, todo, drivers.ApplyOptions{
		ID:    o.ID,
		Token: func(t *drivers.Token) error { return o.Journal.Write(Record{Device: p.Name, Event: "undo", Undo: t}) },
		Progress: func(i, n int, s drivers.Step) {
			steps = i + 1
			if o.Progress != nil {
				o.Progress(p.Name, i, n, s)
			}
		},
	})
	if err == nil {
		var now *drivers.Steps
		var unseen error
		if now, unseen, err = verify(ctx, drv, facts, j, o, errors.Is(before, drivers.ErrNoState)); err == nil {
			if err = drv.Confirm(ctx, token); err == nil {
				*left = now.Left
				if unseen != nil {
					*left = append(*left, fmt.Sprintf("could not confirm that it is in force: %s", strings.TrimPrefix(oneLine(unseen), p.Name+": ")))
				}
				if now.Unfit != "" {
					return Partial, steps, errUnfit{p.Name, now.Unfit}
				}
				return Applied, steps, nil
			}
		}
	}
	if token == nil {
		return unwritten(err), steps, err
	}
	// Taking back must not end with the run: Ctrl-C has to leave the device in
	// one of two known states.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.RevertTimeout)
	defer cancel()
	if rerr := drv.Revert(rctx, token); rerr != nil {
		return Partial, steps, fmt.Errorf("%w; and the revert also failed: %w", err, rerr)
	}
	return Reverted, steps, err
}

// readPlanned reads a device that must be in the state that was planned for.
func readPlanned(ctx context.Context, drv drivers.Driver, j Job) (*drivers.Snapshot, error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, err
	}
	if drv.Digest(snap, j.Desired) != j.Plan.Base {
		return nil, fmt.Errorf("%s: %w", j.Plan.Name, drivers.ErrStale)
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

// Tell tells a driver what earlier runs left on its device: the ports that the
// intent has and leaves the admin state of alone, all ports where desired is nil.
// record is called with the ports that go down and come up.
func (l Left) Tell(drv drivers.Driver, desired drivers.Desired, record func(down, up []string) error) {
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

// Settle waits until the device has done what it was sent, where it goes on
// without the sender.
func Settle(ctx context.Context, drv drivers.Driver) error {
	if s, ok := drv.(drivers.Settler); ok {
		return s.Settle(ctx)
	}
	return nil
}

// keep makes what an earlier run left unconfirmed or unsaved last, on a device
// that holds what is desired.
func keep(ctx context.Context, k drivers.Keeper) (State, int, error) {
	kept, err := k.Keep(ctx)
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
func verify(ctx context.Context, drv drivers.Driver, f drivers.Facts, j Job, o RunOptions, blind bool) (now *drivers.Steps, unseen, err error) {
	deadline := time.NewTimer(o.AppliedTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		now, unseen, err = inForce(ctx, drv, f, j, blind)
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

func inForce(ctx context.Context, drv drivers.Driver, f drivers.Facts, j Job, blind bool) (now *drivers.Steps, unseen, err error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read back: %w", drivers.ErrPartial, err)
	}
	if now, err = drv.Plan(f, snap, j.Desired, j.Plan.Policy); err != nil {
		return nil, nil, fmt.Errorf("%w: plan again: %w", drivers.ErrPartial, err)
	}
	if left := slices.DeleteFunc(slices.Clone(now.Changes), func(c qos.Change) bool { return c.Open }); len(left) > 0 {
		return nil, nil, fmt.Errorf("%s: %w: read back, %d values differ from the intent, first %s: %s, not %s", j.Plan.Name, drivers.ErrPartial, len(left), left[0].Path(), left[0].Old, left[0].New)
	}
	if n := len(now.Items); n > 0 {
		return nil, nil, fmt.Errorf("%s: %w: read back, %d steps are left, first: %s", j.Plan.Name, drivers.ErrPartial, n, now.Items[0].What)
	}
	bad, err := drv.Applied(ctx, j.Desired)
	switch {
	case errors.Is(err, drivers.ErrUnsupported), blind && errors.Is(err, drivers.ErrNoState):
		return now, err, nil
	case err != nil:
		return nil, nil, fmt.Errorf("%w: read what is in force: %w", drivers.ErrPartial, err)
	}
	if bad = slices.DeleteFunc(bad, func(m drivers.Mismatch) bool { return m.Unsure || m.Slow }); len(bad) > 0 {
		m := bad[0]
		return nil, nil, fmt.Errorf("%s: %w: configured and not in force: %s (%d more)", j.Plan.Name, drivers.ErrPartial, strings.TrimSpace(m.Port+" "+m.What())+": "+m.Have+", not "+m.Want, len(bad)-1)
	}
	return now, nil, nil
}
