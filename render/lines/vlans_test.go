package lines

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestSwitchport(t *testing.T) {
	for text, want := range map[string]string{
		"mtu 9100":                  "1",
		"switchport access vlan 10": "10",
		"no switchport; switchport access vlan 10":                                                                   "",
		"switchport access vlan 10; no switchport; switchport":                                                       "10",
		"switchport mode trunk; switchport trunk allowed vlan 2,5-7":                                                 "2 5 6 7",
		"switchport mode trunk; switchport trunk allowed vlan 2; switchport trunk allowed vlan add 9":                "2 9",
		"switchport mode trunk; switchport trunk allowed vlan 2-4; switchport trunk allowed vlan remove 3":           "2 4",
		"switchport mode trunk; switchport trunk allowed vlan except 3-4094":                                         "1 2",
		"switchport mode trunk; switchport trunk allowed vlan none":                                                  "",
		"switchport trunk allowed vlan 2,5-7":                                                                        "1",
		"switchport mode trunk; switchport trunk allowed vlan 2; switchport trunk allowed vlan 3-5000000000,x,-1-2,": "2",
	} {
		var p Switchport
		for l := range strings.SplitSeq(text, ";") {
			p.Read(strings.TrimSpace(l))
		}
		set := p.VLANs()
		var got []string
		set.All(func(n int) bool { got = append(got, qos.FoldInts([]int{n})); return true })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: in %v, want %s", text, got, want)
		}
	}
	p := Switchport{}
	p.Read("switchport mode trunk")
	if set := p.VLANs(); !set.Has(1) || !set.Has(maxVLAN) || set.Has(maxVLAN+1) || set.Has(0) {
		t.Error("a trunk does not carry all VLANs")
	}
}

func TestBridges(t *testing.T) {
	in := func(port, lag string, vlans ...int) Member {
		m := Member{Port: port, LAG: lag}
		for _, n := range vlans {
			m.VLANs.Add(n)
		}
		return m
	}
	short := Timers{MAC: qos.Of(5 * time.Minute), ARP: qos.Of(4 * time.Hour)}
	long := Timers{MAC: qos.Of(5 * time.Hour), ARP: qos.Of(4 * time.Hour)}
	got := Bridges(map[int]Timers{10: short, 11: short, 12: long, 20: short, 30: short}, []Member{
		in("Ethernet10", "", 11, 12), in("Ethernet2", "", 10, 11, 12, 20), in("Ethernet3", "", 10),
		// A VLAN that is only on one LAG.
		in("Ethernet4", "Port-Channel1", 30), in("Ethernet5", "Port-Channel1", 30),
	})
	if len(got) != 2 || got[0].VLANs != "Vlan10,Vlan11" || !slices.Equal(got[0].Ports, []string{"Ethernet2", "Ethernet3", "Ethernet10"}) || !got[0].Floods() {
		t.Fatalf("%+v", got)
	}
	if got[1].VLANs != "Vlan12" || !slices.Equal(got[1].Ports, []string{"Ethernet2", "Ethernet10"}) || got[1].Floods() {
		t.Errorf("%+v", got[1])
	}
}
