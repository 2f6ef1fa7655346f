package validate

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/validate/checks"
)

func TestFindingsThatDifferOnlyInPlaceAreOneCause(t *testing.T) {
	accepted := &checks.Suppressed{Reason: "old cards", Where: "f.yaml:9:1"}
	ecn := checks.Finding{ID: "ECN-01", Severity: checks.Error, What: "no ECN", Fix: "ecn: auto"}
	at := func(f checks.Finding, device, where string, ports ...string) checks.Finding {
		f.Device, f.Where, f.Ports = device, where, ports
		return f
	}
	warned, other := ecn, ecn
	warned.Severity, other.Suppressed = checks.Warning, accepted
	down := checks.Finding{ID: "READ", Severity: checks.Error, What: "refused"}
	fs := []checks.Finding{
		at(other, "leaf1", "f.yaml:5:1", "Ethernet24"),
		at(warned, "leaf9", "f.yaml:5:1"),
		at(down, "leaf3", ""), at(down, "leaf4", ""),
		at(ecn, "leaf10", "f.yaml:5:1", "Ethernet8", "Ethernet0"),
		at(ecn, "leaf2", "f.yaml:15:1", "Ethernet0", "Ethernet8"),
		at(ecn, "spine1", "f.yaml:5:1", "Ethernet0"),
		at(ecn, "leaf1", "f.yaml:5:1", "Ethernet0"),
		at(ecn, "leaf1", "f.yaml:5:1", "Ethernet8"),
	}
	want := []struct {
		id              string
		n               int
		devices, places []string
		wheres          []string
	}{
		{"ECN-01", 5, []string{"leaf1", "leaf2", "leaf10", "spine1"}, []string{"leaf1,leaf2,leaf10 Ethernet0,Ethernet8", "spine1 Ethernet0"}, []string{"f.yaml:5:1", "f.yaml:15:1"}},
		{"READ", 2, []string{"leaf3", "leaf4"}, []string{"leaf3,leaf4"}, nil},
		{"ECN-01", 1, []string{"leaf9"}, []string{"leaf9"}, []string{"f.yaml:5:1"}},
		{"ECN-01", 1, []string{"leaf1"}, []string{"leaf1 Ethernet24"}, []string{"f.yaml:5:1"}},
	}
	got := checks.Causes(fs)
	if len(got) != len(want) {
		t.Fatalf("%d causes: %+v", len(got), got)
	}
	for i, w := range want {
		c := got[i]
		if c.ID != w.id || len(c.Findings) != w.n || !slices.Equal(c.Devices(), w.devices) || !slices.Equal(c.Places(), w.places) || !slices.Equal(c.Wheres(), w.wheres) {
			t.Errorf("cause %d is %s with %d findings on %q at %q from %q, want %+v", i, c.ID, len(c.Findings), c.Devices(), c.Places(), c.Wheres(), w)
		}
	}
	if !slices.Equal(got[0].Index, []int{4, 5, 6, 7, 8}) || !slices.Equal(got[3].Index, []int{0}) {
		t.Errorf("the findings stood at %v and %v", got[0].Index, got[3].Index)
	}
	if got[1].What != "refused" || got[3].Suppressed != accepted {
		t.Errorf("got %q and %v", got[1].What, got[3].Suppressed)
	}
	if fabric := checks.Causes([]checks.Finding{{ID: "TOPO-01", Severity: checks.Error}}); len(fabric[0].Places()) != 0 {
		t.Errorf("a cause of the fabric is at %q", fabric[0].Places())
	}
}
