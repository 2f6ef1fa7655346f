package eos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

const small = "hostname leaf1\ninterface Ethernet1/1\n no switchport\ninterface Ethernet2/1\ninterface Management1\n"

// bodyOf returns the running configuration without its header and end.
func bodyOf(e *EOS) string {
	_, s, _ := strings.Cut(e.Running(), ".swi\n!\n")
	return strings.TrimSuffix(s, "!\nend\n")
}

// inside returns the printed block that a line opens, without that line.
func inside(t *testing.T, e *EOS, head string) string {
	t.Helper()
	_, s, ok := strings.Cut("!\n"+bodyOf(e), "!\n"+head+"\n")
	if !ok {
		t.Fatalf("no %q in\n%s", head, bodyOf(e))
	}
	s, _, _ = strings.Cut(s, "\n!\n")
	if !strings.HasPrefix(s, " ") {
		return ""
	}
	return strings.TrimSuffix(s, "\n") + "\n"
}

func feed(t *testing.T, e *EOS, lines string) {
	t.Helper()
	if err := e.Configure(lines); err != nil {
		t.Fatal(err)
	}
}

// The effect of lines on one part of the configuration.
func TestLines(t *testing.T) {
	sand := Options{Model: "DCS-7280CR3-32P4"}
	explicit := Options{PrintDefaults: true}
	const port = "interface Ethernet1/1"
	for _, c := range []struct {
		name, head, lines, want string
		o                       Options
	}{
		{"trust", port, "interface Ethernet1/1\nqos trust dscp", "   no switchport\n   qos trust dscp\n", Options{}},
		{"untrusted", port, "interface Ethernet1/1\nqos trust dscp\nno qos trust", "   no switchport\n   no qos trust\n", Options{}},
		{"trust unset", port, "interface Ethernet1/1\nno qos trust\ndefault qos trust", "   no switchport\n", Options{}},
		{"order", port, "interface Et1/1\nuc-tx-queue 3\nno priority\nexit\nservice-profile X\nmtu 9214\npriority-flow-control priority 4 no-drop\npriority-flow-control priority 3 no-drop\ndescription a  b\nshutdown",
			"   description a  b\n   shutdown\n   mtu 9214\n   no switchport\n   service-profile X\n   priority-flow-control priority 3 no-drop\n   priority-flow-control priority 4 no-drop\n   !\n   uc-tx-queue 3\n      no priority\n", Options{}},
		{"removed", port, "interface Ethernet1/1\nmtu 9000\nno mtu 9000\nservice-profile X\nno service-profile\nshutdown\nno shutdown\npriority-flow-control on\nno priority-flow-control\npriority-flow-control priority 3 no-drop\nno priority-flow-control priority 3 no-drop\ndefault switchport", "", Options{}},
		{"shortest words", port, "int et1/1\nprior on\nprior pri 3 no-d\nuc 3\nban per 7\nmtu 9000", "   mtu 9000\n   no switchport\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n   !\n   uc-tx-queue 3\n      bandwidth percent 7\n", Options{}},
		{"another case", port, "INTERFACE ethernet 1/1\nMTU 9000", "   mtu 9000\n   no switchport\n", Options{}},
		{"ranges", "interface Ethernet2/1", "interface Ethernet1/1-2/1\nuc-tx-queue 0\nno priority", "   !\n   uc-tx-queue 0\n      no priority\n", Options{}},
		{"defaults vanish", port, "interface Ethernet1/1\nqos cos 0\nmtu 1500\npriority-flow-control pause watchdog\npriority-flow-control priority 2 drop\nuc-tx-queue 6\npriority strict", "   no switchport\n", Options{}},
		{"defaults of all ports", port, "interface defaults\nmtu 9000\nethernet\nshutdown\ninterface Ethernet1/1\nmtu 1500\nno shutdown\nno switchport\nswitchport default mode routed", "   no shutdown\n   mtu 1500\n", Options{}},
		{"and they vanish", port, "interface defaults\nmtu 9000\nethernet\nshutdown\ninterface Ethernet1/1\nmtu 9000\nshutdown", "   no switchport\n", Options{}},
		{"or are kept", port, "interface defaults\nmtu 9000\nethernet\nshutdown\ninterface Ethernet1/1\nmtu 9000\nshutdown", "   shutdown\n   mtu 9000\n   no switchport\n", explicit},
		{"they are printed", "interface defaults", "interface defaults\nethernet\nshutdown\nexit\nmtu 9000", "   mtu 9000\n   ethernet\n      shutdown\n", Options{}},
		{"defaults kept", port, "interface Ethernet1/1\nqos cos 0\npriority-flow-control pause watchdog\nuc-tx-queue 6\npriority strict", "   no switchport\n   qos cos 0\n   priority-flow-control pause watchdog\n   !\n   uc-tx-queue 6\n      priority strict\n", explicit},
		{"watchdog off", port, "interface Ethernet1/1\nno priority-flow-control pause watchdog", "   no switchport\n   no priority-flow-control pause watchdog\n", Options{}},
		{"ecn defaults", "qos profile P", "qos profile P\nuc-tx-queue 3\nrandom-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 mbytes max-mark-probability 100 weight 0", "   !\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 mbytes\n", Options{}},
		{"ecn kept", "qos profile P", "qos profile P\nuc-tx-queue 3\nrandom-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 mbytes weight 0", "   !\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 mbytes weight 0\n", explicit},
		{"ecn removed", "qos profile P", "qos profile P\nuc-tx-queue 3\nrandom-detect ecn count\nrandom-detect ecn minimum-threshold 1 segments maximum-threshold 2 segments\nno random-detect ecn minimum-threshold", "   !\n   uc-tx-queue 3\n      random-detect ecn count\n", Options{}},
		{"strict again", "qos profile P", "qos profile P\nqos trust dscp\nuc-tx-queue 3\nno priority\nbandwidth percent 5\ndefault priority\nno bandwidth percent", "   qos trust dscp\n", Options{}},
		{"pfc behind queues", "qos profile P", "qos profile P\npriority-flow-control on\nuc-tx-queue 3\nno priority", "   !\n   uc-tx-queue 3\n      no priority\n   !\n   priority-flow-control on\n", Options{}},
		{"pfc first", "qos profile P", "qos profile P\nuc-tx-queue 3\nno priority\npriority-flow-control on", "   priority-flow-control on\n   !\n   uc-tx-queue 3\n      no priority\n", Options{PFCFirst: true}},
		{"sand", "qos profile P", "qos profile P\ntx-queue 3\nrandom-detect ecn minimum-threshold 1 milliseconds maximum-threshold 2 milliseconds", "   !\n   tx-queue 3\n      random-detect ecn minimum-threshold 1 milliseconds maximum-threshold 2 milliseconds\n", sand},
		{"old tomahawk", "qos profile P", "qos profile P\ntx-queue 3\nno priority", "   !\n   tx-queue 3\n      no priority\n", Options{QueueKeyword: "tx-queue"}},
		{"port timer", port, "interface Ethernet1/1\npriority-flow-control pause watchdog port timer timeout 0.40 polling-interval auto recovery-time 2.0 forced", "   no switchport\n   priority-flow-control pause watchdog port timer timeout 0.4 polling-interval auto recovery-time 2 forced\n", Options{}},
		{"comment", "qos profile P", "qos profile P\nuc-tx-queue 3\nno priority\n!! for RDMA\n! not this", "   !\n   uc-tx-queue 3\n      !! for RDMA\n      no priority\n", Options{}},
		{"queue removed", "qos profile P", "qos profile P\nuc-tx-queue 3\nno priority\nno uc-tx-queue 3", "", Options{QueueRemoval: true}},
		{"falls back", "management api gnmi", "management api gnmi\ntransport grpc default\nport 6031\noperation set persistence", "   transport grpc default\n      port 6031\n   operation set persistence\n", Options{}},
		{"acl", "ip access-list A", "ip access-list A\n20 deny ip any any\n10 permit tcp any any eq 22\nremark last", "   10 permit tcp any any eq 22\n   20 deny ip any any\n   30 remark last\n", Options{}},
		{"policy order", "policy-map type quality-of-service P", "policy-map type quality-of-service P\nclass b\nset traffic-class 3\nset traffic-class 4\nclass a\nset dscp 1", "   class b\n      set traffic-class 4\n   !\n   class a\n      set dscp 1\n", Options{}},
		{"code points by name", "class-map type qos match-any C", "class-map type qos match-any C\nmatch dscp af31 cs6 ef 1", "   match dscp 1 26 46 48\n", Options{}},
		{"other policies", "policy-map type pbr P", "policy-map type pbr P\n10 class A\nset nexthop 192.0.2.1", "   10 class A\n      set nexthop 192.0.2.1\n", Options{}},
		{"mmu", "platform trident mmu queue profile M", "platform trident mmu queue profile M\negress unicast queue 3 threshold 8\ningress priority-group 3 reserved cells 10\ningress threshold 1/4\ningress threshold 1/8", "   ingress threshold 1/8\n   ingress priority-group 3 reserved cells 10\n   egress unicast queue 3 threshold 8\n", Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Config = small
			e := newEOS(t, c.o)
			feed(t, e, c.lines)
			if got := inside(t, e, c.head); got != c.want {
				t.Errorf("%s:\n%swant:\n%s", c.head, got, c.want)
			}
		})
	}
}

// The effect of lines at the top level of the configuration: the lines that are new.
func TestGlobalLines(t *testing.T) {
	for _, c := range []struct {
		name, lines, want string
		o                 Options
	}{
		{"map", "qos map dscp 25 24 to traffic-class 1\nqos map dscp 27-29,31 to traffic-class 1", "qos map dscp 24 25 27 28 29 31 to traffic-class 1", Options{}},
		{"map removed", "qos map dscp 24 25 27 to traffic-class 1\nno qos map dscp 25\ndefault qos map dscp 27 to traffic-class 1", "qos map dscp 24 to traffic-class 1", Options{}},
		{"map moved", "qos map dscp 24 25 to traffic-class 1\nqos map dscp 25 to traffic-class 2", "qos map dscp 24 to traffic-class 1\nqos map dscp 25 to traffic-class 2", Options{}},
		{"map as by default", "qos map dscp 26 to traffic-class 3\nqos map dscp 0 to traffic-class 1\nqos map cos 0 to traffic-class 1", "", Options{}},
		{"map kept", "qos map dscp 26 to traffic-class 3\nqos map dscp 9 to traffic-class 0", "qos map dscp 9 to traffic-class 0\nqos map dscp 26 to traffic-class 3", Options{PrintDefaults: true}},
		{"two lowest classes swapped", "qos map dscp 0 to traffic-class 0\nqos map dscp 8 to traffic-class 1", "qos map dscp 0 to traffic-class 0\nqos map dscp 8 to traffic-class 1", Options{}},
		{"map order", "qos map traffic-class 3 to uc-tx-queue 2\nqos map traffic-class 3 to dscp 26\nqos map dscp 1 to traffic-class 2\nqos map cos 1 to traffic-class 2\nqos rewrite dscp",
			"qos rewrite dscp\nqos map cos 1 to traffic-class 2\nqos map dscp 1 to traffic-class 2\nqos map traffic-class 3 to dscp 26\nqos map traffic-class 3 to uc-tx-queue 2", Options{}},
		{"shortest decimals", "priority-flow-control pause watchdog default timeout 0.20\npriority-flow-control pause watchdog default recovery-time 60\npriority-flow-control pause watchdog default polling-interval 0.005",
			"priority-flow-control pause watchdog default timeout 0.2\npriority-flow-control pause watchdog default recovery-time 60\npriority-flow-control pause watchdog default polling-interval 0.005", Options{}},
		{"half of the timeout", "priority-flow-control pause watchdog default timeout 0.2\npriority-flow-control pause watchdog default recovery-time 0.4\npriority-flow-control pause watchdog default polling-interval 0.101",
			"priority-flow-control pause watchdog default timeout 0.2\npriority-flow-control pause watchdog default recovery-time 0.4", Options{}},
		{"removed", "priority-flow-control pause watchdog action drop\npriority-flow-control all off\nno priority-flow-control pause watchdog action\nno priority-flow-control all off", "", Options{}},
		{"names", "qos uc-tx-queue 3 name RDMA\nqos uc-tx-queue 3 name LOSSLESS", "qos uc-tx-queue 3 name LOSSLESS", Options{}},
		{"last hostname", "hostname a\nhostname leaf1", "", Options{}},
		{"routes", "ip route 10.0.0.0/8 10.1.1.1\nip route 11.0.0.0/8 10.1.1.1\nno ip route 10.0.0.0/8", "ip route 11.0.0.0/8 10.1.1.1", Options{}},
		{"no is a state", "no ip routing vrf A\nno aaa root", "no aaa root\nno ip routing vrf A", Options{}},
		{"banner", "banner login\n  hostname evil\n\nEOF\nno ip routing", "banner login\n  hostname evil\n\nEOF\nno ip routing", Options{}},
		{"crlf", "banner motd\r\nhi\r\nEOF\r\nqos rewrite dscp\r\n", "banner motd\nhi\nEOF\nqos rewrite dscp", Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Config = small
			e := newEOS(t, c.o)
			have := map[string]bool{"!": true}
			for _, l := range cli.SplitLines(bodyOf(e)) {
				have[l] = true
			}
			feed(t, e, c.lines)
			var got []string
			for _, l := range cli.SplitLines(bodyOf(e)) {
				if !have[l] {
					got = append(got, l)
				}
			}
			want := strings.Split(c.want, "\n")
			if c.name == "banner" {
				// Banners come after the routing section.
				want = append(want[4:], want[:4]...)
			}
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

// A rejected line is answered in the box's words and changes neither the configuration nor the
// mode.
func TestRefusedLines(t *testing.T) {
	const port = "interface Ethernet1/1"
	const profile = "qos profile P"
	const queue = "qos profile P\nuc-tx-queue 3"
	const input, incomplete = "% Invalid input (at token ", "% Incomplete command"
	sand := Options{Model: "DCS-7280CR3-32P4"}
	for _, c := range []struct {
		mode, line, want string
		o                Options
	}{
		{"", "frobnicate", input + "0: 'frobnicate')", Options{}},
		{"", "qos map dscp 64 to traffic-class 1", input + "3: '64')", Options{}},
		{"", "qos map dscp 24 25 to traffic-class 8", input + "7: '8')", Options{}},
		{"", "qos map dscp 30-24 to traffic-class 1", input + "3: '30-24')", Options{}},
		{"", "qos map dscp 24 to", incomplete, Options{}},
		{"", "no", incomplete, Options{}},
		{"", "no qos map dscp", incomplete, Options{}},
		{"", "qos map traffic-class 3 to tx-queue 3", unavailable, Options{}},
		{"", "qos map traffic-class 3 to uc-tx-queue 3", unavailable, sand},
		{"", "no ip route", incomplete, Options{}},
		{"", "priority-flow-control pause watchdog default timeout 0.001", input + "5: '0.001')", Options{}},
		{"", "priority-flow-control pause watchdog default timeout 60.01", input + "5: '60.01')", Options{}},
		{"", "priority-flow-control pause watchdog default timeout 0.125", input + "5: '0.125')", Options{}},
		{"", "priority-flow-control pause watchdog default polling-interval 31", input + "5: '31')", Options{}},
		{"", "priority-flow-control pause watchdog action errdisable", input + "4: 'errdisable')", Options{}},
		{"", "bandwidth percent 5", input + "0: 'bandwidth')", Options{}},
		{"", "no interface Ethernet1/1", input + "2: 'Ethernet1/1')", Options{}},
		{"", "ip", incomplete, Options{}},
		{"", "platform trident mmu queue profile X", unavailable, sand},
		{port, "mtu 9215", input + "1: '9215')", Options{}},
		{port, "mtu 67", input + "1: '67')", Options{}},
		{port, "priority-flow-control mode on", input + "1: 'mode')", Options{}},
		{port, "priority-flow-control priority 8 no-drop", input + "2: '8')", Options{}},
		{port, "priority-flow-control priority 3", incomplete, Options{}},
		{port, "pri", incomplete, Options{}},
		{port, "s", "% Ambiguous command (at token 0: 's')", Options{}},
		{port, "tx-queue 3", unavailable, Options{}},
		{port, "uc-tx-queue 3", unavailable, sand},
		{port, "uc-tx-queue 8", input + "1: '8')", Options{}},
		{port, "no uc-tx-queue 3", input + "0: 'no')", Options{}},
		{"interface Loopback0", "priority-flow-control on", input + "1: 'on')", Options{}},
		{"interface Port-Channel1", "uc-tx-queue 3", input + "0: 'uc-tx-queue')", Options{}},
		{profile, "service-profile X", input + "0: 'service-profile')", Options{}},
		{profile, "mtu 9214", input + "0: 'mtu')", Options{}},
		{queue, "bandwidth percent 0", input + "2: '0')", Options{}},
		{queue, "bandwidth percent 101", input + "2: '101')", Options{}},
		{queue, "random-detect ecn minimum-threshold 1 kbytes", incomplete, Options{}},
		{queue, "random-detect ecn minimum-threshold 1 miles maximum-threshold 2 kbytes", input + "4: 'miles')", Options{}},
		{queue, "random-detect ecn minimum-threshold 1 milliseconds maximum-threshold 2 milliseconds", unavailable, Options{}},
		{queue, "random-detect ecn minimum-threshold 2 mbytes maximum-threshold 1999 kbytes", "% Error: minimum-threshold is above maximum-threshold", Options{}},
		{queue, "random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes max-mark-probability 0", input + "9: '0')", Options{}},
		{queue, "random-detect ecn minimum-threshold 1 kbytes maximum-threshold 2 kbytes weight 16", input + "9: '16')", Options{}},
		{"qos profile P\ntx-queue 3", "random-detect ecn minimum-threshold 1 segments maximum-threshold 2 segments", unavailable, sand},
		{"ip access-list A\n10 permit ip any any", "10 deny ip any any", "% Duplicate sequence number", Options{}},
		{queue, "random-detect ecn count", unavailable, Options{Refuse: []string{`ecn count$`}}},
		{port, "priority-flow-control on", unavailable, Options{Refuse: []string{`^priority-flow-control`}}},
	} {
		t.Run(c.line, func(t *testing.T) {
			c.o.Config = small
			e := newEOS(t, c.o)
			s, err := e.openSession("t", "admin")
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range cli.SplitLines(c.mode) {
				if out := s.line(l); strings.HasPrefix(out, "%") {
					t.Fatalf("%s: %s", l, out)
				}
			}
			before, prompt := s.text(), s.prompt()
			if out := s.line("  " + c.line + " "); out != c.want {
				t.Errorf("answer %q, want %q", out, c.want)
			}
			if s.text() != before || s.prompt() != prompt {
				t.Errorf("the line changed something: %s", s.prompt())
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	e := newEOS(t, Options{Config: small})
	s := e.openTerminal("admin")
	for _, c := range []struct{ line, want string }{
		{"interface Ethernet1/1", ""},
		{"service-profile NONE", "! QoS profile NONE is not configured"},
		{"qos profile SOME", ""},
		{"interface Ethernet1/1", ""},
		{"service-profile SOME", ""},
		{"no qos profile SOME", ""},
		{"interface Ethernet99/1", "! Interface does not exist. The configuration will not take effect until the module is inserted."},
		{"mtu 9000", ""},
		{"priority-flow-control pause watchdog port timer timeout 1 polling-interval 0.6 recovery-time 2", pollingWarning},
		{"priority-flow-control pause watchdog default polling-interval 1", ""},
		{"priority-flow-control pause watchdog default timeout 1", ""},
		{"priority-flow-control pause watchdog default recovery-time 1", pollingWarning},
	} {
		if out := s.line(c.line); out != c.want {
			t.Errorf("%s: %q, want %q", c.line, out, c.want)
		}
	}
	if got := inside(t, e, "interface Ethernet1/1"); !strings.Contains(got, "   service-profile SOME\n") {
		t.Errorf("the port lost the profile that was removed:\n%s", got)
	}
	if got := e.Running(); strings.Contains(got, "default polling-interval") || !strings.Contains(got, "timeout 1 polling-interval auto recovery-time 2\n") {
		t.Errorf("the polling interval was not substituted:\n%s", got)
	}
}

func TestPrompts(t *testing.T) {
	e := newEOS(t, Options{Config: small})
	s, err := e.openSession("rf-abcdef", "admin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"", "(config-s-rf-abc)"},
		{"interface Ethernet1/1", "(config-s-rf-abc-if-Et1/1)"},
		{"uc-tx-queue 3", "(config-s-rf-abc-if-Et1/1-uc-txq-3)"},
		{"mtu 9000", "(config-s-rf-abc-if-Et1/1)"},
		{"qos profile P", "(config-s-rf-abc-qos-profile-P)"},
		{"hostname x", "(config-s-rf-abc)"},
	} {
		if out := s.line(c.line); out != "" {
			t.Errorf("%s: %s", c.line, out)
		}
		if p := s.prompt(); p != c.want {
			t.Errorf("%s: prompt %s, want %s", c.line, p, c.want)
		}
	}
	s.line("interface Po1")
	if s.exit() {
		t.Error("exit of a sub-mode left the configuration")
	}
	if !s.exit() {
		t.Error("exit at the top did not leave the configuration")
	}
}

// Loading takes linear time: a long configuration loads and reads back.
func TestLongConfiguration(t *testing.T) {
	var b strings.Builder
	b.WriteString("hostname big\r\n!\r\nip access-list LONG\r\n")
	for i := range 40_000 {
		fmt.Fprintf(&b, "   %d permit tcp host 10.%d.%d.1 any\r\n", 10*(i+1), i/250, i%250)
	}
	b.WriteString("!\r\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "ip route 11.%d.%d.0/24 10.0.0.1\r\n", i/250, i%250)
	}
	e := newEOS(t, Options{Config: b.String()})
	if n := strings.Count(e.Running(), "\n"); n < 50_000 {
		t.Errorf("%d lines", n)
	}
	if again := newEOS(t, Options{Config: e.Running()}); again.Running() != e.Running() {
		t.Error("it reads back as another configuration")
	}
}

func TestRefusedStartup(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Config: small + "mtu 9\n"}, `config line 6: "mtu 9": % Invalid input (at token 1: '9')`},
		{Options{Config: "banner login\nhi\n"}, "banner without its EOF"},
		{Options{Refuse: []string{"("}}, "refused lines"},
		{Options{QueueKeyword: "queue"}, "queue keyword"},
	} {
		if _, err := New(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}
