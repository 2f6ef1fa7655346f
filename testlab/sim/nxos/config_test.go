package nxos

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

const small = "hostname leaf1\ninterface Ethernet1/1\n no switchport\ninterface Ethernet1/2\ninterface port-channel1\ninterface mgmt0\n"

// inside returns the printed lines of a top-level block without its header; "none" if the block
// does not exist.
func inside(t *testing.T, n *NXOS, head string) string {
	t.Helper()
	_, s, ok := strings.Cut("\n"+bodyOf(t, n), "\n"+head+"\n")
	if !ok {
		return "none"
	}
	var b strings.Builder
	for _, l := range cli.SplitLines(s) {
		if !strings.HasPrefix(l, " ") {
			break
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// TestLines checks the effect of lines on one block of the configuration.
func TestLines(t *testing.T) {
	const port, bridge, sys = "interface Ethernet1/1", "interface Ethernet1/2", "system qos"
	const que, nq, qos, cm = "policy-map type queuing P", "policy-map type network-qos P", "policy-map type qos P", "class-map type qos match-any A"
	const wred = "random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0"
	for _, c := range []struct {
		name, head, lines, want string
		o                       Options
	}{
		{"class-map", cm, "class-map match-any A\nmatch dscp 26,24\nmatch dscp 46-47\nno match dscp 47\nmatch cos 3\nmatch not dscp ef\ndescription a  b", "  description a  b\n  match cos 3\n  match dscp 24,26,46\n  match not dscp 46\n", Options{}},
		{"names of DSCPs", cm, "class-map type qos match-any A\nmatch dscp af31,cs6", "  match dscp 26,48\n", Options{}},
		{"default match type", "class-map type qos match-all A", "class-map A\nmatch cos 1\nclass-map A\nno match cos 1", "", Options{}},
		{"known match type", cm, "class-map match-any A\nclass-map A\nmatch cos 2", "  match cos 2\n", Options{}},
		{"class order", qos, "class-map A\nclass-map B\nclass-map C\npolicy-map P\nclass class-default\nset qos-group 0\nclass B\nset qos-group 1\nset qos-group 2\nclass A insert-before B\nclass C", "  class A\n  class B\n    set qos-group 2\n  class C\n  class class-default\n    set qos-group 0\n", Options{}},
		{"class moved", qos, "class-map A\nclass-map B\nclass-map C\nclass-map D\npolicy-map P\nclass A\nclass B\nclass C\nclass A insert-before C\nclass D\nclass D insert-before B\nclass class-default\nclass B insert-before class-default", "  class D\n  class B\n  class A\n  class C\n  class class-default\n", Options{}},
		{"class removed", qos, "class-map A\npolicy-map P\nclass type qos A\nset dscp 3\nno class A", "", Options{}},
		{"network-qos", nq, nq + "\nclass type network-qos c-8q-nq3\npause pfc-cos 4,3\nmtu 9216\nclass type network-qos c-8q-nq4\npause pfc-cos 3-5\nno pause pfc-cos 4", "  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3,4\n  class type network-qos c-8q-nq4\n    pause pfc-cos 3,5\n", Options{}},
		{"network-qos reset", nq, nq + "\nclass type network-qos c-8q-nq3\nmtu 9216\npause pfc-cos 3\nno mtu\nno pause", "  class type network-qos c-8q-nq3\n", Options{}},
		{"four queues", nq, nq + "\nclass type network-qos c-nq3\npause no-drop", "  class type network-qos c-nq3\n    pause no-drop\n", Options{FourQueue: true}},
		{"queuing order", que, que + "\nclass type queuing c-out-8q-q3\nqueue-limit dynamic 5\n" + wred + " ecn\nshape min 0 kbps max 10 gbps\nbandwidth percent 30\nclass type queuing c-out-8q-q7\npriority level 1",
			"  class type queuing c-out-8q-q3\n    bandwidth percent 30\n    shape min 0 kbps max 10 gbps\n    " + wred + " ecn\n    queue-limit dynamic 5\n  class type queuing c-out-8q-q7\n    priority level 1\n", Options{}},
		{"wred replaced", que, que + "\nclass type queuing c-out-8q-q3\n" + wred + " ecn\nrandom-detect threshold burst-optimized ecn\nrandom-detect non-ecn minimum-threshold 1 packets maximum-threshold 2 packets drop-probability 3", "  class type queuing c-out-8q-q3\n    random-detect threshold burst-optimized ecn\n    random-detect non-ecn minimum-threshold 1 packets maximum-threshold 2 packets drop-probability 3\n", Options{}},
		{"queue reset", que, que + "\nclass type queuing c-out-8q-q3\n" + wred + " ecn\nbandwidth remaining percent 5\nno bandwidth remaining percent 5\nno " + wred + " ecn\npriority level 3\nno priority level 3\nqueue-limit 7 kbytes\nqueue-limit dynamic 9", "  class type queuing c-out-8q-q3\n", Options{}},
		{"share moved", que, que + "\nclass type queuing c-out-8q-q3\nbandwidth remaining percent 60\nbandwidth remaining percent 40\nclass type queuing c-out-8q-q4\nbandwidth remaining percent 60", "  class type queuing c-out-8q-q3\n    bandwidth remaining percent 40\n  class type queuing c-out-8q-q4\n    bandwidth remaining percent 60\n", Options{}},
		{"ingress buffer", que, que + "\nclass type queuing c-in-q3\npause buffer-size 27456 pause-threshold 12480 resume-threshold 12480", "  class type queuing c-in-q3\n    pause buffer-size 27456 pause-threshold 12480 resume-threshold 12480\n", Options{Model: "N9K-C93180YC-EX"}},
		{"port order", port, "policy-map P\npolicy-map type queuing Q\nint eth1/1\nno shutdown\nservice-policy type queuing output Q\nservice-policy input P no-stats\nmtu 9000\npriority-flow-control watch-dog-interval on interface-multiplier 5 disable-action\npriority-flow-control mode on send-tlv\nip address 10.0.0.1/31\ndescription x  y",
			"  description x  y\n  no switchport\n  priority-flow-control mode on send-tlv\n  priority-flow-control watch-dog-interval on interface-multiplier 5 disable-action\n  mtu 9000\n  service-policy type qos input P no-stats\n  service-policy type queuing output Q\n  ip address 10.0.0.1/31\n  no shutdown\n", Options{}},
		{"port reset", port, "policy-map P\nint e1/1\nservice-policy type qos input P\nmtu 9216\npriority-flow-control mode on\npriority-flow-control watch-dog-interval on\nflowcontrol send on\nno service-policy type qos input P\nmtu 1500\nno priority-flow-control mode on\npriority-flow-control watch-dog-interval off\nno flowcontrol send on", "  no switchport\n", Options{}},
		{"bridged port is up", bridge, "int e1/2\nshutdown\nno shutdown\nmtu 9216", "  mtu 9216\n", Options{}},
		{"ports route by default", bridge, "no system default switchport\nint e1/2\nswitchport\nno shutdown", "  switchport\n  no shutdown\n", Options{}},
		{"range", bridge, "interface Ethernet1/1-2 , e1/1\npriority-flow-control mode on", "  priority-flow-control mode on\n", Options{}},
		{"default interface", port, "int e1/1\nip address 10.0.0.1/31\ndefault interface Ethernet1/1", "", Options{}},
		{"interface gone", "interface port-channel1", "no interface po1", "none", Options{}},
		{"system replaced", sys, nq + "\npolicy-map type network-qos Q\nsystem qos\nservice-policy type network-qos P\nservice-policy type network-qos Q", "  service-policy type network-qos Q\n", Options{}},
		{"system default", sys, nq + "\nsystem qos\nservice-policy type network-qos P\nno service-policy type network-qos P", "none", Options{}},
		{"system default by name", sys, nq + "\nsystem qos\nservice-policy type network-qos P\nservice-policy type network-qos default-8q-nq-policy", "none", Options{}},
		{"attached over another", port, "policy-map P\npolicy-map Q\nint e1/1\nservice-policy type qos input P\nservice-policy type qos input Q", "  no switchport\n  service-policy type qos input Q\n", Options{ReplacePolicy: true}},
		{"falls back", "vrf context A", "vrf context A\naddress-family ipv4 unicast\nroute-target both auto\nrd auto\nvlan 3", "  rd auto\n  address-family ipv4 unicast\n    route-target both auto\n", Options{}},
		{"acl", "ip access-list L", "ip access-list L\n20 deny ip any any\n10 permit tcp any any\nremark last\nno 20", "  10 permit tcp any any\n  30 remark last\n", Options{}},
		{"bgp", "router bgp 65001", "router bgp 65001\nrouter-id 1.1.1.1\nneighbor 10.0.0.2\nremote-as 65002\naddress-family ipv4 unicast\nsend-community\nneighbor 10.0.0.4\nremote-as 3", "  router-id 1.1.1.1\n  neighbor 10.0.0.2\n    remote-as 65002\n    address-family ipv4 unicast\n      send-community\n  neighbor 10.0.0.4\n    remote-as 3\n", Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Config = small
			n := newBox(t, c.o)
			feed(t, n, c.lines)
			if d := cmp.Diff(c.want, inside(t, n, c.head)); d != "" {
				t.Errorf("%s (-want +got):\n%s", c.head, d)
			}
		})
	}
}

// TestGlobalLines checks the effect of top-level lines: the lines that are new in the running
// configuration.
func TestGlobalLines(t *testing.T) {
	for _, c := range []struct {
		name, lines, want string
		o                 Options
	}{
		{"watchdog", pfc + "watch-dog-interval on\n" + pfc + "watch-dog interval 200\n" + pfc + "watch-dog shutdown-multiplier 2\n" + pfc + "auto-restore multiplier 5\n" + pfc + "fixed-restore multiplier 1",
			pfc + "watch-dog-interval on\n" + pfc + "watch-dog interval 200\n" + pfc + "watch-dog shutdown-multiplier 2\n" + pfc + "auto-restore multiplier 5\n" + pfc + "fixed-restore multiplier 1", Options{}},
		{"watchdog as by default", pfc + "watch-dog-interval on\nno " + pfc + "watch-dog-interval on\n" + pfc + "watch-dog interval 200\n" + pfc + "watch-dog interval 100\n" + pfc + "override-interface mode off\nno " + pfc + "override-interface mode off", "", Options{}},
		{"watchdog without timers", pfc + "watch-dog-interval on", pfc + "watch-dog-interval on", Options{NoWatchdogTimers: true}},
		{"feature", "feature bgp\nfeature lldp\nno feature bgp", "feature lldp", Options{}},
		{"no is a state", "no lldp tlv-select dcbxp", "no lldp tlv-select dcbxp", Options{}},
		{"unset state", "no lldp tlv-select dcbxp\ndefault lldp tlv-select dcbxp", "", Options{}},
		{"jumbo", "system jumbomtu 9000\nsystem jumbomtu 9216", "", Options{}},
		{"banner", "banner motd #hi\n interface Ethernet1/1\nthere#\nfeature bgp", "feature bgp\nbanner motd #hi\n interface Ethernet1/1\nthere#", Options{}},
		{"short banner", "banner motd @a b@", "banner motd @a b@", Options{}},
		{"routes", "ip route 10.0.0.0/8 10.1.1.1\nip route 11.0.0.0/8 10.1.1.1\nno ip route 10.0.0.0/8", "ip route 11.0.0.0/8 10.1.1.1", Options{}},
		{"another case", "FEATURE BGP\r\n! nothing\r\n", "feature bgp", Options{}},
		{"version", "version 9.3(2) Bios:version", "", Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Config = small
			n := newBox(t, c.o)
			have := map[string]bool{"": true, "interface Ethernet1/1": true}
			for _, l := range cli.SplitLines(bodyOf(t, n)) {
				have[l] = true
			}
			feed(t, n, c.lines)
			got := slices.DeleteFunc(cli.SplitLines(bodyOf(t, n)), func(l string) bool { return have[l] })
			if d := cmp.Diff(c.want, strings.Join(got, "\n")); d != "" {
				t.Errorf("new lines (-want +got):\n%s", d)
			}
		})
	}
}

func TestPrompts(t *testing.T) {
	n := newBox(t, Options{Config: small})
	c := n.openTerminal("admin")
	for _, s := range []struct{ line, want string }{
		{"", "(config)"},
		{"class-map type qos match-any A", "(config-cmap-qos)"},
		{"policy-map type qos P", "(config-pmap-qos)"},
		{"class A", "(config-pmap-c-qos)"},
		{"class class-default", "(config-pmap-c-qos)"},
		{"policy-map type network-qos P", "(config-pmap-nqos)"},
		{"class type network-qos c-8q-nq3", "(config-pmap-nqos-c)"},
		{"policy-map type queuing P", "(config-pmap-que)"},
		{"class type queuing c-out-8q-q3", "(config-pmap-c-que)"},
		{"exit", "(config-pmap-que)"},
		{"system qos", "(config-sys-qos)"},
		{"interface Ethernet1/1", "(config-if)"},
		{"interface Ethernet1/1-2", "(config-if-range)"},
		{"interface Ethernet1/1.5", "(config-subif)"},
		{"vlan 7", "(config-vlan)"},
		{"hostname x", "(config)"},
	} {
		if out := c.line(s.line); out != "" {
			t.Errorf("%s: %s", s.line, out)
		}
		if p := c.prompt(); p != s.want {
			t.Errorf("%s: prompt %s, want %s", s.line, p, s.want)
		}
	}
	c.line("interface Ethernet1/1")
	if c.exit() || !c.exit() {
		t.Error("exit leaves the wrong mode")
	}
}

func TestFlaps(t *testing.T) {
	n := newBox(t, Options{Config: small + "interface Ethernet1/2\nshutdown\n"})
	if d := cmp.Diff([]string{"Ethernet1/2"}, n.Down()); d != "" {
		t.Error(d)
	}
	feed(t, n, "interface Ethernet1/1-2\nshutdown\nno shutdown")
	if d := cmp.Diff(map[string]int{"Ethernet1/1": 1, "Ethernet1/2": 1}, n.Flaps()); d != "" {
		t.Error(d)
	}
	if d := n.Down(); len(d) != 0 {
		t.Errorf("down: %v", d)
	}
}

func TestStates(t *testing.T) {
	n := newBox(t, Options{Config: "priority-flow-control watch-dog-interval on\npriority-flow-control watch-dog shutdown-multiplier 3\n" + readFile(t, "double.cfg") + "  priority-flow-control mode on send-tlv\n  priority-flow-control watch-dog-interval on interface-multiplier 7 disable-action\n  description to leaf\n  shutdown\n"})
	p := n.portStates()[0]
	p.Lines = nil
	want := portState{Name: "Ethernet1/1", Kind: "Ethernet", Description: "to leaf", MTU: 9216, Shutdown: true, Wire: cli.Wire{Mute: true, Deaf: true}, PFC: "on", SendTLV: true, Watchdog: true, DisableAction: true, WatchdogMultiplier: 7, QoSIn: "QOS_CLASSIFICATION"}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("port (-want +got):\n%s", d)
	}
	q := qosState{NetworkQoS: "QOS_NETWORK", QueuingIn: "default-in-policy", QueuingOut: "QOS_EGRESS_PORT", Watchdog: true, WatchdogInterval: 100, ShutdownMultiplier: 3, AutoRestore: 10, InternalMultiplier: 2}
	if d := cmp.Diff(q, n.qosState()); d != "" {
		t.Errorf("system (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[int][]int{3: {3}, 4: {4}}, n.lossless()); d != "" {
		t.Errorf("lossless (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[int][]int{}, newBox(t, Options{}).lossless()); d != "" {
		t.Errorf("lossless by default (-want +got):\n%s", d)
	}
	nq, ok := n.policy(typeNetwork, "QOS_NETWORK")
	wantNQ := policyMap{Type: typeNetwork, Name: "QOS_NETWORK", Classes: []policyClass{
		{"c-8q-nq3", 3, []string{"mtu 9216", "pause pfc-cos 3"}}, {"c-8q-nq4", 4, []string{"mtu 9216", "pause pfc-cos 4"}}, {"c-8q-nq-default", 0, []string{"mtu 9216"}}}}
	if d := cmp.Diff(wantNQ, nq); d != "" || !ok {
		t.Errorf("policy (-want +got):\n%s", d)
	}
	if all := n.policyMaps(typeQueuing); len(all) != 3 || !all[0].System || all[2].Name != "QOS_EGRESS_PORT" {
		t.Errorf("queuing policies: %+v", all)
	}
	if cms := n.classMaps(typeQoS); len(cms) != 3 || cms[0].Match != "match-any" || cms[0].Lines[0] != "match dscp 26" {
		t.Errorf("class-maps: %+v", cms)
	}
	if _, ok := n.policy(typeQoS, "QOS_NETWORK"); ok {
		t.Error("a policy of another type")
	}
}

func TestWritesAreEntries(t *testing.T) {
	n := newBox(t, Options{Config: small})
	feed(t, n, "feature bgp\nfeature lldp")
	if c := n.openTerminal("admin"); !failed(c.line("frobnicate")) || n.Writes() != 2 {
		t.Errorf("%d writes after two entries", n.Writes())
	}
	n.openTerminal("admin").line("")
	if n.Writes() != 2 {
		t.Error("an entry without a line is a write")
	}
}

// A restart loses unsaved configuration but keeps checkpoints.
func TestRestart(t *testing.T) {
	n := newBox(t, Options{Config: small, TCAM: true})
	feed(t, n, "policy-map P\nhardware access-list tcam region ing-l2-qos 1536")
	const refused = `Module 1 returned status "TCAM region is not configured. Please configure TCAM region and retry"`
	c := n.openTerminal("admin")
	c.line("interface Ethernet1/1")
	if out := c.line("service-policy type qos input P"); out != refused {
		t.Errorf("before the restart: %q", out)
	}
	n.addCheckpoint("one")
	n.save()
	feed(t, n, "feature bgp")
	if err := n.Restart(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(n.Running(), "feature bgp") || len(n.Checkpoints()) != 1 {
		t.Error("unsaved lines survived, or the checkpoint did not")
	}
	feed(t, n, "interface Ethernet1/1\nservice-policy type qos input P")
}
