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
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

func (b *box) openSession(n *ssh.Network, name string) {
	b.T.Helper()
	if _, err := n.Configure(b.T.Context(), &ssh.Batch{Level: levelSession, Enter: "configure session " + name, Lines: []ssh.Line{{Text: "vlan 99"}}}); err != nil {
		b.T.Fatal(err)
	}
}

func (b *box) pending() (out []string) {
	for name, state := range b.Sessions() {
		if state == "pending" {
			out = append(out, name)
		}
	}
	return out
}

func TestSessionsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d, n := b.Open(), b.colleague()
		refuse := func(texts ...string) {
			t.Helper()
			was := b.State()
			tok, err := b.Try(d)
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, texts...)
			if tok != nil || b.State() != was {
				t.Errorf("token %v", tok)
			}
		}
		b.openSession(n, "theirs")
		refuse("theirs is open", "configure session theirs abort")
		if _, st := b.Plan(d); !strings.Contains(strings.Join(st.Notes, "\n"), "configuration session theirs is open") {
			t.Errorf("notes %q", st.Notes)
		}
		if _, err := n.Do(t.Context(), "configure session theirs commit timer 00:10:00"); err != nil {
			t.Fatal(err)
		}
		refuse("the commit timer of configuration session theirs", "runs for another ")
		if _, err := n.Do(t.Context(), "configure session theirs commit"); err != nil {
			t.Fatal(err)
		}
		b.Apply(d)
	})
}

// TestLeftovers covers the three points at which an earlier run can have been interrupted.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, old := range []bool{false, true} {
			b := newBox(t, boxOptions{Options: simeos.Options{Model: strata, OldSessionJSON: old}})
			b.openSession(b.colleague(), "rf-old-1")
			notes := func() string {
				_, st := b.Plan(b.Open())
				return strings.Join(st.Notes, "\n")
			}
			if got := notes(); !strings.Contains(got, "cut off before its commit (configuration session rf-old-1") || !strings.Contains(got, "none of it is in force") {
				t.Errorf("notes %q", got)
			}
			tok := b.Apply(b.Open())
			if len(b.pending()) > 0 || strings.Contains(b.Running(), "vlan 99") {
				t.Errorf("sessions %v", b.Sessions())
			}
			if got := notes(); !strings.Contains(got, "in force and not confirmed") || !regexp.MustCompile(`reverts it in (5m|4m5\ds)`).MatchString(got) {
				t.Errorf("notes %q", got)
			}
			// A second run must not write what the switch is about to revert.
			other := b.Open()
			b.Set("interface Ethernet1/1\nmtu 4000\n")
			snap, st := b.Plan(other)
			_, err := other.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "two"})
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, "commit timer", "rf-test-", "reverts")
			if err := b.Open().Confirm(t.Context(), tok); err == nil {
				t.Error("confirm of what someone changed since then")
			}
			if got := notes(); strings.Contains(got, "earlier run") {
				t.Errorf("notes %q", got)
			}
		}
	})
}

// Another run may be in progress: its session is not aborted and its timer not stopped until its
// journal says that it has ended, or enough time has passed.
func TestRunsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		n := b.colleague()
		run := func(ago time.Duration) string {
			return time.Now().Add(-ago).UTC().Format("20060102-150405") + "123-abcdef"
		}
		young := run(2 * time.Minute)
		theirs := sessionName(young)
		b.openSession(n, theirs)
		d := b.Open()
		tok, err := b.Try(d)
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, theirs+" is open", "a run of this tool that began 2m", "ago is still running, or was cut off", "configure session "+theirs+" abort")
		if tok != nil || b.Sessions()[theirs] != "pending" {
			t.Errorf("token %v, sessions %v", tok, b.Sessions())
		}
		if _, st := b.Plan(d); !strings.Contains(notes(st), "is still running, or was cut off before its commit (configuration session "+theirs) {
			t.Errorf("notes %q", st.Notes)
		}
		if _, err := n.Do(t.Context(), "configure session "+theirs+" commit timer 00:05:00"); err != nil {
			t.Fatal(err)
		}
		if _, st := b.Plan(d); !strings.Contains(notes(st), "is still running, or was cut off; its change is in force and not confirmed") {
			t.Errorf("notes %q", st.Notes)
		}
		kept, err := d.Keep(t.Context())
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, theirs, "runs for another", "is still running, or was cut off: wait until it confirms")
		if kept || b.Sessions()[theirs] == "completed" {
			t.Errorf("kept %v, sessions %v", kept, b.Sessions())
		}
		// A run with the same start time but another ID is a different run.
		d.Inherit([]string{run(2 * time.Minute)[:18] + "-123456"})
		if kept, err := d.Keep(t.Context()); kept || err == nil {
			t.Errorf("kept %v, %v", kept, err)
		}
		d.Inherit([]string{young})
		if kept, err := d.Keep(t.Context()); !kept || err != nil {
			t.Errorf("kept %v, %v", kept, err)
		}
		for _, id := range []string{run(13 * time.Hour), young} {
			b.openSession(n, sessionName(id))
		}
		b.Apply(d)
		if len(b.pending()) > 0 {
			t.Errorf("sessions %v", b.Sessions())
		}
	})
}

// Sessions of runs that started hours ago belong to those runs: with many devices, the last one
// is changed hours after the first.
func TestLongRunsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		n := b.colleague()
		for _, c := range []struct {
			ago   time.Duration
			timed bool
		}{{31 * time.Minute, false}, {31 * time.Minute, true}, {13 * time.Hour, true}} {
			theirs := sessionName(time.Now().Add(-c.ago).UTC().Format("20060102-150405") + "123-abcdef")
			b.openSession(n, theirs)
			what := theirs + " is open"
			if c.timed {
				what = "the commit timer of configuration session " + theirs
				if _, err := n.Do(t.Context(), "configure session "+theirs+" commit timer 00:05:00"); err != nil {
					t.Fatal(err)
				}
				kept, err := b.Open().Keep(t.Context())
				says(t, err, drivers.ErrRejected, drivers.ErrPartial, what, "is still running, or was cut off: wait until it confirms")
				if kept || strings.Contains(string(b.Startup()), "vlan 99") {
					t.Errorf("%s: kept %v", c.ago, kept)
				}
			}
			_, err := b.Try(b.Open())
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, what)
			if _, err := n.Do(t.Context(), "configure session "+theirs+" abort"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestRollbackCutOff covers an interrupted rollback that leaves its session open. It may be in
// progress, unless the driver knows that its run has ended.
func TestRollbackCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const run = "19990101-150405123-abcdef"
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		d := b.Open()
		snap, st := b.Plan(d)
		tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: run})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Confirm(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		dies := b.Open()
		dies.way = &cutOff{dies.way, b}
		if err := dies.Revert(t.Context(), tok); err == nil {
			t.Error("a rollback that was cut off went well")
		}
		left := b.pending()
		if len(left) != 1 || len(left[0]) > maxName {
			t.Fatalf("sessions %v", b.Sessions())
		}
		b.Set("interface Ethernet1/1\nmtu 4000\n")
		for _, ended := range [][]string{nil, {"19990101-150405999-abcdef"}} {
			other := b.Open()
			other.Inherit(ended)
			_, err := b.Try(other)
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, left[0]+" is open", "is still running, or was cut off")
		}
		clears := func(d *Driver) {
			t.Helper()
			tok := b.Apply(d)
			if len(b.pending()) > 0 {
				t.Errorf("sessions %v", b.Sessions())
			}
			if err := d.Revert(t.Context(), tok); err != nil {
				t.Error(err)
			}
		}
		dies.way = dies.way.(*cutOff).way
		clears(dies)
		dies.way = &cutOff{dies.way, b}
		if err := dies.Revert(t.Context(), tok); err == nil || len(b.pending()) != 1 {
			t.Errorf("%v, sessions %v", err, b.Sessions())
		}
		later := b.Open()
		later.Inherit([]string{run})
		clears(later)
	})
}

// cutOff is a transport whose writes fail with the session left open.
type cutOff struct {
	way
	b *box
}

func (w *cutOff) write(_ context.Context, name string, _ []string, _ time.Duration, _ func(context.Context) error) (lines.Fate, error) {
	w.b.openSession(w.b.colleague(), name)
	return lines.Unsent, errors.New("cut off")
}

func (w *cutOff) discard(context.Context, string) error { return errors.New("cut off") }

func TestSessionName(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []string{"", "test", "2026-11-21T15:04:05Z/pod1 é\n", strings.Repeat("x", 100)} {
		for range 2 {
			name := sessionName(id)
			if !regexp.MustCompile(`^rf-[A-Za-z0-9_-]{1,27}$`).MatchString(name) || seen[name] {
				t.Errorf("%q: %q", id, name)
			}
			seen[name] = true
		}
	}
}
