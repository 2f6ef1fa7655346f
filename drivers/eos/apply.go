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

// Cut reports a configuration without the line with which EOS ends it.
func (d *Driver) Cut(cfg *native.Config, _ []ssh.Shown) string {
	if cfg.Complete() {
		return ""
	}
	return "it has no end"
}

// Variant returns 0: EOS has no variants.
func (d *Driver) Variant(context.Context, *native.Config) (int, error) { return 0, nil }

// Prepare chooses the session name of an apply, and aborts the sessions that earlier runs left
// open. It returns an error if another user or run has a session open, or if a commit timer is
// running.
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

// Write applies lines with one commit.
func (d *Driver) Write(ctx context.Context, w *lines.Work) (lines.Fate, error) {
	return d.way.write(ctx, w.Session, w.Lines, w.Timer, func(ctx context.Context) error {
		// A session is a copy of the configuration at the time it was opened, and its commit
		// undoes later changes by others (EOS User Manual, Configure Session).
		now, err := d.Config(ctx, lines.Running)
		if err == nil && drivers.Fingerprint(now.String()) != w.Before {
			err = fmt.Errorf("%w: the switch was configured by someone else while the session was open; nothing was committed", drivers.ErrStale)
		}
		if err == nil && d.way.timed() && w.Timer > 0 {
			err = d.checkNoOtherRun(ctx, w.Session)
		}
		return err
	})
}

// checkNoOtherRun ensures that at most one of two runs commits if they open their sessions at
// the same time on two machines: each checks for other sessions after opening its own.
func (d *Driver) checkNoOtherRun(ctx context.Context, own string) error {
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

// ReadRunning reads the configuration, and whether the session of a record is closed. Over gNMI it
// cannot tell whether a Set is still pending.
func (d *Driver) ReadRunning(ctx context.Context, b lines.Record) (now *native.Config, done bool, err error) {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) {
		open, err = &sessions{}, nil
	}
	if err != nil {
		return nil, false, err
	}
	// Read the configuration after the sessions, so that it includes every commit before that.
	now, err = d.Config(ctx, lines.Running)
	return now, d.way.timed() && !open.holds(b.Session), err
}

// Abort aborts the session of an apply, or undoes its commit if the commit timer is running.
func (d *Driver) Abort(ctx context.Context, b lines.Record) error {
	return d.way.discard(ctx, b.Session)
}
