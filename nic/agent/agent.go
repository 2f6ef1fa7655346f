// Package agent lets one machine work on the NICs of another. It defines the JSON sent between the
// two, the side that serves a machine and the side that sends requests.
//
// The serving side is the program itself, started on the host with its standard input and output as
// the connection. It sends a hello with the protocol version, reads one request on one line,
// answers with a line for each step that it begins and a last line with the result, and exits. It
// stops working when its input ends, so that no work continues after the client has left.
//
// [Machine] is the interface common to both cases: [Local] is the machine itself, [Client] a
// machine at the other end of a connection. Package nic/remote makes the connections; package
// nic/local does the work on the machine.
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

// version is the protocol version. Either side rejects any other: the program is copied to the
// host, so both sides run the same one.
const version = 1

// Size limits of what either side accepts, in bytes.
const (
	MaxRequest = 8 << 20
	MaxAnswer  = 16 << 20 // per line
	// maxNoise limits what a login shell's start-up files may print before the hello.
	maxNoise = 64 << 10
)

// Deadlines for calls whose context has none. Reading a card takes 20 s, writing one takes minutes.
const (
	ReadTimeout  = 10 * time.Minute
	PlanTimeout  = time.Minute
	applyTimeout = time.Hour
	unitTimeout  = 10 * time.Minute
	resetTimeout = 20 * time.Minute // resetting a BlueField takes up to ten minutes
	// holdTimeout covers an apply, the gate of its wave, and a revert.
	holdTimeout = 4 * time.Hour
	loadTimeout = 26 * time.Hour // a program has a limit of its own
	maxTimeout  = 27 * time.Hour
)

// Errors of the protocol, wrapped; test with errors.Is. The errors of nic/local, nic/dcb,
// nic/mlxconfig and nic/runner, and those of a context, are passed on unchanged.
var (
	// ErrVersion: the other side uses another version of the protocol.
	ErrVersion = errors.New("another version of the agent's protocol")
	// ErrRequest: the agent cannot decode the request, or it is too large.
	ErrRequest = errors.New("unusable request")
	// ErrAnswer: the answer is malformed or too large.
	ErrAnswer = errors.New("unusable answer from the agent")
	// ErrStart: the agent did not start.
	ErrStart = errors.New("the agent did not start")
	// ErrEnded: the agent exited before it answered. It is not known which changes it had made by
	// then.
	ErrEnded = errors.New("the agent ended without an answer")
)

// Machine is a host whose NICs can be read and changed. Its methods correspond to those of
// [local.Machine] and nic/unit.
type Machine interface {
	// Select sets the selectors that choose interfaces for NIC names on the machine, for all
	// further calls.
	Select(selectors map[string]intent.Selector)
	// Read also reads the boot unit.
	Read(ctx context.Context, names []string) (*nic.Host, error)
	Counters(ctx context.Context, h *nic.Host) error
	// Plan runs on the machine, which knows its routes and bonds.
	Plan(ctx context.Context, running, desired *nic.Host, o local.Options) ([]local.Step, error)
	// Before changes nothing: it reads what is needed to undo the steps, so that the undo record
	// exists before the first step runs.
	Before(ctx context.Context, steps []local.Step) (local.Undo, error)
	Apply(ctx context.Context, steps []local.Step, progress func(i, n int, s local.Step)) (local.Undo, error)
	// Watch checks for a while whether the settings written by steps stay as desired.
	Watch(ctx context.Context, desired *nic.Host, steps []local.Step) ([]nic.Change, error)
	Revert(ctx context.Context, u local.Undo) error
	// Hold marks the machine as in use by a run. The mark outlasts ctx: it stays until it is ended,
	// the connection is lost, or four hours have passed.
	Hold(ctx context.Context, k mark.Mark) (local.Held, error)
	// Resets says how the cards of the ports can be reset; it changes nothing.
	Resets(ctx context.Context, ports []string, o local.Options) ([]local.CardReset, error)
	// Reset resets a card as described by Resets. The connection may be lost in the process.
	Reset(ctx context.Context, r local.CardReset, o local.Options) error
	// Load runs programs that load the fabric, until all have ended.
	Load(ctx context.Context, loads []local.Load) ([]local.Loaded, error)
	// InstallUnit makes the machine apply a desired host at boot. The unit runs the program at the
	// given path on the machine, or a copy of the serving program if the path is "". InstallUnit
	// returns the files that it wrote, even if it fails.
	InstallUnit(ctx context.Context, desired *nic.Host, program string) (written []string, err error)
	// RemoveUnit removes what InstallUnit installed. It returns what it removed, even if it fails.
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

// SkipFirmware makes every further Read leave out the firmware settings.
func (h here) SkipFirmware() { h.NoFirmware = true }

func (h here) InstallUnit(ctx context.Context, desired *nic.Host, program string) ([]string, error) {
	return unit.Install(ctx, h.Roots, h.tools(), unit.Settings{Binary: program, Host: desired})
}

func (h here) RemoveUnit(ctx context.Context) ([]string, error) {
	return unit.Remove(ctx, h.Roots, h.tools())
}

// tools returns the runner for the machine's programs.
func (h here) tools() runner.Runner {
	if h.Tools == nil {
		return runner.Local{}
	}
	return h.Tools
}
