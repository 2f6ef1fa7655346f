package drivertest

import (
	"context"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// wire counts the pieces of data that pass between a driver and its device, and can lose all from
// a certain piece on.
type wire struct {
	mu     sync.Mutex
	passed int
	lost   int  // first piece that is lost; 0 for none
	dials  bool // connections are still accepted
}

func (w *wire) fate(p memnet.Piece) memnet.Fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passed++
	silent := w.lost > 0 && w.passed >= w.lost
	if silent && !(p.Dial && w.dials) {
		return memnet.Fate{Silent: true}
	}
	return memnet.Fate{Pass: len(p.Data)}
}

// cut loses everything after n more pieces; 0 stops losing.
func (w *wire) cut(n int, dials bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials = dials
	if w.lost = 0; n > 0 {
		w.lost = w.passed + n
	}
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed
}

// mostSilence limits a call on a device that no longer responds: 30 s for the pending request,
// plus the time for another read to determine its result.
const mostSilence = 105 * time.Second

// fallsSilent makes a device fall silent at every point of a run. Each call must end soon, and
// the run must be revertible once the device responds again.
func fallsSilent(b *bench) {
	was := b.State()
	at, began := 0, b.wire.count()
	run := func() (tok *drivers.Token) {
		ctx, cancel := context.WithTimeout(b.Context(), patience)
		defer cancel()
		call := func(name string, f func() error) bool {
			start, sent := time.Now(), b.wire.count()
			err := f()
			if took := time.Since(start); at > 0 && took > mostSilence {
				b.Errorf("silent from piece %d on, %s began at %d: it took %s: %v", at, name, sent-began, took, err)
			}
			return err == nil
		}
		p := planned{Driver: b.open()}
		var facts drivers.Facts
		if !call("probe", func() (err error) { facts, err = p.Probe(ctx); return err }) ||
			!call("read", func() (err error) { p.snap, err = p.Read(ctx); return err }) {
			return nil
		}
		var err error
		if p.steps, err = p.Plan(facts, p.snap, b.Desired, b.Policy); err != nil {
			b.Fatal(err)
		}
		apply := func() (err error) {
			tok, err = p.Apply(ctx, p.snap, p.steps, drivers.ApplyOptions{ID: "test"})
			return err
		}
		if !call("apply", apply) || !call("confirm", func() error { return p.Confirm(ctx, tok) }) {
			call("revert", func() error { return p.Revert(ctx, tok) })
		}
		return tok
	}
	tok := run()
	pieces := b.wire.count() - began
	b.revert(b.open(), tok)
	b.same("reverted", was)
	samples := sharedtest.Sized(8, 100)
	for i := range samples {
		at, began = 1+pieces*i/samples, b.wire.count()
		b.wire.cut(at, i%2 == 0)
		tok := run()
		b.wire.cut(0, false)
		ctx, cancel := context.WithTimeout(b.Context(), patience)
		if err := b.open().Revert(ctx, tok); tok != nil && err != nil {
			b.Errorf("revert: %v", err)
		}
		cancel()
		b.same("reverted", was)
		if b.Failed() {
			b.Fatalf("the device fell silent at piece %d of %d, with its connections opened: %t", at, pieces, i%2 == 0)
		}
	}
}
