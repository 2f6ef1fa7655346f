package eos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// Cut reports a configuration without the line that EOS ends it with.
func (d *Driver) Cut(cfg *native.Config, _ []ssh.Shown) string {
	if cfg.Complete() {
		return ""
	}
	return "it has no end"
}

// Variant is 0: all boxes speak alike.
func (d *Driver) Variant(context.Context, *native.Config) (int, error) { return 0, nil }

// Prepare names the session of an apply, and aborts those that earlier runs left
// open. A session that others have open forbids the apply.
func (d *Driver) Prepare(ctx context.Context, id string, b *lines.Record) error {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) && !d.way.timed() {
		return nil
	}
	if err == nil {
		err = open.obstacle()
	}
	if err != nil {
		return err
	}
	if d.way.timed() {
		b.Session = sessionName(id)
	}
	return d.clearLeftovers(ctx, open)
}

// Write puts lines in force with one commit.
func (d *Driver) Write(ctx context.Context, w *lines.Work) (lines.Fate, error) {
	return d.way.write(ctx, w.Session, w.Lines, w.Timer, func(ctx context.Context) error {
		// A session is a copy of the configuration from when it was opened, and its
		// commit undoes what others have committed since (EOS User Manual, Configure
		// Session).
		now, err := d.Config(ctx, lines.Running)
		if err == nil && drivers.Fingerprint(now.String()) != w.Before {
			err = fmt.Errorf("%w: the switch was configured by someone else while the session was open; nothing was committed", drivers.ErrStale)
		}
		if err == nil && d.way.timed() && w.Timer > 0 {
			err = d.alone(ctx, w.Session)
		}
		return err
	})
}

// alone makes sure that of two runs that open their sessions at the same time on two
// machines at most one commits: each looks for that of the other when its own is open.
func (d *Driver) alone(ctx context.Context, own string) error {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) {
		return nil
	}
	if err != nil {
		return err
	}
	open.pending = slices.DeleteFunc(open.pending, func(s session) bool { return s.name == own })
	return open.obstacle()
}

// Look reads the configuration, and whether the session of a record is closed.
// Over gNMI nothing tells whether a Set is still waiting.
func (d *Driver) Look(ctx context.Context, b lines.Record) (now *native.Config, done bool, err error) {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) {
		open, err = &sessions{}, nil
	}
	if err != nil {
		return nil, false, err
	}
	// After the sessions: what was committed in between shows.
	now, err = d.Config(ctx, lines.Running)
	return now, d.way.timed() && !open.holds(b.Session), err
}

// Abort aborts the session of an apply, or undoes its commit where its timer
// runs.
func (d *Driver) Abort(ctx context.Context, b lines.Record) error {
	return d.way.discard(ctx, b.Session)
}
