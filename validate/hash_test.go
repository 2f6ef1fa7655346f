package validate

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestPolarization checks that equal hash seeds are reported only where both switches of a link
// choose among paths for the same flows.
func TestPolarization(t *testing.T) {
	const up = "\"leaf[1-2]/Ethernet240\", b: \"spine1/Ethernet[0,8]\", cable: 40m, speed: 400G}\n"
	twice := strings.Replace(closHead, "dscp: [27], lossless: true", "dscp: [27], lossless: false", 1) + `switches:
  leaf[1-2]: {os: sonic, role: leaf, address: "192.0.2.[11-12]:8080", model: DellEMC-Z9332f-O32}
  spine1: {os: sonic, role: spine, address: "192.0.2.21:8080", model: DellEMC-Z9332f-O32}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: "leaf[1-2]/Ethernet0", b: "gpu[1-2]/eth0", cable: 5m, speed: 400G}
  - {a: ` + up + `  - {a: ` + strings.NewReplacer("240", "248", "[0,8]", "[16,24]").Replace(up)
	all := map[string]string{"leaf": "7", "spine": "7", "superspine": "7"}
	leaves := []string{"leaf1", "leaf2", "leaf3", "leaf4"}
	for name, x := range map[string]struct {
		text  string
		seeds map[string]string // by role
		want  []string
	}{
		"leaves and spines choose, the top does not": {threeTiers, all, leaves},
		"not shown":                  {threeTiers, map[string]string{"leaf": "7"}, nil},
		"each tier its own":          {threeTiers, map[string]string{"leaf": "7", "spine": "8", "superspine": "9"}, nil},
		"the spines do not hash":     {strings.Replace(threeTiers, "role: spine", "role: spine, loadBalancing: {mode: packet}", 1), all, nil},
		"the spines do":              {strings.Replace(threeTiers, "role: spine", "role: spine, loadBalancing: {mode: flow}", 1), all, leaves},
		"one link to each leaf":      {closBase, all, nil},
		"two links to each leaf":     {twice, all, []string{"leaf1", "leaf2"}},
		"one aggregate to each leaf": {strings.Replace(twice, `"192.0.2.21:8080", `, `"192.0.2.21:8080", ports: {"Ethernet[0,16]": {lag: PortChannel1}, "Ethernet[8,24]": {lag: PortChannel2}}, `, 1), all, nil},
	} {
		c := compile(t, x.text)
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			d := c.Device(sw)
			have := *d.Desired
			have.HashSeed = x.seeds[sw.Role]
			run.Add(Switch(d, &have, checks.Running, nil))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.ID == "LB-02" {
				got = append(got, f.Device)
			}
		}
		if got = slices.Compact(got); !slices.Equal(got, x.want) {
			t.Errorf("%s: at %q, not %q", name, got, x.want)
		}
	}
}
