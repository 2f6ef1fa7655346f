package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

// Whoever stood still for longer than a lease lasts has lost it when it goes on, before any
// timer says so, and does not renew it.
func TestLeaseOfOneThatStoodStill(t *testing.T) {
	l := Keep(time.Now().Add(-51*time.Minute), time.Hour, func(context.Context) error {
		t.Error("it was renewed")
		return nil
	})
	defer l.Stop()
	if err := l.Over(); !errors.Is(err, ErrLost) {
		t.Error(err)
	}
	ctx, cancel := l.Guard(t.Context())
	defer cancel()
	if !errors.Is(context.Cause(ctx), ErrLost) {
		t.Error(context.Cause(ctx))
	}
	fresh := Keep(time.Now().Add(-49*time.Minute), time.Hour, func(context.Context) error { return nil })
	if err := fresh.Over(); err != nil {
		t.Error(err)
	}
	if fresh.Stop(); fresh.Over() == nil || errors.Is(fresh.Over(), ErrLost) {
		t.Error(fresh.Over())
	}
}
