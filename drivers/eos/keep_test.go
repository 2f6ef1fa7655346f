package eos

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// After a run was interrupted between confirmation and save, the next run that finds the switch
// as intended saves.
func TestKeepSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
		keep := drivertest.KeepSaves(b.LineBox, func(d *Driver, tok *drivers.Token) error {
			back, err := d.Record(tok)
			if err != nil {
				return err
			}
			return d.stopTimer(t.Context(), back.Session, "commit")
		}, "interface Ethernet8/1\nmtu 4000\ninterface Ethernet1/1\nshutdown\nhostname trial\n", "interface Ethernet2/1\nno mtu\n")
		was := b.Saved()
		n := b.colleague()
		b.openSession(n, "theirs")
		if _, err := n.Do(t.Context(), "configure session theirs commit timer 00:10:00"); err != nil {
			t.Fatal(err)
		}
		kept, err := keep()
		says(t, err, drivers.ErrRejected, drivers.ErrPartial, "the startup configuration lacks what is in force", "the commit timer of configuration session theirs")
		if kept || b.Saved() != was {
			t.Error("what waits for its confirmation was saved")
		}
	})
}

// Over gNMI the configuration cannot be saved: Keep must report that instead of "unchanged".
func TestKeepSaysWhatIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true, Options: simeos.Options{Model: strata}})
		d := b.Open()
		said := d.Confirm(t.Context(), b.Apply(d))
		kept, err := d.Keep(t.Context())
		says(t, err, drivers.ErrNoSave, nil, "the change is active but not saved: a restart would lose it", `run "write memory" on the switch`)
		if said == nil || said.Error() != err.Error() || !errors.Is(said, drivers.ErrUnsaved) {
			t.Errorf("the confirmation says %v, a later run %v", said, err)
		}
		if kept || strings.Contains(string(b.Startup()), "ROCE-FABRIC") {
			t.Error("saved")
		}
		b = newBox(t, boxOptions{gnmi: true, Options: simeos.Options{Model: strata, Persist: true}})
		d = b.Open()
		b.Apply(d)
		if kept, err := d.Keep(t.Context()); kept || err != nil {
			t.Errorf("a switch that saves by itself: %v %v", kept, err)
		}
	})
}

// A restart loses an apply that was not saved, and with it what someone else had not saved before.
// Reverting the apply must not bring back part of that.
func TestARevertAfterBothAreLostWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true, Options: simeos.Options{Model: strata}})
		b.Set("interface Ethernet1/1\nmtu 4000\nexit\ninterface Ethernet8/1\nmtu 4000\n")
		d := b.Open()
		tok := b.Apply(d)
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		d = b.Open()
		saved, writes := b.State(), b.Writes()
		says(t, d.Revert(t.Context(), tok), drivers.ErrGone, drivers.ErrPartial, "neither the change nor what was there before it is running or saved")
		if b.State() != saved || b.Writes() != writes {
			t.Errorf("%d commits, and the switch has\n%s", b.Writes()-writes, b.State())
		}
	})
}
