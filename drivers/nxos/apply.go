package nxos

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// Apply puts the change in force with one dual-stage commit, which the switch
// reverts by itself unless it is confirmed in time. Where the switch does
// not know that mode, or not one of the lines in it, they are typed one by one,
// and what came before a refused one is reverted; that takes a checkpoint.
func (d *Driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	edit, err := d.Edit(st.Items, nil)
	if err != nil {
		return nil, err
	}
	snap := of(before)
	typed := edit.Commands(snap.cfg)
	if len(typed) == 0 {
		return nil, nil
	}
	taken, _, err := d.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.otherRun(taken, ""); err != nil {
		return nil, err
	}
	back := lines.Record{Checkpoint: checkpointName(o.ID, taken), Edit: edit, Undo: edit.Undo(snap.cfg), Before: drivers.Fingerprint(snap.cfg.String()), Variant: int(snap.m), Begun: time.Now().UTC()}
	token, err := d.Begin(ctx, back, st.Items, o)
	if err != nil {
		return token, err
	}
	return token, d.put(ctx, back, typed)
}

// maxName is how long the name of a checkpoint is at most here; NX-OS takes 80.
const maxName = 60

// checkpointName makes a name of the run's ID that no checkpoint has.
func checkpointName(id string, taken map[string]bool) string {
	base := drivers.RunName(id, maxName)
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// put carries a batch out and finds out what became of it. Its error wraps
// ErrPartial where the switch holds neither the old nor the new, or where that
// cannot be known.
func (d *Driver) put(ctx context.Context, b lines.Record, typed []string) error {
	kept := d.sh.Do(ctx, "checkpoint "+b.Checkpoint)
	if kept != nil && !drivers.RefusedLine(kept) {
		return fmt.Errorf("nothing was written: %w", d.wrap(kept))
	}
	if kept != nil {
		// The timer of a dual-stage commit does without.
		kept = fmt.Errorf("the switch keeps no checkpoint to go back to (show checkpoint summary lists what it has; this tool removes its own alone): %w", kept)
	}
	if err := d.alone(ctx, b, kept); err != nil {
		return err
	}
	staged, f, cause := d.send(ctx, typed, d.pace.timer, kept)
	switch {
	case !staged:
		d.typed = b.Checkpoint
	case f != lines.Unsent:
		d.started = b.Checkpoint
	}
	// The caller may be gone; the switch is not, and has to be left in a state
	// that is known.
	ctx = context.WithoutCancel(ctx)
	if f == lines.Unsent {
		d.idle = b.Checkpoint
		if drivers.RefusedLine(cause) {
			d.forget(ctx, b.Checkpoint)
			return fmt.Errorf("%s: %w: nothing was written: %w", d.t.Name, drivers.ErrRejected, cause)
		}
		return fmt.Errorf("nothing was written: %w", d.wrap(cause))
	}
	return d.judge(ctx, b, typed, staged, f, cause)
}

// judge reads what became of a batch.
func (d *Driver) judge(ctx context.Context, b lines.Record, typed []string, staged bool, f lines.Fate, cause error) error {
	limit := d.pace.settled
	if f == lines.Unanswered && staged {
		limit = d.pace.work
	}
	rctx, cancel := context.WithTimeout(ctx, limit+d.pace.read)
	defer cancel()
	in := false
	now, err := d.watch(rctx, limit, func(now *native.Config) bool {
		in = d.Done(b.Edit, b.Undo, now, b.Variant)
		return in || f == lines.Rejected
	})
	switch {
	case now == nil:
		return d.Unreadable(cause, err)
	case in && !(staged && f == lines.Rejected && awaited(cause)):
		return nil
	case !staged && f == lines.Rejected && !b.Undone(now):
		return d.takeBack(ctx, b, now, cause)
	}
	nothing, err := d.Verdict(typed, b.Edit, b.Undo, now, f, cause)
	if nothing {
		d.idle, d.started = b.Checkpoint, ""
		d.forget(ctx, b.Checkpoint)
	}
	return err
}

// otherRun returns an error where one of the checkpoints is that of a run that may
// be at work on another machine; own is none.
func (d *Driver) otherRun(names map[string]bool, own string) error {
	for _, n := range natural.Keys(names) {
		if age, ok := d.stranger(n); ok && n != own {
			return fmt.Errorf("%s: %w: nothing was written: checkpoint %s: %s: wait until it confirms, or remove what is left of it on the switch (no checkpoint %s)", d.t.Name, drivers.ErrRejected, n, drivers.AtWork(age), n)
		}
	}
	return nil
}

// alone makes sure that of two runs that begin at the same time on two machines
// at most one writes: each has made its checkpoint (but for an error kept), and
// looks for that of the other.
func (d *Driver) alone(ctx context.Context, b lines.Record, kept error) error {
	if kept != nil {
		return nil
	}
	names, _, err := d.checkpoints(ctx)
	if err == nil {
		if err = d.otherRun(names, b.Checkpoint); err == nil {
			return nil
		}
	}
	d.idle = b.Checkpoint
	d.forget(context.WithoutCancel(ctx), b.Checkpoint)
	return err
}

// takeBack undoes what came before a refused line.
func (d *Driver) takeBack(ctx context.Context, b lines.Record, now *native.Config, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*(d.pace.work+d.pace.read))
	defer cancel()
	if err := d.restore(ctx, b, now); err != nil {
		return fmt.Errorf("%w; it was refused: %w", err, cause)
	}
	d.forget(ctx, b.Checkpoint)
	return fmt.Errorf("%s: %w: what came before it was reverted: %w", d.t.Name, drivers.ErrRejected, cause)
}

// watch reads the running configuration until enough says so, for at most
// limit. It returns the last one, nil where the last read failed.
func (d *Driver) watch(ctx context.Context, limit time.Duration, enough func(*native.Config) bool) (now *native.Config, err error) {
	_, err = drivers.Poll(ctx, d.pace.poll, limit, func() (bool, error) {
		var err error
		if now, err = d.config(ctx, lines.Running); err != nil {
			d.sh.HangUp()
			return false, err
		}
		return enough(now), nil
	})
	return now, err
}
