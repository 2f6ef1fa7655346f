// Package pool runs work over many devices with a bounded number of workers
// and hands the results on in order.
package pool

import (
	"context"
	"sync"
)

// Ordered calls do for each item, at most workers at a time, and emit with
// each result in the order of the items. Results that wait for an earlier one
// are at most twice the workers, so memory does not grow with the items.
//
// do always runs for every item, so that every item gets a result; it looks at
// ctx itself. emit runs on one goroutine; its first error cancels ctx, and is
// returned when all workers have stopped.
func Ordered[T, R any](ctx context.Context, workers int, items []T, do func(context.Context, T) R, emit func(R) error) error {
	workers = max(1, min(workers, len(items)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	slots := make(chan chan R, 2*workers) // results in order, not all ready
	work := make(chan func(), workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for f := range work {
				f()
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		defer close(slots)
		for _, it := range items {
			out := make(chan R, 1)
			slots <- out
			work <- func() { out <- do(ctx, it) }
		}
	})
	var err error
	for out := range slots {
		if r := <-out; err == nil {
			if err = emit(r); err != nil {
				cancel()
			}
		}
	}
	wg.Wait()
	return err
}
