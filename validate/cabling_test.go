package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestOtherEndByLLDP checks that the port that LLDP shows is compared with the ports of the
// neighbour, including aliases and ports that the intent does not name.
func TestOtherEndByLLDP(t *testing.T) {
	c := compile(t, bases["rails"])
	for _, x := range []struct {
		port, device, remote string
		unread               bool // spine1 was not read
		want                 checks.Severity
	}{
		{port: "Ethernet240", device: "spine1", remote: "Ethernet0"},
		{port: "Ethernet240", device: "spine1", remote: "Eth0"},
		{port: "Ethernet240", device: "spine1", remote: "Eth1/1"},
		{port: "Ethernet240", device: "spine1", remote: "nowhere"},
		{port: "Ethernet240", device: "spine1", remote: "Ethernet32"}, // its alias, and the name of another port
		{port: "Ethernet240", device: "SPINE1.example.net", remote: "Ethernet24", want: checks.Error},
		{port: "Ethernet240", device: "spine1", remote: "Ethernet400", want: checks.Warning},
		{port: "Ethernet240", device: "spine1", remote: "Ethernet400", unread: true},
		{port: "Ethernet240", device: "spine1", remote: "spare", want: checks.Error},
		{port: "Ethernet240", device: "spine1", remote: "Eth40", want: checks.Error}, // not configured
		{port: "Ethernet240", device: "spine1", remote: "Ethernet24", unread: true},
		{port: "Ethernet240", device: "0c42.a100.0001", remote: "Ethernet0"},
		{port: "Ethernet240", device: "0c:42:a1:00:00:01", remote: "Ethernet24", want: checks.Error},
		{port: "Ethernet0", device: "gpu1", remote: "eth0"},
		{port: "Ethernet0", device: "gpu1", remote: "mlx5_0"},
		{port: "Ethernet0", device: "gpu1", remote: "0c:42:a1:00:00:02"},
		{port: "Ethernet0", device: "gpu1", remote: "0c42a1000002"},
		{port: "Ethernet0", device: "gpu1", remote: "a port of the card"},
		{port: "Ethernet0", device: "another", remote: "eth7"}, // hosts may report any name
		{port: "Ethernet0", device: "gpu1", remote: "eth1", want: checks.Error},
		{port: "Ethernet0", device: "gpu1", remote: "mlx5_1", want: checks.Error},
		{port: "Ethernet0", device: "gpu1", remote: "eth7", want: checks.Warning},
	} {
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			have, st := c.Device(sw).Desired, &checks.State{}
			if sw.Name == "leaf1" {
				have.Ports[x.port].Neighbor = qos.Of(qos.Neighbor{Device: x.device, Port: x.remote})
			}
			if sw.Name == "spine1" {
				if x.unread {
					continue
				}
				have.Ports["Ethernet24"] = &qos.Port{}
				st.Ports = map[string]*drivers.PortState{"Ethernet0": {Alias: "Ethernet32"}, "Ethernet24": {Alias: "spare"}, "Ethernet32": {}, "Ethernet40": {}}
			}
			run.Add(Switch(c.Device(sw), have, checks.Running, st))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.ID == "TOP-07" {
				got = append(got, fmt.Sprint(f.Severity, " ", f.Place(), ": ", f.What))
			}
		}
		var want []string
		if x.want != "" {
			peer := map[string]string{"Ethernet240": "spine1/Ethernet0", "Ethernet0": "gpu1/eth0"}[x.port]
			want = []string{fmt.Sprintf("%s leaf1 %s: LLDP shows %s/%s, the intent says %s", x.want, x.port, x.device, x.remote, peer)}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s sees %s/%s: found %q, want %q", x.port, x.device, x.remote, got, want)
		}
	}
}

// A cable in another place is one finding, though the switches at both of its ends see it.
func TestSwappedCablesAreToldOnce(t *testing.T) {
	c := compile(t, bases["rails"])
	sees := map[string]map[string]qos.Neighbor{
		"leaf1":  {"Ethernet240": {Device: "spine2", Port: "Ethernet0"}, "Ethernet248": {Device: "spine1", Port: "Ethernet0"}},
		"spine1": {"Ethernet0": {Device: "leaf1", Port: "Ethernet248"}},
		"spine2": {"Ethernet0": {Device: "leaf1.example.net", Port: "Ethernet240"}},
	}
	for _, read := range []struct {
		switches []string
		want     []string
	}{
		{[]string{"leaf1", "spine1", "spine2"}, []string{"leaf1 Ethernet240 spine2/Ethernet0", "leaf1 Ethernet248 spine1/Ethernet0"}},
		{[]string{"leaf1", "spine1"}, []string{"leaf1 Ethernet240", "leaf1 Ethernet248 spine1/Ethernet0"}},
		{[]string{"spine2"}, []string{"spine2 Ethernet0"}},
	} {
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			if !slices.Contains(read.switches, sw.Name) {
				continue
			}
			have := c.Device(sw).Desired
			for port, n := range sees[sw.Name] {
				have.Ports[port].Neighbor = qos.Of(n)
			}
			run.Add(Switch(c.Device(sw), have, checks.Running, &checks.State{}))
		}
		var got []string
		for _, f := range run.Findings(today) {
			if f.ID == "TOP-07" {
				got = append(got, strings.TrimSpace(f.Place()+" "+strings.Join(f.Peers, " ")))
			}
		}
		if !slices.Equal(got, read.want) {
			t.Errorf("read %v: found %q, want %q", read.switches, got, read.want)
		}
	}
}
