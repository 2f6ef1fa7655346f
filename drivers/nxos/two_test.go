package nxos

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// Two machines apply to one switch at the same time, from the same intent or from different ones.
// The commit of one run is refused while the commit of the other awaits confirmation: the first
// run leaves the switch unchanged.
func TestARefusedCommitLeavesWhatAnotherRunWrote(t *testing.T) {
	t.Parallel()
	for name, other := range map[string][]string{"the same intent": nil, "another intent": {"150KB", "200KB", "bandwidth: 60%", "bandwidth: 50%", "bandwidth: 40%", "bandwidth: 50%"}} {
		for _, full := range []bool{false, true} {
			o := simnxos.Options{}
			if full {
				name += ", no room for a checkpoint"
				o.MaxCheckpoints = 1
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBox(t, boxOptions{Options: o})
					if full {
						b.do("checkpoint theirs")
					}
					d := b.Open()
					snap, st := b.Plan(d)
					b.Desired = compile(t, fabric(other...))
					second := b.Open()
					var tok *drivers.Token
					var theirs string
					written := make(chan struct{})
					b.Faults().BeforeWrite(func() {
						defer close(written)
						b.Faults().BeforeWrite(nil)
						snap, st := b.Plan(second)
						var err error
						if tok, err = second.Apply(context.Background(), snap, st, drivers.ApplyOptions{ID: "other"}); err != nil {
							t.Error(err)
						}
						theirs = b.State()
					})
					mine, err := d.Apply(t.Context(), snap, st, applyOptions)
					<-written
					says(t, err, drivers.ErrRejected, drivers.ErrPartial, "none of it is in force", "a commit waits for its confirmation")
					if err := d.Revert(t.Context(), mine); err != nil {
						t.Error(err)
					}
					if b.State() != theirs {
						t.Errorf("the switch holds\n%s\nand the other run wrote\n%s", b.State(), theirs)
					}
					if err := second.Confirm(t.Context(), tok); err != nil {
						t.Error(err)
					}
					// It also leaves it unchanged after the other run has ended.
					if err := d.Revert(t.Context(), mine); err != nil {
						t.Error(err)
					}
					if b.ExpireTimer() || b.State() != theirs || b.Saved() != theirs {
						t.Error("what the other run has confirmed is gone")
					}
					if slices.Contains(b.Checkpoints(), "rf-test") {
						t.Errorf("checkpoints %v", b.Checkpoints())
					}
				})
			})
		}
	}
}

// A value that another user has since set in the same place is not the run's change. The
// checkpoint would undo it as well, so it is not used.
func TestTheCheckpointIsForOwnChangesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		d, was := b.Open(), b.State()
		tok := b.Apply(d)
		b.Faults().RollbackFails(true)
		b.Set("interface Ethernet1/1\n  mtu 4000\n")
		n := b.Writes()
		if err := d.Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		if b.State() != was || b.Writes() != n+1 {
			t.Errorf("%d writes, and the switch holds\n%s", b.Writes()-n, b.State())
		}
	})
}

// A run that finds the checkpoint of another run that may be in progress writes nothing, even if
// that checkpoint was created between its own checkpoint and the first line.
func TestOnlyOneOfTwoRunsWrites(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		id := func(age time.Duration) string {
			return time.Now().Add(-age).UTC().Format("20060102-150405") + "123-abcd"
		}
		d, second := b.Open(), b.Open()
		was := b.State()
		snap, st := b.Plan(d)
		b.do("checkpoint rf-" + id(2*time.Minute))
		tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: id(0)})
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "nothing was written: checkpoint rf-"+id(2 * time.Minute)[:8], "a run of this tool that began 2m", "is still running, or was cut off: wait until it confirms")
		if tok != nil || b.State() != was || b.Writes() != 0 || len(b.Checkpoints()) != 1 {
			t.Errorf("token %v, checkpoints %v", tok, b.Checkpoints())
		}
		b.do("no checkpoint " + b.Checkpoints()[0])

		// The other run begins after this run has checked, and before it writes.
		mine := ""
		_, err = second.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: id(time.Minute), Token: func(*drivers.Token) error {
			mine = id(time.Second)
			b.do("checkpoint rf-" + mine)
			return nil
		}})
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "checkpoint rf-"+mine)
		if got := b.Checkpoints(); b.State() != was || b.Writes() != 0 || !slices.Equal(got, []string{"rf-" + mine}) {
			t.Errorf("checkpoints %s", strings.Join(got, ", "))
		}
	})
}
