package eos

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

// at follows keys into decoded JSON.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Sprintf("no object above %q", k)
		}
		v = m[k]
	}
	return v
}

// shown returns the JSON of a show command.
func shown(t testing.TB, k *clitest.Console, cmd string) any {
	t.Helper()
	out := k.Do(cmd + " | json | no-more")
	var v any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("%s: %v in %q", cmd, err, out)
	}
	return v
}

// ecnConfig is a configuration in which queue 3 marks on two ports and counts on one of them.
func ecnConfig(keyword string) string {
	return strings.ReplaceAll(`qos profile ROCE
   KEY 3
      random-detect ecn minimum-threshold 1000 kbytes maximum-threshold 3000 kbytes
interface Ethernet1/1
   mtu 9214
   description to spine1
   service-profile ROCE
   KEY 3
      random-detect ecn count
interface Ethernet2/1
   shutdown
   service-profile ROCE
interface Ethernet3/1
   switchport
interface Ethernet4/1
   KEY 3
      random-detect ecn count
`, "KEY", keyword)
}

func countersOf(e *EOS) {
	for name, v := range map[string]uint64{cli.PFCRx: 120, cli.PFCTx: 98, cli.TxPkts: 5000, cli.TxOctets: 1 << 40, cli.DropPkts: 7, cli.DropOctets: 700, cli.ECNMarked: 41822, cli.WDStuck: 2, cli.WDRecovery: 1} {
		e.SetCounter("Ethernet1/1", 3, name, v)
	}
	e.SetCounter("Ethernet1/1", 4, cli.PFCRx, 5)
	e.SetNeighbor("Ethernet1/1", "spine1", "Ethernet7/1")
	e.SetNeighbor("Ethernet2/1", "spine2", "Ethernet8/1") // the port is shut down
	e.SetNeighbor("Ethernet4/1", "gone", "Ethernet9/1")
	e.SetNeighbor("Ethernet4/1", "", "")
}

func TestShowJSON(t *testing.T) {
	e := start(t, Options{})
	configure(t, e, ecnConfig("uc-tx-queue"))
	countersOf(e)
	k := shellOf(t, e)
	keys := func(s string) []string { return strings.Split(s, ".") }
	for _, tc := range []struct {
		cmd, path string
		want      any
	}{
		{"show version", "modelName", "DCS-7060DX5-64S"},
		{"show version", "mfgName", "Arista"},
		{"show version", "version", "4.34.2F"},
		{"show interfaces", "interfaces.Ethernet1/1.mtu", 9214.0},
		{"show interfaces", "interfaces.Ethernet1/1.forwardingModel", "routed"},
		{"show interfaces", "interfaces.Ethernet1/1.l3MtuConfigured", true},
		{"show interfaces", "interfaces.Ethernet4/1.mtu", 1500.0},
		{"show interfaces", "interfaces.Ethernet3/1.mtu", 9214.0},
		{"show interfaces", "interfaces.Ethernet3/1.forwardingModel", "bridged"},
		{"show interfaces", "interfaces.Ethernet3/1.l3MtuConfigured", false},
		{"show interfaces", "interfaces.Ethernet2/1.interfaceStatus", "disabled"},
		{"show interfaces Ethernet1/1", "interfaces.Ethernet4/1", nil},
		{"show interfaces Ethernet1/1", "interfaces.Ethernet1/1.description", "to spine1"},
		{"show interfaces status", "interfaceStatuses.Ethernet1/1.linkStatus", "connected"},
		{"show interfaces status", "interfaceStatuses.Ethernet2/1.linkStatus", "disabled"},
		{"show priority-flow-control counters", "interfaceCounters.Ethernet1/1.rxFrames", 125.0},
		{"show priority-flow-control counters", "interfaceCounters.Ethernet2/1.txFrames", 0.0},
		{"show interfaces priority-flow-control counters detail", "interfaces.Ethernet1/1.priorities.3.txFrames", 98.0},
		{"show interfaces Ethernet1/1 priority-flow-control counters detail", "interfaces.Ethernet1/1.priorities.4.rxFrames", 5.0},
		{"show priority-flow-control counters watchdog", "interfaces.Ethernet1/1.txQueues.3.stuckCount", 2.0},
		{"show priority-flow-control counters watchdog", "interfaces.Ethernet1/1.txQueues.4", nil},
		{"show priority-flow-control counters watchdog", "interfaces.Ethernet2/1", nil},
		{"show qos interfaces ecn counters queue", "intfQueueCounters.Ethernet1/1.queueCounters.3", "41822"},
		{"show qos interfaces ecn counters queue", "intfQueueCounters.Ethernet1/1.queueCounters.0", "-"},
		{"show qos interfaces ecn counters queue", "intfQueueCounters.Ethernet2/1.queueCounters.3", "-"}, // does not count
		{"show qos interfaces ecn counters queue", "intfQueueCounters.Ethernet4/1.queueCounters.3", "-"}, // does not mark
		{"show interfaces counters queue detail", "egressQueueCounters.interfaces.Ethernet1/1.ucastQueues.trafficClasses.TC3.dropPrecedences.DP0.droppedPackets", 7.0},
		{"show lldp neighbors detail", "lldpNeighbors.Ethernet2/1.lldpNeighborInfo", []any{}},
	} {
		if got := at(shown(t, k, tc.cmd), keys(tc.path)...); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %s is %v, want %v", tc.cmd, tc.path, got, tc.want)
		}
	}
	want := []any{map[string]any{"port": "Ethernet1/1", "neighborDevice": "spine1", "neighborPort": "Ethernet7/1", "ttl": 120.0}}
	if d := cmp.Diff(want, at(shown(t, k, "show lldp neighbors"), "lldpNeighbors")); d != "" {
		t.Error(d)
	}
	infos := at(shown(t, k, "show lldp neighbors detail"), "lldpNeighbors", "Ethernet1/1", "lldpNeighborInfo").([]any)
	if len(infos) != 1 || at(infos[0], "systemName") != "spine1" || at(infos[0], "neighborInterfaceInfo", "interfaceId_v2") != "Ethernet7/1" {
		t.Errorf("neighbour detail %v", infos)
	}
	row := regexp.MustCompile(`(?m)^(Et\S+)\s+(\S+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$`)
	var found bool
	for _, m := range row.FindAllStringSubmatch(k.Do("show interfaces counters queue detail"), -1) {
		found = found || cmp.Equal(m[1:], []string{"Et1/1", "UC3", "5000", "1099511627776", "7", "700"})
	}
	if !found {
		t.Error("the table of queue counters has no row for queue 3")
	}
}

// On Sand, marked packets are counted only with the hardware counter feature.
func TestECNCountersOnSand(t *testing.T) {
	e := start(t, Options{Model: "DCS-7280CR3-32P4"})
	configure(t, e, ecnConfig("tx-queue"))
	countersOf(e)
	k := shellOf(t, e)
	for _, want := range []string{"-", "41822"} {
		if got := at(shown(t, k, "show qos interfaces ecn counters queue"), "intfQueueCounters", "Ethernet1/1", "queueCounters", "3"); got != want {
			t.Errorf("marked packets %v, want %s", got, want)
		}
		configure(t, e, "hardware counter feature ecn out")
	}
}

func TestShowText(t *testing.T) {
	e := start(t, Options{})
	configure(t, e, ecnConfig("uc-tx-queue"))
	k := shellOf(t, e)
	if got := k.Do("show running-config"); got != e.Running() {
		t.Errorf("running-config: %s", cmp.Diff(e.Running(), got))
	}
	if got := k.Do("show startup-config"); got != e.Startup() {
		t.Errorf("startup-config: %s", cmp.Diff(e.Startup(), got))
	}
	if got := k.Do("show running-config interfaces Ethernet2/1"); got != "interface Ethernet2/1\n   shutdown\n   no switchport\n   service-profile ROCE\n" {
		t.Errorf("one interface: %q", got)
	}
	all := k.Do("show running-config all interfaces Ethernet2/1")
	if !strings.Contains(all, "   priority-flow-control pause watchdog\n") || !strings.Contains(all, "   uc-tx-queue 7\n") {
		t.Errorf("one interface with defaults: %s", all)
	}
	profile := "qos profile ROCE\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 1000 kbytes maximum-threshold 3000 kbytes\n"
	for _, cmd := range []string{"show running-config | section qos", "show running-config section qos"} {
		if got := strings.ReplaceAll(k.Do(cmd), "   !\n", ""); got != profile {
			t.Errorf("%s: %q", cmd, got)
		}
	}
	if got := k.Do("show running-config | section interface | include mtu|switchport$"); got != "   mtu 9214\n   no switchport\n   no switchport\n   no switchport\n" {
		t.Errorf("include: %q", got)
	}
	if got := k.Do("show clock"); !strings.Contains(got, "Timezone: UTC\n") {
		t.Errorf("clock: %q", got)
	}
}

func TestCounterNames(t *testing.T) {
	e := start(t, Options{NoSSH: true, NoGNMI: true})
	defer func() {
		if recover() == nil {
			t.Error("an unknown counter was taken")
		}
	}()
	e.SetCounter("Ethernet1/1", 0, "pfc", 1)
}
