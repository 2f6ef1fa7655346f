package inventory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

// folder reads a folder of testdata: one pod, in the format of one release.
func folder(t *testing.T, name string, m *Mapping) *Inventory {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	r := NewReader()
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Add(filepath.Base(f), data); err != nil {
			t.Fatal(err)
		}
	}
	inv, err := r.Finish(m)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func mapping(t *testing.T, text string) *Mapping {
	t.Helper()
	m, err := ReadMapping("map.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cables returns the links of an inventory, one line each.
func cables(inv *Inventory) (out []string) {
	for _, c := range inv.Cables {
		s := fmt.Sprintf("%s/%s %s/%s", c.A.Device, c.A.Port, c.B.Device, c.B.Port)
		if c.Length > 0 {
			s += " " + c.Length.String()
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

func notes(of []derive.Note) string {
	var b strings.Builder
	for _, n := range of {
		fmt.Fprintf(&b, "%s: %s\n", n.Where, n.What)
	}
	return b.String()
}

// The exports of every release and format describe the same pod. Patch panels are traversed, and
// the lengths along a path are added up.
func TestForms(t *testing.T) {
	want := []string{
		"leaf1/Ethernet0 gpu1/ens1f0np0 3m", "leaf1/Ethernet248 spine1/Ethernet1/1 33.5m", "leaf1/Ethernet8 gpu2/ens1f0np0 3.1m",
		"leaf2/Ethernet0 gpu1/ens2f0np0 3m", "leaf2/Ethernet248 spine1/Ethernet2/1", "leaf2/Ethernet8 gpu2/ens2f0np0 3m",
	}
	for _, form := range []string{"netbox4", "netbox3", "nautobot2", "graphql"} {
		t.Run(form, func(t *testing.T) {
			inv := folder(t, form, mapping(t, "models: {powerswitch z9332f-on: DellEMC-Z9332f-O32}"))
			want := want
			if form == "graphql" { // the query has no cables, and thus no lengths
				want = slices.Clone(want)
				for i, w := range want {
					f := strings.Fields(w)
					want[i] = f[0] + " " + f[1]
				}
			}
			if got := cables(inv); !slices.Equal(got, want) {
				t.Errorf("cables:\n%s", strings.Join(got, "\n"))
			}
			var got []string
			for _, s := range inv.Switches {
				got = append(got, fmt.Sprintf("%s %s %s %s %s %d", s.Name, s.OS, s.Role, s.Model, s.Address, len(s.Ports)))
			}
			for _, h := range inv.Hosts {
				got = append(got, fmt.Sprintf("%s %s %s", h.Name, h.Address, h.Bonds[0].Members.V))
			}
			if want := []string{
				"leaf1 sonic leaf-switch DellEMC-Z9332f-O32 192.0.2.11 34", "leaf2 sonic leaf-switch DellEMC-Z9332f-O32 192.0.2.12 34", "spine1 eos spine DCS-7060DX5-64S 192.0.2.21 66",
				"gpu1 192.0.2.101 [ens1f0np0 ens2f0np0]", "gpu2 192.0.2.102 [ens1f0np0 ens2f0np0]",
			}; !slices.Equal(got, want) {
				t.Errorf("devices:\n%s", strings.Join(got, "\n"))
			}
			if len(inv.LeftOut) > 0 || len(inv.Recorded) != 8 {
				t.Errorf("left out:\n%s%v", notes(inv.LeftOut), inv.Recorded)
			}
		})
	}
	inv := folder(t, "netbox4", nil)
	if at := inv.Cables[0].Source; at != "cables.json:6 results[0]" {
		t.Errorf("a cable stands at %s", at)
	}
	if d := inv.Switches[0].Doubt; !strings.Contains(d, "may be DellEMC-Z9332f-C32, DellEMC-Z9332f-M-O16C64, DellEMC-Z9332f-O32") {
		t.Errorf("of the model: %s", d)
	}
}

// lists returns a file that consists of lists.
func lists(parts ...string) string { return "{" + strings.Join(parts, ",\n") + "}" }

func deviceText(id int, name, role, platform string) string {
	return fmt.Sprintf(`{"id":%d,"name":%q,"device_type":{"model":"X"},"role":{"slug":%q},"platform":{"slug":%q},"primary_ip":{"address":"192.0.2.%d/24"}}`, id, name, role, platform, id)
}

func iface(id, device int, name, more string) string {
	return fmt.Sprintf(`{"id":%d,"device":{"id":%d},"name":%q%s}`, id, device, name, more)
}

func wire(id int, a, b string) string {
	return fmt.Sprintf(`{"id":%d,"a_terminations":[%s],"b_terminations":[%s]}`, id, a, b)
}

func term(ids ...int) string {
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprintf(`{"object_type":"dcim.interface","object_id":%d}`, id))
	}
	return strings.Join(out, ",")
}

func list(name string, of ...string) string {
	return fmt.Sprintf("%q:[%s]", name, strings.Join(of, ",\n"))
}

func read(t *testing.T, m *Mapping, files ...string) *Inventory {
	t.Helper()
	r := NewReader()
	for i, f := range files {
		if err := r.Add(fmt.Sprintf("file%d", i), []byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	inv, err := r.Finish(m)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func TestCables(t *testing.T) {
	leaf, host := deviceText(1, "leaf1", "leaf", "eos"), deviceText(2, "gpu1", "server", "")
	devices := list("devices", leaf, host, deviceText(3, "gpu2", "server", ""), deviceText(4, "pp", "panel", ""), deviceText(5, "fw1", "firewall", "panos"))
	four := []string{iface(10, 1, "Ethernet1/1", ""), iface(11, 1, "Ethernet1/2", ""), iface(20, 2, "eth0", ""), iface(30, 3, "eth0", "")}
	tests := []struct {
		name    string
		ports   []string
		cables  []string
		more    []string
		want    []string
		assumed string
		left    string
	}{
		{"several ends in the order of names", four, []string{wire(1, term(11, 10), term(20, 30))}, nil,
			[]string{"leaf1/Ethernet1/1 gpu1/eth0", "leaf1/Ethernet1/2 gpu2/eth0"}, "its 2 ports and 2 ports are joined in the order of their names", ""},
		{"a profile has them in the order of its connectors", four, []string{strings.Replace(wire(1, term(11, 10), term(20, 30)), "{", `{"profile":{"value":"trunk-2c1p"},`, 1)}, nil,
			[]string{"leaf1/Ethernet1/1 gpu2/eth0", "leaf1/Ethernet1/2 gpu1/eth0"}, "", ""},
		{"a shuffle is not told", four, []string{strings.Replace(wire(1, term(11, 10), term(20, 30)), "{", `{"profile":{"value":"trunk-2c4p-shuffle"},`, 1)}, nil, nil, "", "shuffled cable"},
		{"a breakout with interfaces for its parts", []string{iface(9, 1, "Ethernet1", ""), iface(10, 1, "Ethernet1/1", `,"parent":{"id":9}`), iface(11, 1, "Ethernet1/2", `,"parent":{"id":9}`), four[2], four[3]},
			[]string{wire(1, term(9), term(20, 30))}, nil, []string{"leaf1/Ethernet1/1 gpu1/eth0", "leaf1/Ethernet1/2 gpu2/eth0"}, "the parts of Ethernet1", ""},
		{"a breakout whose parts are told by names", []string{iface(9, 1, "Ethernet1", ""), four[0], four[1], four[2], four[3]},
			[]string{wire(1, term(20, 30), term(9))}, nil, []string{"leaf1/Ethernet1/1 gpu1/eth0", "leaf1/Ethernet1/2 gpu2/eth0"}, "the parts of Ethernet1", ""},
		{"a breakout without", []string{iface(9, 1, "Ethernet1", ""), four[2], four[3]}, []string{wire(1, term(9), term(20, 30))}, nil, nil, "", "leaf1 Ethernet1: the cable at file0:9 cables[0]: a breakout of Ethernet1 into 2: the inventory has no 2 interfaces for its parts"},
		{"two with three", append([]string{iface(40, 3, "eth1", "")}, four...), []string{wire(1, term(10, 11), term(20, 30, 40))}, nil, nil, "", "it joins 2 ports with 3"},
		{"a management port", []string{iface(10, 1, "Management1", `,"mgmt_only":true`), four[2]}, []string{wire(1, term(10), term(20))}, nil, nil, "", ""},
		{"a device that is not imported", []string{four[0], iface(50, 5, "eth0", "")}, []string{wire(1, term(10), term(50))}, nil, nil, "", "fw1: platform panos is no system of this tool"},
		{"two hosts", four, []string{wire(1, term(20), term(30))}, nil, nil, "", ""},
		{"one end without a cable behind the panel", four, []string{wire(1, term(10), `{"object_type":"dcim.frontport","object_id":1}`)},
			[]string{list("front-ports", `{"id":1,"device":{"id":4},"name":"F1","rear_port":{"id":1},"rear_port_position":1}`), list("rear-ports", `{"id":1,"device":{"id":4},"name":"R1","positions":1}`)},
			nil, "", "leads to pp R1, where no further cable of the files is connected"},
		{"a panel whose ports are not exported", four, []string{wire(1, term(10), `{"object_type":"dcim.frontport","object_id":1,"object":{"id":1,"name":"F1","device":{"id":4,"name":"pp"}}}`)},
			nil, nil, "", "ends at the patch panel pp, F1: export /api/dcim/front-ports/ and rear-ports/ as well"},
		{"the same, where the inventory followed it", []string{iface(10, 1, "Ethernet1/1", `,"connected_endpoints":[{"id":20,"name":"eth0","device":{"id":2,"name":"gpu1"}}],"connected_endpoints_type":"dcim.interface"`), four[2]},
			[]string{wire(1, term(10), `{"object_type":"dcim.frontport","object_id":1,"object":{"id":1,"name":"F1","device":{"id":4,"name":"pp"}}}`)}, nil, []string{"leaf1/Ethernet1/1 gpu1/eth0"}, "", ""},
		{"a circle of panels", four, []string{wire(1, term(10), `{"object_type":"dcim.frontport","object_id":1}`), wire(2, `{"object_type":"dcim.rearport","object_id":1}`, `{"object_type":"dcim.frontport","object_id":2}`)},
			[]string{list("front-ports", `{"id":1,"device":{"id":4},"name":"F1","rear_port":{"id":1},"rear_port_position":1}`, `{"id":2,"device":{"id":4},"name":"F2","rear_port":{"id":1},"rear_port_position":2}`), list("rear-ports", `{"id":1,"device":{"id":4},"name":"R1","positions":2}`)},
			nil, "", "the path is a loop"},
		{"two cables at one port", four, []string{wire(1, term(10), term(20)), wire(2, term(10), term(30))}, nil, []string{"leaf1/Ethernet1/1 gpu1/eth0"}, "", "leaf1 Ethernet1/1: two cables at one port"},
		{"a circuit", four, []string{wire(1, term(10), `{"object_type":"circuits.circuittermination","object_id":1,"object":{"id":1,"display":"x"}}`)}, nil, nil, "", "its other end is no interface of a device"},
		{"an id that no file has", four, []string{wire(1, term(10), term(99))}, nil, nil, "", "its other end is interface 99, which no file has: export /api/dcim/interfaces/ as well"},
		{"a cable that is taken out", four, []string{strings.Replace(wire(1, term(10), term(20)), "{", `{"status":{"value":"decommissioning"},`, 1)}, nil, nil, "", ""},
		{"too long for an intent", four, []string{strings.Replace(wire(1, term(10), term(20)), "{", `{"length":200,"length_unit":{"value":"km"},`, 1)}, nil, []string{"leaf1/Ethernet1/1 gpu1/eth0"}, "", "a cable of 200000m is longer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv := read(t, nil, lists(append([]string{devices, list("interfaces", tt.ports...), list("cables", tt.cables...)}, tt.more...)...))
			if got := cables(inv); !slices.Equal(got, tt.want) {
				t.Errorf("cables: %q", got)
			}
			if got := notes(inv.Assumed); !strings.Contains(got, tt.assumed) || tt.assumed == "" && got != "" {
				t.Errorf("assumed: %s", got)
			}
			if got := notes(inv.LeftOut); !strings.Contains(got, tt.left) || tt.left == "" && got != "" {
				t.Errorf("left out: %s", got)
			}
		})
	}
}

// If a cable cannot be followed, its devices and its port are left to LLDP.
func TestUnclear(t *testing.T) {
	inv := read(t, nil, lists(list("devices", deviceText(1, "leaf1", "leaf", "eos"), deviceText(2, "gpu1", "server", ""), deviceText(3, "gpu2", "server", "")),
		list("interfaces", iface(9, 1, "Ethernet1", ""), iface(20, 2, "eth0", ""), iface(30, 3, "eth0", "")), list("cables", wire(1, term(9), term(20, 30)))))
	if want := map[string]bool{"gpu1 leaf1": true, "gpu2 leaf1": true, "leaf1/Ethernet1": true}; !reflect.DeepEqual(inv.Unclear, want) {
		t.Errorf("%v", inv.Unclear)
	}
}

func TestDevices(t *testing.T) {
	one := func(fields string) string {
		return lists(list("devices", `{"id":1,"name":"x",`+fields+`}`, deviceText(2, "leaf9", "leaf", "eos")),
			list("interfaces", iface(10, 1, "Ethernet1/1", ""), iface(20, 2, "Ethernet1/1", "")), list("cables", wire(1, term(10), term(20))))
	}
	for fields, want := range map[string]string{
		`"device_type":{"model":"DCS-7060DX5-64S-F"},"platform":{"name":"Arista EOS"}`:                                             "eos DCS-7060DX5-64S",
		`"device_type":{"model":"DCS-7060DX5-64S"},"platform":null`:                                                                "eos DCS-7060DX5-64S",
		`"device_type":{"model":"Nexus 9332D-GX2B","part_number":"N9K-C9332D-GX2B"},"platform":{"name":"NX-OS"}`:                   "nxos N9K-C9332D-GX2B",
		`"device_type":{"model":"Nexus 9332D-GX2B"},"platform":{"slug":"cisco_nxos"}`:                                              "nxos N9K-C9332D-GX2B",
		`"device_type":{"model":"SN5600"},"platform":{"slug":"x","network_driver":"dell_sonic"}`:                                   "sonic ",
		`"device_type":{"model":"Box"},"platform":{"slug":"my-nos"}`:                                                               "sonic Box",
		`"device_type":{"model":"Box"},"role":{"name":"GPU Server"}`:                                                               "host",
		`"device_type":{"model":"Box"},"device_role":{"slug":"rail-node"}`:                                                         "host",
		`"device_type":{"model":"Box"},"platform":{"name":"Ubuntu 24.04"}`:                                                         "host",
		`"device_type":{"model":"Box"},"role":{"name":"Mystery Box"}`:                                                              "host",
		`"device_type":{"model":"SN2700"},"platform":{"name":"Cumulus Linux"}`:                                                     "cumulus MSN2700",
		`"device_type":{"model":"S5248F"},"platform":{"name":"Dell OS10"}`:                                                         `platform Dell OS10 is no system of this tool`,
		`"device_type":{"model":"Box"},"role":{"name":"Firewall"}`:                                                                 `role "Firewall", platform none: neither a switch of a known system nor a host; --map says what it is`,
		`"device_type":{"model":"DCS-7060DX5-64S"},"platform":{"name":"Arista EOS"},"status":{"value":"decommissioning"}`:          "the state in the inventory is decommissioning",
		`"device_type":{"model":"DCS-7060DX5-64S"},"platform":{"name":"Arista EOS"},"status":"STATUS_ACTIVE"`:                      "eos DCS-7060DX5-64S",
		`"device_type":{"model":"DCS-7060DX5-64S"},"platform":{"name":"EOS"},"virtual_chassis":{"id":7,"name":"pair"},"x":[1,[2]]`: "no address: it is a member of virtual chassis pair",
	} {
		inv := read(t, mapping(t, "platforms: {my-nos: sonic}\nroles: {mystery_box: host}"), one(fields))
		got := notes(inv.LeftOut)
		for _, s := range inv.Switches {
			if s.Name == "x" {
				got += s.OS + " " + s.Model
			}
		}
		for _, h := range inv.Hosts {
			if h.Name == "x" {
				got += "host"
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant %s", fields, got, want)
		}
	}
}

// Device names are converted to valid names of an intent. Port names are found under the names used
// by the operating system, the catalogue and the mapping.
func TestNames(t *testing.T) {
	inv := read(t, mapping(t, "ports: {msn2700: {p9: Ethernet32}}"), lists(
		list("devices", deviceText(1, "Leaf 1 (row A)", "leaf", "eos"), deviceText(2, "l2", "leaf", "sonic"), `{"id":3,"name":null,"device_type":{"model":"X"}}`),
		list("interfaces", iface(10, 1, "Et1/1", `,"speed":100000000`), iface(20, 2, "swp1s1", `,"type":{"value":"50gbase-x-sfp28"}`), iface(11, 1, "Ethernet2/1", ""), iface(21, 2, "weird", "")),
		list("cables", wire(1, term(10), term(20)), wire(2, term(11), term(21)))))
	if got, want := cables(inv), []string{"Leaf-1-row-A/Et1/1 l2/swp1s1", "Leaf-1-row-A/Ethernet2/1 l2/weird"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if e := inv.Cables[0].B; e.Also != "etp1b" {
		t.Errorf("the alias is %q", e.Also)
	}
	if c := inv.Cables[0]; c.Stated != 100e9 || c.Likely != 50e9 {
		t.Errorf("stated %s, likely %s", c.Stated, c.Likely)
	}
	if got := inv.Switches[0].Ports; !reflect.DeepEqual(got, []Port{{Name: "Ethernet1/1", Speed: 100e9}, {Name: "Ethernet2/1"}}) {
		t.Errorf("%v", got)
	}
	if got := notes(inv.Assumed) + notes(inv.LeftOut); !strings.Contains(got, `its name in the inventory is "Leaf 1 (row A)"`) || !strings.Contains(got, "the device at file0:3 devices[2]: it has no name") {
		t.Error(got)
	}
}

func TestContainerlab(t *testing.T) {
	inv := read(t, nil, `name: pod
topology:
  defaults: {kind: linux}
  groups: {leaves: {kind: sonic-vs}}
  nodes:
    leaf1: {group: leaves, mgmt-ipv4: 172.20.20.11}
    spine1: {kind: arista_ceos}
    spine2: {kind: cisco_n9kv}
    gpu1: {}
    br: {kind: bridge}
  links:
    - endpoints: ["leaf1:eth1", "spine1:eth3"]
    - type: veth
      endpoints: [{node: leaf1, interface: eth2}, {node: spine2, interface: eth4}]
    - endpoints: ["leaf1:eth3", "gpu1:eth1"]
    - endpoints: ["leaf1:eth4", "br:eth9"]
    - endpoints: ["leaf1:eth5", "host:x"]
    - type: mgmt-net
      endpoint: {node: leaf1, interface: eth6}
`)
	if got, want := cables(inv), []string{"leaf1/Ethernet0 spine1/Ethernet3", "leaf1/Ethernet4 spine2/Ethernet1/4", "leaf1/Ethernet8 gpu1/eth1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	var got []string
	for _, s := range inv.Switches {
		got = append(got, s.Name+" "+s.OS+" "+s.Address)
	}
	if want := []string{"leaf1 sonic 172.20.20.11", "spine1 eos ", "spine2 nxos "}; !slices.Equal(got, want) || len(inv.Hosts) != 1 {
		t.Errorf("%q, %v", got, inv.Hosts)
	}
}

// Structured configurations of AVD: both ends name a link, and servers have no file.
func TestAVD(t *testing.T) {
	leaf := `hostname: leaf1
metadata: {platform: 7050X3}
management_interfaces:
- {name: Management1, ip_address: 192.0.2.11/24}
ethernet_interfaces:
- {name: Ethernet49/1, peer: spine1, peer_interface: Ethernet1/1, peer_type: spine}
- {name: Ethernet49/1.100, peer: spine1, peer_interface: Ethernet1/1.100, peer_type: spine}
- {name: Ethernet1/1, metadata: {peer: gpu1, peer_interface: eth0, peer_type: server}}
- {name: Ethernet2/1, peer: fw1, peer_interface: e1, peer_type: firewall}
- {name: Ethernet3/1}
`
	spine := `hostname: spine1
ethernet_interfaces:
- {name: Ethernet1/1, peer: leaf1, peer_interface: %s, peer_type: l3leaf}
`
	inv := read(t, nil, leaf, fmt.Sprintf(spine, "Ethernet49/1"))
	if got, want := cables(inv), []string{"leaf1/Ethernet1/1 gpu1/eth0", "leaf1/Ethernet49/1 spine1/Ethernet1/1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(inv.Switches) != 2 || inv.Switches[0].Address != "192.0.2.11" || inv.Switches[0].OS != "eos" || len(inv.Hosts) != 1 || !strings.Contains(notes(inv.LeftOut), `fw1: role "firewall"`) {
		t.Errorf("%v\n%v\n%s", inv.Switches, inv.Hosts, notes(inv.LeftOut))
	}
	inv = read(t, nil, leaf, fmt.Sprintf(spine, "Ethernet50/1"))
	if got := notes(inv.LeftOut); !strings.Contains(got, "two cables at one port: file0:6 connects it to leaf1 Ethernet49/1, file1:3 to leaf1 Ethernet50/1; the first is used") {
		t.Error(got)
	}
	if err := NewReader().Add("f", []byte("ethernet_interfaces: []")); err == nil || err.Error() != "f:1: a structured configuration without a hostname" {
		t.Error(err)
	}
}

// Every error names its file, and its line or position in the JSON.
func TestFaults(t *testing.T) {
	page := func(more string) string {
		return `{"count":3,` + more + `,"results":[` + strings.Replace(deviceText(1, "leaf1", "leaf", "eos"), "{", `{"url":"https://n/api/dcim/devices/1/",`, 1) + "]}"
	}
	for text, want := range map[string]string{
		"": "f: the file is empty",
		"{\n \"devices\": [\n {\"id\": 1,\n \"name\": }\n]}": "f:3 devices[0]: invalid character '}' looking for beginning of value",
		"{\"devices\": [{\"id\": 1}, {\"id\"":                "f:1 devices[1]: the file ends in the middle of it",
		"{\"devices\": [{\"id\": 1}":                         "f:1: devices: the file ends too early",
		"[7]":                                                "f:1 list[0]: an object is expected, not a number",
		"{\"results\": {}}":                                  "f: the file holds no list of devices, interfaces or cables",
		`{"detail": "Invalid token"}`:                        "f: the file holds no list of devices, interfaces or cables",
		"{}x":                                                "f:1: invalid character 'x' looking for beginning of value",
		strings.Repeat(`{"data":`, 9):                        "lists are nested too deep",
		strings.Repeat("[", 20000):                           "f:1 list[0]: ",
		`{"errors":[{"message":"no permission"}],"data":{"devices":[]}}`:               "f:1: the file holds an answer that failed: no permission",
		page(`"next":"https://n/api/dcim/devices/?limit=1&offset=1"`):                  "f:1: a list of devices has a next page that is not among the files: 1 of 3 objects are here",
		lists(list("interfaces", iface(1, 1, "x", ""))):                                "the inventory: no file holds devices",
		lists(list("devices", deviceText(1, "a", "", ""), deviceText(2, "A", "", ""))): "f:2 devices[1]: a second device A; the first is at f:1 devices[0]",
		"topology: [":                           "f:1:1: ",
		"topology: {links: [{endpoints: [a]}]}": "f:1:32: a link needs a list of two endpoints",
	} {
		r := NewReader()
		err := r.Add("f", []byte(text))
		if err == nil {
			_, err = r.Finish(nil)
		}
		var ours *Error
		var theirs *yaml.Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &ours) && !errors.As(err, &theirs) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
	r := NewReader()
	_ = r.Add("f", []byte(page(`"next":"https://n/x"`)))
	if _, err := r.Finish(nil); hint.Of(err) != "give every page of the list; docs/inventory.md shows how" {
		t.Errorf("the advice is %q", hint.Of(err))
	}
	if err := NewReader().Add("f", make([]byte, MaxFile+1)); err == nil {
		t.Error("a file that is too large was read")
	}
}

func TestMappingFaults(t *testing.T) {
	for text, want := range map[string]string{
		"rolls: {a: b}":           `map.yaml:1:1: unknown key "rolls"`,
		"roles: [a]":              "map.yaml:1:8: a map is expected, not a list",
		"roles: {a: {}}":          "map.yaml:1:12: a word is expected, not a map",
		"platforms: {x: junos}":   `no system "junos"`,
		"ports: {a: b}":           "a map is expected, not text",
		"- x":                     "a mapping must be a map",
		"roles: {a: b}\nroles: {": "map.yaml:2",
	} {
		if _, err := ReadMapping("map.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := ReadMapping("map.yaml", []byte("rolls: {a: b}"))
	if e := (*yaml.Error)(nil); !errors.As(err, &e) || e.Hint != "did you mean roles?" {
		t.Errorf("%v", err)
	}
}

// For any file, reading terminates and the result is consistent.
func FuzzInventory(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.json")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 20_000 {
			f.Add(data)
		}
	}
	f.Add([]byte(lists(list("devices", deviceText(1, "leaf1", "leaf", "eos"), deviceText(2, "gpu1", "server", "")), list("interfaces", iface(1, 1, "Ethernet1/1", ""), iface(2, 2, "eth0", "")), list("cables", wire(1, term(1), term(2))))))
	f.Add([]byte("topology: {nodes: {a: {kind: ceos}, b: {kind: linux}}, links: [{endpoints: [\"a:eth1\", \"b:eth1\"]}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		r := NewReader()
		if err := r.Add("f", data); err != nil {
			return
		}
		inv, err := r.Finish(nil)
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, s := range inv.Switches {
			known[s.Name] = true
		}
		ends := map[string]bool{}
		for _, c := range inv.Cables {
			if !known[c.A.Device] && !known[c.B.Device] {
				t.Errorf("a cable between %s and %s, no switches", c.A.Device, c.B.Device)
			}
			if c.Source == "" || c.Length < 0 || c.Length > maxLength || c.A.Device == c.B.Device {
				t.Errorf("a cable %+v", c)
			}
			for _, e := range []derive.End{c.A, c.B} {
				k := e.Device + "\x00" + e.Port
				if ends[k] {
					t.Errorf("two cables at %s %s", e.Device, e.Port)
				}
				ends[k] = true
			}
		}
	})
}
