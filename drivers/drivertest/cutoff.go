package drivertest

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// runs are the runs of a case, one process each, as a journal remembers them.
type runs struct {
	*bench
	was  []byte            // the state before all of them
	down map[string]string // ports that a run has left down
	// first is the plan of the first, in which some changes may be blocked.
	first *drivers.Steps
}

// runsOf begins a case.
func runsOf(b *bench) *runs {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*patience) // for many runs
	b.Cleanup(cancel)
	b.ctx = ctx
	return &runs{b, b.State(), map[string]string{}, b.plan(b.open()).steps}
}

// points are those of n at which a run is cut off: all at night, else two by chance.
func (r *runs) points(n int) []int {
	all := rand.Perm(n)
	return all[:min(n, sharedtest.Sized(2, n))]
}

// open makes the driver of a process that knows what the earlier ones have left.
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

// crash carries an apply out up to a step and leaves the driver as a process does that is
// killed there: nothing is cleared up. It returns the undo record that the run has kept.
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

// finish brings a device on which a run was cut off as desired, and reverts that: the
// device is as it was before the run that was cut off.
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

// cutOffAndFinished cuts an apply off before each of its steps.
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

// revertCutOff cuts a revert off at each of its requests.
func revertCutOff(b *bench) {
	r := runsOf(b)
	// reverted applies, and reverts up to a request; 0 is to the end.
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
