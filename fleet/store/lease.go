package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ttl is how long a lock outlives a holder that is not heard of.
const ttl = 30 * time.Second

// lease is the life of a lock: it ends when nobody could renew it for too long.
type lease struct {
	ctx  context.Context
	end  context.CancelCauseFunc
	over chan struct{} // closed when the last beat has ended
}

// keep calls beat again and again, for a lock that was taken at a time. The lock is lost
// when beat says so, or when it has failed for so long that the next one to come may
// have taken it.
func keep(taken time.Time, ttl time.Duration, beat func(context.Context) error) *lease {
	l := &lease{over: make(chan struct{})}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	pause := ttl / 6
	most := ttl - pause
	expiry := time.AfterFunc(most-time.Since(taken), func() {
		l.end(fmt.Errorf("%w: not renewed within %s", ErrLost, most))
	})
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
			begun := time.Now()
			ctx, cancel := context.WithTimeout(l.ctx, pause)
			err := beat(ctx)
			cancel()
			if errors.Is(err, ErrLost) {
				l.end(err)
			} else if err == nil {
				expiry.Reset(most - time.Since(begun))
			}
		}
	}()
	return l
}

// Guard is that of [Lock].
func (l *lease) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// lostNow returns the reason where the lock is lost or given back, else nil.
func (l *lease) lostNow() error { return context.Cause(l.ctx) }

// stop ends the lease, and waits until nothing renews it any more.
func (l *lease) stop() {
	l.end(errReleased)
	<-l.over
}
