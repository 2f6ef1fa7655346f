package nxos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// Confirm ends the timer, saves, and removes the checkpoint. Where the timer
// has run out before, the error wraps ErrRejected: the switch holds what it
// held before the apply.
func (d *Driver) Confirm(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := d.Record(t)
	if err != nil {
		return err
	}
	if err := d.stopTimer(ctx, b.Checkpoint); err != nil {
		return fmt.Errorf("confirm the commit: %w", err)
	}
	d.started = ""
	now, err := d.config(ctx, lines.Running)
	if err != nil {
		return err
	}
	if err := d.Stands(b, now); err != nil {
		return err
	}
	if err := d.save(ctx, func(c *native.Config) bool { return d.Holds(b.Edit, c, b.Variant) }); err != nil {
		return err
	}
	d.forget(ctx, b.Checkpoint)
	return nil
}

// Keep confirms what an earlier run put in force and left unconfirmed: the switch
// would revert it. The checkpoint of the run is what tells of it. It saves
// what of managed ports runs and is not saved, whoever left it so; a save is of
// the whole configuration.
func (d *Driver) Keep(ctx context.Context) (bool, error) {
	names, _, err := d.checkpoints(ctx)
	if err != nil {
		return false, err
	}
	var left []string
	timed := false
	for _, n := range natural.Keys(names) {
		if !drivers.Ours(n) {
			continue
		}
		if age, ok := d.stranger(n); ok {
			return false, fmt.Errorf("%s: %w: checkpoint %s: %s: wait until it confirms, or remove what is left of it on the switch (no checkpoint %s)", d.t.Name, drivers.ErrRejected, n, drivers.AtWork(age), n)
		}
		left = append(left, n)
		// The timer of a run that is long past has run out; one that runs is
		// another user's, and stays.
		timed = timed || !longAgo(n)
	}
	if timed {
		if err := d.stopTimer(ctx, ""); err != nil {
			return false, fmt.Errorf("confirm the commit: %w", err)
		}
	}
	now, err := d.config(ctx, lines.Running)
	if err != nil {
		return false, err
	}
	m, _, err := d.classModel(ctx, now)
	if err != nil {
		return false, err
	}
	lasts := func(saved *native.Config) bool { return d.Lasts(now, saved, int(m)) }
	if len(left) == 0 {
		saved, err := d.config(ctx, lines.Startup)
		switch {
		case drivers.RefusedLine(err):
			// A user who may not read it may not write it either.
			return false, nil
		case err != nil:
			return false, err
		case lasts(saved):
			return false, nil
		}
	}
	if err := d.save(ctx, lasts); err != nil {
		return false, err
	}
	for _, n := range left {
		d.forget(ctx, n)
	}
	return true, nil
}

// stranger reports whether a checkpoint is that of a run of this tool of which
// nothing is known here, and how long ago that began: it may be at work on another
// machine.
func (d *Driver) stranger(name string) (age time.Duration, ok bool) {
	began, known := drivers.RunTime(name)
	if !known || !drivers.Ours(name) || longAgo(name) || name == d.started || name == d.typed {
		return 0, false
	}
	return max(0, time.Since(began)), !slices.ContainsFunc(d.Ended, func(id string) bool {
		run := drivers.RunName(id, maxName)
		return name == run || strings.HasPrefix(name, run+"-")
	})
}

// longPast is well over the time that a run takes from its begin to the end of
// the commit timer on a device.
const longPast = 12 * time.Hour

// save makes the startup configuration one that is as it is to be. Where it is
// so already, nothing is written: what others have not saved stays as it is.
func (d *Driver) save(ctx context.Context, good func(*native.Config) bool) error {
	if cfg, err := d.config(ctx, lines.Startup); err == nil && good(cfg) {
		return nil
	}
	err := d.sh.Do(ctx, "copy running-config startup-config")
	limit := d.pace.settled
	if err != nil && !drivers.RefusedLine(err) {
		limit = d.pace.work // it may still be at it
	}
	if drivers.RefusedLine(err) {
		limit = 0
	}
	saved, rerr := drivers.Poll(ctx, d.pace.poll, limit, func() (bool, error) {
		cfg, err := d.config(ctx, lines.Startup)
		if err != nil {
			d.sh.HangUp()
			return false, err
		}
		return good(cfg), nil
	})
	if saved {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", d.t.Name, drivers.ErrUnsaved, d.wrap(cmp.Or(err, rerr, lines.ErrNotSaved)))
}

// Revert undoes an apply: by the checkpoint where every change since is the
// apply's own, else setting by setting; an apply of which nothing came in force
// is not reverted. It may be called again.
func (d *Driver) Revert(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := d.Record(t)
	if err != nil {
		return err
	}
	if d.idle == b.Checkpoint {
		// What differs was made by others, and stays.
		d.forget(ctx, b.Checkpoint)
		return nil
	}
	// What was sent last may still be on its way: nothing shows what a switch
	// works on.
	now, err := d.watch(ctx, d.pace.settled, func(now *native.Config) bool { return !b.Undone(now) })
	if now == nil {
		return err
	}
	if !b.Undone(now) {
		timed, err := d.timed(ctx, b)
		if err != nil {
			return err
		}
		if timed {
			// The timer would undo what others did since then as well. How a
			// switch words that there is nothing to confirm is not documented: a
			// refusal is no reason to leave all in force.
			err := d.stopTimer(ctx, b.Checkpoint)
			if err != nil && !drivers.RefusedLine(err) {
				return fmt.Errorf("end the timer of the commit: %w", err)
			}
			if err == nil {
				d.started = ""
			}
		}
		if now, err = d.config(ctx, lines.Running); err != nil {
			return err
		}
		if err := d.restore(ctx, b, now); err != nil {
			return err
		}
	}
	if err := d.save(ctx, func(c *native.Config) bool { return d.Holds(b.Undo, c, b.Variant) }); err != nil {
		return err
	}
	d.forget(ctx, b.Checkpoint)
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
	saved, err := d.config(ctx, lines.Startup)
	return err == nil && !d.Holds(b.Edit, saved, b.Variant), err
}

// past reports whether an apply is long past. Its run may have begun long
// before it.
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

// restore brings back what stood there before an apply.
func (d *Driver) restore(ctx context.Context, b lines.Record, now *native.Config) error {
	if b.Undone(now) {
		return nil
	}
	var failed error
	if b.Alone(now) && b.Edit.Made(b.Undo, now) {
		if names, shown, err := d.checkpoints(ctx); err == nil && (!shown || names[b.Checkpoint]) {
			if now, failed = d.rollBack(ctx, b); now != nil && b.Undone(now) {
				return nil
			}
		}
		if now == nil {
			return fmt.Errorf("%s: %w: a rollback to checkpoint %s was begun, and what the switch holds cannot be read: %w", d.t.Name, drivers.ErrPartial, b.Checkpoint, failed)
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
		limit := d.pace.settled
		if f == lines.Unanswered && staged {
			limit = d.pace.work
		}
		var err error
		now, err = d.watch(ctx, limit, func(now *native.Config) bool { return b.Undone(now) || f == lines.Rejected || f == lines.Unsent })
		cause = lines.Both(failed, sent)
		switch {
		case now == nil:
			return d.Unreadable(cause, err)
		case b.Undone(now):
			return nil
		case staged && f == lines.Rejected && awaited(sent):
			cause = fmt.Errorf("%w: %w", errAwaited, cause)
		}
		// What others did in between may be why lines were refused; then there
		// are others to send.
		if slices.Equal(undo, b.Undo.Commands(now)) {
			break
		}
	}
	return fmt.Errorf("%s: %w: %s of the way back left to set; checkpoint %s, where it is still there, holds what stood there before: %w",
		d.t.Name, drivers.ErrPartial, words.Count(len(b.Undo.Commands(now)), "line"), b.Checkpoint, cmp.Or(cause, lines.ErrOthers))
}

// rollBack rolls the switch back to the checkpoint of an apply, and returns
// what it then holds, nil where that cannot be read.
func (d *Driver) rollBack(ctx context.Context, b lines.Record) (*native.Config, error) {
	failed := d.sh.Do(ctx, "rollback running-config checkpoint "+b.Checkpoint+" atomic")
	limit := d.pace.settled
	if failed != nil && !drivers.RefusedLine(failed) {
		limit = d.pace.work // it may still be at it
	}
	now, err := d.watch(ctx, limit, func(now *native.Config) bool { return b.Undone(now) || drivers.RefusedLine(failed) })
	return now, cmp.Or(failed, err)
}
