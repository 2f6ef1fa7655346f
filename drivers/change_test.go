package drivers

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// A blocked value of a group does not keep the other values of the group from changing.
func TestKeepingOnlyBlockedValues(t *testing.T) {
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

// Block marks only the named field on the named port, and keeps earlier reasons.
func TestBlock(t *testing.T) {
	changes := []qos.Change{
		{Port: "Ethernet0", Field: qos.KindPFC.Attr()},
		{Port: "Ethernet0", Field: qos.KindMTU.Attr()},
		{Port: "Ethernet8", Field: qos.KindPFC.Attr()},
		{Port: "Ethernet0", Field: qos.KindECN.At(3)},
		{Port: "Ethernet0", Field: qos.KindECN.At(4), Blocked: "before"},
		{Field: qos.KindPFC.Attr()},
	}
	Block(changes, qos.Place{Port: "Ethernet0", Field: qos.KindPFC.Attr()}, "no PFC")
	Block(changes, qos.Place{Port: "Ethernet0", Field: qos.KindECN.All()}, "no ECN")
	for i, want := range []string{"no PFC", "", "", "no ECN", "before", ""} {
		if changes[i].Blocked != want {
			t.Errorf("%s is blocked for %q, want %q", changes[i].Path(), changes[i].Blocked, want)
		}
	}
}

// The impact of a plan includes its steps: a step that moves a port is at least a port flap.
func TestImpactOfSteps(t *testing.T) {
	none := qos.Change{Port: "Ethernet0", Field: qos.KindECN.At(3)}
	loss := qos.Change{Port: "Ethernet0", Field: qos.KindMTU.Attr(), Impact: qos.ImpactLoss}
	open, blocked := loss, loss
	open.Open, blocked.Blocked = true, "why"
	for _, c := range []struct {
		changes []qos.Change
		items   []Step
		want    qos.Impact
	}{
		{[]qos.Change{none}, []Step{{}}, qos.ImpactNone},
		{[]qos.Change{none}, []Step{{}, {Down: []string{"Ethernet0"}}}, qos.ImpactPortFlap},
		{[]qos.Change{none}, []Step{{Up: []string{"Ethernet0"}}}, qos.ImpactPortFlap},
		{[]qos.Change{none}, []Step{{Impact: qos.ImpactLoss, Down: []string{"Ethernet0"}}}, qos.ImpactLoss},
		{[]qos.Change{none, loss}, []Step{{}}, qos.ImpactLoss},
		{[]qos.Change{open, blocked}, []Step{{}}, qos.ImpactNone},
	} {
		s := &Steps{Changes: c.changes, Items: c.items}
		if got := s.Impact(); got != c.want {
			t.Errorf("%+v, %+v: impact %s, want %s", c.changes, c.items, got, c.want)
		}
		b, err := json.Marshal(s.Items[len(s.Items)-1])
		if moves := len(c.items[len(c.items)-1].Down)+len(c.items[len(c.items)-1].Up) > 0; err != nil || moves && bytes.Contains(b, []byte(`"impact":"none"`)) {
			t.Errorf("%s, %v", b, err)
		}
	}
}
