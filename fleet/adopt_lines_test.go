package fleet_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet"
)

// Patterns for the lines that the import must account for, independent of the decoders: all
// lines of QoS blocks, and lines of other blocks that begin with certain words. A block ends where
// another one begins, or at a line that is not indented if its lines are.
var (
	qosBlock   = regexp.MustCompile(`^(class-map|policy-map|qos profile|system qos|port-profile)\b`)
	otherBlock = regexp.MustCompile(`^(class-map|policy-map) type (control-plane|copp|pbr|pdp|traffic|inspect)|^(class-map|policy-map) .*copp`)
	anyBlock   = regexp.MustCompile(`^(class-map|policy-map|qos profile|system qos|port-profile|interface|router|vrf|vlan|control-plane|line|vdc|vpc|route-map|management|daemon|mlag|ip|ipv6|hostname|version|feature|no feature|boot|username|snmp-server|ntp|logging|aaa|copp|cfs|qos map|qos rewrite|transceiver|service|spanning-tree|platform|hardware|banner|switchname|configure|end|key|monitor|telemetry|event-handler)\b`)
	qosLine    = regexp.MustCompile(`^(no |default )?(qos|priority-flow-control|random-detect|service-policy|service-profile|flowcontrol|(uc-|mc-)?tx-queue|mtu|l2 mtu|system jumbomtu|hardware qos|hardware buffer|platform \S+ (qos|buffer|pfc|mmu)|dcbx|congestion-control|inherit port-profile|traffic-policy)\b`)
	idleLine   = regexp.MustCompile(`^(!|description\b|exit\b|end\b|$)`)
	// headers match lines that only open a block whose lines are accounted for.
	headers = regexp.MustCompile(`^(qos profile|(uc-|mc-)?tx-queue|system qos|port-profile)\b`)
	number  = regexp.MustCompile(`\d+`)
	// promptBefore matches what a terminal shows in front of a typed line.
	promptBefore = regexp.MustCompile(`^[\w.-]+\(config[^)]*\)#[ \t]*`)
)

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// qosLines says for each line whether the import must account for it.
func qosLines(lines []string) []bool {
	about := make([]bool, len(lines))
	block, indent, inner := "", 0, false
	for i, l := range lines {
		l = promptBefore.ReplaceAllString(strings.TrimRight(l, "\r"), "")
		text, in := strings.TrimSpace(l), indentOf(l)
		if idleLine.MatchString(text) {
			continue
		}
		if inner && in <= indent || anyBlock.MatchString(text) && in <= indent {
			block, inner = "", false
		}
		if inner = inner || block != "" && in > indent; block == "" && anyBlock.MatchString(text) {
			block, indent = text, in
		}
		about[i] = qosLine.MatchString(text) && !strings.HasPrefix(block, "control-plane") || qosBlock.MatchString(block) && !otherBlock.MatchString(block)
	}
	return about
}

// lineMutations returns mutations that remove or alter each line that the import must account
// for. Removing the header of a block removes the lines indented below it.
func lineMutations(_ testing.TB, config []byte) (out []mutation) {
	lines := strings.Split(string(config), "\n")
	for i, about := range qosLines(lines) {
		if !about {
			continue
		}
		l := lines[i]
		end := i + 1
		for end < len(lines) && strings.TrimSpace(lines[end]) != "" && indentOf(lines[end]) > indentOf(l) {
			end++
		}
		text := strings.TrimSpace(l)
		out = append(out, mutation{fmt.Sprintf("line %d taken away: %s", i+1, text), replaced(lines, i, end)})
		prompt := promptBefore.FindString(l)
		if to := prompt + altered(strings.TrimRight(l[len(prompt):], "\r")); to != l {
			out = append(out, mutation{fmt.Sprintf("line %d altered: %s, was %s", i+1, strings.TrimSpace(to), text), replaced(lines, i, i+1, to)})
		}
	}
	return out
}

// replaced returns a function that makes a text of lines[:from], with and lines[to:].
func replaced(lines []string, from, to int, with ...string) func() []byte {
	return func() []byte { return []byte(strings.Join(slices.Concat(lines[:from], with, lines[to:]), "\n")) }
}

// rearranged returns a configuration as it is, with each QoS line twice, and with each two
// neighbours exchanged.
func rearranged(config []byte) []mutation {
	lines := strings.Split(string(config), "\n")
	out := []mutation{{"as it is", func() []byte { return config }}}
	about := qosLines(lines)
	for i := range lines {
		if !about[i] {
			continue
		}
		text := strings.TrimSpace(lines[i])
		out = append(out, mutation{fmt.Sprintf("line %d twice: %s", i+1, text), replaced(lines, i, i, lines[i])})
		if i+1 < len(lines) && about[i+1] && indentOf(lines[i]) == indentOf(lines[i+1]) {
			out = append(out, mutation{fmt.Sprintf("lines %d and %d exchanged: %s", i+1, i+2, text), replaced(lines, i, i+2, lines[i+1], lines[i])})
		}
	}
	return out
}

// missing returns the lines that the import must account for and that no account has.
func missing(got *fleet.Imported, config []byte) (out []string) {
	has := map[int]bool{}
	for _, a := range got.Accounts {
		for _, l := range a.Lines {
			has[l.No] = true
		}
	}
	lines := strings.Split(string(config), "\n")
	for i, about := range qosLines(lines) {
		text := promptBefore.ReplaceAllString(strings.TrimSpace(lines[i]), "")
		if about && !has[i+1] && !headers.MatchString(text) {
			out = append(out, fmt.Sprintf("line %d: %s", i+1, text))
		}
	}
	return out
}

// Each line of a QoS block, and each line about QoS elsewhere, is in the account under its number,
// also if it stands there twice or in another order.
func TestEveryQoSLineIsInTheAccount(t *testing.T) {
	for _, system := range []string{"eos", "nxos"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			var all []trial
			for _, c := range corpus(t, system) {
				for _, m := range rearranged(c.config) {
					all = append(all, trial{c, m})
				}
			}
			step := stepOf(len(all))
			tried := 0
			for i, m := range all {
				if m.what != "as it is" && i%step != 0 {
					continue
				}
				config := m.config()
				got, err := adopted(t, system, config)
				if err != nil {
					continue
				}
				tried++
				if lost := missing(got, config); len(lost) > 0 {
					t.Errorf("%s, %s: not in the account: %s", m.c.name, m.what, strings.Join(lost, "; "))
				}
			}
			t.Logf("%d of %d texts", tried, len(all))
		})
	}
}

// A default of the system that decides a value in the intent is named, with its ports, unless a line
// states the same.
func TestDefaultsThatDecideAreNamed(t *testing.T) {
	const eos = "hostname x\ninterface Ethernet1\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\ninterface Ethernet2\n   qos trust cos\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\nend\n"
	const nxos = "version 10.3(2)\nclass-map type qos match-any R\n  match dscp 26\npolicy-map type qos P\n  class R\n    set qos-group 3\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\nsystem qos\n  service-policy type network-qos N\n" +
		"interface Ethernet1/1\n  priority-flow-control mode on\n  service-policy type qos input P\ninterface Ethernet1/2\n  mtu 1500\n  priority-flow-control mode on\n  service-policy type qos input P\n"
	for _, c := range []struct{ system, text, kind, port, not string }{
		{"eos", eos, "trust", "Ethernet1", "Ethernet2"}, {"nxos", nxos, "mtu", "Ethernet1/1", "Ethernet1/2"},
	} {
		got, err := adopted(t, c.system, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var ports []string
		for _, d := range got.Accounts[0].Assumed {
			if d.Source == "" || d.Releases == "" {
				t.Errorf("%s: no source of %q", c.system, d.What)
			}
			if d.Kind.Attr().String() == c.kind {
				ports = append(ports, d.Ports...)
			}
		}
		if !slices.Contains(ports, c.port) || slices.Contains(ports, c.not) {
			t.Errorf("%s: %s is a default on %q", c.system, c.kind, ports)
		}
	}
}

// A default that decides a part of a value, or what lines of a map leave out, is named for the switch
// as a whole, unless a line states it.
func TestSwitchWideDefaultsAreNamed(t *testing.T) {
	const nxos = "version 10.3(2)\nclass-map type qos match-any R\n  match dscp 26\npolicy-map type qos P\n  class R\n    set qos-group 3\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n    mtu 9216\n    pause pfc-cos 3\nsystem qos\n  service-policy type network-qos N\n" +
		"interface Ethernet1/1\n  mtu 9216\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  service-policy type qos input P\npriority-flow-control watch-dog-interval on\n"
	const cumulus = "nv set qos roce state enabled\nnv set qos roce mode lossless\nnv set interface swp1-2 qos pfc-watchdog state enabled\nnv set interface swp1-2 link mtu 9216\n"
	const eos = "hostname x\nqos map dscp 26 to traffic-class 3\ninterface Ethernet1\n   qos trust dscp\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n"
	for _, c := range []struct {
		system, text, says string
		named              bool
	}{
		{"nxos", nxos, "every 100 ms", true},
		{"nxos", nxos + "priority-flow-control watch-dog interval 200\n", "every 100 ms", false},
		{"nxos", nxos + "priority-flow-control watch-dog interval 200\n", "after 10 intervals", true},
		{"nxos", strings.ReplaceAll(nxos, "priority-flow-control watch-dog-interval on\n", ""), "every 100 ms", false},
		{"cumulus", cumulus, "after 3 intervals", true},
		{"cumulus", cumulus + "nv set qos pfc-watchdog robustness 4\n", "after 3 intervals", false},
		{"cumulus", cumulus + "nv set qos pfc-watchdog robustness 4\n", "every 100 ms", true},
		{"eos", eos, "8-15 in 0", true},
	} {
		got, err := adopted(t, c.system, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		named := false
		for _, d := range got.Accounts[0].Assumed {
			named = named || strings.Contains(d.What, c.says)
		}
		if named != c.named {
			t.Errorf("%s\n%s: named: %v, want %v", c.text, c.says, named, c.named)
		}
	}
}
