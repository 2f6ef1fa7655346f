package eos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
)

// Text from people, but not from a switch, may name ports by ranges and abbreviations.
func TestPortsAsPeopleNameThem(t *testing.T) {
	for header, want := range map[string]string{
		"interface Ethernet1-3,7":                     "Ethernet1 Ethernet2 Ethernet3 Ethernet7",
		"interface Et1/1":                             "Ethernet1/1",
		"interface eth 4":                             "Ethernet4",
		"interface Ethernet 4 - 5":                    "Ethernet4 Ethernet5",
		"interface Ethernet1/1-4":                     "Ethernet1/1 Ethernet1/2 Ethernet1/3 Ethernet1/4",
		"interface Ethernet1/1-3/1":                   "Ethernet1/1 Ethernet2/1 Ethernet3/1",
		"interface Ethernet3/1/1-3/2/1":               "Ethernet3/1/1 Ethernet3/2/1",
		"interface Ethernet1/1-3/4":                   "", // the ports in between depend on the switch
		"interface Ethernet5-3":                       "",
		"interface Ethernet1-2-3":                     "",
		"interface Ethernet1-9999,1-9999,1-9999":      "",
		"interface Ethernet1-99999999999999999999999": "",
		"interface E1":                                "",
		"interface Vlan1-3":                           "",
	} {
		d, _ := Decode(mustParse(t, header+"\n   mtu 9000\n"))
		if got := strings.Join(natural.Keys(d.Ports), " "); got != want {
			t.Errorf("%s: %s", header, got)
		}
	}
	c := mustParse(t, "leaf1(config)#interface Et1-3,5\nleaf1(config-if-Et1-3,5)#mtu 9000\nleaf1(config-if-Et1-3,5)#exit\nleaf1(config)#interface po7\nleaf1(config-if-Po7)#mtu 9100\n")
	d, _ := Decode(c)
	for _, p := range []string{"Ethernet1", "Ethernet5"} {
		if d.Ports[p] == nil || d.Ports[p].MTU.V != 9000 {
			t.Errorf("%s in\n%s", p, c)
		}
	}
	if !strings.Contains(c.String(), "interface Port-Channel7\n   mtu 9100\n") {
		t.Errorf("%s", c)
	}
}

// The number of ports from many headers with ranges is limited.
func TestRangesAreBounded(t *testing.T) {
	var b strings.Builder
	for range 5000 {
		b.WriteString("interface Ethernet1-1000\n   mtu 9000\n")
	}
	c := mustParse(t, b.String())
	if n := len(c.Lines); n > maxNames+5000 {
		t.Errorf("%d lines", n)
	}
}

func TestAccountOfManyPorts(t *testing.T) {
	var b strings.Builder
	b.WriteString("qos profile P\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n")
	for q := range 8 {
		fmt.Fprintf(&b, "   uc-tx-queue %d\n      no priority\n      bandwidth percent %d\n", q, 5+q)
	}
	for i := range 1024 {
		fmt.Fprintf(&b, "interface Ethernet%d\n   description port %d\n   mtu 9214\n   no switchport\n   service-profile P\n   flowcontrol send off\n", i+1, i)
	}
	b.WriteString("qos map dscp 10 to traffic-class 3\nend\n")
	account := Account(mustParse(t, b.String()))
	at := slices.IndexFunc(account, func(l render.Line) bool { return l.Text == "no priority" })
	if at < 0 || len(account[at].Ports) != 1024 || len(account) != 3+16+3*1024+1 {
		t.Errorf("%d lines", len(account))
	}
}
