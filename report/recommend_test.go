package report

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/simulate/scenario"
)

// The lines for the intent give each switch and port the curve that was found for it, and can be
// merged into the intent as they stand.
func TestCurvesAsIntent(t *testing.T) {
	r := &scenario.Recommendations{For: "10ms", Seeds: 3, Found: []scenario.Advice{{Traffic: "incast:8:1"}, {Traffic: "incast:8:1"}}, Curves: []scenario.Curve{
		{Class: "rdma", Switches: []string{"leaf1", "leaf2", "leaf3"}, Ports: []string{"Ethernet0", "Ethernet8"}, Min: 50_000, Max: 500_000, Probability: 0.1},
		{Class: "rdma", Switches: []string{"leaf1", "leaf2", "leaf3"}, Ports: []string{"Ethernet240"}, Min: 100_000, Max: 1_000_000, Probability: 0.1},
		{Class: "rdma", Switches: []string{"spine1"}, Min: 100_000, Max: 1_000_000, Probability: 0.1},
		{Class: "storage", Switches: []string{"leaf1", "leaf2", "leaf3", "spine1"}, Min: 7000, Max: 70_000, Probability: 1},
	}}
	text := curvesOf(r)
	if !strings.HasPrefix(text, "# Found by roce-fabric simulate --recommend: incast:8:1 for 10ms, 3 seeds.\n") {
		t.Errorf("begins with %q", text)
	}
	_, errs := yaml.Parse("curves", []byte(text))
	if len(errs) > 0 {
		t.Fatalf("%v in\n%s", errs, text)
	}
	fabric := `apiVersion: roce-fabric/v1
kind: Fabric
name: f
links:
  - {a: leaf1/Ethernet0, b: gpu1/nic, cable: 5m, speed: 200G}
  - {a: leaf1/Ethernet240, b: spine1/Ethernet0, cable: 5m, speed: 400G}
hosts: {gpu1: {nics: {nic: {}}}}
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, CURVE}
  storage: {priority: 4, dscp: [28], lossless: true, CURVE}
  default: {priority: 0, dscp: rest}
`
	// What a user merges by hand: the curves at the classes into these, the switches with their system.
	fabric = strings.Replace(fabric, "CURVE", "ecn: auto", 1)
	fabric = strings.Replace(fabric, "CURVE", "ecn: {min: 7KB, max: 70KB, probability: 100%}", 1)
	_, switches, _ := strings.Cut(text, "switches:\n")
	switches = strings.NewReplacer("leaf[1-3]:\n", "leaf[1-3]:\n    os: sonic\n", "spine1:\n", "spine1:\n    os: sonic\n").Replace(switches)
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(fabric + "switches:\n" + switches)})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for port, want := range map[string]string{"leaf1/Ethernet0": "50KB", "leaf1/Ethernet240": "100KB", "spine1/Ethernet0": "100KB"} {
		device, name, _ := strings.Cut(port, "/")
		if got := f.Switch(device).Port(name).Settings.Class("rdma").ECN.Min.V.String(); got != want {
			t.Errorf("%s has a min of %s, want %s in\n%s", port, got, want, text)
		}
	}
	if !strings.Contains(text, "classes:\n  storage: {ecn: {min: 7KB, max: 70KB, probability: 100%}}\n") {
		t.Errorf("storage is not at the class in\n%s", text)
	}
}

// The first sentence says whether a curve was found, how many senders are possible if not, and what
// the present curve does.
func TestRecommendedSentence(t *testing.T) {
	trials := []scenario.Trial{{Min: 50_000, Max: 500_000, Probability: 0.05, Pauses: 3}, {Min: 100_000, Max: 1_000_000, Probability: 0.05, Mean: 80_000}}
	for want, a := range map[string]scenario.Advice{
		"ECN from 100.0KB to 1000.0KB, 5 %: no pause, no loss, mean queue 80.0KB, 99.6 % of the goodput without marking; the present curve pauses": {Trials: trials, Best: 1, Kept: 0.996, Now: scenario.Trial{Pauses: 1}},
		"does not pause either":                            {Trials: trials, Best: 1},
		"the present curve loses 2 packets":                {Trials: trials, Best: 1, Now: scenario.Trial{Lost: 2}},
		"(probability 5 %); the earliest holds 17 senders": {Trials: trials, Best: -1, FanIn: 17},
		"even with one sender":                             {Trials: trials, Best: -1},
	} {
		if got := recommended(&a); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end in %q", got, want)
		}
	}
}
