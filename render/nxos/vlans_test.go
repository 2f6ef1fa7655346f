package nxos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

const switchedPorts = "interface port-channel1\n  switchport\n  switchport access vlan 10\n\ninterface Ethernet1/1\n  switchport\n  switchport access vlan 10\n\n" +
	"interface Ethernet1/2\n  switchport\n  switchport mode trunk\n  switchport trunk allowed vlan 5-10\n\ninterface Ethernet1/3\n  no switchport\n\n" +
	"interface Ethernet1/4\n  channel-group 1 mode active\n\ninterface Ethernet1/5\n  description a port of VLAN 1\n\n"

func TestBridges(t *testing.T) {
	const svi = "interface Vlan10\n  no shutdown\n  ip address 192.0.2.1/24\n"
	for name, c := range map[string]struct {
		top, svi string
		mac, arp time.Duration // 0 if no VLAN is routed
	}{
		"usual timers":       {svi: svi, mac: 30 * time.Minute, arp: 25 * time.Minute},
		"a short MAC timer":  {top: "mac address-table aging-time 300\n", svi: svi, mac: 5 * time.Minute, arp: 25 * time.Minute},
		"of the VLAN":        {top: "mac address-table aging-time 300 vlan 10\n", svi: svi, mac: 5 * time.Minute, arp: 25 * time.Minute},
		"of another VLAN":    {top: "mac address-table aging-time 300 vlan 11\n", svi: svi, mac: 30 * time.Minute, arp: 25 * time.Minute},
		"an ARP timer":       {svi: svi + "  ip arp timeout 3600\n", mac: 30 * time.Minute, arp: time.Hour},
		"shut":               {svi: "interface Vlan10\n  shutdown\n  ip address 192.0.2.1/24\n"},
		"of one port":        {svi: "interface Vlan1\n  no shutdown\n  ip address 192.0.2.1/24\n"},
		"without an address": {svi: "interface Vlan10\n  no shutdown\n"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decode(t, c.top+switchedPorts+c.svi)
			if c.mac == 0 {
				if len(d.Bridges) != 0 {
					t.Errorf("%+v", d.Bridges)
				}
				return
			}
			if len(d.Bridges) != 1 || d.Bridges[0].MACAge.V != c.mac || d.Bridges[0].ARPAge.V != c.arp || !slices.Equal(d.Bridges[0].Ports, []string{"Ethernet1/1", "Ethernet1/2", "Ethernet1/4"}) {
				t.Errorf("%+v", d.Bridges)
			}
		})
	}
}

func TestPolicyOfAVLAN(t *testing.T) {
	const policy = "class-map type qos match-any ROCE\n  match dscp 26\npolicy-map type qos IN\n  class ROCE\n    set qos-group 3\n" +
		"policy-map type qos OTHER\n  class ROCE\n    set qos-group 1\n"
	text := policy + strings.Replace(switchedPorts, "access vlan 10\n\ninterface Ethernet1/2", "access vlan 10\n  service-policy type qos input IN\n\ninterface Ethernet1/2", 1) +
		"vlan configuration 9-10\n  service-policy type qos input OTHER\n"
	d := decode(t, text)
	o, ok := d.Overlays["vlan 9-10"]
	if !ok || len(d.Overlays) != 1 || !slices.Equal(o.Ports, []string{"Ethernet1/2", "Ethernet1/4"}) || o.Maps.V == nil || o.Maps.V.DSCPToTC[26] != 1 {
		t.Fatalf("%+v", d.Overlays)
	}
	if d := decode(t, policy+switchedPorts); d.Overlays != nil {
		t.Errorf("%+v", d.Overlays)
	}
}

func decode(t *testing.T, text string) *qos.Device {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d, _ := Decode(c, EightQueue)
	return d
}
