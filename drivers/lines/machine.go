// Package lines is what the drivers of switches that are set by command lines
// have in common: the steps and undo records that come back from files, and the
// judgement of what became of lines that were sent.
//
// A driver embeds a [Machine] with the grammar of its system. How lines come to
// the switch, as a session, a batch or one by one, is for the driver.
package lines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// The commands that print a configuration.
const (
	Running = "show running-config"
	Startup = "show startup-config"
)

// Machine is the half of a driver that does not depend on the way in.
type Machine struct {
	Name    string // of the device
	System  string // for people: "EOS"
	Grammar *native.Grammar
	// Vias are the ways in that a step can name.
	Vias []string
	// Decode says what a configuration means on a box of a variant.
	Decode func(c *native.Config, variant int) *qos.Device
	// Variants is how many kinds of boxes [Machine.Decode] tells apart; 0 for
	// none.
	Variants int
	// Desired is what the digest was last asked for; nil until then.
	Desired *qos.Device
	// Ended are the IDs of runs that are known to be at work no more.
	Ended []string
	// Checkpoints says that an undo record always names a checkpoint.
	Checkpoints bool
}

// Inherit tells which runs have ended.
func (m *Machine) Inherit(runs []string) { m.Ended = runs }

// Lasts reports whether a device would be the same after a restart, in what this
// tool manages.
func (m *Machine) Lasts(running, saved *native.Config, variant int) bool {
	return drivers.Lasts(m.Decode(running, variant), m.Decode(saved, variant), m.Desired.Manages)
}

// step is the native part of a step.
type step struct {
	Edit native.Edit `json:"edit"`
}

// Step makes the one step of a plan.
func (m *Machine) Step(via, what string, e native.Edit, lines []string, changes []qos.Change) ([]drivers.Step, error) {
	raw, err := json.Marshal(step{Edit: e})
	if err != nil {
		return nil, fmt.Errorf("encode the plan: %w", err)
	}
	s := drivers.Step{Via: via, What: what, Lines: lines, Native: raw}
	s.Moves(changes)
	return []drivers.Step{s}, nil
}

// Edit reads the one step of a plan, which may come from a file.
func (m *Machine) Edit(items []drivers.Step, managed func(port string) bool) (native.Edit, error) {
	if len(items) != 1 {
		return nil, fmt.Errorf("%s: the plan has %s; a plan for this switch has one", m.Name, words.Count(len(items), "step"))
	}
	if via := items[0].Via; !slices.Contains(m.Vias, via) {
		return nil, fmt.Errorf("%s: step 1 of the plan: unknown transport %q", m.Name, via)
	}
	var s step
	err := json.Unmarshal(items[0].Native, &s)
	if err == nil {
		err = m.Grammar.Check(s.Edit, managed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: step 1 of the plan: %w", m.Name, err)
	}
	return s.Edit, nil
}

// CheckSteps returns an error, with the place, for what a plan of this driver
// never has.
func (m *Machine) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	if len(items) == 0 {
		return qos.ImpactNone, nil
	}
	edit, err := m.Edit(items, managed)
	if err == nil && edit.Flaps() {
		return qos.ImpactPortFlap, nil
	}
	return qos.ImpactNone, err
}

// Begin announces the undo record of an apply and its step before the first
// write. The token is nil where nothing may be written.
func (m *Machine) Begin(ctx context.Context, b Record, items []drivers.Step, o drivers.ApplyOptions) (*drivers.Token, error) {
	if err := m.check(b, nil); err != nil {
		return nil, fmt.Errorf("%s: nothing was written, as this tool could not undo it: %w", m.Name, err)
	}
	token, err := drivers.NewToken(m.Name, b)
	if err != nil {
		return nil, err
	}
	if err := o.Announce(token, 1, items[0]); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return token, fmt.Errorf("%s: stopped before the first write: %w", m.Name, err)
	}
	return token, nil
}

// Holds reports whether an edit changes nothing of what a configuration means.
// A switch need not print a line that equals the default.
func (m *Machine) Holds(e native.Edit, now *native.Config, variant int) bool {
	if len(e.Commands(now)) == 0 {
		return true
	}
	is, would := m.Decode(now, variant), m.Decode(e.Apply(now), variant)
	return len(qos.Diff(is, would))+len(qos.Diff(would, is)) == 0
}

// Done reports whether a configuration holds what an edit wants, and what the
// edit undoes is gone.
func (m *Machine) Done(want, was native.Edit, now *native.Config, variant int) bool {
	return m.Holds(want, now, variant) && (len(was.Commands(now)) > 0 || len(want.Commands(now)) == 0)
}

// Stands returns an error unless an apply is still in force, as it has to be
// before it is saved.
func (m *Machine) Stands(b Record, now *native.Config) error {
	switch {
	case m.Holds(b.Edit, now, b.Variant):
		return nil
	case b.Undone(now):
		return fmt.Errorf("%s: %w: it was not confirmed in time, and the switch reverted it", m.Name, drivers.ErrRejected)
	}
	return fmt.Errorf("%s: %w: the configuration was changed since the apply: %q is gone", m.Name, drivers.ErrPartial, telling(b.Edit.Commands(now)))
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
	return fmt.Errorf("%s: %w: what the switch holds cannot be read: %w", m.Name, drivers.ErrPartial, Both(cause, err))
}

// Verdict says what became of sent lines that come in force as a whole or not
// at all, on a switch that does not hold what they want: want is what they
// bring about, was what stood there before. nothing says that nothing of them
// is in force: what differs was made by others. The error wraps ErrPartial where
// the switch holds neither the old nor the new.
func (m *Machine) Verdict(sent []string, want, was native.Edit, now *native.Config, f Fate, cause error) (nothing bool, err error) {
	left := want.Commands(now)
	changed := len(was.Commands(now)) > 0
	switch {
	case f == Rejected && changed:
		return true, fmt.Errorf("%s: %w: nothing of it is in force, and someone else has changed the same settings meanwhile: %w", m.Name, drivers.ErrRejected, cause)
	case changed:
		return false, fmt.Errorf("%s: %w: the switch holds neither the old nor the new: %s of %d left to set: %w", m.Name, drivers.ErrPartial, words.Count(len(left), "line"), len(sent), cmp.Or(cause, ErrOthers))
	case f == Unanswered:
		return false, fmt.Errorf("%s: %w: nothing was written: %w", m.Name, drivers.ErrUnreachable, cause)
	case f == Answered:
		return true, fmt.Errorf("%s: %w: the switch took %s and changed nothing: %q has no effect", m.Name, drivers.ErrRejected, words.Count(len(sent), "line"), telling(left))
	}
	return true, fmt.Errorf("%s: %w: nothing is in force: %w", m.Name, drivers.ErrRejected, cause)
}

// ErrOthers is why what was answered well may not be in force.
var ErrOthers = errors.New("someone else may have written at the same time")

// ErrNotSaved is what a read of the startup configuration shows after a save.
var ErrNotSaved = errors.New("the startup configuration is another")

// Both says two errors in one line; either may be nil.
func Both(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

// Unsaved compares the running with the startup configuration; refused reports
// whether the switch answered that it shows none.
func (m *Machine) Unsaved(ctx context.Context, read func(ctx context.Context, cmd string) (*native.Config, error), refused func(error) bool) ([]string, error) {
	var cfg [2]*native.Config
	for i, cmd := range []string{Running, Startup} {
		var err error
		if cfg[i], err = read(ctx, cmd); refused(err) {
			return nil, fmt.Errorf("%s: %w: %s: %w", m.Name, drivers.ErrUnsupported, cmd, err)
		} else if err != nil {
			return nil, err
		}
	}
	return drivers.UnsavedLines(cfg[0].Lines, cfg[1].Lines), nil
}

// LeftAlone puts what the decoder could not place into the driver's form.
func LeftAlone(unknown []native.Unknown) []drivers.Unknown {
	return drivers.LeftAlone(unknown, func(u native.Unknown) (string, string) { return u.Why, u.Text })
}

// LossNotes says what ports lose with the blocks that they had.
func LossNotes(losses []native.Loss) []string {
	const most = 4
	var out []string
	for _, l := range losses {
		from := "the switch"
		if len(l.Ports) > 0 {
			from = natural.Fold(l.Ports)
		}
		named := strings.Join(l.Lines[:min(len(l.Lines), most)], "; ")
		if n := len(l.Lines) - most; n > 0 {
			named += fmt.Sprintf("; and %d more", n)
		}
		out = append(out, fmt.Sprintf("%s goes from %s, and with it what the intent does not speak of: %s", l.Block, from, named))
	}
	return out
}
