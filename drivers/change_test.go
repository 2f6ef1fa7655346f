package drivers

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// One blocked value of a group keeps no other value of it back.
func TestKeepingIsOfWhatIsBlocked(t *testing.T) {
	device := func(buffer string, xoff int64, lossless bool) *qos.Device {
		p := &qos.Port{}
		p.Groups[3] = qos.Group{Buffer: qos.Of(buffer), Headroom: qos.Of(qos.Headroom{XOFF: xoff}), Lossless: qos.Of(lossless)}
		return &qos.Device{Ports: map[string]*qos.Port{"Ethernet0": p}}
	}
	have, desired := device("lossy", 0, false), device("lossless", 4096, true)
	changes := qos.Diff(have, desired)
	for i := range changes {
		if changes[i].Field.Kind == qos.KindHeadroom {
			changes[i].Blocked = "the switch has no room"
		}
	}
	want := device("lossless", 0, true)
	if got := keeping(have, desired, changes); len(changes) != 3 || len(qos.Diff(got, want)) > 0 {
		t.Errorf("%d changes, allowed is %+v", len(changes), got.Ports["Ethernet0"].Groups[3])
	}
}
