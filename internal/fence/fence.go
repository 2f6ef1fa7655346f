// Package fence stops work whose lock has been lost. Some work outlives its context, such as a
// revert after Ctrl-C. It must not outlive its lock, because another process may then hold the
// lock and write. Do not use this package for contexts without a lock.
package fence

import (
	"context"
	"slices"
	"time"
)

type key struct{}

func locks(ctx context.Context) []context.Context {
	all, _ := ctx.Value(key{}).([]context.Context)
	return all
}

// With returns a context that ends when ctx ends or when the lock ends, with the cause of
// whichever came first. A context that [Outlive] derives from it ends with the lock as well. The
// caller must call the returned function when done.
func With(ctx, lock context.Context) (context.Context, context.CancelFunc) {
	all := append(slices.Clip(locks(ctx)), lock)
	return endWithLocks(context.WithValue(ctx, key{}, all), lock)
}

// Err returns why a lock of the context has ended, or nil. Call it before each request: the
// context itself is canceled by another goroutine, slightly later.
func Err(ctx context.Context) error {
	for _, l := range locks(ctx) {
		if l.Err() != nil {
			return context.Cause(l)
		}
	}
	return nil
}

// Outlive returns a context that ignores the end of ctx. It ends when one of the locks of ctx
// ends, or after the given time. The caller must call the returned function when done.
func Outlive(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	out, stop := endWithLocks(context.WithoutCancel(ctx), locks(ctx)...)
	out, cancel := context.WithTimeout(out, most)
	return out, func() { cancel(); stop() }
}

// endWithLocks returns a context that ends with ctx or when one of the locks ends.
func endWithLocks(ctx context.Context, locks ...context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var stops []func() bool
	for _, l := range locks {
		if l.Err() != nil { // AfterFunc would cancel slightly later
			cancel(context.Cause(l))
		}
		stops = append(stops, context.AfterFunc(l, func() { cancel(context.Cause(l)) }))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel(context.Canceled)
	}
}
