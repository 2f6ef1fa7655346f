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

// persistence is the line with which a switch saves after each Set of gNMI,
// since 4.28.0F (aristanetworks/openmgmt configuration/openconfig.md).
const persistence = "operation set persistence"

// Confirm ends the commit timer and saves. Where the timer has run out before,
// the error wraps ErrRejected: the switch holds what it held before the apply.
// Over gNMI only a switch with "operation set persistence" saves; on others
// the change is lost in a restart, as the plan says.
func (d *Driver) Confirm(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := d.Record(t)
	if err != nil {
		return err
	}
	if d.way.timed() {
		if err := d.stopTimer(ctx, b.Session, "commit"); err != nil {
			return err
		}
	}
	now, err := d.config(ctx, lines.Running)
	if err != nil {
		return err
	}
	if err := d.Stands(b, now); err != nil {
		return err
	}
	return d.save(ctx, b.Edit, now)
}

// Keep confirms what an earlier run put in force and left unconfirmed: the switch
// would revert it. One that may be at work is left alone: the error wraps
// ErrRejected. It saves what of managed ports runs and is not saved, whoever left
// it so; a save is of the whole configuration.
func (d *Driver) Keep(ctx context.Context) (bool, error) {
	open := &sessions{}
	confirmed := false
	if d.way.timed() {
		var err error
		if open, err = d.sessions(ctx); errors.Is(err, errNotShown) {
			// Nothing is applied on a switch that does not show them.
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if t := open.timer; t != nil && t.fresh {
			return false, open.obstacle(d.t.Name)
		} else if t != nil && t.ours {
			if err := d.stopTimer(ctx, t.name, "commit"); err != nil {
				return false, err
			}
			confirmed = true
		}
	}
	if !confirmed {
		lasts, err := d.lasts(ctx)
		if lasts || err != nil {
			return false, err
		}
		if open.timer != nil {
			// What it runs for would be saved with the rest.
			return false, fmt.Errorf("the startup configuration lacks what is in force: %w", open.obstacle(d.t.Name))
		}
	}
	err := errManual
	if d.way.timed() {
		if err = d.way.do(ctx, "write memory"); err != nil {
			err = d.wrap(err)
		} else if lasts, rerr := d.lasts(ctx); !lasts {
			err = cmp.Or(rerr, lines.ErrNotSaved)
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w: %w", d.t.Name, drivers.ErrUnsaved, err)
	}
	return true, nil
}

// errManual is why nothing is saved over gNMI.
var errManual = errors.New("run \"write memory\" on the switch, which gNMI cannot")

// lasts reports whether the startup configuration holds what runs, in what this
// tool manages; true where it may not be read.
func (d *Driver) lasts(ctx context.Context) (bool, error) {
	saved, err := d.config(ctx, lines.Startup)
	if refused(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	now, err := d.config(ctx, lines.Running)
	if err != nil {
		return false, err
	}
	return d.Lasts(now, saved, 0), nil
}

// stopTimer ends the commit timer of a session, where it runs: with "commit"
// the change stays, with "abort" it is reverted. Whether that worked shows
// in the sessions, not in the answer.
func (d *Driver) stopTimer(ctx context.Context, name, how string) error {
	var last error
	for range 3 {
		open, err := d.sessions(ctx)
		if err != nil {
			d.way.hangUp()
			last = err
			continue
		}
		if !open.timed(name) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", d.t.Name, lines.Both(err, last))
		}
		err = d.way.do(ctx, "configure session "+name+" "+how)
		if refused(err) {
			last = fmt.Errorf("%w: %w", drivers.ErrRejected, err)
			continue
		}
		last = err
		limit := d.pace.settled // a switch may show the timer for a moment longer
		if err != nil {
			limit = 0 // the next round does it again
		}
		gone, err := drivers.Poll(ctx, d.pace.poll, limit, func() (bool, error) {
			open, err := d.sessions(ctx)
			return err == nil && !open.timed(name), err
		})
		if gone {
			return nil
		}
		if err != nil {
			d.way.hangUp()
		}
	}
	return fmt.Errorf("the commit timer of session %s: %w", name, d.wrap(cmp.Or(last, errRuns)))
}

// errRuns is what is left where a switch says that it ended a timer.
var errRuns = errors.New("it still runs")

// bySwitch adds to an error after which the switch cannot be reached what it
// does of itself.
func (d *Driver) bySwitch(b lines.Record, err error) error {
	if b.Session == "" || !d.way.timed() || !errors.Is(err, drivers.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w; unless it was confirmed, the switch takes it back by itself within %s of the apply; run plan then", err, drivers.Spell(d.pace.timer))
}

// save makes the startup configuration hold an edit. Where it does so already,
// nothing is written: what others have not saved stays as it is.
func (d *Driver) save(ctx context.Context, e native.Edit, now *native.Config) error {
	if !d.way.timed() && !persists(now) {
		return nil
	}
	cfg, err := d.config(ctx, lines.Startup)
	if err == nil && d.Holds(e, cfg, 0) {
		return nil
	}
	if d.way.timed() {
		for range 2 { // saving twice harms nothing
			if err = d.way.do(ctx, "write memory"); err == nil {
				return nil
			}
		}
		err = d.wrap(err)
	}
	return fmt.Errorf("%s: %w: %w", d.t.Name, drivers.ErrUnsaved, cmp.Or(err, lines.ErrNotSaved))
}

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

// Revert undoes an apply. While the commit timer runs, the switch does it,
// byte for byte; where others changed something since the apply, and after the
// timer, the settings that were changed are restored one by one. An apply of which
// nothing came in force is not reverted. It may be called again.
func (d *Driver) Revert(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := d.Record(t)
	if err != nil {
		return err
	}
	if d.idle == string(t.Native) {
		// What differs was made by others, and stays.
		return d.drop(ctx, b)
	}
	now, err := d.quiet(ctx, b)
	if err != nil {
		return d.bySwitch(b, err)
	}
	if d.way.timed() {
		how := "abort"
		// The timer would undo what others did since then as well.
		if !b.Alone(now) {
			how = "commit"
		}
		if err := d.stopTimer(ctx, b.Session, how); err != nil {
			return d.bySwitch(b, err)
		}
	}
	if now, err = d.config(ctx, lines.Running); err != nil {
		return err
	}
	if typed := b.Undo.Commands(now); len(typed) > 0 {
		name, err := undoName(b.Session)
		if err != nil {
			return fmt.Errorf("%s: %w", d.t.Name, err)
		}
		d.undo = name
		j := job{name: name, lines: typed, base: drivers.Fingerprint(now.String()), want: b.Undo, was: b.Undo.Undo(now)}
		if _, err := d.put(ctx, j); err != nil {
			return fmt.Errorf("revert: %w", err)
		}
		if now, err = d.config(ctx, lines.Running); err != nil {
			return err
		}
	}
	if err := d.save(ctx, b.Undo, now); err != nil || d.way.timed() {
		return err
	}
	if cfg, err := d.config(ctx, lines.Startup); err == nil && len(b.Undo.Commands(cfg)) > 0 && d.Holds(b.Edit, cfg, 0) {
		return fmt.Errorf("%s: %w: all is reverted, and the startup configuration still holds it: run \"write memory\" on the switch, which gNMI cannot", d.t.Name, drivers.ErrPartial)
	}
	return nil
}

// drop aborts the session of an apply of which nothing came in force, where it is
// still open.
func (d *Driver) drop(ctx context.Context, b lines.Record) error {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) || err == nil && !open.holds(b.Session) {
		return nil
	}
	if err == nil {
		if err = d.way.discard(ctx, b.Session); refused(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("nothing is in force; abort session %s: %w", b.Session, d.wrap(err))
	}
	return nil
}

// quiet waits until the switch has done what it was told, and returns what it
// holds. A session of the apply that stays open is aborted.
func (d *Driver) quiet(ctx context.Context, b lines.Record) (*native.Config, error) {
	var now *native.Config
	var busy bool
	// A session that stays open to the end of the wait is no error yet.
	_, err := drivers.Poll(ctx, d.pace.poll, d.pace.work, func() (done bool, err error) {
		if now, busy, err = d.look(ctx, b.Session); err != nil {
			d.way.hangUp()
		}
		return err == nil && !busy, err
	})
	if err != nil {
		return nil, err
	}
	var aborted error
	if busy {
		if aborted = d.way.discard(ctx, b.Session); aborted != nil && !refused(aborted) {
			d.way.hangUp()
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
		return nil, fmt.Errorf("abort session %s: %w", b.Session, d.wrap(aborted))
	}
	if t := open.timer; t != nil && (!open.timed(b.Session) || !d.way.timed()) {
		return nil, fmt.Errorf("%s: %w: the commit timer of %s runs for another %s, and would undo what is restored now", d.t.Name, drivers.ErrRejected, t, drivers.Spell(open.left))
	}
	return d.config(ctx, lines.Running)
}
