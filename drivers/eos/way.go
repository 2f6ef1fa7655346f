package eos

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// way is a way into the switch. Its errors are those of the transport; wrap
// gives them the device's name.
type way interface {
	name() string // "ssh", "gnmi"
	addr() string
	// undo says how an apply is reverted, for people.
	undo(timer time.Duration) string
	// timed reports whether the switch reverts what is not confirmed, and
	// whether commands of exec mode can be run.
	timed() bool

	show(ctx context.Context, cmd string) (string, error)
	showJSON(ctx context.Context, cmd string) ([]byte, error)
	observe(ctx context.Context) (*drivers.Observation, error)
	// links reads, of what observe does, at least whether ports are up, and
	// their MTU.
	links(ctx context.Context) (*drivers.Observation, error)
	// counters reads, of what observe does, at least the counters.
	counters(ctx context.Context) (*drivers.Observation, error)

	// write puts configuration lines in force as a whole: in a session of the
	// given name, to be reverted after timer; 0 is for good. ready is asked last
	// before the commit, and its error forbids it.
	write(ctx context.Context, name string, typed []string, timer time.Duration, ready func(context.Context) error) (lines.Fate, error)
	// discard aborts a session, or undoes its commit where its timer runs.
	discard(ctx context.Context, name string) error
	// do runs a command of exec mode that changes something.
	do(ctx context.Context, cmd string) error

	// hangUp gives the connection up; the next call makes a new one.
	hangUp()
	close() error
}

// refused reports whether the switch answered, and does not do it.
func refused(err error) bool {
	var rpc *gnmi.RPCError
	if errors.As(err, &rpc) {
		return rpc.Code == codes.InvalidArgument || rpc.Code == codes.NotFound || rpc.Code == codes.Unimplemented || errors.Is(err, gnmi.ErrAnswer)
	}
	return drivers.RefusedLine(err)
}
