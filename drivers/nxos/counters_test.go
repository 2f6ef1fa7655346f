package nxos

import (
	"maps"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Both transports return the same counters, except for marks, which are shown only over gNMI: the
// simulated release has no command for them.
func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		b.Apply(b.overSSH())
		for i, name := range []string{sim.DropPkts, sim.PFCTx, sim.WDStuck, sim.ECNMarked} {
			b.Counters().Set("Ethernet1/1", 3, name, uint64(10+i))
		}
		b.Counters().Set("Ethernet1/1", 5, sim.PFCTx, 9) // a priority without PFC
		for name, d := range map[string]*Driver{"ssh": b.overSSH(), "gnmi and ssh": b.Open()} {
			c, err := d.Counters(t.Context(), []string{"Ethernet1/1", "Ethernet9/9"})
			if err != nil {
				t.Fatal(err)
			}
			p := c.Ports["Ethernet1/1"]
			if p[drivers.QueueDrops.Of(3)] != 10 || p[drivers.PFCTx.Of(3)] != 11 || p[drivers.StormsDetected.Of(3)] != 12 || p[drivers.PFCTx.Of(5)] != 9 || len(c.Ports) != 1 || c.Poll[drivers.PFCTx] != lines.CounterAge {
				t.Errorf("%s: %v", name, c)
			}
			if n, ok := p[drivers.QueueMarked.Of(3)]; ok != (name != "ssh") || ok && n != 13 {
				t.Errorf("%s: marked %d (%v)", name, n, ok)
			}
		}
	})
}

// The watchdog shows which queues it has shut down, over SSH only.
func TestStorms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		b.Apply(b.overSSH())
		b.Counters().Set("Ethernet1/1", 3, sim.WDStuck, 2)
		for ended, want := range map[uint64]map[int]drivers.Storm{1: {3: drivers.StormStopped}, 2: nil} {
			b.Counters().Set("Ethernet1/1", 3, sim.WDRecovery, ended)
			for name, d := range map[string]*Driver{"ssh": b.overSSH(), "gnmi and ssh": b.Open()} {
				o, err := d.Observe(t.Context())
				if err != nil || !maps.Equal(o.Ports["Ethernet1/1"].Storms, want) || len(o.States()) != len(want) {
					t.Errorf("%s, %d restored: %v, %v", name, ended, o.States(), err)
				}
			}
		}
	})
}

// Unsaved names the unsaved sections.
func TestUnsaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		drivertest.NamesUnsaved(b.LineBox, b.overSSH(), "interface Ethernet1/2\n  mtu 4000\n", "interface Ethernet1/2")
	})
}
