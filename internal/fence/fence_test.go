package fence

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A context from Outlive ends with each of its locks, and at once if a lock has already ended.
func TestOutlive(t *testing.T) {
	lost := errors.New("lost")
	for nth := range 2 {
		run, stop := context.WithCancel(t.Context())
		var lose [2]context.CancelCauseFunc
		ctx := context.Context(run)
		for i := range lose {
			var lock context.Context
			lock, lose[i] = context.WithCancelCause(t.Context())
			var cancel context.CancelFunc
			ctx, cancel = With(ctx, lock)
			defer cancel()
		}
		stop()
		if ctx.Err() == nil {
			t.Error("it goes on when its context has ended")
		}
		long, cancel := Outlive(ctx, time.Hour)
		defer cancel()
		if long.Err() != nil {
			t.Errorf("it ended with its context: %v", context.Cause(long))
		}
		lose[nth](lost)
		if <-long.Done(); !errors.Is(context.Cause(long), lost) {
			t.Error(context.Cause(long))
		}
		late, cancel := Outlive(ctx, time.Hour)
		defer cancel()
		if !errors.Is(context.Cause(late), lost) {
			t.Errorf("begun when a lock was lost: %v", late.Err())
		}
	}
	short, cancel := Outlive(t.Context(), time.Nanosecond)
	defer cancel()
	if <-short.Done(); !errors.Is(short.Err(), context.DeadlineExceeded) {
		t.Error(short.Err())
	}
	lock, lose := context.WithCancelCause(t.Context())
	ctx, cancel := With(t.Context(), lock)
	defer cancel()
	lose(lost)
	if <-ctx.Done(); !errors.Is(context.Cause(ctx), lost) {
		t.Error(context.Cause(ctx))
	}
}

// life is a lock whose Err reports the end before its Done channel is closed.
type life struct {
	context.Context
	over bool
}

func (l *life) Err() error {
	if l.over {
		return context.Canceled
	}
	return l.Context.Err()
}

// Err asks the locks, which end before the context does.
func TestErr(t *testing.T) {
	if err := Err(t.Context()); err != nil {
		t.Error(err)
	}
	lock, lose := context.WithCancelCause(t.Context())
	l := &life{Context: lock}
	ctx, cancel := With(t.Context(), l)
	defer cancel()
	ctx, end := context.WithCancel(ctx)
	defer end()
	if err := Err(ctx); err != nil {
		t.Error(err)
	}
	lost := errors.New("lost")
	l.over = true
	lose(lost)
	if err := Err(ctx); !errors.Is(err, lost) {
		t.Error(err)
	}
}
