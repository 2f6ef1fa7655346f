// Package rollout carries plans out: it takes the fabric's lock, writes a
// journal, and goes wave by wave, and in a wave device by device.
//
// On every device the same way: read again and refuse if the state is not the
// one that was planned for; write; read back, and the difference from the
// intent must be empty; compare what the device's daemons made of it; confirm.
// A device on which any of this fails is taken back to where it was, and the
// rollout stops there.
//
// What a wave is, and what must hold before the next one starts, is given from
// outside ([Options]); nothing here knows one system from another.
package rollout

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
	"github.com/roce-fabric/roce-fabric/plan"
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
	Skipped   State = "skipped"   // the rollout stopped before it
	Restored  State = "restored"  // taken back to where it was before an earlier run
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
	// work for the run: somebody else's, not to be read, refused by the device.
	Left []string `json:"left,omitempty"`
}

// Job is one device to work on.
type Job struct {
	Plan    *plan.Device
	Open    func(context.Context) (drivers.Driver, error)
	Desired *qos.Device
}

// Options tune a rollout.
type Options struct {
	ID string // names the run
	// MaxImpact is the largest impact that the operator allows.
	MaxImpact qos.Impact
	Journal   *Journal
	// Gate is asked after each wave whether the next may start; nil says yes.
	Gate func(context.Context, []Outcome) error
	// Progress is told each step; nil is silence.
	Progress func(device string, i, n int, s drivers.Step)
	// RevertTimeout bounds taking one device back, also after Ctrl-C; 0 is 15
	// minutes.
	RevertTimeout time.Duration
	// AppliedTimeout bounds the wait for the daemons of a device to take up
	// what was written; 0 is 30 s.
	AppliedTimeout time.Duration
}

func (o Options) withDefaults() Options {
	o.RevertTimeout = cmp.Or(o.RevertTimeout, 15*time.Minute)
	o.AppliedTimeout = cmp.Or(o.AppliedTimeout, 30*time.Second)
	return o
}

// ErrStopped says that a rollout did not go to its end.
var ErrStopped = errors.New("rollout stopped")

// Run works through waves of jobs, in order; a wave is worked device by
// device. It always returns one outcome a job. The error is ErrStopped, a
// gate's or a journal's.
func Run(ctx context.Context, waves [][]Job, o Options) ([]Outcome, error) {
	o = o.withDefaults()
	var all []Outcome
	var stop error
	for _, wave := range waves {
		var outs []Outcome
		for _, j := range wave {
			if stop == nil && ctx.Err() != nil {
				stop = fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
			}
			if stop != nil {
				outs = append(outs, Outcome{Device: j.Plan.Name, State: Skipped})
				continue
			}
			out := runOne(ctx, j, o)
			outs = append(outs, out)
			if err := o.Journal.Write(Record{Device: out.Device, Event: string(out.State), Error: out.Error}); err != nil {
				stop = err
			} else if out.Err != nil {
				stop = fmt.Errorf("%w at %s", ErrStopped, out.Device)
			}
		}
		if stop == nil && o.Gate != nil {
			if err := o.Gate(ctx, outs); err != nil {
				stop = err
			}
		}
		all = append(all, outs...)
	}
	return all, stop
}

func runOne(ctx context.Context, j Job, o Options) Outcome {
	start := time.Now()
	state, steps, err := device(ctx, j, o)
	out := Outcome{Device: j.Plan.Name, State: state, Steps: steps, Took: time.Since(start), Err: err}
	if err != nil {
		out.Error = oneLine(err)
	}
	return out
}

// oneLine says an error in one line, also one that was joined of several.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func device(ctx context.Context, j Job, o Options) (_ State, steps int, err error) {
	p := j.Plan
	switch {
	case p.Error != "":
		return Failed, 0, fmt.Errorf("%s: no plan: %s", p.Name, p.Error)
	case p.Blocked():
		return Blocked, 0, fmt.Errorf("%s: the plan has changes that cannot be made", p.Name)
	case p.Impact() > o.MaxImpact:
		return Refused, 0, fmt.Errorf("%s: the plan disturbs more than allowed: %s, allowed is %s", p.Name, p.Impact(), o.MaxImpact)
	}
	drv, err := j.Open(ctx)
	if err != nil {
		return Failed, 0, err
	}
	// A session that does not close cleanly changes nothing about the state.
	defer func() { _ = drv.Close() }()
	if h, ok := drv.(drivers.Heir); ok {
		past, err := o.Journal.others()
		if err != nil {
			return Failed, 0, err
		}
		h.Inherit(past)
	}
	if _, err := drv.Probe(ctx); err != nil {
		return Failed, 0, err
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return Failed, 0, err
	}
	if drv.Digest(snap, j.Desired) != p.Base {
		return Refused, 0, fmt.Errorf("%s: %w", p.Name, drivers.ErrStale)
	}
	if len(p.Steps) == 0 {
		return keep(ctx, drv)
	}
	if err := o.Journal.Write(Record{Device: p.Name, Event: "start", Steps: len(p.Steps), Base: p.Base}); err != nil {
		return Failed, 0, err
	}
	token, err := drv.Apply(ctx, snap, p.Native(), drivers.ApplyOptions{
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
		if err = verify(ctx, drv, j, o); err == nil {
			if err = drv.Confirm(ctx, token); err == nil {
				return Applied, steps, nil
			}
		}
	}
	if token == nil {
		return Failed, steps, err
	}
	// Taking back must not end with the run: Ctrl-C has to leave the device in
	// one of two known states.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.RevertTimeout)
	defer cancel()
	if rerr := drv.Revert(rctx, token); rerr != nil {
		return Partial, steps, fmt.Errorf("%w; and this tool could not take it back: %w", err, rerr)
	}
	return Reverted, steps, err
}

// keep makes what an earlier run left unconfirmed last, on a device that holds
// what is desired.
func keep(ctx context.Context, drv drivers.Driver) (State, int, error) {
	k, ok := drv.(drivers.Keeper)
	if !ok {
		return Unchanged, 0, nil
	}
	kept, err := k.Keep(ctx)
	switch {
	case errors.Is(err, drivers.ErrPartial):
		return Partial, 0, err
	case err != nil:
		return Failed, 0, err
	case kept:
		return Applied, 0, nil
	}
	return Unchanged, 0, nil
}

// verify reads the device back until nothing is left to change and its daemons
// have taken up what is configured, for at most AppliedTimeout: they work on
// their own time, and some of what is read back is theirs.
func verify(ctx context.Context, drv drivers.Driver, j Job, o Options) error {
	deadline := time.NewTimer(o.AppliedTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		err := inForce(ctx, drv, j)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		case <-deadline.C:
		}
		return err
	}
}

func inForce(ctx context.Context, drv drivers.Driver, j Job) error {
	snap, err := drv.Read(ctx)
	if err != nil {
		return fmt.Errorf("%w: read back: %w", drivers.ErrPartial, err)
	}
	running, _ := drv.Decode(snap)
	if left := qos.Diff(running, j.Desired); len(left) > 0 {
		return fmt.Errorf("%s: %w: read back, %d values differ from the intent, first %s: %s, not %s", j.Plan.Name, drivers.ErrPartial, len(left), left[0].Path(), left[0].Old, left[0].New)
	}
	bad, err := drv.Applied(ctx, j.Desired)
	switch {
	case errors.Is(err, drivers.ErrUnsupported):
		return nil
	case err != nil:
		return fmt.Errorf("%w: read what is in force: %w", drivers.ErrPartial, err)
	}
	if bad = slices.DeleteFunc(bad, func(m drivers.Mismatch) bool { return m.Unsure || m.Slow }); len(bad) > 0 {
		m := bad[0]
		return fmt.Errorf("%s: %w: configured and not in force: %s (%d more)", j.Plan.Name, drivers.ErrPartial, strings.TrimSpace(m.Port+" "+m.Field)+": "+m.Have+", not "+m.Want, len(bad)-1)
	}
	return nil
}
