// Package lines is what the drivers of switches that are set by command lines
// have in common: the loop of writing, judging and reverting, and the steps and
// undo records that come back from files.
//
// A driver embeds a [Machine] with the grammar of its system, and implements
// [Switch]: how lines come to the switch, as a session, a batch or one by one,
// and what is kept on it meanwhile. The switch is not taken at its word: an
// answer that fails may have been carried out, and one that does not come may
// still be going on; the result is what a fresh read shows.
package lines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// The commands that print a configuration.
const (
	Running = "show running-config"
	Startup = "show startup-config"
)

// CounterAge is how old a counter may be. How often EOS and NX-OS read theirs from
// the hardware is not documented; this is far above what they are seen to lag behind.
const CounterAge = 10 * time.Second

// Driver is what a driver that embeds a Machine implements.
type Driver interface {
	drivers.Driver
	drivers.Observer
	drivers.Heir
	drivers.Keeper
	drivers.Checker
	drivers.Meter
	drivers.Saver
	drivers.Starter
}

// Machine is the half of a driver that does not depend on the way in.
type Machine struct {
	Name    string // of the device
	System  string // for people: "EOS"
	Grammar *native.Grammar
	// Vias are the ways in that a step can name.
	Vias  []string
	Parse func(text []byte) (*native.Config, error)
	// After are commands that are run after one that prints a configuration, for
	// [Switch.Cut].
	After []string
	// Means says what a configuration means on a box of a variant.
	Means func(c *native.Config, variant int) (*qos.Device, []native.Unknown)
	// Accounts says what becomes of each line of a configuration.
	Accounts func(c *native.Config, variant int) []render.Line
	// Identify is the digest of what desired speaks of in a configuration.
	Identify func(c *native.Config, desired *qos.Device, variant int) string
	// Held is the configuration in a snapshot, and the variant of its box.
	Held func(s *drivers.Snapshot) (*native.Config, int)
	// Hold makes a snapshot of a configuration, of a box of a variant.
	Hold func(c *native.Config, variant int) *drivers.Snapshot
	// Variants is how many kinds of boxes [Machine.Means] tells apart; 0 for none.
	Variants int
	// Ended are the IDs of runs that are known to be at work no more.
	Ended []string
	// Checkpoints says that an undo record always names a checkpoint.
	Checkpoints bool
	// Disturbs is what an edit does to the switch besides the admin states that it sets; nil
	// is nothing that is known.
	Disturbs func(native.Edit) qos.Impact
	// Shares is what ports get in common, for people: "comes with the qos profile".
	Shares string
	// Refused reports whether an error is a refusal by the switch itself.
	Refused func(err error) bool
	Switch  Switch
	Pace    Pace
	// saveFailed is why a save failed; nil while none did.
	saveFailed error
	// idle is the undo record of an apply that is known to have had no effect.
	idle string
	// desired is what the digest was last asked for; nil until then.
	desired *qos.Device
}

// Inherit tells which runs have ended.
func (m *Machine) Inherit(runs []string) { m.Ended = runs }

// decode is Means without what the model has no place for.
func (m *Machine) decode(c *native.Config, variant int) *qos.Device {
	d, _ := m.Means(c, variant)
	return d
}

// Decode turns a snapshot into a running model.
func (m *Machine) Decode(s *drivers.Snapshot) (*qos.Device, []drivers.Unknown) {
	d, unknown := m.Means(m.Held(s))
	return d, LeftAlone(unknown)
}

// Account is what becomes of each line of the configuration in a snapshot.
func (m *Machine) Account(s *drivers.Snapshot) []render.Line { return m.Accounts(m.Held(s)) }

// Digest identifies the state that desired speaks of; "", which no plan starts
// from, where that is not a switch's.
func (m *Machine) Digest(s *drivers.Snapshot, want drivers.Desired) string {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return ""
	}
	m.desired = desired
	cfg, variant := m.Held(s)
	return m.Identify(cfg, desired, variant)
}

// step is the native part of a step.
type step struct {
	Edit native.Edit `json:"edit"`
}

// step makes the one step of a plan.
func (m *Machine) step(via, what string, d *Draft) ([]drivers.Step, error) {
	raw, err := json.Marshal(step{Edit: d.Edit})
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	s := drivers.Step{Via: via, What: what, Lines: d.Lines, Impact: m.disturbs(d.Edit), Native: raw}
	s.Moves(d.Changes)
	return []drivers.Step{s}, nil
}

// edit reads the one step of a plan, which may come from a file.
func (m *Machine) edit(items []drivers.Step, managed func(port string) bool) (native.Edit, error) {
	if len(items) != 1 {
		return nil, fmt.Errorf("the plan has %s; a plan for this switch has one", words.Count(len(items), "step"))
	}
	if via := items[0].Via; !slices.Contains(m.Vias, via) {
		return nil, fmt.Errorf("step 1 of the plan: unknown transport %q", via)
	}
	var s step
	err := json.Unmarshal(items[0].Native, &s)
	if err == nil {
		err = m.Grammar.Check(s.Edit, managed)
	}
	if err != nil {
		return nil, fmt.Errorf("step 1 of the plan: %w", err)
	}
	return s.Edit, nil
}

// CheckSteps returns an error, with the place, for what a plan of this driver
// never has.
func (m *Machine) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	if len(items) == 0 {
		return qos.ImpactNone, nil
	}
	edit, err := m.edit(items, managed)
	return m.disturbs(edit), err
}

// disturbs is what an edit does to the switch, whatever the values that it sets mean.
func (m *Machine) disturbs(e native.Edit) qos.Impact {
	i := qos.ImpactNone
	if e.Flaps() {
		i = qos.ImpactPortFlap
	}
	if m.Disturbs != nil {
		i = max(i, m.Disturbs(e))
	}
	return i
}

// begin announces the undo record of an apply and its step before the first
// write. The token is nil where nothing may be written.
func (m *Machine) begin(ctx context.Context, b Record, items []drivers.Step, o drivers.ApplyOptions) (*drivers.Token, error) {
	if err := m.check(b, nil); err != nil {
		return nil, fmt.Errorf("nothing was written, as this tool could not undo it: %w", err)
	}
	token, err := drivers.NewToken(m.Name, b)
	if err != nil {
		return nil, err
	}
	if err := o.Announce(token, 1, items[0]); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return token, fmt.Errorf("stopped before the first write: %w", err)
	}
	return token, nil
}

// Holds reports whether an edit changes nothing of what a configuration means.
// A switch need not print a line that equals the default.
func (m *Machine) Holds(e native.Edit, now *native.Config, variant int) bool {
	if len(e.Commands(now)) == 0 {
		return true
	}
	is, would := m.decode(now, variant), m.decode(e.Apply(now), variant)
	return len(qos.Diff(is, would))+len(qos.Diff(would, is)) == 0
}

// done reports whether a configuration holds what a record wants, and no longer what it
// undoes.
func (m *Machine) done(b Record, now *native.Config) bool {
	return m.Holds(b.Edit, now, b.Variant) && (!b.Undone(now) || len(b.Edit.Commands(now)) == 0)
}

// stands returns an error unless an apply is still in force, as it must be before it is
// saved.
func (m *Machine) stands(b Record, now *native.Config) error {
	switch {
	case m.Holds(b.Edit, now, b.Variant):
		return nil
	case b.Undone(now):
		return fmt.Errorf("%w: it was not confirmed in time, and the switch reverted it", drivers.ErrRejected)
	}
	return fmt.Errorf("%w: the configuration was changed since the apply: %q is gone", drivers.ErrPartial, telling(b.Edit.Commands(now)))
}

// telling returns the last of some lines that is more than the end of a mode.
func telling(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if l != "exit" {
			return l
		}
	}
	return ""
}

// Fate is how far a write came, as its answer has it.
type Fate int

// The fates.
const (
	Unsent     Fate = iota // nothing can be in force of it
	Rejected               // the switch says no
	Unanswered             // it said nothing
	Answered               // it says yes
)

// Unreadable is the error where nobody knows what a write has done.
func (m *Machine) Unreadable(cause, err error) error {
	return fmt.Errorf("%w: the configuration of the switch cannot be read: %w", drivers.ErrPartial, JoinErrors(cause, err))
}

// verdict says what became of sent lines that come in force as a whole or not
// at all, on a switch that does not hold what they want. nothing says that
// nothing of them is in force: what differs was made by others. The error wraps
// ErrPartial where the switch holds neither the old nor the new.
func (m *Machine) verdict(w *Work, now *native.Config, f Fate, cause error) (nothing bool, err error) {
	left := w.Edit.Commands(now)
	changed := !w.Undone(now)
	switch {
	case f == Rejected && changed:
		return true, fmt.Errorf("%w: none of it is in force, and someone else has changed the same settings in the meantime: %w", drivers.ErrRejected, cause)
	case changed:
		return false, fmt.Errorf("%w: the switch holds neither the old nor the new: %s of %d left to set: %w", drivers.ErrPartial, words.Count(len(left), "line"), len(w.Lines), cmp.Or(cause, ErrOthers))
	case f == Unanswered:
		return false, fmt.Errorf("%w: nothing was written: %w", drivers.ErrUnreachable, cause)
	case f == Answered:
		return true, fmt.Errorf("%w: the switch took %s and changed nothing: %q has no effect", drivers.ErrRejected, words.Count(len(w.Lines), "line"), telling(left))
	}
	return true, fmt.Errorf("%w: nothing is in force: %w", drivers.ErrRejected, cause)
}

// ErrOthers is why what was answered well may not be in force.
var ErrOthers = errors.New("someone else may have written at the same time")

// errNotSaved is what a read of the startup configuration shows after a save.
var errNotSaved = errors.New("the switch reported success and saved nothing")

// errLost is what a read of the running configuration shows after a save.
var errLost = errors.New("the switch lost what was written before it was saved: it restarted, or another user loaded a configuration")

// JoinErrors says two errors in one line; either may be nil.
func JoinErrors(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// Startup reads the startup configuration. A user who may not read it may not write it
// either.
func (m *Machine) Startup(ctx context.Context) (*drivers.Snapshot, error) {
	cfg, err := m.Config(ctx, Startup)
	if m.Refused(err) {
		return nil, fmt.Errorf("%w: %s: %w", drivers.ErrUnsupported, Startup, err)
	} else if err != nil {
		return nil, err
	}
	variant, err := m.Switch.Variant(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return m.Hold(cfg, variant), nil
}

// Undone reports whether nothing of an apply is in a configuration. Of one that had no
// effect there is nothing: what differs was made by others.
func (m *Machine) Undone(s *drivers.Snapshot, t *drivers.Token) (bool, error) {
	if t == nil || m.idle == string(t.Native) {
		return true, nil
	}
	b, err := m.Record(t)
	if err != nil {
		return false, err
	}
	cfg, _ := m.Held(s)
	return m.Holds(b.Undo, cfg, b.Variant), nil
}

// Unsaved compares the running with the startup configuration.
func (m *Machine) Unsaved(ctx context.Context) ([]string, error) {
	var cfg [2]*native.Config
	for i, cmd := range []string{Running, Startup} {
		var err error
		if cfg[i], err = m.Config(ctx, cmd); m.Refused(err) {
			return nil, fmt.Errorf("%w: %s: %w", drivers.ErrUnsupported, cmd, err)
		} else if err != nil {
			return nil, err
		}
	}
	return drivers.UnsavedLines(cfg[0].Lines, cfg[1].Lines), nil
}

// LeftAlone puts what the decoder could not place into the driver's form.
func LeftAlone(unknown []native.Unknown) []drivers.Unknown {
	return drivers.LeftAlone(unknown, func(u native.Unknown) drivers.Unknown {
		return drivers.Unknown{Why: u.Why, Text: u.Text, Open: u.Open}
	})
}
