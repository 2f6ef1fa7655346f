package validate

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// rails is an intent of three hosts with two NICs each.
var rails = strings.NewReplacer("eth0: {rdma: mlx5_0}", "eth0: {rdma: mlx5_0}, eth1: {rdma: mlx5_1}",
	"  - {a: \"leaf[1-3]", "  - {a: \"leaf[1-3]/Ethernet8\", b: \"gpu[1-3]/eth1\", cable: 5m, speed: 400G}\n  - {a: \"leaf[1-3]").Replace(closBase)

// railPort returns a NIC with an address and the destinations of the routes through it.
func railPort(address string, to ...string) *nic.Port {
	p := &nic.Port{RDMA: "mlx5_0", GIDs: qos.Of(nic.GIDs{V2: []string{"fe80::1", address}}), Missing: map[string]string{}}
	r := nic.Reach{}
	for _, s := range to {
		r.To = append(r.To, netip.MustParsePrefix(s))
	}
	p.Reach = qos.Of(r)
	return p
}

// railHosts returns the hosts of rails. Each NIC has a subnet of its own.
func railHosts() (out []*nic.Host) {
	for _, n := range []string{"1", "2", "3"} {
		out = append(out, &nic.Host{Name: "gpu" + n, Ports: map[string]*nic.Port{
			"eth0": railPort("10.1."+n+".1", "10.1.0.0/16"), "eth1": railPort("10.2."+n+".1", "0.0.0.0/0"),
		}})
	}
	return out
}

// TestRoutesOfRails checks that NICs are reported through which no route leads to the NICs of the
// same name on other hosts, if the fabric joins them.
func TestRoutesOfRails(t *testing.T) {
	const lost = "no route of the host leads through it, from its address, to the NIC of this name on "
	for name, x := range map[string]struct {
		edit func(hs []*nic.Host)
		text [2]string // replaced in the intent
		want []string
	}{
		"routes to the whole rail": {edit: func([]*nic.Host) {}},
		"its subnet alone": {edit: func(hs []*nic.Host) { hs[0].Ports["eth1"] = railPort("10.2.1.1", "10.2.1.0/24") },
			want: []string{"warning gpu1 eth1: " + lost + "any of the 2 other hosts that were read"}},
		"one host": {edit: func(hs []*nic.Host) { hs[0].Ports["eth0"] = railPort("10.1.1.1", "10.1.1.0/24", "10.1.2.0/24") },
			want: []string{"warning gpu1 eth0: " + lost + "gpu3"}},
		"the main table alone was read": {edit: func(hs []*nic.Host) {
			hs[0].Ports["eth0"] = railPort("10.1.1.1", "10.1.1.0/24")
			hs[0].Ports["eth0"].Reach.V.Partial = "no such program"
			hs[1].Ports["eth0"].Reach.V.Partial = "no such program" // and that suffices
		}, want: []string{"info gpu1 eth0: whether a route of the host leads through it to the NIC of this name on any of the 2 other hosts that were read is not known: no such program"}},
		"no table was read": {edit: func(hs []*nic.Host) {
			hs[0].Ports["eth0"].Reach = qos.Opt[nic.Reach]{}
			hs[0].Ports["eth0"].Missing[nic.FieldReach] = "needs root"
			hs[1].Ports["eth0"].Reach = qos.Opt[nic.Reach]{} // an agent that does not read them
		}, want: []string{"info gpu1 eth0: whether a route of the host leads through it to the NIC of this name on any of the 2 other hosts that were read is not known: needs root"}},
		"IPv6": {edit: func(hs []*nic.Host) {
			for _, h := range hs {
				h.Ports["eth0"].GIDs.V.V2 = []string{"fd00:" + h.Name[3:] + "::1"}
			}
			hs[1].Ports["eth0"].Reach.V.To = []netip.Prefix{netip.MustParsePrefix("fd00::/16")}
			hs[2].Ports["eth0"].Reach.V.To = []netip.Prefix{netip.MustParsePrefix("::/0")}
		}, want: []string{"warning gpu1 eth0: " + lost + "any of the 2 other hosts that were read"}},
		"one of two addresses": {edit: func(hs []*nic.Host) {
			hs[1].Ports["eth0"].GIDs.V.V2 = append(hs[1].Ports["eth0"].GIDs.V.V2, "192.168.0.1")
		}},
		"link-local addresses alone": {edit: func(hs []*nic.Host) { hs[0].Ports["eth0"] = railPort("fe80::2") }},
		"the same address":           {edit: func(hs []*nic.Host) { hs[0].Ports["eth0"] = railPort("10.1.2.1"); hs[2].Ports = nil }},
		"no RDMA": {edit: func(hs []*nic.Host) { hs[0].Ports["eth1"] = railPort("10.2.1.1") },
			text: [2]string{"eth1: {rdma: mlx5_1}", "eth1: {rdma: none}"}},
		"islands": {edit: func(hs []*nic.Host) { hs[0].Ports["eth0"] = railPort("10.1.1.1", "10.1.2.0/24") },
			text: [2]string{"links:\n", "islands: {a: {hosts: [gpu1, gpu2]}, b: {hosts: [gpu3]}}\nlinks:\n"}},
		"no link in the intent": {edit: func(hs []*nic.Host) { hs[0].Ports["eth1"] = railPort("10.2.1.1") },
			text: [2]string{"  - {a: \"leaf[1-3]/Ethernet8\", b: \"gpu[1-3]/eth1\", cable: 5m, speed: 400G}\n", ""}},
		"another host": {edit: func(hs []*nic.Host) { hs[0].Name = "other" }},
	} {
		text := rails
		if x.text[0] != "" {
			text = strings.ReplaceAll(rails, x.text[0], x.text[1])
		}
		f := compile(t, text).Fabric()
		hs := railHosts()
		x.edit(hs)
		var got []string
		for _, one := range Hosts(f, hs, nil) {
			if one.ID != "NIC-25" {
				continue
			}
			got = append(got, string(one.Severity)+" "+one.Place()+": "+one.What)
			if one.Inconclusive() != (one.Severity == checks.Info) || one.Where == "" || one.Fix == "" {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, not %q", name, got, x.want)
		}
	}
}
