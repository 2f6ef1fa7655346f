package eos

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// persistence is the configuration line that makes a switch save after each gNMI Set, since
// 4.28.0F (aristanetworks/openmgmt configuration/openconfig.md).
const persistence = "operation set persistence"

// errManual explains why the configuration cannot be saved over gNMI.
var errManual = fmt.Errorf("%w: run \"write memory\" on the switch, which gNMI cannot, or add ssh to the switch in the intent", drivers.ErrNoSave)

// Save saves the running configuration. Over gNMI this works only if the switch has "operation
// set persistence" and saves by itself.
func (d *Driver) Save(ctx context.Context) error {
	if !d.way.timed() {
		now, err := d.Config(ctx, lines.Running)
		if err == nil && !persists(now) {
			err = errManual
		}
		return err
	}
	err := d.Do(ctx, "write memory")
	if err != nil && !refused(err) {
		err = d.Do(ctx, "write memory") // saving twice does no harm
	}
	return err
}

// Revert calls Revert of [lines.Machine]. While the commit timer is running, the switch reverts
// by itself, byte for byte. If others changed something since the apply, or the timer has
// expired, the changed settings are restored one by one.
func (d *Driver) Revert(ctx context.Context, t *drivers.Token) error {
	err := d.Machine.Revert(ctx, t)
	if !errors.Is(err, errManual) {
		return err
	}
	b, err := d.Record(t)
	if err != nil {
		return err
	}
	if cfg, err := d.Config(ctx, lines.Startup); err == nil && !b.Undone(cfg) && d.Holds(b.Edit, cfg, 0) {
		return fmt.Errorf("%w: the change is reverted, but the startup configuration still contains it: %w", drivers.ErrPartial, errManual)
	}
	return nil
}

// Startup calls Startup of [lines.Machine], except for a switch that cannot save over gNMI.
func (d *Driver) Startup(ctx context.Context) (*drivers.Snapshot, error) {
	if !d.way.timed() {
		if now, err := d.Config(ctx, lines.Running); err != nil {
			return nil, err
		} else if !persists(now) {
			return nil, fmt.Errorf("%w: %w", drivers.ErrUnsupported, errManual)
		}
	}
	return d.Machine.Startup(ctx)
}

// Leftovers confirms a commit whose timer an earlier run left running.
func (d *Driver) Leftovers(ctx context.Context) (*lines.Leftovers, error) {
	if !d.way.timed() {
		return &lines.Leftovers{}, nil
	}
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) {
		// Apply refuses switches that do not show sessions.
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch t := open.timer; {
	case t == nil:
		return &lines.Leftovers{}, nil
	case t.fresh:
		return nil, open.obstacle()
	case t.ours:
		return &lines.Leftovers{Confirmed: true}, d.stopTimer(ctx, t.name, "commit")
	}
	return &lines.Leftovers{Bars: open.obstacle()}, nil
}

// Forget does nothing: EOS removes sessions by itself.
func (d *Driver) Forget(context.Context, lines.Record) {}

// persists reports whether the switch saves after each Set.
func persists(c *native.Config) bool {
	var in func([]*native.Line) bool
	in = func(ls []*native.Line) bool {
		for _, l := range ls {
			if l.Text == persistence || in(l.Sub) {
				return true
			}
		}
		return false
	}
	for _, l := range c.Lines {
		if l.Text == "management api gnmi" && in(l.Sub) {
			return true
		}
	}
	return false
}

// EndTimer confirms the commit of an apply.
func (d *Driver) EndTimer(ctx context.Context, b lines.Record) error {
	if !d.way.timed() {
		return nil
	}
	return d.stopTimer(ctx, b.Session, "commit")
}

// stopTimer stops the commit timer of a session if it is running: "commit" keeps the change,
// "abort" reverts it. The sessions show whether this worked, not the response.
func (d *Driver) stopTimer(ctx context.Context, name, how string) error {
	var last error
	for range 3 {
		open, err := d.sessions(ctx)
		if err != nil {
			d.HangUp()
			last = err
			continue
		}
		if !open.timed(name) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return lines.JoinErrors(err, last)
		}
		err = d.Do(ctx, "configure session "+name+" "+how)
		if refused(err) {
			last = fmt.Errorf("%w: %w", drivers.ErrRejected, err)
			continue
		}
		last = err
		limit := d.Pace.Settled // the switch may show the timer a moment longer
		if err != nil {
			limit = 0 // the next iteration tries again
		}
		gone, err := drivers.Poll(ctx, d.Pace.Poll, limit, func() (bool, error) {
			open, err := d.sessions(ctx)
			return err == nil && !open.timed(name), err
		})
		if gone {
			return nil
		}
		if err != nil {
			d.HangUp()
		}
	}
	return fmt.Errorf("the commit timer of session %s: %w", name, drivers.TransportError(cmp.Or(last, errRuns)))
}

// errRuns is the error if a switch accepts the command but its timer continues.
var errRuns = errors.New("it still runs")

// Halt waits until the switch has finished an apply. If the commit timer is running and nobody
// else changed anything since, it makes the switch revert the apply.
func (d *Driver) Halt(ctx context.Context, b lines.Record) error {
	now, err := d.waitIdle(ctx, b)
	if err == nil && d.way.timed() {
		how := "abort"
		// The timer would also undo the changes of others.
		if !b.Alone(now) {
			how = "commit"
		}
		err = d.stopTimer(ctx, b.Session, how)
	}
	return d.bySwitch(b, err)
}

// bySwitch adds to an unreachable error that the switch may revert by itself.
func (d *Driver) bySwitch(b lines.Record, err error) error {
	if b.Session == "" || !d.way.timed() || !errors.Is(err, drivers.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w; unless it was confirmed, the switch reverts it by itself within %s of the apply; run plan then", err, drivers.Spell(d.Pace.Timer))
}

// Undo restores the settings from before an apply with a new commit.
func (d *Driver) Undo(ctx context.Context, b lines.Record, now *native.Config) error {
	d.undo = undoName(b.Session)
	back := lines.Record{Session: d.undo, Edit: b.Undo, Undo: b.Undo.Undo(now), Before: drivers.Fingerprint(now.String())}
	if _, err := d.Put(ctx, &lines.Work{Record: back, Lines: b.Undo.Commands(now)}); err != nil {
		return fmt.Errorf("revert: %w", err)
	}
	return nil
}

// waitIdle waits until the switch has finished processing, and returns its configuration. It
// aborts a session of the apply that stays open.
func (d *Driver) waitIdle(ctx context.Context, b lines.Record) (*native.Config, error) {
	busy := false
	// A session that is still open after the wait is not yet an error.
	now, err := d.Watch(ctx, b, d.Pace.Work, func(_ *native.Config, done bool) bool {
		busy = d.way.timed() && !done
		return !busy
	})
	if err != nil {
		return nil, err
	}
	var aborted error
	if busy {
		if aborted = d.way.discard(ctx, b.Session); aborted != nil && !refused(aborted) {
			d.HangUp()
		}
	}
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) && !d.way.timed() {
		return now, nil
	}
	if err != nil {
		return nil, err
	}
	if aborted != nil && !refused(aborted) && open.holds(b.Session) {
		return nil, fmt.Errorf("abort session %s: %w", b.Session, drivers.TransportError(aborted))
	}
	if t := open.timer; t != nil && (!open.timed(b.Session) || !d.way.timed()) {
		return nil, fmt.Errorf("%w: the commit timer of %s runs for another %s, and would undo this revert", drivers.ErrRejected, t, drivers.Spell(open.left))
	}
	return d.Config(ctx, lines.Running)
}
