package nxos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestDecodeReadsTheDSCPModeOfVXLAN(t *testing.T) {
	for line, want := range map[string]qos.DSCPMode{"": qos.DSCPUniform, "  qos-mode pipe\n": qos.DSCPPipe, "  no qos-mode pipe\n": qos.DSCPUniform} {
		d, unknown := Decode(parse(t, "interface nve1\n  no shutdown\n  source-interface loopback1\n"+line+"  member vni 10110\n\ninterface Ethernet1/1\n"), EightQueue)
		if (d.Tunnels["nve1"] != qos.Tunnel{Kind: "vxlan", Decap: qos.Of(want)}) || len(d.Ports) != 1 || len(unknown) != 0 {
			t.Errorf("%q: %+v, unknown %v", line, d.Tunnels, unknown)
		}
	}
}
