package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A process that was suspended for longer than its lease has lost the lock as soon as it
// resumes, before any timer fires, and does not renew it.
func TestLeaseAfterSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Keep(time.Now().Add(-51*time.Minute), time.Hour, func(context.Context) error {
			t.Error("it was renewed")
			return nil
		})
		defer l.Stop()
		if err := l.Err(); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
		ctx, cancel := l.Guard(t.Context())
		defer cancel()
		if !errors.Is(context.Cause(ctx), ErrLost) {
			t.Error(context.Cause(ctx))
		}
		fresh := Keep(time.Now().Add(-49*time.Minute), time.Hour, func(context.Context) error { return nil })
		if err := fresh.Err(); err != nil {
			t.Error(err)
		}
		if fresh.Stop(); fresh.Err() == nil || errors.Is(fresh.Err(), ErrLost) {
			t.Error(fresh.Err())
		}
	})
}

// A lease ends as soon as a renewal finds that the lock is lost.
func TestLeaseEndsWithItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		lost := fmt.Errorf("%w: broken", ErrLost)
		l := Keep(begun, time.Hour, func(context.Context) error { return lost })
		defer l.Stop()
		ctx, cancel := l.Guard(t.Context())
		defer cancel()
		<-ctx.Done()
		if err := context.Cause(ctx); err != lost || time.Since(begun) != 10*time.Minute {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}

// A lease ends before another run may take the lock, even if its renewal does not return.
func TestLeaseWithAStuckRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		returns := make(chan struct{})
		l := Keep(begun, time.Hour, func(context.Context) error { <-returns; return nil })
		defer l.Stop()
		defer close(returns)
		ctx, cancel := l.Guard(t.Context())
		defer cancel()
		<-ctx.Done()
		if err := context.Cause(ctx); !errors.Is(err, ErrLost) || time.Since(begun) != 50*time.Minute {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
	})
}
