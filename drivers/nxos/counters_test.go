package nxos

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// tallied are the counters of the box, by what they are to the driver.
var tallied = map[drivers.Metric]string{
	drivers.PFCRx: sim.PFCRx, drivers.PFCTx: sim.PFCTx, drivers.QueuePackets: sim.TxPkts, drivers.QueueBytes: sim.TxOctets, drivers.QueueDrops: sim.DropPkts,
	drivers.StormsDetected: sim.WDStuck, drivers.StormsRestored: sim.WDRecovery,
}

// count sets what a port counts.
func (b *box) count(port string, index int, m drivers.Metric, n uint64) bool {
	name, ok := tallied[m]
	if ok {
		b.Counters().Set(port, index, name, n)
	}
	return ok
}

// Counters of both ways are the same; marks are over gNMI alone, as the simulated
// release has no command for them.
func TestCounters(t *testing.T) {
	b := newBox(t, boxOptions{gnmi: true})
	b.apply(b.overSSH())
	for i, name := range []string{sim.DropPkts, sim.PFCTx, sim.WDStuck, sim.ECNMarked} {
		b.Counters().Set("Ethernet1/1", 3, name, uint64(10+i))
	}
	b.Counters().Set("Ethernet1/1", 5, sim.PFCTx, 9) // a priority that nobody is to pause
	for name, d := range map[string]*Driver{"ssh": b.overSSH(), "gnmi and ssh": b.open()} {
		c, err := d.Counters(t.Context(), []string{"Ethernet1/1", "Ethernet9/9"})
		if err != nil {
			t.Fatal(err)
		}
		p := c.Ports["Ethernet1/1"]
		if p[drivers.QueueDrops.Of(3)] != 10 || p[drivers.PFCTx.Of(3)] != 11 || p[drivers.StormsDetected.Of(3)] != 12 || p[drivers.PFCTx.Of(5)] != 9 || len(c.Ports) != 1 || c.Poll[drivers.PFCTx] != poll {
			t.Errorf("%s: %v", name, c)
		}
		if n, ok := p[drivers.QueueMarked.Of(3)]; ok != (name != "ssh") || ok && n != 13 {
			t.Errorf("%s: marked %d (%v)", name, n, ok)
		}
	}
}

// What is not saved is named by section, without what it holds.
func TestUnsaved(t *testing.T) {
	b := newBox(t, boxOptions{})
	d := b.overSSH()
	if list, err := d.Unsaved(t.Context()); err != nil || list != nil {
		t.Errorf("%q, %v", list, err)
	}
	b.configure("interface Ethernet1/2\n  mtu 4000\n")
	list, err := d.Unsaved(t.Context())
	if want := []string{"interface Ethernet1/2"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%q, %v; want %q", list, err, want)
	}
}
