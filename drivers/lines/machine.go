// Package lines is the common part of drivers for switches that are configured by command lines:
// it writes lines, checks the result, reverts, and validates steps and undo records from files.
//
// A driver embeds a [Machine] with the grammar of its system, and implements [Switch]: how lines
// reach the switch (as a session, as a batch or one by one) and what is kept on the switch
// meanwhile. The switch's responses are not trusted: a request with an error response may have
// been executed, and one without a response may still be in progress. Only a fresh read shows the
// result.
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

// Commands that print a configuration.
const (
	Running = "show running-config"
	Startup = "show startup-config"
)

// CounterAge is the maximum age of a counter. It is not documented how often EOS and NX-OS read
// counters from the hardware; this is far longer than any delay observed.
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

// Machine is the part of a driver that does not depend on the transport.
type Machine struct {
	Name    string // device name
	System  string // name for users: "EOS"
	Grammar *native.Grammar
	// Vias are the transports that a step may name.
	Vias  []string
	Parse func(text []byte) (*native.Config, error)
	// After lists commands to run after printing a configuration, for [Switch.Cut].
	After []string
	// Means decodes a configuration on a switch of the given variant.
	Means func(c *native.Config, variant int) (*qos.Device, []native.Unknown)
	// Accounts says for each line of a configuration how the tool treats it.
	Accounts func(c *native.Config, variant int) []render.Line
	// Identify returns the digest of the parts of a configuration that desired manages.
	Identify func(c *native.Config, desired *qos.Device, variant int) string
	// Held returns the configuration in a snapshot and the variant of the switch.
	Held func(s *drivers.Snapshot) (*native.Config, int)
	// Hold creates a snapshot from a configuration and the variant of the switch.
	Hold func(c *native.Config, variant int) *drivers.Snapshot
	// Variants is the number of switch variants that [Machine.Means] distinguishes; 0 for none.
	Variants int
	// Ended are the IDs of runs that are known to have ended.
	Ended []string
	// Checkpoints is set if every undo record names a checkpoint.
	Checkpoints bool
	// Disturbs returns the impact of an edit besides the admin states that it sets; nil if none
	// is known.
	Disturbs func(native.Edit) qos.Impact
	// Shares is the reason for changes that come with shared settings: "comes with the qos
	// profile".
	Shares string
	// Refused reports whether an error means that the switch itself refused a command.
	Refused func(err error) bool
	Switch  Switch
	Pace    Pace
	// saveFailed is the error of a failed save; nil if none failed.
	saveFailed error
	// idle is the undo record of an apply that is known to have had no effect.
	idle string
	// desired is the argument of the last call of Digest; nil before the first.
	desired *qos.Device
}

// Inherit sets the IDs of runs that have ended.
func (m *Machine) Inherit(runs []string) { m.Ended = runs }

// decode is Means without the unknown parts.
func (m *Machine) decode(c *native.Config, variant int) *qos.Device {
	d, _ := m.Means(c, variant)
	return d
}

// Decode converts a snapshot to a running model.
func (m *Machine) Decode(s *drivers.Snapshot) (*qos.Device, []drivers.Unknown) {
	d, unknown := m.Means(m.Held(s))
	return d, LeftAlone(unknown)
}

// Account says for each line of the configuration in a snapshot how the tool treats it.
func (m *Machine) Account(s *drivers.Snapshot) []render.Line { return m.Accounts(m.Held(s)) }

// Digest identifies the state that desired manages; it returns "", which matches no plan, if
// desired is not for a switch.
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

// step creates the only step of a plan.
func (m *Machine) step(via, what string, d *Draft) ([]drivers.Step, error) {
	raw, err := json.Marshal(step{Edit: d.Edit})
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	s := drivers.Step{Via: via, What: what, Lines: d.Lines, Impact: m.disturbs(d.Edit), Native: raw}
	s.SetMoves(d.Changes)
	return []drivers.Step{s}, nil
}

// edit decodes the only step of a plan, which may come from a file.
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

// CheckSteps returns an error, with its position, for steps that this driver never creates.
func (m *Machine) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	if len(items) == 0 {
		return qos.ImpactNone, nil
	}
	edit, err := m.edit(items, managed)
	return m.disturbs(edit), err
}

// disturbs returns the impact of an edit, independent of the values that it sets.
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

// begin announces the undo record of an apply and its step before the first write. The token is
// nil if writing is not allowed.
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

// Holds reports whether applying an edit would not change the meaning of a configuration. The
// lines may still differ, because a switch need not print a line that equals the default.
func (m *Machine) Holds(e native.Edit, now *native.Config, variant int) bool {
	if len(e.Commands(now)) == 0 {
		return true
	}
	is, would := m.decode(now, variant), m.decode(e.Apply(now), variant)
	return len(qos.Diff(is, would))+len(qos.Diff(would, is)) == 0
}

// done reports whether a configuration contains the edit of a record and no longer the previous
// settings.
func (m *Machine) done(b Record, now *native.Config) bool {
	return m.Holds(b.Edit, now, b.Variant) && (!b.Undone(now) || len(b.Edit.Commands(now)) == 0)
}

// checkStillApplied returns an error unless an apply is still active, which is required before
// saving it.
func (m *Machine) checkStillApplied(b Record, now *native.Config) error {
	switch {
	case m.Holds(b.Edit, now, b.Variant):
		return nil
	case b.Undone(now):
		return fmt.Errorf("%w: it was not confirmed in time, and the switch reverted it", drivers.ErrRejected)
	}
	return fmt.Errorf("%w: the configuration was changed since the apply: %q is gone", drivers.ErrPartial, lastMeaningful(b.Edit.Commands(now)))
}

// lastMeaningful returns the last of the lines that is not just the end of a mode.
func lastMeaningful(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if l != "exit" {
			return l
		}
	}
	return ""
}

// Fate is the result of a write according to the switch's response.
type Fate int

// Values of Fate.
const (
	Unsent     Fate = iota // no line can take effect
	Rejected               // the switch refused the lines
	Unanswered             // the switch did not respond
	Answered               // the switch accepted the lines
)

// Unreadable returns the error for a write whose result is unknown.
func (m *Machine) Unreadable(cause, err error) error {
	return fmt.Errorf("%w: the configuration of the switch cannot be read: %w", drivers.ErrPartial, JoinErrors(cause, err))
}

// verdict returns the result of writing lines that take effect all together or not at all, if the
// switch does not have the wanted settings. nothing reports that none of the lines is active: any
// differences were made by others. The error wraps ErrPartial if the switch has neither the old
// nor the new settings.
func (m *Machine) verdict(w *Work, now *native.Config, f Fate, cause error) (nothing bool, err error) {
	left := w.Edit.Commands(now)
	changed := !w.Undone(now)
	switch {
	case f == Rejected && changed:
		return true, fmt.Errorf("%w: none of it is in force, and someone else has changed the same settings in the meantime: %w", drivers.ErrRejected, cause)
	case changed:
		return false, fmt.Errorf("%w: the switch has neither its old settings nor all new ones: %s of %d left to set: %w", drivers.ErrPartial, words.Count(len(left), "line"), len(w.Lines), cmp.Or(cause, ErrOthers))
	case f == Unanswered:
		return false, fmt.Errorf("%w: nothing was written: %w", drivers.ErrUnreachable, cause)
	case f == Answered:
		return true, fmt.Errorf("%w: the switch accepted %s but nothing changed: %q has no effect", drivers.ErrRejected, words.Count(len(w.Lines), "line"), lastMeaningful(left))
	}
	return true, fmt.Errorf("%w: no change is active: %w", drivers.ErrRejected, cause)
}

// ErrOthers is the likely cause if accepted lines are not active.
var ErrOthers = errors.New("someone else may have written at the same time")

// errNotSaved is returned if the startup configuration lacks the changes after a save.
var errNotSaved = errors.New("the switch reported success and saved nothing")

// errLost is returned if the running configuration lacks the changes after a save.
var errLost = errors.New("the switch lost what was written before it was saved: it restarted, or another user loaded a configuration")

// JoinErrors joins two errors in one line; either may be nil.
func JoinErrors(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// Startup reads the startup configuration. If the user may not read it, the error wraps
// ErrUnsupported, because that user may not write it either.
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

// Undone reports whether a configuration contains nothing of an apply. This is always true for an
// apply that had no effect: any differences were made by others.
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

// Unsaved compares the running configuration with the startup configuration.
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

// LeftAlone converts unknown lines of the decoder to the type of package drivers.
func LeftAlone(unknown []native.Unknown) []drivers.Unknown {
	return drivers.LeftAlone(unknown, func(u native.Unknown) drivers.Unknown {
		return drivers.Unknown{Why: u.Why, Text: u.Text, Open: u.Open}
	})
}
