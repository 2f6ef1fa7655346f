// Package agent has one machine's NICs worked on by another: the JSON that
// travels between them, the side that serves a machine and the side that asks.
//
// The serving side is the program itself, started on the host with its standard
// input and output as the connection. It says hello with the version of the
// protocol, takes one request on one line, answers with a line for each step
// that it begins and one last line with the result, and ends. Its work ends
// with its input, so that none goes on for someone who left.
//
// [Machine] is what both ways have in common: [Local] is the machine itself, [Client]
// one at the other end of a connection. How a connection comes about is nic/remote's,
// what is done to a machine nic/local's.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// version is the version of the protocol. Either side refuses another: the
// program is copied to the host, so that both sides are the same one.
const version = 1

// The bounds of what either side takes, in bytes.
const (
	MaxRequest = 8 << 20
	MaxAnswer  = 16 << 20 // of one line
	// maxNoise is what a login shell's start-up files may print before the hello.
	maxNoise = 64 << 10
)

// The deadlines of calls whose context has none. A card takes 20 s to read, and minutes
// to write.
const (
	ReadTimeout  = 10 * time.Minute
	PlanTimeout  = time.Minute
	applyTimeout = time.Hour
	unitTimeout  = 10 * time.Minute
	resetTimeout = 20 * time.Minute // a BlueField alone takes up to ten
	// holdTimeout is for an apply, the gate of its wave, and a revert.
	holdTimeout = 4 * time.Hour
	maxTimeout  = 24 * time.Hour
)

// The errors of the protocol, wrapped; test with errors.Is. Those of nic/local,
// nic/dcb, nic/mlxconfig and nic/runner, and of a context, come through unchanged.
var (
	// ErrVersion: the other side speaks another version of the protocol.
	ErrVersion = errors.New("another version of the agent's protocol")
	// ErrRequest: the agent cannot make out what is asked, or it is too large.
	ErrRequest = errors.New("unusable request")
	// ErrAnswer: the answer makes no sense, or is too large.
	ErrAnswer = errors.New("unusable answer of the agent")
	// ErrStart: the agent did not start.
	ErrStart = errors.New("the agent did not start")
	// ErrEnded: the agent ended before it answered. It is not known which
	// changes it had made by then.
	ErrEnded = errors.New("the agent ended without an answer")
)

// Machine is a host whose NICs are worked on. Its methods are those of [local.Machine]
// and nic/unit.
type Machine interface {
	// Select has names of NICs stand for the interfaces that selectors choose on the
	// machine, in all further calls.
	Select(selectors map[string]intent.Selector)
	// Read reads the boot unit as well.
	Read(ctx context.Context, names []string) (*nic.Host, error)
	Counters(ctx context.Context, h *nic.Host) error
	// Plan asks the machine, which knows its routes and bonds.
	Plan(ctx context.Context, running, desired *nic.Host, o local.Options) ([]local.Step, error)
	// Before writes no setting: it reads what undoes steps, for a record that
	// is there before the first is carried out.
	Before(ctx context.Context, steps []local.Step) (local.Undo, error)
	Apply(ctx context.Context, steps []local.Step, progress func(i, n int, s local.Step)) (local.Undo, error)
	// Watch looks for a while whether the settings of steps stay as desired.
	Watch(ctx context.Context, desired *nic.Host, steps []local.Step) ([]nic.Change, error)
	Revert(ctx context.Context, u local.Undo) error
	// Hold marks the machine for a run. The mark outlasts ctx: it stays until it is
	// ended, the connection is lost, or four hours are over.
	Hold(ctx context.Context, k mark.Mark) (local.Held, error)
	// Resets returns how the cards of ports are reset; it changes nothing.
	Resets(ctx context.Context, ports []string, o local.Options) ([]local.CardReset, error)
	// Reset resets a card as Resets said. The connection may be lost with it.
	Reset(ctx context.Context, r local.CardReset, o local.Options) error
	// InstallUnit has the machine apply a desired host at boot, by the program
	// at a path of it, or "" for a copy of the one that serves it. It returns
	// the files that it wrote, also with an error.
	InstallUnit(ctx context.Context, desired *nic.Host, program string) (written []string, err error)
	// RemoveUnit undoes that. It returns what it removed, also with an error.
	RemoveUnit(ctx context.Context) (removed []string, err error)
}

// Local returns the machine that the program runs on.
func Local(m *local.Machine) Machine { return here{m} }

type here struct{ *local.Machine }

func (h here) Read(ctx context.Context, names []string) (*nic.Host, error) {
	out, err := h.Machine.Read(ctx, names)
	if err != nil {
		return nil, err
	}
	if out.Unit, err = unit.Read(h.Roots, h.Interface); err == nil && out.Unit.Digest != "" {
		out.Unit.Failed, err = unit.Failed(ctx, h.Roots, h.tools(), h.Interface)
	}
	if err != nil {
		if out.Missing == nil {
			out.Missing = map[string]string{}
		}
		out.Missing[nic.FieldUnit] = err.Error()
	}
	return out, nil
}

func (h here) Plan(ctx context.Context, running, desired *nic.Host, o local.Options) ([]local.Step, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	return h.Machine.Plan(running, desired, o), nil
}

// SkipFirmware has every further Read leave the firmware's settings out.
func (h here) SkipFirmware() { h.NoFirmware = true }

func (h here) InstallUnit(ctx context.Context, desired *nic.Host, program string) ([]string, error) {
	return unit.Install(ctx, h.Roots, h.tools(), unit.Settings{Binary: program, Host: desired})
}

func (h here) RemoveUnit(ctx context.Context) ([]string, error) {
	return unit.Remove(ctx, h.Roots, h.tools())
}

// tools runs the programs of the machine.
func (h here) tools() runner.Runner {
	if h.Tools == nil {
		return runner.Local{}
	}
	return h.Tools
}
