package pool

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestOrdered(t *testing.T) {
	defer goleak.VerifyNone(t)
	items := make([]int, 500)
	for i := range items {
		items[i] = i
	}
	var running, most, started atomic.Int64
	var got []int
	err := Ordered(t.Context(), 8, items, func(_ context.Context, i int) int {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		if n := started.Add(1); i == 0 {
			// All later results must wait for the first one. The other workers may run ahead, but
			// only up to a limit.
			for n < 16 {
				n = started.Load()
			}
		}
		return i
	}, func(i int) error {
		if i == 0 && started.Load() > 3*8 {
			t.Errorf("%d items were started before the first was done", started.Load())
		}
		got = append(got, i)
		return nil
	})
	if err != nil || !slices.Equal(got, items) {
		t.Fatalf("err %v, %d results, in order: %v", err, len(got), slices.IsSorted(got))
	}
	if most.Load() > 8 {
		t.Errorf("%d at once, at most 8 allowed", most.Load())
	}
}

func TestOrderedStopsOnEmitError(t *testing.T) {
	defer goleak.VerifyNone(t)
	boom := errors.New("boom")
	var cancelled atomic.Int64
	err := Ordered(t.Context(), 2, make([]int, 100), func(ctx context.Context, _ int) int {
		if ctx.Err() != nil {
			cancelled.Add(1)
		}
		return 0
	}, func(int) error { return boom })
	if !errors.Is(err, boom) || cancelled.Load() == 0 {
		t.Errorf("err %v, %d saw the cancel", err, cancelled.Load())
	}
}
