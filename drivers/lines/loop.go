package lines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// Switch is the part of a driver that depends on the system and its transport. Its errors are
// those of the transport, or wrap an error of package drivers.
type Switch interface {
	// ShowAll returns the output of show commands.
	ShowAll(ctx context.Context, cmds ...string) ([]ssh.Shown, error)
	// Cut describes how the end of a configuration that was just read is missing; "" if it is
	// complete. after is the output of the commands in [Machine.After].
	Cut(cfg *native.Config, after []ssh.Shown) string
	// HangUp closes the connection; the next call opens a new one.
	HangUp()
	// Variant returns the variant of the switch, see [Machine.Means].
	Variant(ctx context.Context, cfg *native.Config) (int, error)

	// Planner returns the part of planning that is specific to the system.
	Planner(s *drivers.Snapshot, d *Draft) Planner
	// Prepare fills in the record the names of the session or checkpoint that the switch keeps
	// for a run. It returns an error if another run may be changing the switch.
	Prepare(ctx context.Context, id string, b *Record) error
	// Write sends the lines.
	Write(ctx context.Context, w *Work) (Fate, error)
	// ReadRunning reads the running configuration. done reports that the switch shows that it has
	// finished processing the lines of a record.
	ReadRunning(ctx context.Context, b Record) (now *native.Config, done bool, err error)
	// Abort ensures that pending lines of a record no longer take effect.
	Abort(ctx context.Context, b Record) error
	// EndTimer stops the timer of an apply, so that the change stays.
	EndTimer(ctx context.Context, b Record) error
	// Halt waits until the switch has finished an apply, and stops its timer.
	Halt(ctx context.Context, b Record) error
	// Undo restores the settings from before an apply.
	Undo(ctx context.Context, b Record, now *native.Config) error
	// Save saves the running configuration.
	Save(ctx context.Context) error
	// Leftovers confirms changes of earlier runs that the switch's timer would revert; nil if
	// there can be none.
	Leftovers(ctx context.Context) (*Leftovers, error)
	// Forget removes the objects that the switch keeps for a finished run.
	Forget(ctx context.Context, b Record)
}

// Leftovers describes changes that earlier runs left on a switch.
type Leftovers struct {
	Runs []Record
	// Confirmed is set if a change was confirmed.
	Confirmed bool
	// Bars is the error that forbids saving, because a running change is only on trial.
	Bars error
}

// Work is a batch of lines.
type Work struct {
	// Record contains the effect of the lines as Edit, and the previous values as Undo.
	Record
	Lines []string
	Timer time.Duration // after which the switch reverts the lines; 0 for never

	// Piecemeal is set by Write if each line takes effect separately.
	Piecemeal bool
	// Barred is set by Write if the switch refused the lines because of another run. The active
	// settings are then those of that run.
	Barred bool
}

// Typed converts the lines of a batch to the form that a shell sends.
func Typed(g *native.Grammar, commands []string) []ssh.Line {
	out := make([]ssh.Line, len(commands))
	for i, depth := range g.Depths(commands) {
		out[i] = ssh.Line{Text: commands[i], Depth: depth}
	}
	return out
}

// Pace holds the wait times for a switch, so that tests can shorten them.
type Pace struct {
	// Poll is the pause between two reads while the switch is busy.
	Poll time.Duration
	// Settled limits the reads after a response, and the wait for pending work of an earlier run.
	Settled time.Duration
	// Work limits the wait for an unanswered request such as a commit or a save.
	Work time.Duration
	// Read limits the reads after Work.
	Read time.Duration
	// Timer is the time after which the switch reverts an apply.
	Timer time.Duration
}

// CommitTimer is long enough to check the whole fabric before the confirmation, and short enough
// for users who lost access to the switch because of the change.
const CommitTimer = 5 * time.Minute

// Config reads a whole configuration.
func (m *Machine) Config(ctx context.Context, cmd string) (*native.Config, error) {
	var cut error
	// Retry once: if a line at the end of a packet looked like the prompt, the text was cut, and
	// is usually complete the second time.
	for range 2 {
		answers, err := m.Switch.ShowAll(ctx, append([]string{cmd}, m.After...)...)
		if err == nil {
			err = answers[0].Err
		}
		if err != nil {
			return nil, drivers.TransportError(err)
		}
		text := answers[0].Out
		cfg, err := m.Parse([]byte(text + "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		why := m.Switch.Cut(cfg, answers[1:])
		if why == "" {
			return cfg, nil
		}
		cut = fmt.Errorf("%s: the answer is cut off at line %d: %s", cmd, strings.Count(text, "\n")+1, why)
		m.Switch.HangUp()
	}
	return nil, cut
}

// Apply applies a change. If the switch has a timer, it reverts the change unless Confirm is
// called in time.
func (m *Machine) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	edit, err := m.edit(st.Items, nil)
	if err != nil {
		return nil, err
	}
	cfg, variant := m.Held(before)
	w := &Work{Lines: edit.Commands(cfg), Timer: m.Pace.Timer}
	if w.Timer > 0 {
		w.Timer = max(w.Timer, o.Hold)
	}
	if len(w.Lines) == 0 {
		return nil, nil
	}
	w.Record = Record{Edit: edit, Undo: edit.Undo(cfg), Before: drivers.Fingerprint(cfg.String()), Variant: variant}
	if err := m.Switch.Prepare(ctx, o.ID, &w.Record); err != nil {
		return nil, err
	}
	kept, err := m.continued(w.Record, cfg, o.Continues)
	if err != nil {
		return nil, err
	}
	token, err := m.begin(ctx, kept, st.Items, o)
	if err != nil {
		return token, err
	}
	m.idle = ""
	nothing, err := m.Put(ctx, w)
	if nothing {
		if len(o.Continues) == 0 {
			m.idle = string(token.Native)
		}
		m.Switch.Forget(ctx, w.Record)
	}
	return token, err
}

// Put writes the lines and reads back the result. Its error wraps ErrPartial if the switch has
// neither the old nor the new settings, or if that is not known. nothing reports that none of the
// lines is active: any differences were made by others.
func (m *Machine) Put(ctx context.Context, w *Work) (nothing bool, err error) {
	f, cause := m.Switch.Write(ctx, w)
	// The caller may be gone, but the switch must be left in a known state.
	if f == Unsent {
		return true, m.unsentError(ctx, w, cause)
	}
	return m.readResult(ctx, w, f, cause)
}

// unsentError handles lines that certainly did not take effect.
func (m *Machine) unsentError(ctx context.Context, w *Work, cause error) error {
	err := cause
	if !errors.Is(cause, drivers.ErrRejected) && !errors.Is(cause, drivers.ErrStale) {
		err = fmt.Errorf("nothing was written: %w", drivers.TransportError(cause))
	}
	if line, ok := errors.AsType[*ssh.LineError](cause); ok {
		if at := m.Grammar.PlaceOf(w.Lines, line.Number-1); at != "" {
			cause = fmt.Errorf("in %s: %w", at, cause)
		}
		err = fmt.Errorf("%w: nothing was written: %w", drivers.ErrRejected, cause)
	}
	if drivers.Silent(cause) {
		return fmt.Errorf("%w (no change is active; the session %s may still be open)", err, w.Session)
	}
	ctx, cancel := fence.Outlive(ctx, m.Pace.Read)
	defer cancel()
	if aerr := m.Switch.Abort(ctx, w.Record); aerr != nil && !m.Refused(aerr) {
		err = fmt.Errorf("%w (no change is active; the session %s may still be open: %v)", err, w.Session, aerr)
	}
	return err
}

// readResult reads the switch to determine the result of a write.
func (m *Machine) readResult(ctx context.Context, w *Work, f Fate, cause error) (nothing bool, err error) {
	limit := m.Pace.Settled
	if f == Unanswered && !w.Piecemeal {
		limit = m.Pace.Work
	}
	rctx, cancel := fence.Outlive(ctx, limit+m.Pace.Read)
	defer cancel()
	in := false
	now, err := m.Watch(rctx, w.Record, limit, func(now *native.Config, done bool) bool {
		in = m.done(w.Record, now)
		return in || f == Rejected || f == Unanswered && done
	})
	if now != nil && !in && f != Answered {
		// Once the session is gone, the lines can no longer take effect.
		if aerr := m.Switch.Abort(rctx, w.Record); aerr != nil && !m.Refused(aerr) {
			m.Switch.HangUp()
		}
		if now, _, err = m.Switch.ReadRunning(rctx, w.Record); err != nil {
			now = nil
		} else {
			in = m.done(w.Record, now)
		}
	}
	switch {
	case now == nil:
		return false, m.Unreadable(cause, err)
	case in && !w.Barred:
		return false, nil
	case w.Piecemeal && f == Rejected && !w.Undone(now):
		return false, m.revertWritten(ctx, w.Record, now, cause)
	}
	return m.verdict(w, now, f, cause)
}

// revertWritten undoes the lines that were written before a refused line.
func (m *Machine) revertWritten(ctx context.Context, b Record, now *native.Config, cause error) error {
	ctx, cancel := fence.Outlive(ctx, 2*(m.Pace.Work+m.Pace.Read))
	defer cancel()
	if err := m.Switch.Undo(ctx, b, now); err != nil {
		return fmt.Errorf("%w; it was refused: %w", err, cause)
	}
	m.Switch.Forget(ctx, b)
	return fmt.Errorf("%w: the lines before it were reverted: %w", drivers.ErrRejected, cause)
}

// Watch reads the switch repeatedly until enough returns true, for at most limit. It returns the
// last configuration, or nil if the last read failed.
func (m *Machine) Watch(ctx context.Context, b Record, limit time.Duration, enough func(now *native.Config, done bool) bool) (now *native.Config, err error) {
	_, err = drivers.Poll(ctx, m.Pace.Poll, limit, func() (bool, error) {
		var done bool
		var err error
		if now, done, err = m.Switch.ReadRunning(ctx, b); err != nil {
			now = nil
			m.Switch.HangUp()
			return false, err
		}
		return enough(now, done), nil
	})
	return now, err
}

// Confirm stops the timer and saves. If the timer has already expired, the error wraps
// ErrRejected: the switch has reverted the apply.
func (m *Machine) Confirm(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := m.Record(t)
	if err != nil {
		return err
	}
	if err := m.Switch.EndTimer(ctx, b); err != nil {
		return fmt.Errorf("confirm the commit: %w", err)
	}
	now, err := m.Config(ctx, Running)
	if err != nil {
		return err
	}
	if err := m.checkStillApplied(b, now); err != nil {
		return err
	}
	lasts := m.lasts(now, b.Variant)
	if err := m.save(ctx, func(c *native.Config) bool { return m.Holds(b.Edit, c, b.Variant) && (m.desired == nil || lasts(c)) }); err != nil {
		return err
	}
	m.Switch.Forget(ctx, b)
	return nil
}

// lasts returns a function that reports whether a saved configuration keeps the managed ports as
// they are now.
func (m *Machine) lasts(now *native.Config, variant int) func(saved *native.Config) bool {
	return func(saved *native.Config) bool {
		return drivers.SurvivesRestart(m.decode(now, variant), m.decode(saved, variant), m.desired.Manages)
	}
}

// gone reports whether the running and the saved configuration have neither the apply nor what was
// there before it. An edit of which the switch accepted only the removals is not gone: its result
// is not saved.
func (m *Machine) gone(ctx context.Context, b Record, now *native.Config) (bool, error) {
	if !slices.Concat(b.Edit, b.Earlier).Gone(b.Undo, now) || b.Alone(now) || m.Holds(b.Edit, now, b.Variant) {
		return false, nil
	}
	saved, err := m.Config(ctx, Startup)
	if m.Refused(err) {
		return false, nil
	}
	return err == nil && len(drivers.UnsavedLines(now.Lines, saved.Lines)) == 0, err
}

// Revert undoes an apply, unless none of it took effect. It may be called repeatedly. If neither
// the apply nor what was there before it is running or saved, Revert writes nothing, and its error
// wraps ErrGone.
func (m *Machine) Revert(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := m.Record(t)
	if err != nil {
		return err
	}
	if m.idle == string(t.Native) {
		// The differences were made by other users, and stay.
		if err := m.Switch.Abort(ctx, b); err != nil && !m.Refused(err) {
			return fmt.Errorf("no change is active; abort session %s: %w", b.Session, drivers.TransportError(err))
		}
		m.Switch.Forget(ctx, b)
		return nil
	}
	if err := m.Switch.Halt(ctx, b); err != nil {
		return err
	}
	now, err := m.Config(ctx, Running)
	if err != nil {
		return err
	}
	if !b.Undone(now) {
		if gone, err := m.gone(ctx, b, now); err != nil {
			return err
		} else if gone {
			return fmt.Errorf("%w: the switch restarted, or another user removed both", drivers.ErrGone)
		}
		if err := m.Switch.Undo(ctx, b, now); err != nil {
			return err
		}
	}
	if err := m.save(ctx, func(c *native.Config) bool { return m.Holds(b.Undo, c, b.Variant) }); err != nil {
		return err
	}
	m.Switch.Forget(ctx, b)
	return nil
}

// Keep confirms a change that an earlier run left unconfirmed, which the switch would revert. If
// that run may still be in progress, the error wraps ErrRejected. Keep saves the configuration if
// managed ports have unsaved settings, whoever made them; a save includes the whole
// configuration.
func (m *Machine) Keep(ctx context.Context) (bool, error) {
	left, err := m.Switch.Leftovers(ctx)
	if left == nil || err != nil {
		return false, err
	}
	now, err := m.Config(ctx, Running)
	if err != nil {
		return false, err
	}
	variant, err := m.Switch.Variant(ctx, now)
	if err != nil {
		return false, err
	}
	lasts := m.lasts(now, variant)
	if !left.Confirmed {
		saved, err := m.Config(ctx, Startup)
		switch {
		case m.Refused(err):
			// A user who may not read the startup configuration may not write it either.
			return false, nil
		case err != nil:
			return false, err
		case lasts(saved):
			return false, nil
		case left.Bars != nil:
			return false, fmt.Errorf("the startup configuration lacks what is in force: %w", left.Bars)
		}
	}
	if err := m.save(ctx, lasts); err != nil {
		return false, err
	}
	for _, b := range left.Runs {
		m.Switch.Forget(ctx, b)
	}
	return true, nil
}

// save saves the configuration unless good already accepts the startup configuration, so that
// unsaved changes of others stay unsaved. After a failed save it does not try again, because the
// switch may lack space.
func (m *Machine) save(ctx context.Context, good func(*native.Config) bool) error {
	cfg, err := m.Config(ctx, Startup)
	switch {
	case err == nil && good(cfg):
		return nil
	case drivers.Silent(err):
		return fmt.Errorf("%w: the startup configuration cannot be read: %w", drivers.ErrUnsaved, err)
	case m.saveFailed != nil:
		return fmt.Errorf("%w: not saved again: %w", drivers.ErrUnsaved, m.saveFailed)
	}
	err = m.Switch.Save(ctx)
	var limit time.Duration
	lost := false
	if err == nil {
		limit = m.Pace.Settled
	} else if unreachable := drivers.TransportError(err); errors.Is(unreachable, drivers.ErrUnreachable) {
		limit, err, lost = m.Pace.Work, unreachable, true // the switch may still be saving
	}
	saved, rerr := drivers.Poll(ctx, m.Pace.Poll, limit, func() (bool, error) {
		cfg, err := m.Config(ctx, Startup)
		if err != nil {
			m.Switch.HangUp()
			return false, err
		}
		return good(cfg), nil
	})
	if saved {
		return nil
	}
	if !drivers.Silent(rerr) {
		if now, err := m.Config(ctx, Running); err == nil && !good(now) {
			return fmt.Errorf("%w: %w", drivers.ErrPartial, errLost)
		}
	}
	state := "does not have it"
	if rerr != nil {
		state = "cannot be read (" + rerr.Error() + ")"
	}
	failed := fmt.Errorf("the startup configuration %s: %w", state, cmp.Or(err, rerr, errNotSaved))
	if err != nil && !lost && !errors.Is(err, drivers.ErrNoSave) {
		m.saveFailed = failed
	}
	return fmt.Errorf("%w: %w", drivers.ErrUnsaved, failed)
}
