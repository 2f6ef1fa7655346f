// Package pool runs work for many devices with a limited number of workers and delivers the
// results in order.
package pool

import (
	"context"
	"sync"
)

// Ordered calls do for each item, with at most the given number of workers, and calls emit with
// each result in the order of the items. At most twice as many results as workers wait for an
// earlier one, so memory does not grow with the number of items.
//
// do runs for every item, even after ctx is canceled, so that every item has a result; do must
// check ctx itself. emit runs on one goroutine. Its first error cancels ctx and is returned once
// all workers have stopped.
func Ordered[T, R any](ctx context.Context, workers int, items []T, do func(context.Context, T) R, emit func(R) error) error {
	workers = max(1, min(workers, len(items)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	slots := make(chan chan R, 2*workers) // results in order; some are not ready yet
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
