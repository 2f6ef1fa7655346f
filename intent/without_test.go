package intent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const removable = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, ecn: auto}
  default: {priority: 0, dscp: rest}
switches:
  "leaf[1-2]": {os: sonic, role: leaf, address: "192.0.2.[11-12]:8080"}
  spine[1-2]: {os: sonic, role: spine, address: "192.0.2.[21-22]:8080"}
hosts:
  gpu[1-2]: {nics: {"eth[0-1]": {}}}
links:
  - {pattern: rail, a: "leaf[1-2]/Ethernet[0,4]", b: "gpu[1-2]/eth[0-1]", cable: 5m, speed: 400G}
  - {pattern: mesh, a: "leaf[1-2]/Ethernet[8,12]", b: "spine[1-2]/Ethernet[0,4]", cable: 40m, speed: 400G}
routing:
  exceptions: [{kind: up-again, switches: [spine1, leaf2]}]
islands:
  one: {hosts: [gpu1]}
  two: {hosts: [gpu2], switches: [spine2]}
vxlan: {ends: ["leaf*", spine1]}
rollout: {canary: [spine1, leaf1], groups: ["leaf[1-2]"]}
`

func loadWithout(t *testing.T, without ...string) (*Fabric, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(name, []byte(removable), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(name, Options{Without: without})
}

func TestWithoutRemovesADevice(t *testing.T) {
	f, err := loadWithout(t, "spine1", "gpu2")
	if err != nil {
		t.Fatal(err)
	}
	leaf := f.Switch("leaf1")
	hosts, uplinks, isLeaf := leaf.Carriers(3)
	for what, ok := range map[string]bool{
		"devices":   f.Switch("spine1") == nil && !f.Has("gpu2") && len(f.Switches) == 3 && len(f.Hosts) == 1,
		"links":     len(f.Links) == 4,
		"ports":     leaf.Port("Ethernet8") == nil && leaf.Port("Ethernet12") != nil && leaf.Port("Ethernet12").Uplink() && len(leaf.Ports) == 2,
		"carriers":  hosts == 1 && uplinks == 1 && isLeaf,
		"exception": len(f.Routing.Exceptions) == 1 && len(f.Routing.Exceptions[0].Switches) == 1,
		"islands":   len(f.Islands) == 1 && f.Islands[0].Name == "one",
		"vxlan":     len(f.VXLAN.Ends) == 2,
		"rollout":   strings.Join(f.Rollout.Canary, " ") == "leaf1" && len(f.Rollout.Groups[0]) == 2,
		"lossless":  f.LosslessAtHosts().Has(3),
	} {
		if !ok {
			t.Errorf("%s: not as without spine1 and gpu2", what)
		}
	}
	if f, err = loadWithout(t, "spine2"); err != nil {
		t.Fatal(err)
	}
	// An island whose switches are all gone must not become one that allows any.
	if s := f.Islands[1].Switches; s == nil || len(s) != 0 {
		t.Errorf("switches of island two: %v, want none", s)
	}
}

func TestWithoutRemovesCables(t *testing.T) {
	for text, left := range map[string]int{
		"leaf1/Ethernet0":                    7,
		"gpu1/eth0":                          7,
		"leaf1/Ethernet8 - spine1/Ethernet0": 7,
		"spine1/Ethernet0 - leaf1/Ethernet8": 7,
		"leaf1 - spine1":                     7,
		"leaf[1-2] - spine1":                 6,
		"leaf1/Ethernet[0-12:4]":             4,
		"links[0]":                           4,
		"role:spine":                         4,
		"leaf*":                              0,
	} {
		f, err := loadWithout(t, text)
		if err != nil || len(f.Links) != left {
			t.Errorf("%s: %d links, %v; want %d", text, len(f.Links), err, left)
		}
	}
	f, err := loadWithout(t, "gpu1/eth0")
	if err != nil || f.Host("gpu1").NIC("eth0").Link != nil || f.Host("gpu1").NIC("eth1").Link == nil {
		t.Errorf("the NIC keeps a link that is gone: %v", err)
	}
}

func TestWithoutErrors(t *testing.T) {
	for text, want := range map[string][2]string{
		"spin1":                        {`--without spin1: no switch or host matches "spin1"`, `did you mean "spine1"?`},
		"rack7":                        {`--without rack7: no switch or host matches "rack7"`, ""},
		"leaf1/Ethernet1":              {"--without leaf1/Ethernet1: no cable ends at leaf1/Ethernet1", "Ethernet"},
		"leaf9/Ethernet0":              {`--without leaf9/Ethernet0: no switch or host "leaf9"`, "leaf"},
		"leaf1 - leaf2":                {"--without leaf1 - leaf2: no cable joins leaf1 and leaf2", ""},
		"links[2]":                     {"--without links[2]: the intent has no links[2]", "links[1]"},
		"links[x":                      {"--without links[x: the intent has no links[x", "links[1]"},
		"role:":                        {`--without role:: no switch or host matches "role:"`, ""},
		"leaf[1-9] - spine1/Ethernet0": {`no switch or host "leaf3"`, ""},
		"*":                            {"no switch is left", ""},
	} {
		_, err := loadWithout(t, text)
		if err == nil || !strings.Contains(err.Error(), want[0]) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if hint := err.(Errors)[0].Hint; !strings.Contains(hint, want[1]) {
			t.Errorf("%s: hint %q", text, hint)
		}
	}
}

func TestEach(t *testing.T) {
	f, err := loadWithout(t)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, n := range map[string]int{"link": 8, "role:spine": 2, "gpu*": 2, "*": 6} {
		all, err := f.Each(pattern)
		if err != nil || len(all) != n {
			t.Errorf("each:%s: %v, %v", pattern, all, err)
		}
		for _, one := range all { // each can be left out
			if _, err := loadWithout(t, one); err != nil {
				t.Errorf("each:%s: %v", pattern, err)
			}
		}
	}
	if _, err := f.Each("role:core"); err == nil {
		t.Error("role:core stands for nothing, and is accepted")
	}
}
