package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
)

// runWaves works through waves of devices, with r.Writers workers, and returns one outcome per
// device, in the order of the waves. do may return a device as pending: it is confirmed when
// its wave passes the gate, and otherwise reverted. If do returns an error, no further device
// is started, and the devices in progress are finished. The error of each is errStopped or
// that of the journal.
func (r *Run) runWaves(ctx context.Context, waves []rollout.Wave, do func(ctx context.Context, device string, out *Outcome) (*pending, error)) (outs []Outcome, err error) {
	devices := 0
	for _, w := range waves {
		devices += len(w.Devices)
	}
	defer r.Progress.Phase(Writing, devices)()
	ctx, cancel := r.journal.guard(ctx)
	defer cancel()
	e := &waveRunner{Run: r, do: do, locks: map[string]store.Lock{}}
	e.stopped, e.stop = context.WithCancelCause(context.Background())
	defer e.stop(nil)
	if err := e.measureBaseline(ctx, waves); err != nil {
		e.stop(fmt.Errorf("%w before its first wave: %w", errStopped, err))
		e.cause = NewError("", OpGate, err)
	}
	for i, w := range waves {
		if len(w.Devices) == 0 {
			continue
		}
		if e.stopped.Err() == nil && w.Kind != "" {
			if err := e.approveWave(ctx, w, i, len(waves)-1); err != nil {
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
	*Run
	do func(ctx context.Context, device string, out *Outcome) (*pending, error)
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
func (e *waveRunner) runWave(ctx context.Context, w rollout.Wave) ([]Outcome, error) {
	type work struct {
		Outcome
		*pending
	}
	gated := false
	if e.stopped.Err() == nil {
		var err error
		if gated, err = e.readBefore(ctx, w); err != nil {
			e.cause = NewError("", OpGate, err)
			e.stop(fmt.Errorf("%w before a wave: %w", errStopped, err))
		}
	}
	var all []work
	err := pool.Ordered(ctx, e.Writers, w.Devices, func(ctx context.Context, device string) work {
		out, p := e.startDevice(ctx, device)
		if p != nil && !gated {
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
			bad = e.checkWave(ctx, w, gated)
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
	if len(open) == 0 && gated && slices.ContainsFunc(all, func(one work) bool { return one.State == Restored }) {
		bad := cmp.Or(err, context.Cause(ctx))
		if bad == nil {
			bad = e.checkWave(ctx, w, gated)
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
	if err := e.windowClosed(); err != nil && e.stopped.Err() == nil {
		out.Error = NewError(device, OpJudge, err)
		e.stop(fmt.Errorf("%w before %s: %w", errStopped, device, err))
	}
	if e.stopped.Err() != nil {
		return out, nil
	}
	e.Progress.Report(Event{Kind: DeviceBegins, Phase: Writing, Device: device})
	if most := e.DeviceTimeout; most > 0 {
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
	if err == nil && e.Gate != nil {
		// Check again: the gate takes minutes, and the device may have restarted meanwhile.
		if _, _, err = checkInForce(ctx, p.drv, p.facts, p.Task, p.blind); err != nil {
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
			if e.Gate != nil {
				out.Gate = e.Gate.Passed()
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

func (e *waveRunner) measureBaseline(ctx context.Context, waves []rollout.Wave) error {
	if e.Gate == nil {
		return nil
	}
	return e.Gate.Baseline(ctx, waves)
}

func (e *waveRunner) approveWave(ctx context.Context, w rollout.Wave, n, of int) error {
	if e.ApproveWave == nil {
		return nil
	}
	return e.ApproveWave(ctx, w, n, of)
}

// readBefore reads what must be back after a wave. It returns false if the wave has no gate.
func (e *waveRunner) readBefore(ctx context.Context, w rollout.Wave) (gated bool, err error) {
	if e.Gate == nil {
		return false, nil
	}
	return e.Gate.Before(ctx, w)
}

func (e *waveRunner) checkWave(ctx context.Context, w rollout.Wave, gated bool) error {
	if !gated {
		return nil
	}
	return e.Gate.Check(ctx, w)
}

// Apply works through the waves of a plan. judged returns what was decided about a device, and
// find what is to be done on it.
func (r *Run) Apply(ctx context.Context, waves []rollout.Wave, judged func(device string) Outcome, find func(device string) (Task, error)) ([]Outcome, error) {
	return r.runWaves(ctx, waves, func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		return r.applyJudged(ctx, out, judged(device), func() (Task, error) { return find(device) })
	})
}
