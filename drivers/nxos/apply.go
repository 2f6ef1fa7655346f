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

// Variant is the class model of the box.
func (d *Driver) Variant(ctx context.Context, cfg *native.Config) (int, error) {
	m, _, err := d.classModel(ctx, cfg)
	return int(m), err
}

// Prepare names the checkpoint of an apply. That of a run that may be at work on
// another machine forbids the apply.
func (d *Driver) Prepare(ctx context.Context, id string, b *lines.Record) error {
	taken, _, err := d.checkpoints(ctx)
	if err != nil {
		return err
	}
	b.Checkpoint, b.Begun = checkpointName(id, taken), time.Now().UTC()
	return d.otherRun(taken, "")
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

// Write has lines put in force, with a checkpoint to go back to. Where the switch does
// not know the dual-stage mode, or one of the lines in it, the lines are typed one by
// one. What came before a refused line is reverted, which takes a checkpoint.
func (d *Driver) Write(ctx context.Context, w *lines.Work) (lines.Fate, error) {
	kept := d.Do(ctx, "checkpoint "+w.Checkpoint)
	if kept != nil && !drivers.RefusedLine(kept) {
		return lines.Unsent, kept
	}
	if kept != nil {
		// The timer of a dual-stage commit does without.
		kept = fmt.Errorf("the switch keeps no checkpoint to go back to (show checkpoint summary lists what it has; this tool removes only its own): %w", kept)
	}
	if err := d.alone(ctx, w.Record, kept); err != nil {
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
	w.Barred = staged && f == lines.Rejected && awaited(err)
	return f, err
}

// Look reads the running configuration: nothing shows what a switch works on.
func (d *Driver) Look(ctx context.Context, _ lines.Record) (*native.Config, bool, error) {
	now, err := d.Config(ctx, lines.Running)
	return now, false, err
}

// Abort has nothing to do: a dual-stage buffer goes with its shell.
func (d *Driver) Abort(context.Context, lines.Record) error { return nil }

// otherRun returns an error where one of the checkpoints is that of a run that may
// be at work on another machine; own is none.
func (d *Driver) otherRun(names map[string]bool, own string) error {
	for _, n := range natural.Keys(names) {
		if age, ok := d.stranger(n); ok && n != own {
			return fmt.Errorf("%w: nothing was written: checkpoint %s: %s: wait until it confirms, or remove what is left of it on the switch (no checkpoint %s)", drivers.ErrRejected, n, drivers.AtWork(age), n)
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
	if err != nil {
		return err
	}
	return d.otherRun(names, b.Checkpoint)
}

// stranger reports whether a checkpoint is that of a run that nothing is known of
// here, and how long ago it began: it may be at work on another machine.
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

// longPast is well over the time from a run's start to the end of its commit timers.
const longPast = 12 * time.Hour
