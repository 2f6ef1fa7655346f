package eos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// A member of a port channel is routed if the channel is, has the channel's MTU, and gets no MTU
// of its own.
func TestMembersFollowTheirPortChannel(t *testing.T) {
	have := mustParse(t, `interface Port-Channel5
   mtu 9000
   no switchport
!
interface Ethernet1
   channel-group 5 mode active
!
end
`)
	d, _ := Decode(have)
	p := d.Ports["Ethernet1"]
	if p.LAG.V != "Port-Channel5" || p.MTU != qos.Of(9000) || p.Trust.V != qos.TrustDSCP {
		t.Errorf("lag %v, mtu %v, trust %v", p.LAG, p.MTU, p.Trust)
	}
	want := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1": {MTU: qos.Of(9100)}}}
	if e := Change(have, want, UCTxQueue); len(e) > 0 {
		t.Errorf("the member would be given %v", e)
	}
}

// Only complete output of a switch shows which ports are routed.
func TestPortModeOfGeneratedText(t *testing.T) {
	const text = "interface Ethernet1\n   mtu 9100\n!\ninterface Ethernet2\n   mtu 9100\n   switchport access vlan 5\n!\n"
	mtus := func(text string) (one, two int) {
		d, _ := Decode(mustParse(t, text))
		return d.Ports["Ethernet1"].MTU.V, d.Ports["Ethernet2"].MTU.V
	}
	if one, two := mtus(text); one != 9100 || two != 9214 {
		t.Errorf("generated: %d, %d", one, two)
	}
	if one, two := mtus(text + "end\n"); one != 9214 || two != 9214 {
		t.Errorf("of a switch: %d, %d", one, two)
	}
}

// Port channels that claim to be members of each other, impossible on a switch, do not cause
// endless recursion.
func TestPortChannelsEndSomewhere(t *testing.T) {
	d, _ := Decode(mustParse(t, "interface Port-Channel1\n   mtu 9000\n   no switchport\n   channel-group 2 mode active\ninterface Port-Channel2\n   channel-group 1 mode active\ninterface Ethernet1\n   channel-group 1 mode active\nend\n"))
	if p := d.Ports["Ethernet1"]; p.LAG != qos.Of("Port-Channel1") || p.MTU != qos.Of(9000) {
		t.Errorf("member %v %v", p.LAG, p.MTU)
	}
}
