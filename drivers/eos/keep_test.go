package eos

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// A run was cut off between its confirmation and its save: the next one that
// finds the switch as intended saves.
func TestKeepSaves(t *testing.T) {
	b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}})
	d := b.open()
	tok := b.apply(d)
	back, err := d.Record(tok)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.stopTimer(t.Context(), back.Session, "commit"); err != nil {
		t.Fatal(err)
	}
	startup := func() string { return string(drivertest.WithoutComments(b.Startup())) }
	if startup() == string(b.state()) {
		t.Fatal("it is saved already")
	}
	keep := func() (bool, error) {
		t.Helper()
		other := b.open()
		snap, _ := b.plan(other)
		other.Digest(snap, b.desired)
		return other.Keep(t.Context())
	}
	if kept, err := keep(); !kept || err != nil || startup() != string(b.state()) {
		t.Errorf("kept %v, %v", kept, err)
	}
	if kept, err := keep(); kept || err != nil {
		t.Errorf("the second time: kept %v, %v", kept, err)
	}
	// What others have not saved is theirs, but for the ports of the intent; a
	// port that was shut by hand is not saved as one.
	was := startup()
	b.configure("interface Ethernet8/1\nmtu 4000\ninterface Ethernet1/1\nshutdown\nhostname trial\n")
	if kept, err := keep(); kept || err != nil || startup() != was {
		t.Errorf("what others have not saved: kept %v, %v", kept, err)
	}
	b.configure("interface Ethernet2/1\nno mtu\n")
	n := b.colleague()
	b.openSession(n, "theirs")
	if _, err := n.Do(t.Context(), "configure session theirs commit timer 00:10:00"); err != nil {
		t.Fatal(err)
	}
	kept, err := keep()
	says(t, err, drivers.ErrRejected, drivers.ErrPartial, "the startup configuration lacks what is in force", "the commit timer of configuration session theirs")
	if kept || startup() != was {
		t.Error("what waits for its confirmation was saved")
	}
}

// Over gNMI nobody can save: that is no "unchanged".
func TestKeepSaysWhatIsNotSaved(t *testing.T) {
	b := newBox(t, boxOptions{gnmi: true, Options: simeos.Options{Model: strata}})
	d := b.open()
	if err := d.Confirm(t.Context(), b.apply(d)); err != nil {
		t.Fatal(err)
	}
	kept, err := d.Keep(t.Context())
	says(t, err, drivers.ErrPartial, nil, "all is in force, and the switch would lose it in a restart", `run "write memory" on the switch`)
	if kept || strings.Contains(string(b.Startup()), "ROCE-FABRIC") {
		t.Error("saved")
	}
	b = newBox(t, boxOptions{gnmi: true, Options: simeos.Options{Model: strata, Persist: true}})
	d = b.open()
	b.apply(d)
	if kept, err := d.Keep(t.Context()); kept || err != nil {
		t.Errorf("a switch that saves by itself: %v %v", kept, err)
	}
}
