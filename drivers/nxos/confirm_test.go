package nxos

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

func TestTimerRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d, was := b.Open(), b.State()
		tok := b.Apply(d)
		if !b.ExpireTimer() {
			t.Fatal("no timer runs")
		}
		says(t, d.Confirm(t.Context(), tok), drivers.ErrRejected, drivers.ErrPartial, "not confirmed in time", "reverted it")
		if b.State() != was || b.Saved() != was {
			t.Error("something is left")
		}
		n := b.Writes()
		if err := d.Revert(t.Context(), tok); err != nil || b.Writes() != n {
			t.Errorf("revert of nothing: %v, %d writes", err, b.Writes()-n)
		}
		b.clean(t, was)
		// The next run starts from this state.
		other := b.Open()
		tok = b.Apply(other)
		if err := other.Confirm(t.Context(), tok); err != nil {
			t.Fatal(err)
		}
		if b.ExpireTimer() || b.Saved() != b.State() {
			t.Error("the timer runs after the confirmation, or nothing was saved")
		}
		b.Settled(other)
	})
}

// Revert also works on a switch that refuses an empty commit with unknown words.
func TestRevertPastARefusedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d, was := b.Open(), b.State()
		tok := b.Apply(d)
		b.Faults().RefuseLine(regexp.MustCompile("^commit$"))
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		b.ExpireTimer()
		if b.State() != was {
			t.Errorf("the switch holds\n%s\nand held\n%s", b.State(), was)
		}
	})
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	t.Run("its answer is lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{})
			d := b.Open()
			tok := b.Apply(d)
			b.Faults().DropAfterWrite()
			if err := d.Confirm(t.Context(), tok); err != nil {
				t.Error(err)
			}
			if b.ExpireTimer() || b.Saved() != b.State() {
				t.Error("not confirmed and saved")
			}
		})
	})
	t.Run("it is refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{})
			d := b.Open()
			tok := b.Apply(d)
			b.Faults().ReadOnly(true)
			says(t, d.Confirm(t.Context(), tok), drivers.ErrRejected, nil, "confirm the commit", "% Permission denied")
			if !b.ExpireTimer() {
				t.Error("confirmed")
			}
		})
	})
	t.Run("it may not save", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{Options: simnxos.Options{NoDualStage: true}})
			d := b.Open()
			tok := b.Apply(d)
			b.Faults().ReadOnly(true)
			says(t, d.Confirm(t.Context(), tok), drivers.ErrPartial, nil, "a restart would lose it", "% Permission denied")
		})
	})
	t.Run("others changed it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t, boxOptions{})
			d := b.Open()
			tok := b.Apply(d)
			b.Set("interface Ethernet1/1\n  mtu 4000\n")
			says(t, d.Confirm(t.Context(), tok), drivers.ErrPartial, drivers.ErrRejected, `"mtu 9100" is gone`)
		})
	})
}

// TestKeep covers runs that were interrupted before they were confirmed.
func TestKeep(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		if kept, err := b.Open().Keep(t.Context()); kept || err != nil {
			t.Errorf("a fresh switch: %v %v", kept, err)
		}
		b.Apply(b.Open())
		other := b.Open()
		if _, st := b.Plan(other); !strings.Contains(notes(st), "and left checkpoint rf-test") {
			t.Errorf("notes %q", notes(st))
		}
		if kept, err := other.Keep(t.Context()); !kept || err != nil {
			t.Errorf("%v %v", kept, err)
		}
		if b.ExpireTimer() || b.Saved() != b.State() || len(b.Checkpoints()) > 0 {
			t.Errorf("not confirmed and saved, checkpoints %v", b.Checkpoints())
		}
		b.Settled(other)
	})
}

// An old run that left a checkpoint does not own a timer that is running now: the timer belongs
// to another user.
func TestKeepLeavesTheTimerOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.Open()
		snap, st := b.Plan(d)
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "19990101-000000000-abcd"}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Open().Keep(t.Context()); err != nil {
			t.Error(err)
		}
		if !b.ExpireTimer() {
			t.Error("the timer was confirmed")
		}
	})
}

// A run that is in no journal of this machine may be in progress on another machine.
func TestKeepLeavesRunsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d := b.Open()
		snap, st := b.Plan(d)
		id := time.Now().Add(-2*time.Minute).UTC().Format("20060102-150405") + "123-abcd"
		if _, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		other := b.Open()
		if _, st := b.Plan(other); !strings.Contains(notes(st), "a run of this tool that began 2m") || !strings.Contains(notes(st), "is still running, or was cut off (checkpoint rf-"+id) {
			t.Errorf("notes %q", notes(st))
		}
		other.Inherit([]string{id[:15] + "123-ffff"})
		kept, err := other.Keep(t.Context())
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "checkpoint rf-"+id, "is still running, or was cut off: wait until it confirms")
		if kept || len(b.Checkpoints()) != 1 {
			t.Errorf("kept %v, checkpoints %v", kept, b.Checkpoints())
		}
		other.Inherit([]string{id})
		if kept, err := other.Keep(t.Context()); !kept || err != nil || b.ExpireTimer() || b.Saved() != b.State() {
			t.Errorf("kept %v, %v", kept, err)
		}
	})
}

// A switch has one timer. It belongs to the run until the run is confirmed; after that it belongs
// to another user, and a revert must not confirm that user's commit.
func TestRevertLeavesTheTimerOfOthers(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]bool{"with a checkpoint": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := simnxos.Options{}
				if full {
					o.MaxCheckpoints = 1
				}
				b := newBox(t, boxOptions{Options: o})
				if full {
					b.do("checkpoint theirs")
				}
				d, was := b.Open(), b.State()
				tok := b.Apply(d)
				if err := d.Revert(t.Context(), tok); err != nil || b.State() != was || b.ExpireTimer() {
					t.Fatalf("before the confirmation: %v", err)
				}
				tok = b.Apply(d)
				if err := d.Confirm(t.Context(), tok); err != nil {
					t.Fatal(err)
				}
				saved := b.Saved()

				n := b.colleague()
				if _, err := n.Configure(t.Context(), &ssh.Batch{Level: levelStage, Enter: dualStageCommand, Lines: []ssh.Line{{Text: "interface Ethernet1/7"}, {Text: "description trial", Depth: 1}}}); err != nil {
					t.Fatal(err)
				}
				if _, err := n.Type(t.Context(), "commit confirmed 40"); err != nil {
					t.Fatal(err)
				}
				for _, d := range []*Driver{d, b.Open()} {
					says(t, d.Revert(t.Context(), tok), drivers.ErrPartial, drivers.ErrRejected, "a commit waits for its confirmation")
				}
				if b.Saved() != saved {
					t.Error("what waits for its confirmation was saved")
				}
				if !b.ExpireTimer() {
					t.Error("the timer of someone else was ended")
				}
				if err := b.Open().Revert(t.Context(), tok); err != nil {
					t.Error(err)
				}
				b.clean(t, was)
			})
		})
	}
}

// Reverting an apply stops its timer, in any process, even if the switch had no space for a
// checkpoint, and late in a long run.
func TestRevertEndsItsOwnTimer(t *testing.T) {
	for name, c := range map[string]struct{ full, other, others, saved bool }{
		"no checkpoint":              {full: true, other: true},
		"no checkpoint, and others":  {full: true, other: true, others: true},
		"no checkpoint, and saved":   {full: true, saved: true},
		"long run":                   {},
		"long run, and others":       {others: true},
		"long run, by a later one":   {other: true},
		"long run, later and others": {other: true, others: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := simnxos.Options{}
				if c.full {
					o.MaxCheckpoints = 1
				}
				b := newBox(t, boxOptions{Options: o})
				if c.full {
					b.do("checkpoint theirs")
				}
				d, was := b.Open(), b.State()
				snap, st := b.Plan(d)
				ao := applyOptions
				ao.ID = time.Now().Add(-13*time.Hour).UTC().Format("20060102-150405") + "123-abcd"
				tok, err := d.Apply(t.Context(), snap, st, ao)
				if err != nil {
					t.Fatal(err)
				}
				if c.others {
					b.Set("interface Ethernet1/7\n  description theirs\n")
				}
				if c.saved {
					b.do("copy running-config startup-config")
				}
				if c.other {
					d = b.Open()
				}
				if err := d.Revert(t.Context(), tok); err != nil {
					t.Error(err)
				}
				if b.ExpireTimer() {
					t.Error("the timer runs on")
				}
				if c.others {
					b.Set("interface Ethernet1/7\n  no description\n")
					if b.State() != was {
						t.Errorf("the switch holds\n%s", b.State())
					}
					return
				}
				b.clean(t, was)
			})
		})
	}
}

func TestCheckpoints(t *testing.T) {
	eachWay(t, boxOptions{Options: simnxos.Options{MaxCheckpoints: 3}}, func(t *testing.T, b *box) {
		b.do("checkpoint rf-test")
		b.do("checkpoint theirs")
		d := b.Open()
		tok := b.Apply(d)
		if got := b.Checkpoints(); !slices.Equal(got, []string{"rf-test", "theirs", "rf-test-2"}) {
			t.Errorf("checkpoints %v", got)
		}
		if err := d.Confirm(t.Context(), tok); err != nil {
			t.Error(err)
		}
		if got := b.Checkpoints(); !slices.Equal(got, []string{"rf-test", "theirs"}) {
			t.Errorf("checkpoints %v", got)
		}
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
	})
	eachWay(t, boxOptions{Options: simnxos.Options{MaxCheckpoints: 1}}, func(t *testing.T, b *box) {
		b.do("checkpoint theirs")
		was := b.State()
		_, err := b.Try(b.Open())
		if b.plain {
			says(t, err, drivers.ErrRejected, drivers.ErrPartial, "nothing was written", "maximum number of checkpoints (1) reached", "show checkpoint summary")
			b.clean(t, was)
		} else if err != nil { // the timer makes the checkpoint unnecessary
			t.Error(err)
		}
		if got := b.Checkpoints(); !slices.Equal(got, []string{"theirs"}) {
			t.Errorf("checkpoints %v", got)
		}
	})
}

// A plan notes that a switch may have no space for the checkpoint of a run.
func TestNoRoomForACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, want := range map[int]bool{mostCheckpoints - 1: false, mostCheckpoints: true} {
			b := newBox(t, boxOptions{})
			for i := range n {
				b.do("checkpoint theirs" + strconv.Itoa(i))
			}
			if _, st := b.Plan(b.Open()); strings.Contains(notes(st), "checkpoints, and 10 are") != want {
				t.Errorf("%d checkpoints: %s", n, notes(st))
			}
		}
	})
}

func TestCheckpointName(t *testing.T) {
	taken := map[string]bool{}
	for _, id := range []string{"", "test", "test", "2026-11-21T15:04:05Z/pod1 é\n", strings.Repeat("x", 100), strings.Repeat("x", 100)} {
		name := checkpointName(id, taken)
		if !regexp.MustCompile(`^rf-[\w-]{0,80}$`).MatchString(name) || len(name) > 80 || taken[name] {
			t.Errorf("%q: %q", id, name)
		}
		taken[name] = true
	}
}
