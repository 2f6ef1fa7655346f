package eos

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// meanwhile is a transport on which something happens between the last line of a session and its
// commit: before the final check of the switch, or after it.
type meanwhile struct {
	way
	before, after func()
}

func (w *meanwhile) write(ctx context.Context, name string, typed []string, timer time.Duration, ready func(context.Context) error) (lines.Fate, error) {
	before, after := w.before, w.after
	w.before, w.after = nil, nil
	return w.way.write(ctx, name, typed, timer, func(ctx context.Context) error {
		if before != nil {
			before()
		}
		err := ready(ctx)
		if after != nil {
			after()
		}
		return err
	})
}

// A session is a copy of the configuration from the time it was opened. Its commit must not undo
// what others committed meanwhile.
func TestCommitKeepsConcurrentCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, gnmi: gnmi})
			d := b.Open()
			d.way = &meanwhile{way: d.way, before: func() { b.Set("interface Ethernet8/1\ndescription theirs\n") }}
			tok, err := b.Try(d)
			says(t, err, drivers.ErrStale, drivers.ErrPartial, "the switch was configured by someone else while the session was open; nothing was committed")
			if err := d.Revert(t.Context(), tok); err != nil {
				t.Error(err)
			}
			if b.Writes() != 0 || len(b.pending()) > 0 || !strings.Contains(b.State(), "description theirs") {
				t.Errorf("%d commits, sessions %v", b.Writes(), b.pending())
			}
			if err := d.Confirm(t.Context(), b.Apply(d)); err != nil && !(gnmi && errors.Is(err, drivers.ErrNoSave)) {
				t.Error(err)
			}
			b.Settled(d)
			if !strings.Contains(b.State(), "description theirs") {
				t.Error("what another has configured is gone")
			}
		}
	})
}

// If a run had no effect and another run then wrote the same settings, they stay, however often
// the first run is reverted.
func TestARefusedRunLeavesWhatAnotherWrote(t *testing.T) {
	for name, refuse := range map[string]struct {
		faults func(*box)
		says   string
	}{
		"a line":     {func(b *box) { b.Faults().RefuseLine(regexp.MustCompile("max-mark-probability")) }, "nothing was written"},
		"the commit": {func(b *box) { b.Faults().RejectNext() }, "none of it is in force, and someone else has changed the same settings in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
				d := b.Open()
				snap, st := b.Plan(d)
				theirs := func() { b.Set("interface Ethernet1/1\nmtu 9100\n") }
				w := &meanwhile{way: d.way}
				if d.way = w; name == "the commit" {
					w.after = theirs
				} else {
					theirs()
				}
				refuse.faults(b)
				tok, err := d.Apply(t.Context(), snap, st, applyOptions)
				says(t, err, drivers.ErrRejected, drivers.ErrPartial, refuse.says)
				b.Faults().Clear()
				commits := b.Writes()
				for range 2 {
					if err := d.Revert(t.Context(), tok); err != nil {
						t.Error(err)
					}
				}
				if b.Writes() != commits || len(b.pending()) > 0 || !strings.Contains(b.State(), "mtu 9100") {
					t.Errorf("%d commits, sessions %v, the switch holds\n%s", b.Writes()-commits, b.pending(), b.State())
				}
			})
		})
	}
}

// At most one of two runs that open their sessions at the same time commits.
func TestOnlyOneOfTwoRunsCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d, n := b.Open(), b.colleague()
		theirs := sessionName(time.Now().UTC().Format("20060102-150405") + "123-abcdef")
		d.way = &meanwhile{way: d.way, before: func() { b.openSession(n, theirs) }}
		was := b.State()
		tok, err := b.Try(d)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, theirs+" is open", "is still running, or was cut off")
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		if b.State() != was || b.Writes() != 0 || len(b.pending()) != 1 || b.pending()[0] != theirs {
			t.Errorf("%d commits, sessions %v", b.Writes(), b.pending())
		}
	})
}
