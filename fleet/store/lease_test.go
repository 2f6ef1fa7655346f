package store

import (
	"context"
	"errors"
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
