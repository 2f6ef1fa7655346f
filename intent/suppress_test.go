package intent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A suppression covers everything that its pattern matches, including ports with slashes, roles,
// systems and hosts.
func TestSuppressionCovers(t *testing.T) {
	const text = header + `classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf[1-2]: {os: eos, role: leaf}
  spine1: {os: sonic, role: spine}
hosts: {gpu1: {nics: {eth0: {}}}}
suppress: [{check: ECN-06, on: %q, reason: tested, until: 2026-12-31}]
`
	for _, c := range []struct{ on, yes, no string }{
		{"leaf*", "leaf1 leaf2/Ethernet1/1", "spine1 gpu1"},
		{"leaf*/Ethernet*", "leaf1/Ethernet1/1 leaf2/Ethernet1", "leaf1 spine1/Ethernet1"},
		{"leaf1/Ethernet1/*", "leaf1/Ethernet1/1", "leaf1/Ethernet2/1 leaf2/Ethernet1/1"},
		{"leaf1/Ethernet[1-2]/1", "leaf1/Ethernet2/1", "leaf1/Ethernet3/1"},
		{"leaf[2-9]", "leaf2 leaf2/Ethernet1/1", "leaf1 spine1"},
		{"gpu[0-4]/eth0", "gpu1/eth0", "gpu1 leaf1/eth0"},
		{"role:leaf", "leaf1 leaf2/Ethernet1/1", "spine1 gpu1"},
		{"os:sonic/Ethernet0", "spine1/Ethernet0", "spine1 spine1/Ethernet8 leaf1/Ethernet0"},
		{"*/Ethernet0", "spine1/Ethernet0 leaf1/Ethernet0", "spine1"},
		{"gpu1/eth0", "gpu1/eth0", "gpu1 leaf1/eth0"},
	} {
		f, err := Load("-", Options{Stdin: strings.NewReader(fmt.Sprintf(text, c.on))})
		if err != nil {
			t.Errorf("%s: %v", c.on, err)
			continue
		}
		s := f.Suppressions[0]
		for want, places := range map[bool]string{true: c.yes, false: c.no} {
			for _, at := range strings.Fields(places) {
				device, port, _ := strings.Cut(at, "/")
				if got := s.Covers(device, port); got != want {
					t.Errorf("%s covers %s: %v", c.on, at, got)
				}
			}
		}
		if last := time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC); s.Over(last) || !s.Over(last.Add(time.Minute)) {
			t.Errorf("%s is not over with its last day", c.on)
		}
	}
	for on, want := range map[string]string{
		"laef1":          `no switch or host matches "laef1"`,
		"role:lead":      `no switch or host matches "role:lead"`,
		"leaf[3-4]":      `no switch or host "leaf3", which "leaf[3-4]" names`,
		"leaf1/Ether[0-": `"Ether[0-" is not a valid pattern`,
	} {
		_, err := Load("-", Options{Stdin: strings.NewReader(fmt.Sprintf(text, on))})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "10:32") {
			t.Errorf("%s: %v, want %s with its place", on, err, want)
		}
	}
}
