package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/fence"
)

// TTL is how long a lock outlives a holder that is not heard of, unless told otherwise.
const TTL = 30 * time.Second

// Lease is the life of a lock: it ends when nobody could renew it for too long.
type Lease struct {
	ctx   context.Context // a life
	end   context.CancelCauseFunc
	until atomic.Pointer[time.Time]
	over  chan struct{} // closed when the last beat has ended
}

// life is the context of a lease. It asks the clock whether that has ended: in a process that
// stood still, timers come late.
type life struct {
	context.Context
	l    *Lease
	most time.Duration
}

func (c life) Err() error {
	if !time.Now().Before(*c.l.until.Load()) {
		c.l.Lose(fmt.Errorf("%w: not renewed within %s", ErrLost, c.most))
	}
	return c.Context.Err()
}

// Keep calls beat again and again, for a lock that was taken at a time. The lock is lost
// when beat says so, or when it has failed for so long that the next one to come may
// have taken it.
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
	l.ctx, l.end = life{ctx, l, most}, end
	expiry := time.AfterFunc(renewed(taken), func() { _ = l.Over() })
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
			if l.Over() != nil {
				return // what has ended is not renewed
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

// Guard is that of [Lock].
func (l *Lease) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	return fence.With(ctx, l.ctx)
}

// Over returns the reason why the lock is lost or given back, nil where it is not.
func (l *Lease) Over() error {
	if l.ctx.Err() == nil {
		return nil
	}
	return context.Cause(l.ctx)
}

// Lose ends the lease for a reason.
func (l *Lease) Lose(reason error) { l.end(reason) }

// Stop ends the lease, and waits until nothing renews it any more.
func (l *Lease) Stop() {
	l.end(errReleased)
	<-l.over
}
