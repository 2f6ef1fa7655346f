package validate

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestDrift checks that a switch as intended has no drift, and that each differing setting
// counts as one.
func TestDrift(t *testing.T) {
	c := compile(t, closBase)
	d := c.Device(c.Fabric().Switches[0])
	for want, edit := range []func(*qos.Port){
		func(*qos.Port) {},
		func(p *qos.Port) { p.MTU = qos.Of(1500) },
		func(p *qos.Port) { p.MTU, p.PFC = qos.Of(1500), qos.Of(qos.PrioritySet(0)) },
	} {
		have := decoded(t, saved(d))
		edit(have.Ports[d.Switch.Ports[0].Name])
		if got := Switch(d, have, checks.Running, &checks.State{}).Drift(); got != want {
			t.Errorf("%d settings differ, want %d", got, want)
		}
	}
}
