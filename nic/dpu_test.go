package nic

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// The side of a card that does not own the port has no port settings, neither in the desired state
// nor in the comparison. A card that shows its port there is in NIC mode.
func TestOwner(t *testing.T) {
	want := &Host{Ports: map[string]*Port{"n": {Name: "n", Owner: "a/p0", MTU: qos.Of(9000)}}}
	have := &Port{Name: "n", MTU: qos.Of(9000), VF: true, Missing: map[string]string{FieldDCB: "no dcbnl"}}
	running := &Host{Ports: map[string]*Port{"n": have}}
	if got := Diff(running, want); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	have.VF, have.PFC = false, qos.Of(qos.PrioritySet(0))
	got := Diff(running, want)
	if len(got) != 1 || got[0].Field != FieldDCB || got[0].Old != "of this host" || got[0].New != "of a/p0" || got[0].Writable() {
		t.Errorf("%+v", got)
	}
}
