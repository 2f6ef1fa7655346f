package nxos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
)

// After a run was interrupted between confirmation and save, or its checkpoint was removed, the
// next run that finds the switch as intended saves.
func TestKeepSaves(t *testing.T) {
	eachWay(t, boxOptions{}, func(t *testing.T, b *box) {
		keep := drivertest.KeepSaves(b.LineBox, func(d *Driver, _ *drivers.Token) error {
			err := d.stopTimer(t.Context(), "")
			b.do("no checkpoint rf-test")
			return err
		}, "interface Ethernet1/8\n  mtu 4000\ninterface Ethernet1/1\n  shutdown\nhostname trial\n", "interface Ethernet1/2\n  no mtu\n")
		if kept, err := keep(); !kept || err != nil || b.Saved() != b.State() {
			t.Errorf("a port of the intent: kept %v, %v", kept, err)
		}
	})
}
