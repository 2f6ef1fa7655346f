package eos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// Apply puts the change in force with one commit. Over SSH the switch takes it
// back by itself unless it is confirmed in time.
func (d *Driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	edit, err := d.Edit(st.Items, nil)
	if err != nil {
		return nil, err
	}
	cfg := of(before).cfg
	typed := edit.Commands(cfg)
	if len(typed) == 0 {
		return nil, nil
	}
	open, err := d.clear(ctx)
	if err != nil {
		return nil, err
	}
	name, err := sessionName(o.ID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	back := lines.Record{Edit: edit, Undo: edit.Undo(cfg), Before: drivers.Fingerprint(cfg.String())}
	if d.way.timed() {
		back.Session = name
	}
	token, err := d.Begin(ctx, back, st.Items, o)
	if err != nil {
		return token, err
	}
	if err := d.clearLeftovers(ctx, open); err != nil {
		return token, err
	}
	d.idle = ""
	nothing, err := d.put(ctx, job{name: name, lines: typed, base: back.Before, want: edit, was: back.Undo, timer: d.pace.timer})
	if nothing {
		d.idle = string(token.Native)
	}
	return token, err
}

// clear returns the sessions that are open, and an error where one of them
// forbids to write.
func (d *Driver) clear(ctx context.Context) (*sessions, error) {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) && !d.way.timed() {
		return &sessions{}, nil
	}
	if err != nil {
		return nil, err
	}
	return open, open.obstacle(d.t.Name)
}

// job is one commit.
type job struct {
	name  string
	lines []string
	// base identifies the configuration that the lines were made for.
	base string
	// want is what the lines bring about, was what stood there before.
	want, was native.Edit
	timer     time.Duration // 0: for good
}

// done reports whether a configuration holds what the job wants.
func (d *Driver) done(j job, now *native.Config) bool { return d.Done(j.want, j.was, now, 0) }

// put carries a job out and finds out what became of it. Its error wraps
// ErrPartial where the switch holds neither the old nor the new, or where that
// cannot be known. nothing says that nothing of the job came in force: what
// differs was made by others.
func (d *Driver) put(ctx context.Context, j job) (nothing bool, err error) {
	f, cause := d.way.write(ctx, j.name, j.lines, j.timer, func(ctx context.Context) error {
		// A session is a copy of the configuration of when it was opened, and its
		// commit undoes what others have committed since (EOS User Manual,
		// Configure Session).
		now, err := d.config(ctx, lines.Running)
		if err == nil && drivers.Fingerprint(now.String()) != j.base {
			err = fmt.Errorf("%s: %w: the switch was configured by someone else while the session was open; nothing was committed", d.t.Name, drivers.ErrStale)
		}
		return err
	})
	// The caller may be gone; the switch is not, and has to be left in a state
	// that is known.
	ctx = context.WithoutCancel(ctx)
	if f == lines.Unsent {
		return true, d.unsent(ctx, j, cause)
	}
	return d.judge(ctx, j, f, cause)
}

// unsent is the end of a job of which nothing can be in force.
func (d *Driver) unsent(ctx context.Context, j job, cause error) error {
	var line *ssh.LineError
	err := cause
	if !strings.HasPrefix(cause.Error(), d.t.Name+": ") {
		err = d.wrap(cause)
	}
	if errors.As(cause, &line) {
		at := native.Lines.PlaceOf(j.lines, line.Number-1)
		err = fmt.Errorf("%s: %w: nothing was committed: %w", d.t.Name, drivers.ErrRejected, placed(at, cause))
	}
	ctx, cancel := context.WithTimeout(ctx, d.pace.read)
	defer cancel()
	if derr := d.way.discard(ctx, j.name); derr != nil && !refused(derr) {
		err = fmt.Errorf("%w (nothing is in force; the session %s may still be open: %v)", err, j.name, derr)
	}
	return err
}

// placed says of an error about a line where the line was typed.
func placed(at string, err error) error {
	if at == "" {
		return err
	}
	return fmt.Errorf("in %s: %w", at, err)
}

// judge reads what became of a job.
func (d *Driver) judge(ctx context.Context, j job, f lines.Fate, cause error) (nothing bool, err error) {
	limit := d.pace.settled
	if f == lines.Unanswered {
		limit = d.pace.work
	}
	ctx, cancel := context.WithTimeout(ctx, limit+d.pace.read)
	defer cancel()
	var now *native.Config // nil where the last read failed
	in := false            // it holds what the job wants
	_, err = drivers.Poll(ctx, d.pace.poll, limit, func() (done bool, err error) {
		var busy bool
		now, busy, err = d.look(ctx, j.name)
		if err != nil {
			d.way.hangUp()
			return false, err
		}
		in = d.done(j, now)
		switch {
		case in:
			return true, nil
		case f == lines.Unanswered:
			// Over gNMI nothing tells whether a Set is still waiting.
			return d.way.timed() && !busy, nil
		}
		return f == lines.Rejected, nil
	})
	if now == nil {
		return false, d.Unreadable(cause, err)
	}
	if !in && f != lines.Answered {
		// Once its session is gone nothing can come of it any more.
		derr := d.way.discard(ctx, j.name)
		if derr != nil && !refused(derr) {
			d.way.hangUp()
		}
		if now, _, err = d.look(ctx, j.name); err != nil {
			return false, d.Unreadable(cause, err)
		}
		in = d.done(j, now)
	}
	if in {
		return false, nil
	}
	return d.Verdict(j.lines, j.want, j.was, now, f, cause)
}

// look reads the configuration, and whether the session of that name is open.
func (d *Driver) look(ctx context.Context, name string) (*native.Config, bool, error) {
	open, err := d.sessions(ctx)
	if errors.Is(err, errNotShown) {
		open, err = &sessions{}, nil
	}
	if err != nil {
		return nil, false, err
	}
	// After the sessions: what was committed in between shows.
	cfg, err := d.config(ctx, lines.Running)
	if err != nil {
		return nil, false, err
	}
	return cfg, open.holds(name), nil
}
