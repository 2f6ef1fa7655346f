package derive

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// TestCurvesBySpeed checks that curves which follow from the speed of the port are written once by
// speed, that a port with another curve states its own, and that a plan changes none of them.
func TestCurvesBySpeed(t *testing.T) {
	names := []string{"Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24", "Ethernet32"}
	s := running("leaf1", names...)
	for n, p := range s.Running.Ports {
		speed, kb := units.Rate(400e9), int64(1000)
		if n == "Ethernet0" || n == "Ethernet8" {
			speed, kb = 100e9, 250
		}
		p.Speed = qos.Of(speed)
		p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: kb * 1000, Max: kb * 4000, Probability: 7})
	}
	s.Running.Ports["Ethernet32"].Queues[3].ECN.V.Max = 9_000_000
	in := Input{Switches: []Switch{s}}
	r := derived(t, in)
	for _, change := range differing(in, r) {
		if change.Field == qos.KindECN.At(3) {
			t.Errorf("a plan would change %+v", change)
		}
	}
	for _, want := range []string{`"100G": {min: 250KB, max: 1MB, probability: 7%}`, `"400G": {min: 1MB, max: 4MB, probability: 7%}`, "ecn: {min: 1MB, max: 9MB, probability: 7%}"} {
		if strings.Count(string(r.Text), want) != 1 || strings.Count(string(r.Text), "ecn:") != 2 {
			t.Errorf("the intent does not have %q once:\n%s", want, r.Text)
		}
	}
	// A single speed needs no curves by speed.
	for _, p := range s.Running.Ports {
		p.Speed = qos.Of(units.Rate(400e9))
	}
	if r = derived(t, in); strings.Contains(string(r.Text), "bySpeed") {
		t.Errorf("curves by the only speed:\n%s", r.Text)
	}
}
