package rollout

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// A rollout lists what no check could judge on its devices, with the number of devices.
func TestRolloutSaysWhatIsOpen(t *testing.T) {
	f := clos(t, 2, 1, 1, "")
	m := NewMaker(MakerOptions{Fabric: f})
	for _, sw := range f.Switches {
		d := changes(f, sw.Name, 8, 8)
		if sw.Name == "leaf1" {
			d.Lacking = []checks.Finding{{ID: "CAT-01", Severity: checks.Info, Device: "leaf1", Unchecked: "headroom", Because: "the model is unknown"}}
		}
		if sw.Name == "leaf2" {
			d.Unclear = true
		}
		m.Add(d)
	}
	r := m.Rollout()
	want := "1 of 3 switches (leaf1): headroom not checked, the model is unknown; 1 of 3 switches (leaf2): some QoS settings not checked, this tool does not understand them; CLS-02 on 2 of 2 links not checked, the class of a DSCP is not known there"
	if got := checks.OpenText(r.Inconclusive); got != want || !r.Open() {
		t.Errorf("open:\n%s, want\n%s", got, want)
	}
	f.Suppressions = append(f.Suppressions, &intent.Suppression{Check: "CAT-01", Reason: "known"})
	if got := m.Rollout(); len(got.Inconclusive) != 2 {
		t.Errorf("with CAT-01 accepted: %v", got.Inconclusive)
	}
}
