package intent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

const routed = header + `classes:
  rdma: {priority: 3, dscp: [26], lossless: true}
  bounce: {priority: 2, dscp: [18], lossless: true}
  default: {priority: 0, dscp: rest}
switches:
  leaf[1-4]: {os: sonic, role: tor}
  spine[1-2]: {os: eos, role: fabric}
hosts:
  gpu[1-8]: {nics: {n0: {}}}
  nas: {nics: {n0: {}}}
`

func TestRouting(t *testing.T) {
	text := routed + `routing:
  model: shortest
  tiers: [tor, fabric]
  exceptions:
    - {kind: up-again, switches: ["leaf[2,1]", role:fabric], remap: [{class: rdma, as: bounce}]}
    - {kind: peer, switches: ["leaf?"]}
  tunnels:
    - {from: "leaf[1,2]", to: "leaf[2,1]", remap: [{class: rdma, as: bounce}]}
islands:
  train: {hosts: ["gpu[1-4]", gpu5], switches: ["leaf*"], classes: [rdma]}
  store: {hosts: ["n*"]}
`
	f := load(t, text)
	r := f.Routing
	if r.Model.V != Shortest || r.Model.From.Pos.Line != 15 || !cmp.Equal(r.Tiers.V, []string{"tor", "fabric"}) {
		t.Errorf("%+v %+v", r.Model, r.Tiers)
	}
	var got []string
	for _, x := range r.Exceptions {
		got = append(got, fmt.Sprintf("%d %s %s %s", x.Pos.Line, x.Kind, switchNames(x.Switches), remapNames(x.Remap)))
	}
	for _, x := range r.Tunnels {
		got = append(got, fmt.Sprintf("%d %s-%s %s", x.Pos.Line, x.From.Name, x.To.Name, remapNames(x.Remap)))
	}
	for _, x := range f.Islands {
		var hosts []string
		for _, h := range x.Hosts {
			hosts = append(hosts, h.Name)
		}
		got = append(got, fmt.Sprintf("%d %s %s [%s] %v", x.Pos.Line, x.Name, strings.Join(hosts, " "), switchNames(x.Switches), x.Classes))
	}
	want := []string{
		"18 up-again leaf1 leaf2 spine1 spine2 rdma>bounce",
		"19 peer leaf1 leaf2 leaf3 leaf4 ",
		"21 leaf1-leaf2 rdma>bounce",
		"21 leaf2-leaf1 rdma>bounce",
		"23 train gpu1 gpu2 gpu3 gpu4 gpu5 [leaf1 leaf2 leaf3 leaf4] {3}",
		"24 store nas [] {0,1,2,3,4,5,6,7}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	n, errs := yaml.Parse("x", []byte(text))
	if errs != nil {
		t.Fatal(errs[0])
	}
	if err := compileSchema(t).Validate(plain(n)); err != nil {
		t.Errorf("the schema refuses it: %v", err)
	}
	if f = load(t, routed); f.Routing.Model.V != "" || !f.Routing.Model.IsDefault() || len(f.Routing.Exceptions)+len(f.Islands) > 0 {
		t.Errorf("without a section: %+v", f.Routing)
	}
}

func switchNames(l []*Switch) string {
	var out []string
	for _, s := range l {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func remapNames(l []Remap) string {
	var out []string
	for _, m := range l {
		out = append(out, m.From.Name+">"+m.To.Name)
	}
	return strings.Join(out, " ")
}

func TestVXLANOverhead(t *testing.T) {
	for text, want := range map[string]int{"": 50, ", underlay: ipv4": 50, ", underlay: ipv6": 70, ", innerTag: true": 54, ", underlay: ipv6, innerTag: true": 74} {
		f := load(t, routed+"vxlan: {ends: [\"leaf*\"]"+text+"}\n")
		if got := f.VXLAN.Overhead(); got != want || !f.VXLAN.EndsAt(f.Switch("leaf1")) || f.VXLAN.EndsAt(f.Switch("spine1")) {
			t.Errorf("%s: %d B, ends %s", text, got, switchNames(f.VXLAN.Ends))
		}
	}
}

func TestBadRouting(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"routing: {model: valley}", `14:18: model must be up-down or shortest, not "valley"`},
		{"routing: {tiers: [tor, spine, tor]}", `14:24: no switch has the role "spine"` + "\n" + `14:31: role "tor" is already a tier at 14:19`},
		{"routing: {exceptions: [{kind: peer}]}", `14:24: an exception names no switches`},
		{"routing: {exceptions: [{kind: bgp, switches: [leaf9]}]}", `14:31: kind must be up-again, default-up or peer, not "bgp"` + "\n" + `14:47: no switch matches "leaf9"`},
		{"routing: {exceptions: [{kind: peer, switches: [leaf1], remap: [{class: rdma, as: bounce}]}]}", `14:63: traffic over peer links keeps its class`},
		{"routing: {exceptions: [{kind: up-again, switches: [leaf1], remap: [{class: rdma, as: x}, {class: rdma, as: rdma}]}]}",
			`14:86: no class "x" in the fabric` + "\n" + `14:90: class "rdma" is already remapped at 14:68`},
		{"routing: {tunnels: [{from: leaf1, to: leaf1}, {from: \"leaf[1-2]\", to: leaf3}, {from: leaf7, to: leaf1}]}",
			`14:21: a tunnel joins "leaf1" with itself` + "\n" + `14:47: from has 2 switches and to has 1` + "\n" + `14:86: no switch "leaf7"`},
		{"vxlan: {ends: [leaf1], underlay: ipv5}", `14:15: a tunnel has two ends, and "leaf1" is the only one here` + "\n" + `14:34: underlay must be ipv4 or ipv6, not "ipv5"`},
		{"vxlan: {innerTag: true}", `14:8: vxlan names no switches`},
		{"traffic: {t: {}, u: {dscp: [64]}}", `14:11: traffic "t" has no dscp` + "\n" + `14:29: dscp must hold code points 0 to 63 or spans like "24-31", not "64"`},
		{"islands: {a: {hosts: [gpu1]}, b: {hosts: [\"gpu*\"]}, c: {}}", `14:43: host "gpu1" is in island "a" at 14:11` + "\n" + `14:53: island "c" has no hosts`},
		{"islands: {a: {hosts: [\"gpu[1-9]\"], classes: [rmda]}}", `14:23: no host "gpu9", which "gpu[1-9]" names` + "\n" + `14:46: no class "rmda" in the fabric`},
		{"islands: {a: {hosts: [\"g[\"], switches: [spine9]}}", `14:23: hosts must be a name, range, glob, role:ROLE or os:OS, not "g["` + "\n" + `14:41: no switch matches "spine9"`},
		{"islands: {a: {hosts: [x]}}", `14:23: no host matches "x"`},
	} {
		_, err := Load("-", Options{Stdin: strings.NewReader(routed + c.in + "\n")})
		if err == nil {
			t.Errorf("%s: accepted", c.in)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), Stdin+":", ""); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}
