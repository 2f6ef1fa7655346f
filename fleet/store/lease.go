package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// TTL is the default time after which a lock expires unless its holder renews it.
const TTL = 30 * time.Second

// Lease keeps a lock renewed. It ends when renewing has failed for too long.
type Lease struct {
	ctx   context.Context // a life
	end   context.CancelCauseFunc
	until atomic.Pointer[time.Time]
	over  chan struct{} // closed when the last call of beat has returned
}

// leaseContext is the context of a lease. Its Err checks the clock, because timers fire late in a
// process that was suspended.
type leaseContext struct {
	context.Context
	l    *Lease
	most time.Duration
}

func (c leaseContext) Err() error {
	if !time.Now().Before(*c.l.until.Load()) {
		c.l.Lose(fmt.Errorf("%w: not renewed within %s", ErrLost, c.most))
	}
	return c.Context.Err()
}

// Keep renews a lock that was acquired at the time taken, by calling beat every ttl/6. The
// lock is lost when beat returns [ErrLost], or when beat has failed for so long that
// another run may soon take the lock.
func Keep(taken time.Time, ttl time.Duration, beat func(context.Context) error) *Lease {
	l := &Lease{over: make(chan struct{})}
	pause := ttl / 6
	most := ttl - pause
	renewed := func(at time.Time) time.Duration {
		at = at.Add(most)
		l.until.Store(&at)
		return time.Until(at)
	}
	ctx, end := context.WithCancelCause(context.Background())
	l.ctx, l.end = leaseContext{ctx, l, most}, end
	expiry := time.AfterFunc(renewed(taken), func() { _ = l.Err() })
	go func() {
		defer close(l.over)
		defer expiry.Stop()
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for {
			select {
			case <-l.ctx.Done():
				return
			case <-tick.C:
			}
			if l.Err() != nil {
				return // do not renew a lease that has ended
			}
			begun := time.Now()
			ctx, cancel := context.WithTimeout(l.ctx, pause)
			err := beat(ctx)
			cancel()
			if errors.Is(err, ErrLost) {
				l.Lose(err)
			} else if err == nil {
				expiry.Reset(renewed(begun))
			}
		}
	}()
	return l
}

// Guard implements the Guard method of [Lock].
func (l *Lease) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	return fence.With(ctx, l.ctx)
}

// Err returns why the lock was lost or released, or nil while it is held.
func (l *Lease) Err() error {
	if l.ctx.Err() == nil {
		return nil
	}
	return context.Cause(l.ctx)
}

// Lose ends the lease with the given reason.
func (l *Lease) Lose(reason error) { l.end(reason) }

// Stop ends the lease and waits until the goroutine that renews it has ended.
func (l *Lease) Stop() {
	l.end(errReleased)
	<-l.over
}
