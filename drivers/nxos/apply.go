package nxos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// Variant returns the class model of the switch.
func (d *Driver) Variant(ctx context.Context, cfg *native.Config) (int, error) {
	m, _, err := d.classModel(ctx, cfg)
	return int(m), err
}

// Prepare chooses the checkpoint name of an apply. It returns an error if the checkpoint of
// another machine's run shows that this run may be in progress.
func (d *Driver) Prepare(ctx context.Context, id string, b *lines.Record) error {
	taken, _, err := d.checkpoints(ctx)
	if err != nil {
		return err
	}
	b.Checkpoint, b.Begun = checkpointName(id, taken), time.Now().UTC()
	return d.otherRun(taken, "")
}

// maxName is the maximum length of the checkpoint names used here; NX-OS allows 80.
const maxName = 60

// checkpointName derives an unused checkpoint name from a run ID.
func checkpointName(id string, taken map[string]bool) string {
	base := drivers.RunName(id, maxName)
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// Write applies lines after creating a checkpoint. If the switch does not know dual-stage mode,
// or one of the lines in this mode, the lines are typed one by one. If a line is refused then,
// the lines before it are reverted, which needs the checkpoint.
func (d *Driver) Write(ctx context.Context, w *lines.Work) (lines.Fate, error) {
	kept := d.Do(ctx, "checkpoint "+w.Checkpoint)
	if kept != nil && !drivers.RefusedLine(kept) {
		return lines.Unsent, kept
	}
	if kept != nil {
		// A dual-stage commit needs no checkpoint because of its timer.
		kept = fmt.Errorf("the switch cannot create a checkpoint to revert to (show checkpoint summary lists what it has; this tool removes only its own): %w", kept)
	}
	if err := d.checkNoOtherRun(ctx, w.Record, kept); err != nil {
		d.Forget(ctx, w.Record)
		return lines.Unsent, err
	}
	staged, f, err := d.send(ctx, w.Lines, w.Timer, kept)
	switch {
	case !staged:
		d.typed = w.Checkpoint
	case f != lines.Unsent:
		d.started = w.Checkpoint
	}
	w.Piecemeal = !staged
	w.Barred = staged && f == lines.Rejected && refusedForTimer(err)
	return f, err
}

// ReadRunning reads the running configuration. done is always false, because NX-OS does not show
// pending work.
func (d *Driver) ReadRunning(ctx context.Context, _ lines.Record) (*native.Config, bool, error) {
	now, err := d.Config(ctx, lines.Running)
	return now, false, err
}

// Abort does nothing: a dual-stage buffer is dropped with its shell.
func (d *Driver) Abort(context.Context, lines.Record) error { return nil }

// otherRun returns an error if one of the checkpoints, other than own, belongs to a run that may
// be in progress on another machine.
func (d *Driver) otherRun(names map[string]bool, own string) error {
	for _, n := range natural.Keys(names) {
		if age, ok := d.unknownRun(n); ok && n != own {
			return fmt.Errorf("%w: nothing was written: checkpoint %s: %s: wait until it confirms, or remove what is left of it on the switch (no checkpoint %s)", drivers.ErrRejected, n, drivers.AtWork(age), n)
		}
	}
	return nil
}

// checkNoOtherRun ensures that at most one of two runs writes if they begin at the same time on two
// machines: each checks for other checkpoints after creating its own. kept is the error of
// creating it, which skips the check.
func (d *Driver) checkNoOtherRun(ctx context.Context, b lines.Record, kept error) error {
	if kept != nil {
		return nil
	}
	names, _, err := d.checkpoints(ctx)
	if err != nil {
		return err
	}
	return d.otherRun(names, b.Checkpoint)
}

// unknownRun reports whether a checkpoint belongs to an unknown run that may be in progress on
// another machine, and how long ago that run began.
func (d *Driver) unknownRun(name string) (age time.Duration, ok bool) {
	began, known := drivers.RunTime(name)
	if !known || !drivers.Ours(name) || longAgo(name) || name == d.started || name == d.typed {
		return 0, false
	}
	return max(0, time.Since(began)), !slices.ContainsFunc(d.Ended, func(id string) bool {
		run := drivers.RunName(id, maxName)
		return name == run || strings.HasPrefix(name, run+"-")
	})
}

// longPast is well above the time from a run's start to the end of its commit timers.
const longPast = 12 * time.Hour
