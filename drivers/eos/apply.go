package eos

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// commit is the native part of a step.
type commit struct {
	Edit native.Edit `json:"edit"`
}

// wayBack is the native part of a token.
type wayBack struct {
	// Session is the one with the commit timer, "" where there is none.
	Session string `json:"session,omitempty"`
	// Edit is what was applied, Undo what stood there before.
	Edit native.Edit `json:"edit"`
	Undo native.Edit `json:"undo"`
	// Before identifies the whole configuration before the apply.
	Before string `json:"before"`
}

// Apply puts the change in force with one commit. Over SSH the switch takes it
// back by itself unless it is confirmed in time.
func (d *Driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	edit, err := decodeStep(st.Items, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	cfg := of(before).cfg
	lines := edit.Commands(cfg)
	if len(lines) == 0 {
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
	back := wayBack{Edit: edit, Undo: edit.Undo(cfg), Before: drivers.Fingerprint(cfg.String())}
	if d.way.timed() {
		back.Session = name
	}
	if err := back.check(nil); err != nil {
		return nil, fmt.Errorf("%s: nothing was written, as this tool could not undo it: %w", d.t.Name, err)
	}
	token, err := drivers.NewToken(d.t.Name, back)
	if err != nil {
		return nil, err
	}
	if err := o.Announce(token, 1, st.Items[0]); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return token, fmt.Errorf("%s: stopped before the commit: %w", d.t.Name, err)
	}
	if err := d.clearLeftovers(ctx, open); err != nil {
		return token, err
	}
	d.idle = ""
	nothing, err := d.put(ctx, job{name: name, lines: lines, base: back.Before, want: edit, was: back.Undo, timer: d.pace.timer})
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

// decodeStep reads the one step of a plan, which may come from a file.
func decodeStep(items []drivers.Step, managed func(port string) bool) (native.Edit, error) {
	if len(items) != 1 {
		return nil, fmt.Errorf("the plan has %s, and a commit is one", words.Count(len(items), "step"))
	}
	if via := items[0].Via; via != "ssh" && via != "gnmi" {
		return nil, fmt.Errorf("step 1 of the plan: no way in is called %q", via)
	}
	var c commit
	if err := json.Unmarshal(items[0].Native, &c); err != nil {
		return nil, fmt.Errorf("step 1 of the plan: %w", err)
	}
	if err := native.Lines.Check(c.Edit, managed); err != nil {
		return nil, fmt.Errorf("step 1 of the plan: %w", err)
	}
	return c.Edit, nil
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
func (j job) done(now *native.Config) bool {
	return holds(j.want, now) && (len(j.was.Commands(now)) > 0 || len(j.want.Commands(now)) == 0)
}

// holds reports whether an edit changes nothing of what a configuration means.
// A switch need not print a line that equals the default.
func holds(e native.Edit, now *native.Config) bool {
	if len(e.Commands(now)) == 0 {
		return true
	}
	is, _ := native.Decode(now)
	would, _ := native.Decode(e.Apply(now))
	return len(qos.Diff(is, would))+len(qos.Diff(would, is)) == 0
}

// put carries a job out and finds out what became of it. Its error wraps
// ErrPartial where the switch holds neither the old nor the new, or where that
// cannot be known. nothing says that nothing of the job came in force: what
// differs was made by others.
func (d *Driver) put(ctx context.Context, j job) (nothing bool, err error) {
	f, cause := d.way.write(ctx, j.name, j.lines, j.timer, func(ctx context.Context) error {
		// A session is a copy of the configuration of when it was opened, and its
		// commit undoes what others have committed since (EOS User Manual,
		// Configure Session).
		now, err := d.config(ctx, running)
		if err == nil && drivers.Fingerprint(now.String()) != j.base {
			err = fmt.Errorf("%s: %w: the switch was configured by someone else while the session was open; nothing was committed", d.t.Name, drivers.ErrStale)
		}
		return err
	})
	// The caller may be gone; the switch is not, and has to be left in a state
	// that is known.
	ctx = context.WithoutCancel(ctx)
	if f == unsent {
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
func (d *Driver) judge(ctx context.Context, j job, f fate, cause error) (nothing bool, err error) {
	limit := d.pace.settled
	if f == unanswered {
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
		in = j.done(now)
		switch {
		case in:
			return true, nil
		case f == unanswered:
			// Over gNMI nothing tells whether a Set is still waiting.
			return d.way.timed() && !busy, nil
		}
		return f == rejected, nil
	})
	if now == nil {
		return false, fmt.Errorf("%s: %w: what the switch holds cannot be read: %w", d.t.Name, drivers.ErrPartial, both(cause, err))
	}
	if !in && f != answered {
		// Once its session is gone nothing can come of it any more.
		derr := d.way.discard(ctx, j.name)
		if derr != nil && !refused(derr) {
			d.way.hangUp()
		}
		if now, _, err = d.look(ctx, j.name); err != nil {
			return false, fmt.Errorf("%s: %w: what the switch holds cannot be read: %w", d.t.Name, drivers.ErrPartial, both(cause, err))
		}
		in = j.done(now)
	}
	if in {
		return false, nil
	}
	left := j.want.Commands(now)
	changed := len(j.was.Commands(now)) > 0
	switch {
	case f == rejected && changed:
		// A session comes in force as a whole or not at all.
		return true, fmt.Errorf("%s: %w: nothing of it is in force, and someone else has changed the same settings meanwhile: %w", d.t.Name, drivers.ErrRejected, cause)
	case changed:
		return false, fmt.Errorf("%s: %w: the switch holds neither the old nor the new: %s of %d left to set: %w", d.t.Name, drivers.ErrPartial, words.Count(len(left), "line"), len(j.lines), cmp.Or(cause, errOthers))
	case f == unanswered:
		return false, fmt.Errorf("%s: %w: nothing was written: %w", d.t.Name, drivers.ErrUnreachable, cause)
	case f == answered:
		return true, fmt.Errorf("%s: %w: the switch took %s and changed nothing: %q has no effect", d.t.Name, drivers.ErrRejected, words.Count(len(j.lines), "line"), left[len(left)-1])
	}
	return true, fmt.Errorf("%s: %w: nothing is in force: %w", d.t.Name, drivers.ErrRejected, cause)
}

// both says two errors in one line; either may be nil.
func both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// errOthers is why a commit that was answered well may not be in force.
var errOthers = errors.New("somebody else may have written at the same time")

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
	cfg, err := d.config(ctx, running)
	if err != nil {
		return nil, false, err
	}
	return cfg, open.holds(name), nil
}
