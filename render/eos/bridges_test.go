package eos

import (
	"slices"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func decoded(t *testing.T, text string) (*qos.Device, []Unknown) {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Decode(c)
}

func TestBridges(t *testing.T) {
	const fabric = "vlan 4094\n   trunk group PEER\n!\ninterface Port-Channel1\n   switchport mode trunk\n   switchport trunk group PEER\n!\n" +
		"interface Ethernet1\n   switchport access vlan 10\n!\ninterface Ethernet2\n   switchport mode trunk\n!\ninterface Ethernet3\n   no switchport\n!\n" +
		"interface Ethernet4\n   channel-group 1 mode active\n!\ninterface Vlan10\n   ip address 192.0.2.1/24\n"
	type bridge struct {
		vlans    string
		ports    []string
		mac, arp time.Duration
	}
	for name, c := range map[string]struct {
		top, own string
		want     []bridge
	}{
		"usual timers":       {want: []bridge{{"Vlan10", []string{"Ethernet1", "Ethernet2", "Ethernet4"}, 5 * time.Minute, 4 * time.Hour}}},
		"timers of all":      {top: "mac address-table aging-time 1800\narp aging timeout default 900\n", want: []bridge{{"Vlan10", []string{"Ethernet1", "Ethernet2", "Ethernet4"}, 30 * time.Minute, 15 * time.Minute}}},
		"a timer of its own": {top: "arp aging timeout default 900\n", own: "   arp aging timeout 60\n", want: []bridge{{"Vlan10", []string{"Ethernet1", "Ethernet2", "Ethernet4"}, 5 * time.Minute, time.Minute}}},
		"an older line":      {own: "   arp timeout 60\n", want: []bridge{{"Vlan10", []string{"Ethernet1", "Ethernet2", "Ethernet4"}, 5 * time.Minute, time.Minute}}},
		"shut":               {own: "   shutdown\n"},
		// Only the port channel carries the VLAN.
		"of a trunk group": {own: "   shutdown\n!\ninterface Vlan4094\n   ip address 192.0.2.5/31\n"},
		"another":          {own: "!\ninterface Vlan11\n   ip address 198.51.100.1/24\n   arp aging timeout 60\n", want: []bridge{{"Vlan10", []string{"Ethernet1", "Ethernet2", "Ethernet4"}, 5 * time.Minute, 4 * time.Hour}, {"Vlan11", []string{"Ethernet2", "Ethernet4"}, 5 * time.Minute, time.Minute}}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := decoded(t, c.top+fabric+c.own)
			var got []bridge
			for _, b := range d.Bridges {
				got = append(got, bridge{b.VLANs, b.Ports, b.MACAge.V, b.ARPAge.V})
			}
			if !slices.EqualFunc(got, c.want, func(a, b bridge) bool {
				return a.vlans == b.vlans && slices.Equal(a.ports, b.ports) && a.mac == b.mac && a.arp == b.arp
			}) {
				t.Errorf("%+v", got)
			}
		})
	}
	d, _ := decoded(t, fabric+"   arp monitor mac-address\n")
	if len(d.Bridges) != 1 || d.Bridges[0].ARPAge.Set {
		t.Errorf("an ARP timer that is not documented is taken for known: %+v", d.Bridges)
	}
}

func TestTrustOfSubinterfaces(t *testing.T) {
	const text = "interface Port-Channel1\n   no switchport\n!\ninterface Port-Channel1.100\n   encapsulation dot1q vlan 100\n   qos trust cos\n!\n" +
		"interface Ethernet1\n   channel-group 1 mode active\n   qos trust dscp\n!\ninterface Ethernet2\n   no switchport\n!\ninterface Ethernet2.7\n   no qos trust\n!\ninterface Ethernet2.8\n   encapsulation dot1q vlan 8\n"
	d, unknown := decoded(t, text)
	if len(d.Overlays) != 2 {
		t.Fatalf("%+v", d.Overlays)
	}
	if o := d.Overlays["Port-Channel1.100"]; o.Trust.V != qos.TrustPCP || !slices.Equal(o.Ports, []string{"Ethernet1"}) {
		t.Errorf("%+v", o)
	}
	if o := d.Overlays["Ethernet2.7"]; o.Trust.V != qos.TrustNone || !slices.Equal(o.Ports, []string{"Ethernet2"}) {
		t.Errorf("%+v", o)
	}
	if slices.ContainsFunc(unknown, func(u Unknown) bool { return u.Open }) {
		t.Errorf("what CLS-16 compares is left open: %+v", unknown)
	}
}
