package validate

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// twoLeaves is a fabric whose leaves have the same two links, on the same ports, to two spines.
const twoLeaves = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf1: {os: sonic, role: leaf, address: 192.0.2.11, model: ACS-MSN4700, identity: {serial: S1, mac: "52:54:00:00:00:01", model: ACS-MSN4700}}
  leaf2: {os: sonic, role: leaf, address: 192.0.2.12, model: ACS-MSN4700}
  leaf3: {os: sonic, role: leaf, address: 192.0.2.13, model: ACS-MSN4700, identity: {hostname: pod1-l3}}
  spine[1-2]: {os: sonic, role: spine, address: "192.0.2.[21-22]", model: ACS-MSN4700}
hosts:
  gpu1: {address: 192.0.2.101, identity: {serial: H1}}
links:
  - {a: "leaf1/Ethernet[0-8:8]", b: "spine[1-2]/Ethernet0", pattern: pairs, cable: 5m, speed: 400G}
  - {a: "leaf2/Ethernet[0-8:8]", b: "spine[1-2]/Ethernet8", pattern: pairs, cable: 5m, speed: 400G}
  - {a: "leaf3/Ethernet[0-8:8]", b: "spine[1-2]/Ethernet16", pattern: pairs, cable: 5m, speed: 400G}
`

// sees returns ports with LLDP neighbours.
func sees(neighbors ...string) map[string]*drivers.PortState {
	out := map[string]*drivers.PortState{}
	for _, n := range neighbors {
		f := strings.Fields(n)
		out[f[0]] = &drivers.PortState{Neighbors: []qos.Neighbor{{Device: f[1], Port: f[2]}}}
	}
	return out
}

func TestMistaken(t *testing.T) {
	f := compile(t, twoLeaves).Fabric()
	is := func(hostname, model, serial, mac string) identity.Evidence {
		return identity.Evidence{Identity: drivers.Identity{Hostname: hostname, Model: model, Unit: drivers.UnitOf(serial, mac)}}
	}
	recorded := func(e identity.Evidence, serial string) identity.Evidence {
		e.Recorded, e.Run = drivers.UnitOf(serial, ""), "20260101-1"
		return e
	}
	ports := func(e identity.Evidence, neighbors ...string) identity.Evidence {
		e.Ports = sees(neighbors...)
		return e
	}
	of2 := []string{"Ethernet0 spine1 Ethernet8", "Ethernet8 spine2.example.net Ethernet8"}
	for _, c := range []struct {
		name, device string
		e            identity.Evidence
		want, where  string // "" for nothing
	}{
		{"shows nothing", "leaf1", identity.Evidence{}, "", ""},
		{"is as stated", "leaf1", is("leaf1", "acs-msn4700", "s1", "5254.0000.0001"), "", ""},
		{"another serial number", "leaf1", is("leaf1", "", "S2", ""), "has the serial number S2, the intent states S1", ":7:"},
		{"another MAC address", "leaf1", is("leaf1", "", "", "52:54:00:00:00:02"), "has the MAC address 52:54:00:00:00:02", ":7:"},
		{"another model", "leaf1", is("leaf1", "ACS-MSN2700", "", ""), "has the model ACS-MSN2700", ":7:"},
		{"another ASIC", "leaf2", is("leaf2", "DellEMC-Z9332f-O32", "", ""), "is a DellEMC-Z9332f-O32", ":8:"},
		{"another name of the same ASIC", "leaf2", is("leaf2", "Mellanox-SN4700-O8C48", "", ""), "", ""},
		{"a model that nobody knows", "leaf2", is("leaf2", "GN-64", "", ""), "", ""},
		{"the name of another device", "leaf2", is("LEAF1", "", "", ""), "calls itself leaf1, which the intent has at 192.0.2.11", ":8:"},
		{"the name of a host", "leaf2", is("gpu1", "", "", ""), "a host of the intent", ":8:"},
		{"a name of nobody", "leaf2", is("sonic", "", "", ""), "", ""},
		{"another name than stated", "leaf3", is("leaf3", "", "", ""), "has the hostname leaf3, the intent states pod1-l3", ":9:"},
		{"the name that is stated", "leaf3", is("pod1-l3", "", "", ""), "", ""},
		{"another than recorded", "leaf2", recorded(is("leaf2", "", "S9", ""), "S8"), "run 20260101-1 recorded serial number S8 for leaf2", ":8:"},
		{"as recorded", "leaf2", recorded(is("leaf2", "", "S9", ""), "S9"), "", ""},
		{"nothing of what was recorded", "leaf2", recorded(is("leaf2", "", "", "52:54:00:00:00:09"), "S9"), "", ""},
		{"a host", "gpu1", is("gpu1", "", "H1", ""), "", ""},
		{"another host", "gpu1", is("gpu1", "", "H2", ""), "has the serial number H2", ":12:"},
		{"hostile text", "leaf1", is("leaf1", "\x1b]0;x\a"+strings.Repeat("m", 9), "", ""), "the intent states ACS-MSN4700", ":7:"},

		{"neighbours of its own", "leaf1", ports(is("sonic", "", "", ""), "Ethernet0 spine1 Ethernet0", "Ethernet8 spine2 Ethernet0"), "", ""},
		{"neighbours of another", "leaf1", ports(is("sonic", "", "", ""), of2...), "LLDP at 192.0.2.11:8080 shows the neighbours of leaf2 on Ethernet0,Ethernet8, and none of leaf1", ":7:"},
		{"neighbours of another, and its own name: the cables are in the wrong ports", "leaf1", ports(is("leaf1", "", "", ""), of2...), "", ""},
		{"neighbours of another, and the stated serial number", "leaf1", ports(is("sonic", "", "S1", ""), of2...), "", ""},
		{"neighbours of another, and as recorded", "leaf2", ports(recorded(is("sonic", "", "S9", ""), "S9"), "Ethernet0 spine1 Ethernet0", "Ethernet8 spine2 Ethernet0"), "", ""},
		{"one neighbour of another", "leaf1", ports(is("sonic", "", "", ""), of2[0]), "", ""},
		{"one of another, one of its own", "leaf1", ports(is("sonic", "", "", ""), of2[0], "Ethernet8 spine2 Ethernet0"), "", ""},
		{"two cables exchanged", "leaf1", ports(is("sonic", "", "", ""), "Ethernet0 spine2 Ethernet0", "Ethernet8 spine1 Ethernet0"), "", ""},
		{"half of them of another", "leaf1", ports(is("sonic", "", "", ""), append([]string{"Ethernet16 gpu1 eth0", "Ethernet24 gpu1 eth1"}, of2...)...), "", ""},
		{"most of them of another", "leaf1", ports(is("sonic", "", "", ""), append([]string{"Ethernet16 gpu1 eth0", "Ethernet24 elsewhere eth1"}, of2...)...), "shows the neighbours of leaf2", ":7:"},
		{"ports that nobody knows", "leaf1", ports(is("sonic", "", "", ""), "Ethernet0 spine1 x", "Ethernet8 spine2 y"), "", ""},
		{"names of nobody", "leaf1", ports(is("sonic", "", "", ""), "Ethernet0 a Ethernet8", "Ethernet8 b Ethernet8"), "", ""},
	} {
		what, where := identity.Mistaken(f, c.device, c.e)
		if (what == "") != (c.want == "") || !strings.Contains(what, c.want) || !strings.Contains(where, c.where) {
			t.Errorf("%s: %q at %s, want %q at %s", c.name, what, where, c.want, c.where)
		}
		if strings.ContainsAny(what, "\x1b\a") {
			t.Errorf("%s: control characters in %q", c.name, what)
		}
	}
}

// TestOneDeviceAtTwoAddresses checks that a device that answers at two addresses is reported,
// unless the two have different hostnames.
func TestOneDeviceAtTwoAddresses(t *testing.T) {
	f := compile(t, twoLeaves).Fabric()
	for _, c := range []struct {
		name string
		a, b drivers.Identity
		want bool
	}{
		{"the same", drivers.Identity{Hostname: "sonic", Unit: drivers.UnitOf("A1", "")}, drivers.Identity{Hostname: "sonic", Unit: drivers.UnitOf("a1", "")}, true},
		{"the same, by its MAC address", drivers.Identity{Unit: drivers.UnitOf("A1", "52:54:00:00:00:01")}, drivers.Identity{Unit: drivers.UnitOf("", "52:54:00:00:00:01")}, true},
		{"two serial numbers", drivers.Identity{Unit: drivers.UnitOf("A1", "")}, drivers.Identity{Unit: drivers.UnitOf("B1", "")}, false},
		{"two with a copied configuration", drivers.Identity{Hostname: "leaf1", Unit: drivers.UnitOf("", "52:54:00:00:00:01")}, drivers.Identity{Hostname: "leaf2", Unit: drivers.UnitOf("", "52:54:00:00:00:01")}, false},
		{"two serial numbers, one copied MAC address", drivers.Identity{Unit: drivers.UnitOf("A1", "52:54:00:00:00:01")}, drivers.Identity{Unit: drivers.UnitOf("B1", "52:54:00:00:00:01")}, false},
		{"nothing shown", drivers.Identity{Hostname: "sonic"}, drivers.Identity{Hostname: "sonic"}, false},
	} {
		var seen identity.Answered
		if what := seen.Add(f, "leaf2", c.a); what != "" {
			t.Errorf("%s: the first: %s", c.name, what)
		}
		what := seen.Add(f, "leaf3", c.b)
		if (what != "") != c.want || c.want && !strings.Contains(what, "also answers at the address of leaf2") {
			t.Errorf("%s: %q", c.name, what)
		}
		if what := seen.Add(f, "leaf3", c.b); c.want == (what == "") {
			t.Errorf("%s: read again: %q", c.name, what)
		}
	}
}
