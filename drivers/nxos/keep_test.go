package nxos

import "testing"

// A run was cut off between its confirmation and its save, or its checkpoint is
// gone: the next one that finds the switch as intended saves.
func TestKeepSaves(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		d := b.open()
		b.apply(d)
		if err := d.stopTimer(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		b.do("no checkpoint rf-test")
		if b.startup() == b.state() {
			t.Fatal("it is saved already")
		}
		keep := func() (bool, error) {
			t.Helper()
			other := b.open()
			snap, _ := b.plan(other)
			other.Digest(snap, b.desired)
			return other.Keep(t.Context())
		}
		if kept, err := keep(); !kept || err != nil || b.startup() != b.state() {
			t.Errorf("kept %v, %v", kept, err)
		}
		if kept, err := keep(); kept || err != nil {
			t.Errorf("the second time: kept %v, %v", kept, err)
		}
		// What others have not saved is theirs, but for the ports of the intent; a
		// port that was shut by hand is not saved as one.
		was := b.startup()
		b.configure("interface Ethernet1/8\n  mtu 4000\ninterface Ethernet1/1\n  shutdown\nhostname trial\n")
		if kept, err := keep(); kept || err != nil || b.startup() != was {
			t.Errorf("what others have not saved: kept %v, %v", kept, err)
		}
		b.configure("interface Ethernet1/2\n  no mtu\n")
		if kept, err := keep(); !kept || err != nil || b.startup() != b.state() {
			t.Errorf("a port of the intent: kept %v, %v", kept, err)
		}
	})
}
