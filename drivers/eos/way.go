package eos

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

// way is a way into the switch. For its errors see [drivers.TransportError].
type way interface {
	name() string // "ssh", "gnmi"
	Addr() string
	// undo says how an apply is reverted, for people.
	undo(timer time.Duration) string
	// timed reports whether the switch reverts what is not confirmed, and
	// whether commands of exec mode can be run.
	timed() bool

	Show(ctx context.Context, cmd string) (string, error)
	ShowAll(ctx context.Context, cmds ...string) ([]ssh.Shown, error)
	showJSON(ctx context.Context, cmd string) ([]byte, error)
	// state reads the state of the ports, at least what the commands show.
	state(ctx context.Context, commands []show) (*drivers.Observation, error)

	// write puts configuration lines in force as a whole: in a session of the
	// given name, to be reverted after timer; 0 is for good. ready is asked last
	// before the commit, and its error forbids it.
	write(ctx context.Context, name string, typed []string, timer time.Duration, ready func(context.Context) error) (lines.Fate, error)
	// discard aborts a session, or undoes its commit where its timer runs.
	discard(ctx context.Context, name string) error
	// Do runs a command of exec mode that changes something.
	Do(ctx context.Context, cmd string) error

	// HangUp gives the connection up; the next call makes a new one.
	HangUp()
	Close() error
}

// refused reports whether the switch answered, and does not do it.
func refused(err error) bool {
	if rpc, ok := errors.AsType[*gnmi.RPCError](err); ok {
		return rpc.Code == codes.InvalidArgument || rpc.Code == codes.NotFound || rpc.Code == codes.Unimplemented || errors.Is(err, gnmi.ErrAnswer)
	}
	return drivers.RefusedLine(err)
}
