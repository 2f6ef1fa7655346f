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

// way is a transport to the switch. For its errors see [drivers.TransportError].
type way interface {
	name() string // "ssh", "gnmi"
	Addr() string
	// undo describes for users how an apply is reverted.
	undo(timer time.Duration) string
	// timed reports whether the switch reverts unconfirmed changes. It also means that exec mode
	// commands can be run.
	timed() bool

	Show(ctx context.Context, cmd string) (string, error)
	ShowAll(ctx context.Context, cmds ...string) ([]ssh.Shown, error)
	showJSON(ctx context.Context, cmd string) ([]byte, error)
	// state reads the state of the ports, including at least the output of the commands.
	state(ctx context.Context, commands []show) (*drivers.Observation, error)

	// write applies configuration lines as a whole, in a session of the given name. The switch
	// reverts them after timer unless it is 0. ready is called just before the commit; its error
	// prevents the commit.
	write(ctx context.Context, name string, typed []string, timer time.Duration, ready func(context.Context) error) (lines.Fate, error)
	// discard aborts a session, or undoes its commit if the timer is running.
	discard(ctx context.Context, name string) error
	// Do runs an exec mode command that changes something.
	Do(ctx context.Context, cmd string) error

	// HangUp closes the connection; the next call opens a new one.
	HangUp()
	Close() error
}

// refused reports whether err means that the switch refused a request.
func refused(err error) bool {
	if rpc, ok := errors.AsType[*gnmi.RPCError](err); ok {
		return rpc.Code == codes.InvalidArgument || rpc.Code == codes.NotFound || rpc.Code == codes.Unimplemented || errors.Is(err, gnmi.ErrAnswer)
	}
	return drivers.RefusedLine(err)
}
