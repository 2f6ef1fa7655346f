package topology

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

const head = `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true}
  default: {priority: 0, dscp: rest}
`

func load(t testing.TB, text string) *intent.Fabric {
	t.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(head + text)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// threeTier returns a three-tier fabric with the given roles of its tiers, and more appended to
// the intent.
func threeTier(t testing.TB, roles [3]string, more string) *intent.Fabric {
	role := func(i int) string {
		if roles[i] == "" {
			return ""
		}
		return ", role: " + roles[i]
	}
	return load(t, fmt.Sprintf(`switches:
  a[1-4]: {os: sonic%s, ports: {u2: {classes: {rdma: {lossless: false}}}}}
  b[1-4]: {os: sonic%s}
  c[1-2]: {os: sonic%s}
  border: {os: sonic, role: border-leaf}
hosts:
  gpu[1-4]: {nics: {n0: {}}}
  nas: {nics: {n0: {}}}
links:
  - {a: "a[1-4]/h", b: "gpu[1-4]/n0", cable: 5m, speed: 400G}
  - {a: b1/h, b: nas/n0, cable: 5m, speed: 400G}
  - {a: "a[1-2]/u[1-4]", b: "b[1-2]/d[1-4]", pattern: mesh, cable: 5m, speed: 400G}
  - {a: "a[3-4]/u[1-2]", b: "b[3-4]/d[1-2]", pattern: mesh, cable: 5m, speed: 400G}
  - {a: "b[1-4]/u[1-2]", b: "c[1-2]/d[1-4]", pattern: mesh, cable: 5m, speed: 400G}
  - {a: "border/u[1-2]", b: "c[1-2]/x", cable: 5m, speed: 400G}
%s`, role(0), role(1), role(2), more))
}

func tiers(g *Graph) string {
	var out []string
	for i := range g.Switches {
		out = append(out, fmt.Sprintf("%s:%d", g.Name(int32(i)), g.Switches[i].Tier))
	}
	return strings.Join(out, " ")
}

func TestTiers(t *testing.T) {
	const usual = "a1:0 a2:0 a3:0 a4:0 b1:1 b2:1 b3:1 b4:1 border:0 c1:2 c2:2"
	for _, c := range []struct {
		name  string
		roles [3]string
		more  string
		want  string
		count int // tiers
	}{
		{"words", [3]string{"leaf", "spine", "superspine"}, "", usual, 3},
		{"other words", [3]string{"gpu-tor", "agg", "core"}, "", usual, 3},
		{"stated", [3]string{"rsw", "fsw", "ssw"}, "routing: {tiers: [rsw, fsw, ssw]}\n", "a1:0 a2:0 a3:0 a4:0 b1:1 b2:1 b3:1 b4:1 border:3 c1:2 c2:2", 4},
		// The other switches get their tier from their distance to hosts; a host on a spine
		// does not make it a leaf.
		{"some", [3]string{"", "spine", ""}, "", usual, 3},
	} {
		g := New(threeTier(t, c.roles, c.more))
		if got := tiers(g); got != c.want || g.Tiers != c.count || len(g.Disputes) != 0 {
			t.Errorf("%s: %s, %d tiers, %+v", c.name, got, g.Tiers, g.Disputes)
		}
	}
}

// TestTiersOfOneWord checks roles whose words give two tiers the same place: links decide then.
func TestTiersOfOneWord(t *testing.T) {
	for _, roles := range [][3]string{{"tor", "leaf", "spine"}, {"tor", "fabric", "spine"}, {"leaf", "spine", "spine-plane"}, {"rack", "pod-agg", "spine"}} {
		g := New(load(t, fmt.Sprintf(`switches:
  a[1-2]: {os: sonic, role: %s}
  b[1-2]: {os: sonic, role: %s}
  c1: {os: sonic, role: %s}
hosts: {"gpu[1-2]": {nics: {n0: {}}}}
links:
  - {a: "a[1-2]/h", b: "gpu[1-2]/n0", cable: 5m, speed: 400G}
  - {a: "a[1-2]/u[1-2]", b: "b[1-2]/d[1-2]", pattern: mesh, cable: 5m, speed: 400G}
  - {a: "b[1-2]/u", b: "c1/d[1-2]", cable: 5m, speed: 400G}
`, roles[0], roles[1], roles[2])))
		if got := tiers(g); got != "a1:0 a2:0 b1:1 b2:1 c1:2" {
			t.Errorf("%v: %s", roles, got)
		}
	}
}

func TestDisputes(t *testing.T) {
	g := New(threeTier(t, [3]string{"leaf", "spine", "spine"}, ""))
	if len(g.Disputes) != 0 {
		t.Errorf("a spine above spines is far from hosts, as a border leaf is: %+v", g.Disputes)
	}
	g = New(threeTier(t, [3]string{"leaf", "superspine", "spine"}, ""))
	if len(g.Disputes) != 4 || g.Name(g.Disputes[0].Switch) != "b1" || g.Disputes[0].Declared != 2 || g.Disputes[0].Found != 1 {
		t.Errorf("%+v", g.Disputes)
	}
}

// TestBundles checks that parallel links form one bundle if they pause the same priorities, and
// that arcs lead there and back.
func TestBundles(t *testing.T) {
	g := New(threeTier(t, [3]string{"leaf", "spine", "superspine"}, ""))
	sizes := map[int]int{}
	for i := range g.Bundles {
		sizes[len(g.Bundles[i].Links)]++
	}
	// a1 and a2 have two links to b1: u1, and u2, which does not pause.
	if !cmp.Equal(sizes, map[int]int{1: 4 + 4 + 8 + 2, 2: 2}) {
		t.Errorf("%v", sizes)
	}
	for i := range g.Arcs {
		a := &g.Arcs[i]
		back := &g.Arcs[a.Back]
		from := g.From(int32(i))
		if back.Back != int32(i) || back.Bundle != a.Bundle || g.Local(int32(i)) < 0 {
			t.Fatalf("arc %d: %+v, back %+v", i, a, back)
		}
		if up := g.Switches[a.To].Tier > g.Switches[from].Tier; up != (a.Dir == Up) || up != (back.Dir == Down) {
			t.Errorf("%s to %s is %d", g.Name(from), g.Name(a.To), a.Dir)
		}
		x, y := g.Ports(int32(i), 0)
		if x.Switch != g.Switches[from].Switch || y.Switch != g.Switches[a.To].Switch || x.Link != y.Link {
			t.Errorf("%s to %s over %s and %s", g.Name(from), g.Name(a.To), x.Name, y.Name)
		}
		pauses := x.Settings.Lossless() & y.Settings.Lossless()
		if g.Bundles[a.Bundle].Lossless != pauses {
			t.Errorf("%s %s pauses %s, the bundle %s", x.Switch.Name, x.Name, pauses, g.Bundles[a.Bundle].Lossless)
		}
	}
}

const small = `switches:
  leaf[1-2]: {os: sonic, role: leaf}
  spine1: {os: sonic, role: spine}
hosts:
  gpu1: {nics: {n0: {}}}
links:
  - {a: leaf1/Ethernet0, b: gpu1/n0, cable: 5m, speed: 400G}
  - {a: "leaf[1-2]/Ethernet8", b: "spine1/Ethernet[0,8]", cable: 5m, speed: 400G}
  - {a: leaf2/Ethernet16, b: spine1/Ethernet16, cable: 5m, speed: 400G}
`

const lldpOf = `{"lldp": {"interface": %s}}`

func TestCompare(t *testing.T) {
	f := load(t, small)
	neighbour := func(port, peer, kind, id, descr string) string {
		return fmt.Sprintf(`{%q: {"via": "LLDP", "chassis": {%q: {"id": {"type": "mac", "value": "00:00:5e:00:53:01"}, "descr": "x"}}, "port": {"id": {"type": %q, "value": %q}, "descr": %q}}}`, port, peer, kind, id, descr)
	}
	for _, c := range []struct {
		name, file, in, want string
	}{
		{"the same, counted", "x.clab.yml", `name: x
topology:
  nodes: {leaf1: {kind: linux}}
  links:
    - endpoints: ["leaf1:eth1", "gpu1:eth1"]
    - {type: veth, endpoints: [{node: leaf1, interface: eth2}, {node: spine1, interface: eth1}]}
    - endpoints: ["leaf2:eth2", "spine1:eth2"]
    - endpoints: ["spine1:eth3", "leaf2:eth3"]
    - {type: mgmt-net, endpoint: {node: leaf1, interface: eth9}}
`, ""},
		{"by number", "x.clab.yml", `topology:
  links:
    - endpoints: ["leaf1:eth1", "spine1:eth1"]
    - endpoints: ["leaf1:eth2", "spine1:eth2"]
    - endpoints: ["leaf2:eth2", "spine1:eth3"]
    - endpoints: ["leaf2:eth5", "leaf1:eth5"]
`, `1 of the links between leaf2 and spine1 is not in the topology
1 link between leaf1 and leaf2 is not in the intent
1 link between leaf1 and spine1 is not in the intent`},
		{"one interface, one device", "dir/leaf1.json", fmt.Sprintf(lldpOf, neighbour("Ethernet8", "spine1.example.net", "local", "Eth1/1", "Ethernet0")), ""},
		{"recabled", "leaf2.json", fmt.Sprintf(lldpOf, "["+neighbour("Ethernet8", "spine1", "ifname", "Ethernet16", "")+","+neighbour("Ethernet16", "spine1", "ifname", "Ethernet8", "")+"]"),
			`leaf2/Ethernet8 is linked to spine1/Ethernet16, in the intent to spine1/Ethernet8
spine1/Ethernet16 is linked to leaf2/Ethernet8, in the intent to leaf2/Ethernet16
leaf2/Ethernet16 is linked to spine1/Ethernet8, in the intent to spine1/Ethernet16
spine1/Ethernet8 is linked to leaf2/Ethernet16, in the intent to leaf2/Ethernet8`},
		{"a stranger", "leaf2.json", fmt.Sprintf(lldpOf, neighbour("Ethernet8", "elsewhere", "ifname", "e1", "")),
			`leaf2/Ethernet8 is linked to elsewhere/e1, in the intent to spine1/Ethernet8`},
		{"both ends of each", "dump.json", `{"devices": {"leaf1": ` + fmt.Sprintf(lldpOf, neighbour("Ethernet8", "spine1", "ifname", "Ethernet0", "")) + `, "spine1": ` + fmt.Sprintf(lldpOf, neighbour("Ethernet0", "leaf1", "ifname", "Ethernet8", "")) + `}}`, ""},
		// The peer reports its port as an alias, and its description is free text.
		{"the peer's alias", "leaf2.json", fmt.Sprintf(lldpOf, "["+neighbour("Ethernet8", "spine1", "local", "etp2", "to leaf2")+","+neighbour("Ethernet16", "spine1", "local", "etp3", "Ethernet 16 of pod 1")+"]"), ""},
		{"aliases, both ends", "dump.json", `{"devices": {"leaf1": ` + fmt.Sprintf(lldpOf, neighbour("Ethernet8", "spine1", "local", "etp1", "")) + `, "spine1": ` + fmt.Sprintf(lldpOf, neighbour("Ethernet0", "leaf1", "local", "etp2", "")) + `}}`, ""},
		{"aliases, swapped", "dump.json", `{"devices": {"leaf1": ` + fmt.Sprintf(lldpOf, neighbour("Ethernet8", "leaf2", "local", "etp1", "")) + `}}`,
			`leaf1/Ethernet8 is linked to leaf2/etp1, in the intent to spine1/Ethernet0`},
		{"aliases, one too many", "dump.json", `{"devices": {"leaf1": ` + fmt.Sprintf(lldpOf, "["+neighbour("Ethernet8", "spine1", "local", "etp1", "")+","+neighbour("Ethernet24", "spine1", "local", "etp4", "")+"]") + `, "spine1": ` + fmt.Sprintf(lldpOf, "["+neighbour("Ethernet0", "leaf1", "local", "etp2", "")+","+neighbour("Ethernet24", "leaf1", "local", "etp4", "")+"]") + `}}`,
			`1 link between leaf1 and spine1 is not in the intent`},
		// The neighbours of leaf1 say nothing about links between other devices.
		{"one switch of three", "dump.json", `{"neighbors": [{"device": "leaf1", "port": "Ethernet8", "peer": "spine1", "peerPort": "Ethernet0"}, {"device": "leaf1", "port": "Ethernet24", "peer": "leaf2", "peerPort": "Ethernet24"}]}`,
			`1 link between leaf1 and leaf2 is not in the intent`},
		{"simple", "dump.json", `{"neighbors": [{"device": "leaf2", "port": "Ethernet8", "peer": "spine1", "peerPort": "Ethernet8"}, {"device": "leaf1", "port": "Ethernet0", "peer": "gpu1", "peerPort": "n0"}]}`,
			`the link leaf1/Ethernet8 - spine1/Ethernet0 is not in the topology
the link leaf2/Ethernet16 - spine1/Ethernet16 is not in the topology`},
		{"nameless chassis", "leaf1.json", fmt.Sprintf(lldpOf, `{"Ethernet8": {"chassis": {"id": {"type": "mac", "value": "x"}}, "port": {"id": {"type": "mac", "value": "y"}}}}`), ""},
	} {
		cables, err := ReadCables(c.file, []byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, d := range Compare(f, cables) {
			got = append(got, d.String())
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestReadCablesRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a: b\n", "x:1:1: not a containerlab topology: the file has no map named topology"},
		{"topology:\n  links: 3\n", "x:2:10: links must be a list, not a whole number"},
		{"topology:\n  links:\n    - endpoints: [a:b]\n", "x:3:18: a link needs a list of two endpoints"},
		{"topology:\n  links:\n    - endpoints: [ab, \"c:d\"]\n", "x:3:19: an endpoint must be node:interface"},
		{"topology:\n  links:\n    - endpoints: [{node: a}, \"c:d\"]\n", "x:3:19: an endpoint needs node and interface"},
		{"topology:\n  links:\n    - endpoints: [\"a:\\e[2J\", \"c:d\"]\n", "x:3:19: an endpoint holds a name that is empty, too long or not printable"},
		{`{"x": 1}`, `read x: the file has none of "lldp", "devices" and "neighbors"`},
		{`{"neighbors": [{"device": "a"}]}`, "read x: neighbour 1 has no name, or one that is too long or not printable"},
		{strings.Repeat(" ", MaxBytes+1), "x is larger than 16 MiB"},
	} {
		_, err := ReadCables("x", []byte(c.in))
		if err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v, want %s", c.in, err, c.want)
		}
	}
	_, err := ReadCables("x", []byte("topology: [\n"))
	var y *yaml.Error
	if !errors.As(err, &y) {
		t.Errorf("%v has no place", err)
	}
}

// FuzzReadCables checks that no input makes the readers or the comparison panic, and that
// everything read is printable.
func FuzzReadCables(f *testing.F) {
	f.Add([]byte("topology:\n  links:\n    - endpoints: [\"leaf1:eth1\", \"gpu1:eth1\"]\n"))
	f.Add([]byte(`{"lldp": {"interface": [{"Ethernet8": {"chassis": {"spine1": {}}, "port": {"id": {"type": "ifname", "value": "Ethernet0"}}}}]}}`))
	f.Add([]byte(`{"devices": {"leaf1": {"lldp": {"interface": {}}}}, "neighbors": [{"device": "a", "port": "b", "peer": "c", "peerPort": "d"}]}`))
	fabric := load(f, small)
	f.Fuzz(func(t *testing.T, data []byte) {
		cables, err := ReadCables("leaf1.json", data)
		if err != nil {
			return
		}
		for _, c := range cables {
			if !plausible(c.A.Device) || !plausible(c.A.Port) || !plausible(c.B.Device) || !plausible(c.B.Port) {
				t.Fatalf("%+v", c)
			}
		}
		for _, d := range Compare(fabric, cables) {
			if d.String() == "" {
				t.Fatalf("%+v", d)
			}
		}
	})
}

// TestTierOfARole checks that a role has the tier of the first word of ladder that it contains,
// ignoring case.
func TestTierOfARole(t *testing.T) {
	for role, want := range map[string]int{
		"superspine": 2, "super-spine": 2, "super_spine": 2, "Core": 3, "core-spine": 3, "spine": 1, "agg": 1, "distribution": 1,
		"leaf": 0, "gpu-ToR": 0, "access": 0, "rack": 0, "edge": 0, "border": -1, "": -1,
	} {
		if got := tierOf(role); got != want {
			t.Errorf("role %q has tier %d, want %d", role, got, want)
		}
	}
}

// TestCores checks that cores above superspines are a tier of their own, and that without
// superspines they come right above the highest other tier.
func TestCores(t *testing.T) {
	for roles, want := range map[[3]string]string{
		{"leaf", "superspine", "core"}: "b1:2 b2:2 b3:2 b4:2 border:0 c1:3 c2:3",
		{"leaf", "core", "spine"}:      "b1:2 b2:2 b3:2 b4:2 border:0 c1:1 c2:1",
		{"leaf", "core", "core"}:       "b1:1 b2:1 b3:1 b4:1 border:0 c1:1 c2:1",
	} {
		if got := tiers(New(threeTier(t, roles, ""))); got != "a1:0 a2:0 a3:0 a4:0 "+want {
			t.Errorf("%v: %s", roles, got)
		}
	}
}
