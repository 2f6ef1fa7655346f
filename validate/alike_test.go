package validate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// randomClos writes the intent of some leaves and spines, with random faults and differences of
// a role, of switches, of ports and of links.
func randomClos(r *rand.Rand) string {
	pick := func(l ...string) string { return l[r.IntN(len(l))] }
	var b strings.Builder
	leaves := 4 + r.IntN(5)
	b.WriteString(strings.Replace(base[:strings.Index(base, "switches:")], "max: 1500KB", "max: "+pick("1500KB", "1500KB", "15MB"), 1))
	of := func(role string) string {
		return fmt.Sprintf("{os: sonic, role: %s%s%s%s}\n", role, pick("", ", model: DellEMC-Z9332f-O32", ", model: DellEMC-Z9332f-O32", ", model: X"), pick("", ", release: 202511"),
			pick("", "", ", ports: {Ethernet8: {classes: {rdma: {lossless: false}}}}", ", ports: {\"Ethernet[0,8]\": {speed: 400G}}", ", mtu: {fabric: 9200}", ", pfc: {watchdog: {detect: 300ms, restore: 400ms}}"))
	}
	b.WriteString("switches:\n")
	odd := 1 + r.IntN(leaves-1)
	fmt.Fprintf(&b, "  leaf[1-%d]: %s  leaf[%d-%d]: %s  spine[1-2]: %s", odd, of("leaf"), odd+1, leaves, of("leaf"), of("spine"))
	fmt.Fprintf(&b, "hosts:\n  gpu[1-%d]: {nics: {n0: {%s}}}\n  cpu: {nics: {n0: {rdma: m0}, n1: {}}%s}\n", leaves-1, pick("", "rdma: m0"), pick("", ", pauseResponse: 2us"))
	b.WriteString("links:\n")
	for i := range leaves - 1 {
		fmt.Fprintf(&b, "  - {a: leaf%d/Ethernet0, b: gpu%[1]d/n0, cable: %s, speed: 400G}\n", i+1, pick("5m", "5m", "5m", "300m"))
	}
	fmt.Fprintf(&b, "  - {a: leaf%d/Ethernet0, b: cpu/%s, cable: 5m, speed: 400G}\n", leaves, pick("n0", "n1"))
	for s := range 2 {
		fmt.Fprintf(&b, "  - {a: \"leaf[1-%d]/Ethernet%d\", b: \"spine%d/Ethernet[0-%d:8]\", cable: %s, speed: 400G}\n", leaves, 8*(s+1), s+1, 8*(leaves-1), pick("40m", "40m", "3km"))
	}
	return b.String()
}

// TestAlikeSwitchesAreCheckedOnce checks that checking one of several alike switches finds the
// same as checking each.
func TestAlikeSwitchesAreCheckedOnce(t *testing.T) {
	shared, places := 0, 0
	for seed := range 120 {
		text := randomClos(rand.New(rand.NewPCG(uint64(seed), 3)))
		c := compile(t, text)
		got, err := Intent(t.Context(), c, today, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			d := c.Device(sw)
			run.Add(Switch(d, d.Desired, checks.Intended, nil))
		}
		if err := run.checkFabric(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(run.Findings(today), got); diff != "" {
			t.Fatalf("seed %d: -each switch +once\n%s\n%s", seed, diff, text)
		}
		of := alike(c.Fabric())
		for _, o := range of {
			d := c.Device(o)
			if Switch(d, d.Desired, checks.Intended, nil).holdsForAlike() {
				shared++
			} else {
				places++
			}
		}
	}
	if shared < 100 || places < 10 {
		t.Errorf("%d switches share a result, %d are like one that names its links: the test shows little", shared, places)
	}
}

// TestPortDifferencesPreventSharedChecks checks that a switch with any difference in a port is
// not alike.
func TestPortDifferencesPreventSharedChecks(t *testing.T) {
	fabric := base[:strings.Index(base, "switches:")] + `switches:
  leaf[1-4]: {os: sonic, role: leaf, model: DellEMC-Z9332f-O32}
  spine1: {os: sonic, role: spine, model: DellEMC-Z9332f-O32}
hosts:
  gpu[1-4]: {nics: {n0: {rdma: m0}}}
  cpu: {nics: {n0: {rdma: m0}, n1: {}}}
links:
  - {a: "leaf[1-4]/Ethernet0", b: "gpu[1-4]/n0", cable: 5m, speed: 400G}
  - {a: "leaf[1-4]/Ethernet8", b: "spine1/Ethernet[0-24:8]", cable: 40m, speed: 400G}
`
	first := func(text string) *intent.Switch {
		f := compile(t, text).Fabric()
		return alike(f)[f.Switch("leaf3")]
	}
	if o := first(fabric); o == nil || o.Name != "leaf1" {
		t.Fatalf("leaf3 is like %v", o)
	}
	alone := func(link string) string {
		return strings.Replace(strings.Replace(fabric, `"leaf[1-4]/Ethernet0", b: "gpu[1-4]/n0"`, `"leaf[1,2,4]/Ethernet0", b: "gpu[1,2,4]/n0"`, 1), "links:\n", "links:\n  - "+link+"\n", 1)
	}
	if o := first(alone("{a: leaf3/Ethernet0, b: gpu3/n0, cable: 5m, speed: 400G}")); o == nil {
		t.Error("a link on a line of its own makes a switch different")
	}
	for name, text := range map[string]string{
		"cable":    alone("{a: leaf3/Ethernet0, b: gpu3/n0, cable: 6m, speed: 400G}"),
		"port":     alone("{a: leaf3/Ethernet16, b: gpu3/n0, cable: 5m, speed: 400G}"),
		"NIC":      alone("{a: leaf3/Ethernet0, b: cpu/n1, cable: 5m, speed: 400G}"),
		"response": strings.Replace(fabric, "gpu[1-4]: {nics", "\"gpu[1,2,4]\": {nics: {n0: {rdma: m0}}}\n  gpu3: {pauseResponse: 2us, nics", 1),
		"tunnel":   fabric + "routing: {tunnels: [{from: leaf1, to: leaf2}]}\n",
	} {
		if o := first(text); o != nil {
			t.Errorf("%s: leaf3 is like %s", name, o.Name)
		}
	}
}
