package watch_test

import (
	"context"
	"testing"

	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/watchtest"
)

// trial is a watch that a test steps through.
type trial struct {
	*watch.Watcher
	t      *testing.T
	clock  *watchtest.Clock
	cancel context.CancelFunc
	done   chan error
}

// try starts a watch that is stopped at the end of the test.
func try(t *testing.T, c *watchtest.Clock, cfg watch.Config) *trial {
	t.Helper()
	x := &trial{t: t, clock: c, done: make(chan error, 1)}
	cfg.Clock = c
	ctx, cancel := context.WithCancel(t.Context())
	x.cancel = cancel
	x.Watcher = watch.New(cfg)
	return x.start(ctx)
}

func (x *trial) start(ctx context.Context) *trial {
	go func() {
		err := x.Run(ctx)
		x.clock.End()
		x.done <- err
	}()
	x.t.Cleanup(func() { x.stop() })
	return x
}

// stop ends the watch like Ctrl-C.
func (x *trial) stop() {
	x.cancel()
	if x.done == nil {
		return
	}
	if err := <-x.done; err != nil {
		x.t.Errorf("the watch ended with %v", err)
	}
	x.done = nil
}

// to steps until n rounds are over, with at most stuck reads that do not end, and returns the
// last round.
func (x *trial) to(n, stuck int) *watch.Round {
	x.t.Helper()
	r := x.clock.To(x.Watcher, n, stuck)
	if r == nil {
		x.t.Fatalf("the watch ended before round %d", n)
	}
	return r
}
