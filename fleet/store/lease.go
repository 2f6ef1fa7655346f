package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TTL is how long a lock outlives a holder that is not heard of, unless told otherwise.
const TTL = 30 * time.Second

// Lease is the life of a lock: it ends when nobody could renew it for too long.
type Lease struct {
	ctx  context.Context
	end  context.CancelCauseFunc
	over chan struct{} // closed when the last beat has ended
}

// Keep calls beat again and again, for a lock that was taken at a time. The lock is lost
// when beat says so, or when it has failed for so long that the next one to come may
// have taken it.
func Keep(taken time.Time, ttl time.Duration, beat func(context.Context) error) *Lease {
	l := &Lease{over: make(chan struct{})}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	pause := ttl / 6
	most := ttl - pause
	expiry := time.AfterFunc(most-time.Since(taken), func() {
		l.Lose(fmt.Errorf("%w: not renewed within %s", ErrLost, most))
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
				l.Lose(err)
			} else if err == nil {
				expiry.Reset(most - time.Since(begun))
			}
		}
	}()
	return l
}

// Guard is that of [Lock].
func (l *Lease) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Over returns the reason why the lock is lost or given back, nil where it is not.
func (l *Lease) Over() error { return context.Cause(l.ctx) }

// Lose ends the lease for a reason.
func (l *Lease) Lose(reason error) { l.end(reason) }

// Stop ends the lease, and waits until nothing renews it any more.
func (l *Lease) Stop() {
	l.end(errReleased)
	<-l.over
}
