package drivertest

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// runs simulates the runs of a case in separate processes, with what a journal would remember.
type runs struct {
	*bench
	was  []byte            // state before the first run
	down map[string]string // ports that a run has left down
	// first is the plan of the first run, in which some changes may be blocked.
	first *drivers.Steps
}

// runsOf starts a case.
func runsOf(b *bench) *runs {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*patience) // time for many runs
	b.Cleanup(cancel)
	b.ctx = ctx
	return &runs{b, b.State(), map[string]string{}, b.plan(b.open()).steps}
}

// points chooses the steps out of n at which a run is interrupted: all at night, otherwise two at
// random.
func (r *runs) points(n int) []int {
	all := rand.Perm(n)
	return all[:min(n, sharedtest.Sized(2, n))]
}

// open creates a driver in a new process that knows the leftovers of earlier runs.
func (r *runs) open() drivers.Driver {
	r.Helper()
	d := r.bench.open()
	if h, ok := d.(drivers.Heir); ok {
		h.Inherit([]string{"test", "test2"})
	}
	if _, err := d.Probe(r.ctx); err != nil {
		r.Fatal(err)
	}
	if s, ok := d.(drivers.Resumer); ok {
		s.Resume(drivers.Leftover{Run: "test", Down: maps.Clone(r.down), Record: func(down, up []string) error {
			for _, p := range down {
				r.down[p] = "test"
			}
			for _, p := range up {
				delete(r.down, p)
			}
			return nil
		}})
	}
	return d
}

// crash executes an apply up to a step and then abandons the driver like a killed process:
// nothing is cleaned up. It returns the undo record that the run stored.
func (r *runs) crash(step int) (kept *drivers.Token) {
	r.Helper()
	p := r.plan(r.open())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.Apply(r.ctx, p.snap, p.steps, drivers.ApplyOptions{
			ID:    "test",
			Token: func(t *drivers.Token) error { kept = r.later(t); return nil },
			Progress: func(i, _ int, _ drivers.Step) {
				if i == step {
					runtime.Goexit()
				}
			},
		})
	}()
	<-done
	return kept
}

// finish brings a device with an interrupted run to the desired state and reverts that. The
// device must then be as before the interrupted run.
func (r *runs) finish(kept *drivers.Token) {
	r.Helper()
	p := r.plan(r.open())
	tok, err := p.Apply(r.ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test2", Continues: []*drivers.Token{kept}})
	if err != nil {
		r.Errorf("the next apply: %v", err)
	}
	r.settled(p, r.first)
	if err := p.Confirm(r.ctx, tok); tok != nil && err != nil {
		r.Errorf("confirm: %v", err)
	}
	if tok == nil { // nothing was left to do
		tok = kept
	}
	r.revert(r.open(), tok)
	r.same("both reverted", r.was)
}

// cutOffAndFinished interrupts an apply before each of its steps.
func cutOffAndFinished(b *bench) {
	r := runsOf(b)
	steps := len(r.first.Items)
	for _, n := range r.points(steps) {
		r.finish(r.crash(n))
		if b.Failed() {
			b.Fatalf("the apply was cut off before step %d of %d", n+1, steps)
		}
	}
}

// revertCutOff interrupts a revert at each of its requests.
func revertCutOff(b *bench) {
	r := runsOf(b)
	// reverted applies, and reverts up to request at; 0 reverts completely.
	reverted := func(at int) (tok *drivers.Token, requests int, err error) {
		p := r.plan(r.open())
		tok = b.mustApply(p)
		if err := p.Confirm(b.ctx, tok); err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		b.BeforeWrite(func() {
			if requests++; requests == at {
				cancel()
			}
		})
		defer b.BeforeWrite(func() {})
		err = r.open().Revert(ctx, tok)
		return tok, requests, err
	}
	_, requests, err := reverted(0)
	if err != nil {
		b.Fatal(err)
	}
	b.same("reverted", r.was)
	for _, n := range r.points(requests) {
		tok, _, err := reverted(n + 1)
		r.finish(tok)
		if b.Failed() {
			b.Fatalf("the revert was cut off at request %d of %d: %v", n+1, requests, err)
		}
	}
}
