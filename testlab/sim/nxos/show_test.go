package nxos

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli/clitest"
)

// losslessConfig has working PFC for priority 3 on one port; each of three other ports lacks one
// condition for it.
const losslessConfig = `policy-map type network-qos NQ
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
class-map type qos match-any ROCE
  match dscp 26
policy-map type qos IN
  class ROCE
    set qos-group 3
  class class-default
    set qos-group 0
policy-map type queuing OUT
  class type queuing c-out-8q-q7
    priority level 1
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 50
system qos
  service-policy type network-qos NQ
priority-flow-control watch-dog-interval on
interface Ethernet1/1
  description to spine1
  mtu 9216
  priority-flow-control mode on
  priority-flow-control watch-dog-interval on
  service-policy type qos input IN
  service-policy type queuing output OUT
interface Ethernet1/2
  priority-flow-control mode on
interface Ethernet1/3
  service-policy type qos input IN
interface Ethernet1/4
  priority-flow-control mode on
  service-policy type qos input IN
  shutdown
`

// shown returns the decoded JSON of a show command.
func shown(t testing.TB, k *clitest.Console, cmd string) any {
	t.Helper()
	var v any
	out := k.Do(cmd + " | json | no-more")
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%s: %v in %q", cmd, err, out)
	}
	return v
}

// dig follows steps into decoded JSON: a key, or "key=value" to select a row of a list.
func dig(v any, steps ...string) any {
	for _, s := range steps {
		key, want, row := strings.Cut(s, "=")
		switch x := v.(type) {
		case map[string]any:
			if row {
				return fmt.Sprintf("an object at %s", s)
			}
			v = x[key]
		case []any:
			v = nil
			for _, e := range x {
				if m, _ := e.(map[string]any); m[key] == want {
					v = m
				}
			}
		default:
			return fmt.Sprintf("nothing above %s", s)
		}
	}
	return v
}

func TestShowJSON(t *testing.T) {
	n := serve(t, Options{})
	write(t, n, losslessConfig)
	counts(n)
	k := shellOf(t, n)
	pfc := []string{"TABLE_module", "ROW_module", "TABLE_pfc_interface", "ROW_pfc_interface"}
	queuing := []string{"TABLE_module", "ROW_module", "TABLE_queuing_interface", "ROW_queuing_interface"}
	in := func(base []string, more ...string) []string { return append(append([]string{}, base...), more...) }
	group3 := []string{"TABLE_qosgrp_egress_stats", "ROW_qosgrp_egress_stats", "eq-qosgrp=3", "TABLE_qosgrp_egress_stats_entry", "ROW_qosgrp_egress_stats_entry"}
	for _, tc := range []struct {
		cmd  string
		path []string
		want any
	}{
		{"show version", []string{"nxos_ver_str"}, "10.4(3)"},
		{"show version", []string{"chassis_id"}, "Nexus9000 C9332D-GX2B Chassis"},
		{"show version", []string{"host_name"}, "leaf1"},
		{"show inventory", []string{"TABLE_inv", "ROW_inv", "productid"}, "N9K-C9332D-GX2B"},
		{"show interface", []string{"TABLE_interface", "ROW_interface", "interface=Ethernet1/1", "eth_mtu"}, "9216"},
		{"show interface", []string{"TABLE_interface", "ROW_interface", "interface=Ethernet1/4", "admin_state"}, "down"},
		{"show interface ethernet 1/1", []string{"TABLE_interface", "ROW_interface", "desc"}, "to spine1"},
		{"show interface eth1/1", []string{"TABLE_interface", "ROW_interface", "eth_outpkts"}, "5000"},
		{"show interface priority-flow-control", in(pfc, "if_name_str=Ethernet1/1", "admin"), "On"},
		{"show interface priority-flow-control", in(pfc, "if_name_str=Ethernet1/1", "oper"), "On"},
		{"show interface priority-flow-control", in(pfc, "if_name_str=Ethernet1/1", "rx-stats"), "125"},
		{"show interface priority-flow-control", in(pfc, "if_name_str=Ethernet1/3", "oper"), "Off"},
		{"show interface Ethernet1/1 priority-flow-control", in(pfc, "vl-bmp"), "8"}, // a single row is an object
		{"show queuing interface", in(queuing, "dir=Egress", "nothing"), nil},
		{"show queuing interface Ethernet1/1", in(queuing, "dir=Egress", "TABLE_qosgrp_cfg", "ROW_qosgrp_cfg", "qosgrp=3", "bandwidth"), "50"},
		{"show queuing interface Ethernet1/1", in(queuing, "dir=Egress", "TABLE_qosgrp_cfg", "ROW_qosgrp_cfg", "qosgrp=7", "priority"), "1"},
		{"show queuing interface Ethernet1/2", in(queuing, "dir=Egress", "TABLE_qosgrp_cfg", "ROW_qosgrp_cfg", "qosgrp=0", "bandwidth"), "100"},
		{"show queuing interface Ethernet1/1", in(queuing, append([]string{"dir=Egress"}, append(group3, "eq-stat-type=Dropped", "eq-stat-units")...)...), "Byts"},
		{"show queuing interface Ethernet1/1", in(queuing, "dir=Ingress", "tx-ppp"), "98"},
		{"show queuing interface Ethernet1/1", in(queuing, "dir=Ingress", "TABLE_pfc_stats", "ROW_pfc_stats", "cos=3", "rx-pause-count"), "120"},
		{"show queuing interface Ethernet1/1", in(queuing, "dir=Ingress", "TABLE_pfc_stats", "ROW_pfc_stats", "cos=4", "tx-pause-state"), "Inactive"},
		{"show queuing pfc-queue", []string{"TABLE_module", "ROW_module", "glb-wd-status"}, "Enabled"},
		{"show queuing pfc-queue", []string{"TABLE_module", "ROW_module", "glb-auto-restore"}, "10"},
		{"show queuing pfc-queue", in(queuing, "if_name_str=Ethernet1/1 Interface PFC watchdog: [Enabled]", "qosgrp_3_state"), "Shutdown"},
		{"show queuing pfc-queue", in(queuing, "if_name_str=Ethernet1/2 Interface PFC watchdog: [Disabled]", "qosgrp_3_state"), "-"},
		{"show queuing pfc-queue interface Ethernet1/1 detail", in(queuing, "TABLE_qosgrp_stats", "ROW_qosgrp_stats", "eq-qosgrp"), "3 [Shutdown]"},
		{"show queuing pfc-queue interface Ethernet1/1 detail", in(queuing, "TABLE_qosgrp_stats", "ROW_qosgrp_stats", "TABLE_qosgrp_stats_entry", "ROW_qosgrp_stats_entry", "q-stat-type=Shutdown", "q-shutdown"), "2"},
		{"show lldp neighbors", []string{"TABLE_nbor", "ROW_nbor", "port_id"}, "Ethernet1/7"},
		{"show lldp neighbors", []string{"TABLE_nbor", "ROW_nbor", "l_port_id"}, "Eth1/1"},
		{"show lldp neighbors detail", []string{"TABLE_nbor_detail", "ROW_nbor_detail", "sys_name"}, "spine1"},
	} {
		if got := dig(shown(t, k, tc.cmd), tc.path...); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v is %v, want %v", tc.cmd, tc.path, got, tc.want)
		}
	}
	n.SetNeighbor("Ethernet1/1", "", "")
	if got := shown(t, k, "show lldp neighbors"); dig(got, "TABLE_nbor") != nil {
		t.Errorf("a table without rows: %v", got)
	}
	if pretty := k.Do("show version | json-pretty"); !strings.HasPrefix(pretty, "{\n    \"") {
		t.Errorf("json-pretty: %q", pretty)
	}
	k.Talk([3]string{"show running-config | json", noStructure + "\n", "leaf1# "})
}

// PFC works only if all of its conditions hold.
func TestLivePFC(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(\S+)\s+(Auto|On|Off)\s+(On|Off)\s*(?:\(([^)]*)\))?\s+(\d+)\s+(\d+)\s*$`)
	state := func(n *NXOS) map[string][]string {
		out := map[string][]string{}
		for _, m := range line.FindAllStringSubmatch(shellOf(t, n).Do("show interface priority-flow-control"), -1) {
			out[m[1]] = m[2:5]
		}
		return out
	}
	n := serve(t, Options{})
	write(t, n, losslessConfig)
	want := map[string][]string{"Ethernet1/1": {"On", "On", "8"}, "Ethernet1/2": {"On", "On", "0"}, "Ethernet1/3": {"Auto", "Off", ""}, "Ethernet1/4": {"On", "Off", ""}}
	if d := cmp.Diff(want, state(n)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for name, tc := range map[string]struct{ lines, bitmap string }{
		"a second priority":         {"class-map type qos match-any STORAGE\nmatch dscp 24\npolicy-map type qos IN\nclass STORAGE\nset qos-group 4\npolicy-map type network-qos NQ\nclass type network-qos c-8q-nq4\npause pfc-cos 4", "18"},
		"no pause":                  {"policy-map type network-qos NQ\nclass type network-qos c-8q-nq3\nno pause pfc-cos 3", "0"},
		"policy not attached":       {"system qos\nno service-policy type network-qos NQ", "0"},
		"mode auto":                 {"interface Ethernet1/1\nno priority-flow-control mode on", ""},
		"traffic not classified":    {"interface Ethernet1/1\nno service-policy type qos input IN", "0"},
		"PFC of the box turned off": {"priority-flow-control override-interface mode off", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := serve(t, Options{})
			write(t, n, losslessConfig)
			write(t, n, tc.lines)
			if got := state(n)["Ethernet1/1"]; len(got) != 3 || got[2] != tc.bitmap {
				t.Errorf("state %v, want bitmap %q", got, tc.bitmap)
			}
		})
	}
	n = serve(t, Options{DecimalBitmap: true})
	write(t, n, losslessConfig)
	write(t, n, "class-map type qos match-any STORAGE\nmatch dscp 24\npolicy-map type qos IN\nclass STORAGE\nset qos-group 4\npolicy-map type network-qos NQ\nclass type network-qos c-8q-nq4\npause pfc-cos 4")
	if got := state(n)["Ethernet1/1"]; len(got) != 3 || got[2] != "24" {
		t.Errorf("decimal bitmap: %v", got)
	}
}

// A member of a port-channel uses the settings of the port-channel.
func TestChannelMembers(t *testing.T) {
	n := serve(t, Options{})
	write(t, n, losslessConfig)
	write(t, n, "interface port-channel10\npriority-flow-control mode on\nservice-policy type qos input IN\ninterface Ethernet1/3\nno service-policy type qos input IN\nchannel-group 10 mode active")
	out := shellOf(t, n).Do("show interface Ethernet1/3 priority-flow-control")
	if !regexp.MustCompile(`(?m)^Ethernet1/3 +On +On +\(8\) `).MatchString(out) {
		t.Errorf("%s", out)
	}
}

func TestShowText(t *testing.T) {
	n := serve(t, Options{})
	write(t, n, losslessConfig)
	counts(n)
	k := shellOf(t, n)
	for cmd, wants := range map[string][]string{
		"show version": {"Cisco Nexus Operating System (NX-OS) Software\n", " NXOS: version 10.4(3)\n", "  cisco Nexus9000 C9332D-GX2B Chassis\n"},
		"show policy-map system type network-qos":    {"  Type network-qos policy-maps\n", "  policy-map type network-qos NQ\n    class type network-qos c-8q-nq3\n      mtu 9216\n      pause pfc-cos 3\n"},
		"show class-map type network-qos":            {"    class-map type network-qos match-any c-8q-nq3\n      match qos-group 3\n"},
		"show queuing interface Ethernet1/1":         {"\nslot  1\n=======\n", "Egress Queuing for Ethernet1/1 [Interface]\n", "\n      3            50 ", "|        Tx Pkts |            5000|", "CONTROL QOS GROUP", "TxPPP:                    98, RxPPP:                   125\n", "\n   3         3         3    Active          98          Active             120\n"},
		"show queuing interface Ethernet1/2":         {"Egress Queuing for Ethernet1/2 [System]\n"},
		"show queuing pfc-queue detail":              {"Ethernet1/1 Interface PFC watchdog: [Enabled]\nDisable-action                     : No\nPFC watch-dog interface-multiplier : 0\n", "| QOS GROUP 3 [Shutdown] PFC [YES] PFC-COS [3]\n", "|                       Shutdown|                   2|\n"},
		"show interface Ethernet1/4":                 {"Ethernet1/4 is down (Administratively down)\nadmin state is down"},
		"show lldp neighbors":                        {"\nspine1               Eth1/1          120        BR          Ethernet1/7\nTotal entries displayed: 1\n"},
		"show lldp neighbors detail":                 {"\nPort id: Ethernet1/7\nLocal Port id: Eth1/1\n", "\nSystem Name: spine1\n"},
		"show running-config interface Ethernet1/1":  {"\ninterface Ethernet1/1\n  description to spine1\n"},
		`show running-config | section "system qos"`: {"system qos\n  service-policy type network-qos NQ\n"},
		"show running-config ipqos":                  {"!Command: show running-config ipqos\n", "\npolicy-map type network-qos NQ\n"},
		"show running-config all":                    {"class-map type queuing match-any c-out-8q-q7\n  match qos-group 7\n"},
	} {
		out := k.Do(cmd)
		for _, w := range wants {
			if !strings.Contains(out, w) {
				t.Errorf("%s: no %q in\n%s", cmd, w, out)
			}
		}
	}
	if out := k.Do("show policy-map system type network-qos | include pause"); out != "      pause pfc-cos 3\n" {
		t.Errorf("include: %q", out)
	}
	// Without an attached policy the system-defined one is in force, and it shows the class
	// model.
	for _, four := range []bool{false, true} {
		k := shellOf(t, serve(t, Options{FourQueue: four}))
		if out := k.Do("show class-map type network-qos"); strings.Contains(out, "c-8q-nq") == four {
			t.Errorf("class-maps, four queues %v: %s", four, out)
		}
		if out := k.Do("show policy-map system type network-qos"); strings.Contains(out, "c-8q-nq") == four {
			t.Errorf("policy, four queues %v: %s", four, out)
		}
	}
	write(t, n, "no feature lldp")
	if out := k.Do("show lldp neighbors"); strings.Contains(out, "spine1") {
		t.Errorf("LLDP without the feature: %q", out)
	}
}

func TestCheckpointsShown(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	k.Talk([3]string{"show checkpoint summary", "", "leaf1# "})
	k.Do("checkpoint first")
	if out := k.Do("show checkpoint summary"); !regexp.MustCompile(`^1\) first:\nCreated by admin\nCreated at \w{3}, [\d:]{8} \d\d \w{3} \d{4}\nSize is [\d,]+ bytes\nUser Checkpoint Summary\n-+\nDescription: None\n`).MatchString(out) {
		t.Errorf("summary: %q", out)
	}
	write(t, n, "interface Ethernet1/1\ndescription later")
	if out := k.Do("show diff rollback-patch checkpoint first running-config"); !strings.Contains(out, "description later") {
		t.Errorf("diff: %q", out)
	}
	if out := k.Do("rollback running-config checkpoint first atomic"); !strings.Contains(out, "Rollback completed successfully.") || strings.Contains(n.Running(), "later") {
		t.Errorf("rollback: %q", out)
	}
	if out := k.Do("show rollback status"); !strings.Contains(out, "Operation Status: Success") {
		t.Errorf("status: %q", out)
	}
	if out := k.Do("no checkpoint first") + k.Do("show checkpoint summary"); out != "" {
		t.Errorf("after its end: %q", out)
	}
}

func TestDualStageShell(t *testing.T) {
	n := serve(t, Options{})
	k := shellOf(t, n)
	k.Do("configure dual-stage")
	k.Talk([3]string{"interface Ethernet1/1", "", "leaf1(config-dual-stage-if)# "}, [3]string{"description later", "", "leaf1(config-dual-stage-if)# "})
	if out := k.Do("show configuration"); !strings.Contains(out, "description later") || strings.Contains(n.Running(), "later") {
		t.Errorf("buffer: %q", out)
	}
	for _, cmd := range []string{"commit now", "commit confirmed 5", "commit confirmed 30 more"} {
		if out := k.Do(cmd); !strings.Contains(out, "% Invalid command at '^' marker.") {
			t.Errorf("%s: %q", cmd, out)
		}
	}
	if out := k.Do("commit confirmed 600"); !strings.Contains(out, "Verification Succeeded.") || !strings.Contains(n.Running(), "later") {
		t.Errorf("commit: %q", out)
	}
	// The switch reports the expiry on the terminal.
	if !n.ExpireTimer() || strings.Contains(n.Running(), "later") {
		t.Error("the time was not over")
	}
	if out := k.Do("") + k.Do("show hostname"); !strings.Contains(out, "Confirm commit Timer expired") {
		t.Errorf("after the time: %q", out)
	}
	k.Do("hostname leaf1")
	k.Talk([3]string{"abort", "", "leaf1# "})
	k = shellOf(t, serve(t, Options{NoDualStage: true}))
	k.Talk([3]string{"configure dual-stage", invalidAt("leaf1# ", "configure "), "leaf1# "})
}

func TestCounterNames(t *testing.T) {
	n := serve(t, Options{NoSSH: true, NoGNMI: true})
	defer func() {
		if recover() == nil {
			t.Error("an unknown counter was taken")
		}
	}()
	n.SetCounter("Ethernet1/1", cli.NumQueues, cli.TxPkts, 1)
}
