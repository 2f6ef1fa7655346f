package sonic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestDecodeReadsTunnelsAndPortsInsideOfTheSwitch(t *testing.T) {
	d, unknown := Decode(Config{
		TPort: {"Ethernet0": {"role": "Ext"}, "Ethernet-Rec0": {"role": "Rec", "speed": "400000"}},
		TTunnel: {
			"MuxTunnel0": {"tunnel_type": "IPINIP", "dscp_mode": "uniform", "ecn_mode": "copy_from_outer", "encap_ecn_mode": "standard", "dst_ip": "10.1.0.32"},
			"plain":      {"tunnel_type": "IPINIP"},
			"odd":        {"dscp_mode": "both", "ecn_mode": "none"},
		},
		TVXLAN: {"vtep1": {"src_ip": "10.0.0.1"}, "dell": {"src_ip": "10.0.0.2", "qos-mode": "pipe", "dscp": "26"}},
	})
	want := map[string]qos.Tunnel{
		"TUNNEL|MuxTunnel0": {Kind: "ip-in-ip", Encap: qos.Of(qos.DSCPUniform), Decap: qos.Of(qos.DSCPUniform), ECNEncap: qos.Of(true), ECNDecap: qos.Of(true)},
		"TUNNEL|plain":      {Kind: "ip-in-ip"}, "TUNNEL|odd": {Kind: "ip-in-ip"},
		"VXLAN_TUNNEL|vtep1": {Kind: "vxlan"},
		"VXLAN_TUNNEL|dell":  {Kind: "vxlan", Encap: qos.Of(qos.DSCPPipe), Decap: qos.Of(qos.DSCPPipe), OuterDSCP: qos.Of(26)},
	}
	if diff := cmp.Diff(want, d.Tunnels); diff != "" {
		t.Error(diff)
	}
	var said []string
	for _, u := range unknown {
		said = append(said, u.Where()+": "+u.Why)
	}
	if diff := cmp.Diff([]string{
		"PORT|Ethernet-Rec0 role: a port inside of the switch: traffic that passes it takes its queues and groups, which are not checked",
		"TUNNEL|odd dscp_mode: not a mode that this tool knows",
		"TUNNEL|odd ecn_mode: not a mode that this tool knows",
	}, said); diff != "" {
		t.Error(diff)
	}
}
