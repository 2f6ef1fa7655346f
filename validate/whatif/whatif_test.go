package whatif

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

const clos = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, ecn: {min: 150KB, max: 1500KB}}
  default: {priority: 0, dscp: rest}
switches:
  leaf[1-3]: {os: sonic, role: leaf, address: "192.0.2.[11-13]:8080"}
  spine[1-4]: {os: sonic, role: spine, address: "192.0.2.[21-24]:8080"}
hosts:
  gpu[1-6]: {nics: {eth0: {}}}
links:
  - {a: "leaf1/Ethernet[0,4]", b: "gpu[1-2]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf2/Ethernet[0,4]", b: "gpu[3-4]/eth0", cable: 5m, speed: 400G}
  - {a: "leaf3/Ethernet[0,4]", b: "gpu[5-6]/eth0", cable: 5m, speed: 400G}
  - {pattern: mesh, a: "leaf[1-3]/Ethernet[8-36:4]", b: "spine[1-4]/Ethernet[0-20:4]", cable: 40m, speed: 200G}
`

func compare(t *testing.T, was, now []checks.Finding, changes Changes) *Comparison {
	t.Helper()
	side := func(c Changes, fs []checks.Finding) Side {
		f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(clos), Set: c.Set, Without: c.Without})
		if err != nil {
			t.Fatal(err)
		}
		r, err := render.New(f, nil)
		if err != nil {
			t.Fatal(err)
		}
		return Side{r, fs}
	}
	return Compare(side(Changes{}, was), side(changes, now), changes)
}

func (c *Comparison) numbers(t *testing.T, what string) [2]float64 {
	t.Helper()
	i := slices.IndexFunc(c.Measures, func(m Measure) bool { return m.What == what })
	if i < 0 {
		t.Fatalf("nothing says %q: %+v", what, c.Measures)
	}
	return [2]float64{c.Measures[i].Before, c.Measures[i].After}
}

const shortest = "fewest shortest paths between two switches with hosts"

// Two hosts at 400G below 4 spines with two cables of 200G each.
func TestMeasures(t *testing.T) {
	c := compare(t, nil, nil, Changes{Without: []string{"spine1"}})
	for what, want := range map[string][2]float64{
		"oversubscription at leaf":                         {0.5, 800.0 / 1200},
		shortest:                                           {16, 12}, // each spine joins two leaves by 2 x 2 cables
		"fan-in of rdma at leaf, ports to hosts":           {9, 7},
		"fan-in of rdma at leaf, ports to switches above":  {2, 2},
		"fan-in of rdma at spine, ports to switches below": {5, 5},
	} {
		if got := c.numbers(t, what); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	// One cable of a pair: 3 spines with 2 x 2 paths and one with 1 x 2.
	if got := compare(t, nil, nil, Changes{Without: []string{"leaf1/Ethernet8"}}).numbers(t, shortest); got != [2]float64{16, 14} {
		t.Errorf("without a cable: %v", got)
	}
}

func TestReach(t *testing.T) {
	c := compare(t, nil, nil, Changes{Without: []string{"leaf3", "role:spine"}})
	if strings.Join(c.CutOff, " ") != "gpu5 gpu6" || len(c.Reduced) > 0 || strings.Join(c.Unreachable, ";") != "leaf1 and leaf2" || c.Switches != 2 || c.Links != 4 {
		t.Errorf("%+v", c)
	}
}

// Up, down and up again is no path, although cables join the leaves.
func TestPathsNeverGoUpAgain(t *testing.T) {
	c := compare(t, nil, nil, Changes{Without: []string{"leaf1 - spine[1-3]", "leaf2 - spine4"}})
	if strings.Join(c.Unreachable, ";") != "leaf1 and leaf2" {
		t.Errorf("unreachable: %v", c.Unreachable)
	}
	c = compare(t, nil, nil, Changes{Without: []string{"leaf1 - spine[1-3]", "leaf2 - spine4"}, Set: []string{"routing.model=shortest"}})
	if len(c.Unreachable) == 0 {
		t.Error("the paths of the present fabric count: it goes up, then down")
	}
}

func TestValuesThatChange(t *testing.T) {
	c := compare(t, nil, nil, Changes{Set: []string{"links[3].cable=80m"}})
	if len(c.Values) == 0 || c.Values[0].Field != "cable" || c.Values[0].Old != "40m" || c.Values[0].New != "80m" {
		t.Fatalf("%+v", c.Values)
	}
	if at := strings.Join(c.Values[0].Places, "; "); at != "leaf[1-3] Ethernet[8-36:4]; spine[1-4] Ethernet[0-20:4]" {
		t.Error(at)
	}
	if c = compare(t, nil, nil, Changes{Without: []string{"gpu1"}}); len(c.Values) != 0 {
		t.Errorf("a host that is gone changes values: %+v", c.Values)
	}
}

func TestFindingsThatAppearAndDisappear(t *testing.T) {
	f := func(id, device, what string, ports ...string) checks.Finding {
		return checks.Finding{ID: id, Severity: checks.Warning, Device: device, What: what, Ports: ports}
	}
	was := []checks.Finding{
		f("A", "leaf1", "both", "Ethernet0", "Ethernet8"),
		f("B", "leaf1", "repaired", "Ethernet0"),
		f("C", "spine1", "went with the device"),
		f("D", "leaf1", "went with the port", "Ethernet8"),
		f("F", "", "of 12 ports"),
		f("G", "leaf1", "first"),
	}
	now := []checks.Finding{f("A", "leaf1", "both", "Ethernet0"), f("E", "leaf2", "appears"), f("A", "leaf2", "both", "Ethernet0"),
		f("F", "", "of 8 ports"), f("G", "leaf1", "first"), f("G", "leaf1", "second")}
	c := compare(t, was, now, Changes{Without: []string{"spine1"}})
	if len(c.New) != 3 || c.New[2].What != "second" || c.New[0].ID != "A" || strings.Join(c.New[0].Places, " ") != "leaf2 Ethernet0" || c.New[1].ID != "E" {
		t.Errorf("new: %+v", c.New)
	}
	if len(c.Gone) != 1 || c.Gone[0].ID != "B" {
		t.Errorf("gone: %+v", c.Gone)
	}
}
