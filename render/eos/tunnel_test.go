package eos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// The lines are taken from the output of aristanetworks/avd.
func TestDecodeReadsTheQoSOfVXLAN(t *testing.T) {
	off, on := qos.Of(false), qos.Of(true)
	for lines, want := range map[string]qos.Tunnel{
		"":                                  {Kind: "vxlan", ECNEncap: off, ECNDecap: off},
		"   vxlan qos ecn propagation\n":    {Kind: "vxlan", ECNEncap: on, ECNDecap: on},
		"   no vxlan qos ecn propagation\n": {Kind: "vxlan", ECNEncap: off, ECNDecap: off},
		"   vxlan qos dscp propagation encapsulation\n   vxlan qos map dscp to traffic-class decapsulation\n": {Kind: "vxlan", Encap: qos.Of(qos.DSCPUniform), ECNEncap: off, ECNDecap: off},
		"   no vxlan qos dscp propagation encapsulation\n":                                                    {Kind: "vxlan", ECNEncap: off, ECNDecap: off},
	} {
		d, unknown := Decode(mustParse(t, "interface Ethernet1\n!\ninterface Vxlan1\n   vxlan source-interface Loopback1\n   vxlan udp-port 4789\n"+lines+"!\nend\n"))
		if d.Tunnels["Vxlan1"] != want || len(d.Tunnels) != 1 || len(unknown) != 0 || len(d.Ports) != 1 {
			t.Errorf("%q: %+v, unknown %v", lines, d.Tunnels, unknown)
		}
	}
}
