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

// Leftovers confirms a commit that an earlier run left to its timer. The
// checkpoint of the run is what tells of it.
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
			// The timer of a run that is long past has run out. One that still runs is
			// another user's, and stays.
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

// EndTimer ends the timer of an apply.
func (d *Driver) EndTimer(ctx context.Context, b lines.Record) error {
	err := d.stopTimer(ctx, b.Checkpoint)
	if err == nil {
		d.started = ""
	}
	return err
}

// Halt waits for what was sent last, and ends the timer of an apply that is in
// force: it would undo what others did since then as well.
func (d *Driver) Halt(ctx context.Context, b lines.Record) error {
	now, err := d.Watch(ctx, b, d.Pace.Settled, func(now *native.Config, _ bool) bool { return !b.Undone(now) })
	if now == nil || b.Undone(now) {
		return err
	}
	if timed, err := d.timed(ctx, b); err != nil || !timed {
		return err
	}
	// The words of a switch that has nothing to confirm are not documented, so
	// a refusal is no reason to leave everything in force.
	if err := d.EndTimer(ctx, b); err != nil && !drivers.RefusedLine(err) {
		return fmt.Errorf("end the timer of the commit: %w", err)
	}
	return nil
}

// timed reports whether a commit timer that runs may be that of an apply which is
// in force, and not another user's. The confirmation of an apply saves it and
// removes its checkpoint; where the switch does not list them, or could not
// remove it, the age of the apply tells.
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
	// There may have been no room for one.
	saved, err := d.Config(ctx, lines.Startup)
	return err == nil && !d.Holds(b.Edit, saved, b.Variant), err
}

// past reports whether an apply began long ago. Its run may have begun long before it.
func past(b lines.Record) bool {
	if b.Begun.IsZero() {
		return longAgo(b.Checkpoint)
	}
	return time.Since(b.Begun) >= longPast
}

// longAgo reports whether a run is long past, so that its timer has run out.
func longAgo(run string) bool {
	began, known := drivers.RunTime(run)
	return known && time.Since(began) >= longPast
}

// Undo brings back what stood there before an apply: by the checkpoint where
// every change since is the apply's own, else setting by setting.
func (d *Driver) Undo(ctx context.Context, b lines.Record, now *native.Config) error {
	var failed error
	if len(b.Earlier) == 0 && b.Alone(now) && b.Edit.Made(b.Undo, now) {
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

// reset brings back the settings that stood there before an apply, whatever
// else changed since. failed is what became of a rollback.
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
		case staged && f == lines.Rejected && awaited(sent):
			cause = fmt.Errorf("%w: %w", errAwaited, cause)
		}
		// Lines may have been refused because another user changed the switch
		// in between; then there are different lines to send.
		if slices.Equal(undo, b.Undo.Commands(now)) {
			break
		}
	}
	return fmt.Errorf("%w: %s of the undo record left to set; checkpoint %s, where it is still there, holds the previous configuration: %w", drivers.ErrPartial, words.Count(len(b.Undo.Commands(now)), "line"), b.Checkpoint, cmp.Or(cause, lines.ErrOthers))
}

// rollBack rolls the switch back to the checkpoint of an apply, and returns
// what it then holds, nil where that cannot be read.
func (d *Driver) rollBack(ctx context.Context, b lines.Record) (*native.Config, error) {
	failed := d.Do(ctx, "rollback running-config checkpoint "+b.Checkpoint+" atomic")
	limit := d.Pace.Settled
	if failed != nil && !drivers.RefusedLine(failed) {
		limit = d.Pace.Work // it may still be at it
	}
	now, err := d.Watch(ctx, b, limit, func(now *native.Config, _ bool) bool { return b.Undone(now) || drivers.RefusedLine(failed) })
	return now, cmp.Or(failed, err)
}
