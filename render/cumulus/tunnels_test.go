package cumulus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestDecodeReadsTunnels(t *testing.T) {
	for text, want := range map[string]map[string]qos.Tunnel{
		"nv set qos roce":                          nil,
		"nv set nve vxlan source address 10.0.0.1": {"nve vxlan": {Kind: qos.TunnelVXLAN}},
		"nv set nve vxlan enable off":              nil,
		"nv set nve vxlan state disabled\nnv set nve vxlan source address 10.0.0.1":                                                                         nil,
		"nv set nve vxlan enable on\nnv set nve vxlan encapsulation dscp action copy":                                                                       {"nve vxlan": {Kind: qos.TunnelVXLAN, Encap: qos.Of(qos.DSCPUniform)}},
		"nv set nve vxlan encapsulation dscp action set\nnv set nve vxlan encapsulation dscp value 26\nnv set nve vxlan decapsulation dscp action preserve": {"nve vxlan": {Kind: qos.TunnelVXLAN, Encap: qos.Of(qos.DSCPPipe), OuterDSCP: qos.Of(26), Decap: qos.Of(qos.DSCPPipe)}},
	} {
		d, _ := Decode(parse(t, text+"\n"))
		if diff := cmp.Diff(want, d.Tunnels); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestDecodeReadsTheHashSeed(t *testing.T) {
	for text, want := range map[string]string{"nv set qos roce": "", "nv set system forwarding hash-seed 50": "50"} {
		if d, _ := Decode(parse(t, text+"\n")); d.HashSeed != want {
			t.Errorf("%s: %q, want %q", text, d.HashSeed, want)
		}
	}
}
