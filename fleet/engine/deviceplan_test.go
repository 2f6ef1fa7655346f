package engine

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

func TestGroupFoldsPortsAndNothingElse(t *testing.T) {
	var cs []qos.Change
	for i := range 64 {
		c := qos.Change{Port: fmt.Sprintf("Ethernet%d", i*8), Field: qos.KindPFC.Attr(), Old: "{}", New: "{3}", Reason: "f:1:1"}
		if i == 7 {
			c.Impact = qos.ImpactPortFlap
		}
		cs = append(cs, c)
	}
	cs = append(cs, qos.Change{Field: qos.KindWatchdogPoll.Attr(), Old: "-", New: "200ms"})
	gs := group(cs)
	if len(gs) != 3 || len(gs[0].Ports) != 63 || len(gs[1].Ports) != 1 || gs[1].Impact != qos.ImpactPortFlap || gs[2].Ports != nil {
		t.Errorf("%d groups: %+v", len(gs), gs)
	}
}

// NIC settings whose effect shows only under load get the long window too.
func TestThresholdsOfNICs(t *testing.T) {
	for field, want := range map[string]bool{nic.FieldECN: true, nic.FieldDCQCN + "[rp_ai_rate]": true, nic.FieldBuffers: true, nic.FieldMTU: false} {
		d := &DevicePlan{Changes: []Group{{Change: qos.Change{Field: qos.NIC(field)}}}}
		if got := changesThresholds(d); got != want {
			t.Errorf("%s: %v", field, got)
		}
	}
}
