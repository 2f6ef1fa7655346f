package gate

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// TestBefore checks that one reading reports pauses sent on lossy priorities, and only on ports
// of the intent.
func TestBefore(t *testing.T) {
	d := Device{Name: "leaf1", Ports: map[string]Port{
		"Ethernet0": {Classes: []Class{{Name: "rdma", Priority: 3}}}, "Ethernet8": {Classes: []Class{{Name: "rdma", Priority: 3}}},
	}}
	s := Sample{Device: "leaf1", Counters: &drivers.Counters{Ports: map[string]drivers.PortCounters{
		"Ethernet0":  {drivers.PFCTx.Of(3): 7, drivers.PFCTx.Of(4): 0, drivers.PFCRx.Of(4): 9},
		"Ethernet8":  {drivers.PFCTx.Of(3): 7, drivers.PFCTx.Of(4): 1},
		"Ethernet16": {drivers.PFCTx.Of(4): 9},
	}}}
	fs := Before(d, s)
	if len(fs) != 1 || fs[0].ID != PauseBefore || fs[0].Means != Warn || fs[0].Port != "Ethernet8" || fs[0].What != "the port has sent pause on priority 4, which the intent calls lossy" {
		t.Errorf("%+v", fs)
	}
}
