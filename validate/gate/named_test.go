package gate

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/nic"
)

// TestErrorCountersMatchTheWindow checks that error counters read without a window are those
// that a window uses.
func TestErrorCountersMatchTheWindow(t *testing.T) {
	for metric, names := range map[drivers.Metric][]string{
		drivers.ErrorsRx: nic.ErrorStats, drivers.PacketsRx: nic.FrameStats, drivers.FECUncorrected: nic.LostWordStats,
	} {
		n := 0
		for _, m := range named {
			if m == metric {
				n++
			}
		}
		if n != len(names) {
			t.Errorf("%d of %d names", n, len(names))
		}
		for _, name := range names {
			if named[name] != metric {
				t.Errorf("%s is another counter", name)
			}
		}
	}
}
