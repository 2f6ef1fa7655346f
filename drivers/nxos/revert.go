package nxos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// Save saves the running configuration.
func (d *Driver) Save(ctx context.Context) error {
	return d.Do(ctx, "copy running-config startup-config")
}

// Leftovers confirms a commit whose timer an earlier run left running. It recognizes the run by
// its checkpoint.
func (d *Driver) Leftovers(ctx context.Context) (*lines.Leftovers, error) {
	names, _, err := d.checkpoints(ctx)
	if err == nil {
		err = d.otherRun(names, "")
	}
	if err != nil {
		return nil, err
	}
	left := &lines.Leftovers{}
	timed := false
	for _, n := range natural.Keys(names) {
		if drivers.Ours(n) {
			left.Runs = append(left.Runs, lines.Record{Checkpoint: n})
			// The timer of a run from long ago has expired. A timer that is still running belongs
			// to another user, and stays.
			timed = timed || !longAgo(n)
		}
	}
	left.Confirmed = len(left.Runs) > 0
	if timed {
		if err := d.stopTimer(ctx, ""); err != nil {
			return nil, fmt.Errorf("confirm the commit: %w", err)
		}
	}
	return left, nil
}

// EndTimer confirms the commit of an apply.
func (d *Driver) EndTimer(ctx context.Context, b lines.Record) error {
	err := d.stopTimer(ctx, b.Checkpoint)
	if err == nil {
		d.started = ""
	}
	return err
}

// Halt waits until the last lines have taken effect, and stops the timer of an active apply,
// because the timer would also undo the changes of others.
func (d *Driver) Halt(ctx context.Context, b lines.Record) error {
	now, err := d.Watch(ctx, b, d.Pace.Settled, func(now *native.Config, _ bool) bool { return !b.Undone(now) })
	if now == nil || b.Undone(now) {
		return err
	}
	if timed, err := d.timed(ctx, b); err != nil || !timed {
		return err
	}
	// A refusal is not an error: it is not documented how a switch with nothing to confirm
	// responds.
	if err := d.EndTimer(ctx, b); err != nil && !drivers.RefusedLine(err) {
		return fmt.Errorf("end the timer of the commit: %w", err)
	}
	return nil
}

// timed reports whether a running commit timer may belong to this active apply rather than to
// another user. Confirming an apply saves it and removes its checkpoint. If the switch does not
// list checkpoints, or could not remove this one, the age of the apply decides.
func (d *Driver) timed(ctx context.Context, b lines.Record) (bool, error) {
	if d.started == b.Checkpoint {
		return true, nil
	}
	if past(b) {
		return false, nil
	}
	names, shown, err := d.checkpoints(ctx)
	if err != nil || !shown || names[b.Checkpoint] {
		return err == nil, err
	}
	// The switch may have had no space for a checkpoint.
	saved, err := d.Config(ctx, lines.Startup)
	return err == nil && !d.Holds(b.Edit, saved, b.Variant), err
}

// past reports whether an apply began long ago, so that its timer has expired. Its run may have
// begun much earlier.
func past(b lines.Record) bool {
	if b.Begun.IsZero() {
		return longAgo(b.Checkpoint)
	}
	return time.Since(b.Begun) >= longPast
}

// longAgo reports whether a run began so long ago that its timer has expired.
func longAgo(run string) bool {
	began, known := drivers.RunTime(run)
	return known && time.Since(began) >= longPast
}

// Undo restores the settings from before an apply: from the checkpoint if only the apply has
// changed the configuration since, and otherwise setting by setting.
func (d *Driver) Undo(ctx context.Context, b lines.Record, now *native.Config) error {
	var failed error
	if len(b.Earlier) == 0 && b.Alone(now) && b.Edit.IsOnlyChange(b.Undo, now) {
		if names, shown, err := d.checkpoints(ctx); err == nil && (!shown || names[b.Checkpoint]) {
			if now, failed = d.rollBack(ctx, b); now != nil && b.Undone(now) {
				return nil
			}
		}
		if now == nil {
			return fmt.Errorf("%w: a rollback to checkpoint %s was begun, and the configuration of the switch cannot be read: %w", drivers.ErrPartial, b.Checkpoint, failed)
		}
	}
	return d.reset(ctx, b, now, failed)
}

// reset restores the settings from before an apply one by one, and leaves the changes of others.
// failed is the error of a preceding rollback.
func (d *Driver) reset(ctx context.Context, b lines.Record, now *native.Config, failed error) error {
	var cause error
	for range 2 {
		undo := b.Undo.Commands(now)
		staged, f, sent := d.send(ctx, undo, 0, nil)
		limit := d.Pace.Settled
		if f == lines.Unanswered && staged {
			limit = d.Pace.Work
		}
		var err error
		now, err = d.Watch(ctx, b, limit, func(now *native.Config, _ bool) bool {
			return b.Undone(now) || f == lines.Rejected || f == lines.Unsent
		})
		cause = lines.JoinErrors(failed, sent)
		switch {
		case now == nil:
			return d.Unreadable(cause, err)
		case b.Undone(now):
			return nil
		case staged && f == lines.Rejected && refusedForTimer(sent):
			cause = fmt.Errorf("%w: %w", errAwaited, cause)
		}
		// Try again if the undo lines differ now: lines may have been refused because another
		// user changed the switch meanwhile.
		if slices.Equal(undo, b.Undo.Commands(now)) {
			break
		}
	}
	return fmt.Errorf("%w: %s of the undo record left to set; checkpoint %s, where it is still there, holds the previous configuration: %w", drivers.ErrPartial, words.Count(len(b.Undo.Commands(now)), "line"), b.Checkpoint, cmp.Or(cause, lines.ErrOthers))
}

// rollBack rolls the switch back to the checkpoint of an apply, and returns the resulting
// configuration; nil if it cannot be read.
func (d *Driver) rollBack(ctx context.Context, b lines.Record) (*native.Config, error) {
	failed := d.Do(ctx, "rollback running-config checkpoint "+b.Checkpoint+" atomic")
	limit := d.Pace.Settled
	if failed != nil && !drivers.RefusedLine(failed) {
		limit = d.Pace.Work // the switch may still be rolling back
	}
	now, err := d.Watch(ctx, b, limit, func(now *native.Config, _ bool) bool { return b.Undone(now) || drivers.RefusedLine(failed) })
	return now, cmp.Or(failed, err)
}
