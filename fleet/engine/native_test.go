package engine

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// The diff of a host shows what a run would change, each port with its values below it, and
// leaves out changes that are blocked or open.
func TestDiffOfAHost(t *testing.T) {
	change := func(field, was, want string) qos.Change {
		return qos.Change{Field: qos.NIC(field), Old: was, New: want}
	}
	blocked, open := change("dcbx", "firmware", "host"), change("unit", "-", "installed")
	blocked.Blocked, open.Open = "why", true
	text := attributes([]Group{
		{Ports: []string{"eth1", "eth0"}, Change: change("mtu", "1500", "9000")},
		{Ports: []string{"eth0"}, Change: change("pfc", "{}", "{3}")},
		{Ports: []string{"eth0"}, Change: blocked},
		{Change: open},
		{Change: change("agents", "lldpad", "-")},
	})
	want := [2]string{
		"agents: lldpad\neth0\n  mtu: 1500\n  pfc: {}\neth1\n  mtu: 1500\n",
		"agents: -\neth0\n  mtu: 9000\n  pfc: {3}\neth1\n  mtu: 9000\n",
	}
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
