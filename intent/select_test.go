package intent

import (
	"strings"
	"testing"
)

func TestSelectDevices(t *testing.T) {
	f, err := Load("-", Options{Stdin: strings.NewReader(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf[1-2]: {os: sonic, role: leaf, address: "192.0.2.[1-2]", model: ACS-MSN4700}
  spine1: {os: eos, role: spine, address: 192.0.2.9}
hosts:
  gpu[1-3]: {nics: {ens1f0np0: {rdma: mlx5_0}}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ patterns, switches, hosts, fault string }{
		{"", "leaf1 leaf2 spine1", "gpu1 gpu2 gpu3", ""},
		{"gpu*", "", "gpu1 gpu2 gpu3", ""},
		{"gpu[2-3] leaf1", "leaf1", "gpu2 gpu3", ""},
		{"role:leaf gpu1", "leaf1 leaf2", "gpu1", ""},
		{"os:eos", "spine1", "", ""},
		{"*1", "leaf1 spine1", "gpu1", ""},
		{"!gpu* !spine1", "leaf1 leaf2", "", ""},
		{"os:", "", "", `no switch or host matches "os:"`},
		{"gpu[2-4]", "", "", `no switch or host "gpu4", which "gpu[2-4]" names`},
		{"gpu4", "", "", `no switch or host matches "gpu4"`},
	} {
		sw, hosts, err := f.SelectDevices(strings.Fields(c.patterns))
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v, want %s", c.patterns, err, c.fault)
			}
			continue
		}
		var s, h []string
		for _, d := range sw {
			s = append(s, d.Name)
		}
		for _, d := range hosts {
			h = append(h, d.Name)
		}
		if err != nil || strings.Join(s, " ") != c.switches || strings.Join(h, " ") != c.hosts {
			t.Errorf("%s: %v and %v, %v", c.patterns, s, h, err)
		}
	}
	// Select does not match hosts.
	if _, err := f.Select([]string{"gpu1"}); err == nil || !strings.Contains(err.Error(), `no switch matches "gpu1"`) {
		t.Error(err)
	}
}
