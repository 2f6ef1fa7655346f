package lines

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVLANs(t *testing.T) {
	v := VLANs{Bridged: true, ARP: "arp aging timeout", MACAging: 5 * time.Minute, ARPTimeout: 4 * time.Hour}
	of := func(text string) (ls []*Line) {
		for l := range strings.SplitSeq(text, ";") {
			ls = append(ls, &Line{Text: strings.TrimSpace(l)})
		}
		return ls
	}
	for name, c := range map[string]struct {
		top, port, vlan string
		bridged         bool
		mac, arp        time.Duration
	}{
		"access":            {port: "switchport access vlan 10", vlan: "ip address 192.0.2.1/24", bridged: true, mac: 5 * time.Minute, arp: 4 * time.Hour},
		"another VLAN":      {port: "switchport access vlan 11", vlan: "ip address 192.0.2.1/24"},
		"VLAN 1 by default": {port: "mtu 9100", vlan: "ip address 192.0.2.1/24"},
		"routed port":       {port: "no switchport; switchport access vlan 10", vlan: "ip address 192.0.2.1/24"},
		"routed at last":    {port: "switchport access vlan 10; no switchport", vlan: "ip address 192.0.2.1/24"},
		"not routed":        {port: "switchport access vlan 10", vlan: "description here"},
		"trunk of all":      {port: "switchport mode trunk", vlan: "ipv6 address 2001:db8::1/64", bridged: true, mac: 5 * time.Minute, arp: 4 * time.Hour},
		"trunk with it":     {port: "switchport mode trunk; switchport trunk allowed vlan 2,5-10", vlan: "ip address 192.0.2.1/24", bridged: true, mac: 5 * time.Minute, arp: 4 * time.Hour},
		"trunk without it":  {port: "switchport mode trunk; switchport trunk allowed vlan 2,5-9", vlan: "ip address 192.0.2.1/24"},
		"added":             {port: "switchport mode trunk; switchport trunk allowed vlan 2; switchport trunk allowed vlan add 10", vlan: "ip address 192.0.2.1/24", bridged: true, mac: 5 * time.Minute, arp: 4 * time.Hour},
		"removed":           {port: "switchport mode trunk; switchport trunk allowed vlan remove 3", vlan: "ip address 192.0.2.1/24"},
		"no ageing":         {top: "mac address-table aging-time 0", port: "switchport access vlan 10", vlan: "ip address 192.0.2.1/24", bridged: true, arp: 4 * time.Hour},
		"all timers":        {top: "mac address-table aging-time 1800; arp aging timeout default 900", port: "switchport access vlan 10", vlan: "ip address 192.0.2.1/24", bridged: true, mac: 30 * time.Minute, arp: 15 * time.Minute},
		"its own timer":     {top: "arp aging timeout default 900", port: "switchport access vlan 10", vlan: "ip address 192.0.2.1/24; arp aging timeout 60", bridged: true, mac: 5 * time.Minute, arp: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			got := v.Read(of(c.top), map[string][]*Line{"Ethernet1": of(c.port), "Vlan10": of(c.vlan)}, func(n string) string {
				if n == "Ethernet1" {
					return n
				}
				return ""
			})
			b, ok := got["Vlan10"]
			if ok != c.bridged || ok && (!slices.Equal(b.Ports, []string{"Ethernet1"}) || b.MACAging != c.mac || b.ARPTimeout != c.arp) {
				t.Errorf("%+v", got)
			}
		})
	}
}
