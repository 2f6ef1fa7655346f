package nxos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// worked is the configuration of a leaf with one lossless priority, from Cisco's AI/ML guidance,
// in the printing order of release 10.4.
const worked = `!Command: show running-config
!Running configuration last done at: Tue Mar  4 10:11:12 2025
!Time: Tue Mar  4 10:15:00 2025

version 10.4(3) Bios:version 01.11
hostname leaf1
policy-map type network-qos QOS_NETWORK
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
vdc leaf1 id 1
  limit-resource vlan minimum 16 maximum 4094

feature bgp
feature lldp

priority-flow-control watch-dog-interval on

class-map type qos match-any ROCE
  match dscp 26
class-map type qos match-any CNP
  match dscp 48
policy-map type qos QOS_CLASSIFICATION
  class ROCE
    set qos-group 3
  class CNP
    set qos-group 7
  class class-default
    set qos-group 0
policy-map type queuing QOS_EGRESS_PORT
  class type queuing c-out-8q-q6
    bandwidth remaining percent 0
  class type queuing c-out-8q-q5
    bandwidth remaining percent 0
  class type queuing c-out-8q-q4
    bandwidth remaining percent 0
  class type queuing c-out-8q-q3
    bandwidth remaining percent 50
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q2
    bandwidth remaining percent 0
  class type queuing c-out-8q-q1
    bandwidth remaining percent 0
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 50
  class type queuing c-out-8q-q7
    priority level 1
system qos
  service-policy type queuing output QOS_EGRESS_PORT
  service-policy type network-qos QOS_NETWORK
copp profile strict

interface Ethernet1/1
  description gpu-node1 rail0
  no switchport
  priority-flow-control mode on
  priority-flow-control watch-dog-interval on
  mtu 9216
  service-policy type qos input QOS_CLASSIFICATION
  ip address 10.1.1.0/31
  no shutdown

interface Ethernet1/25
  description spine1
  no switchport
  priority-flow-control mode on
  priority-flow-control watch-dog-interval on
  mtu 9216
  service-policy type qos input QOS_CLASSIFICATION
  ip address 10.2.1.0/31
  no shutdown
`

// twoLossless returns worked with a second lossless priority, for storage.
func twoLossless() string {
	return strings.NewReplacer(
		"  class type network-qos c-8q-nq-default\n", "  class type network-qos c-8q-nq4\n    mtu 9216\n    pause pfc-cos 4\n  class type network-qos c-8q-nq-default\n",
		"class-map type qos match-any CNP\n", "class-map type qos match-any ROCE_STORAGE\n  match dscp 24\nclass-map type qos match-any CNP\n",
		"  class CNP\n", "  class ROCE_STORAGE\n    set qos-group 4\n  class CNP\n",
		"c-out-8q-q4\n    bandwidth remaining percent 0\n", "c-out-8q-q4\n    bandwidth remaining percent 30\n    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\n",
		"c-out-8q-q-default\n    bandwidth remaining percent 50\n", "c-out-8q-q-default\n    bandwidth remaining percent 20\n",
	).Replace(worked)
}

// otherRelease prints a configuration in the order of older releases: class-maps first, input
// policies before others of their type, other orders of the lines in classes, system qos and
// interfaces, and CR line ends.
func otherRelease(t *testing.T, text string) string {
	c := parse(t, text)
	rank := func(l *Line) int {
		switch h, ok := headOf(l.Text); {
		case !ok:
			return 3
		case h.at == inClassMap:
			return 0
		case h.typ == typeQoS:
			return 1
		case h.typ == typeQueuing:
			return 2
		case h.at == inPolicy:
			return 4
		}
		return 5
	}
	slices.SortStableFunc(c.Lines, func(a, b *Line) int { return rank(a) - rank(b) })
	for _, l := range c.Lines {
		for _, s := range l.Sub {
			slices.Reverse(s.Sub)
		}
		if h, ok := headOf(l.Text); ok && h.at >= inSystem {
			slices.Reverse(l.Sub)
		}
	}
	out := c.String()
	if out == text {
		t.Fatal("the order is the same")
	}
	return strings.ReplaceAll(out, "\n", "\r\r\n")
}

func TestWorkedConfigurations(t *testing.T) {
	curve := qos.ECN{Enabled: true, Min: 150, Max: 3000, Unit: qos.UnitKBytes, Probability: 7}
	for name, c := range map[string]struct {
		text      string
		lossless  qos.PrioritySet
		weights   [8]int
		ecn       []int
		dscp      map[int]int8
		unlisted0 int
	}{
		"one":        {worked, qos.Priorities(3), [8]int{50, 0, 0, 50, 0, 0, 0, 0}, []int{3}, map[int]int8{26: 3, 48: 7, 24: 0}, 0},
		"one, older": {otherRelease(t, worked), qos.Priorities(3), [8]int{50, 0, 0, 50, 0, 0, 0, 0}, []int{3}, map[int]int8{26: 3, 48: 7, 24: 0}, 0},
		"two":        {twoLossless(), qos.Priorities(3, 4), [8]int{20, 0, 0, 50, 30, 0, 0, 0}, []int{3, 4}, map[int]int8{26: 3, 48: 7, 24: 4}, 0},
		"two, older": {otherRelease(t, twoLossless()), qos.Priorities(3, 4), [8]int{20, 0, 0, 50, 30, 0, 0, 0}, []int{3, 4}, map[int]int8{26: 3, 48: 7, 24: 4}, 0},
	} {
		d, unknown := Decode(parse(t, c.text), EightQueue)
		if len(unknown) > 0 || len(d.Ports) != 2 {
			t.Errorf("%s: %d ports, unknown %v", name, len(d.Ports), unknown)
		}
		p := d.Ports["Ethernet1/25"]
		want := qos.Watchdog{Enabled: true, Priorities: c.lossless, Action: qos.ActionDrop, Detect: 100 * time.Millisecond, Restore: time.Second}
		if p.PFC.V != c.lossless || p.Watchdog.V != want || p.MTU.V != 9216 || !p.AdminUp.V || d.WatchdogPoll.V != 100*time.Millisecond {
			t.Errorf("%s: pfc %s watchdog %s mtu %d up %v", name, p.PFC.V, p.Watchdog.V, p.MTU.V, p.AdminUp.V)
		}
		for q, queue := range p.Queues {
			want := qos.ECN{}
			if slices.Contains(c.ecn, q) {
				want = curve
			}
			if s := queue.Scheduler.V; s.Strict != (q == 7) || s.Weight != c.weights[q] || queue.ECN.V != want {
				t.Errorf("%s: queue %d: %s, %s", name, q, s, queue.ECN.V)
			}
		}
		m := p.Maps.V
		for dscp, tc := range c.dscp {
			if m.DSCPToTC[dscp] != tc {
				t.Errorf("%s: DSCP %d in group %d, not %d", name, dscp, m.DSCPToTC[dscp], tc)
			}
		}
		if m.PFCToQueue[3] != 3 || m.PFCToQueue[5] != qos.Unmapped || m.TCToQueue[5] != 5 || m != d.Ports["Ethernet1/1"].Maps.V {
			t.Errorf("%s: maps %+v", name, m)
		}
	}
}

// A checkpoint file prints defaults behind "!#"; they are comments.
func TestCheckpointDefaultsAreNotConfiguration(t *testing.T) {
	d, _ := Decode(parse(t, "interface Ethernet1/1\n  !#mtu 9000\n  priority-flow-control mode auto\n  !#shutdown\n"), EightQueue)
	if p := d.Ports["Ethernet1/1"]; p.MTU.V != 1500 || p.PFC.V != 0 || !p.AdminUp.V {
		t.Errorf("%+v", p)
	}
}

func TestDecodeInterpretsLikeTheSwitch(t *testing.T) {
	edit := func(pairs ...string) *qos.Device {
		text := worked
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("no %q", pairs[i])
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		d, _ := Decode(parse(t, text), EightQueue)
		return d
	}
	queue := func(line string) qos.Queue {
		return edit("    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn\n", line+"\n").Ports["Ethernet1/1"].Queues[3]
	}
	port := func(pairs ...string) *qos.Port { return edit(pairs...).Ports["Ethernet1/1"] }
	const mode, input = "  priority-flow-control mode on\n", "  service-policy type qos input QOS_CLASSIFICATION\n"
	for what, c := range map[string]struct{ got, want any }{
		"mode auto":                  {port(mode, "").PFC.V, qos.PrioritySet(0)},
		"mode on with TLV":           {port(mode, "  priority-flow-control mode on send-tlv\n").PFC.V, qos.Priorities(3)},
		"not attached":               {port("  service-policy type network-qos QOS_NETWORK\n", "").PFC.V, qos.PrioritySet(0)},
		"pause of another":           {port("pfc-cos 3", "pfc-cos 4").PFC.V, qos.Priorities(4)},
		"two in a class":             {port("pfc-cos 3", "pfc-cos 3-4").PFC.V, qos.Priorities(3, 4)},
		"not classified":             {port(input, "").PFC.V, qos.PrioritySet(0)},
		"classified by system qos":   {port(input, "", "system qos\n", "system qos\n  service-policy type qos input QOS_CLASSIFICATION\n").PFC.V, qos.Priorities(3)},
		"no-stats":                   {port(input, "  service-policy type qos input QOS_CLASSIFICATION no-stats\n").PFC.V, qos.Priorities(3)},
		"overridden":                 {port("feature lldp\n", "priority-flow-control override-interface mode off\n").PFC.V, qos.PrioritySet(0)},
		"watchdog global off":        {port("priority-flow-control watch-dog-interval on\n\n", "").Watchdog.V, qos.Watchdog{}},
		"watchdog port off":          {port("  priority-flow-control watch-dog-interval on\n", "").Watchdog.V, qos.Watchdog{}},
		"watchdog timers":            {port("feature lldp\n", "priority-flow-control watch-dog interval 200\npriority-flow-control watch-dog shutdown-multiplier 3\npriority-flow-control auto-restore multiplier 5\n").Watchdog.V.String(), "drop {3} detect 600ms restore 1s"},
		"interface multiplier":       {port("  priority-flow-control watch-dog-interval on\n", "  priority-flow-control watch-dog-interval on interface-multiplier 7\n").Watchdog.V.Detect, 700 * time.Millisecond},
		"class MTU":                  {port("    mtu 9216\n", "    mtu 4200\n").MTU.V, 4200},
		"class without MTU":          {port("    mtu 9216\n", "").MTU.V, 1500},
		"class MTU of lossy":         {port("    mtu 9216\n", "    mtu 4200\n", mode, "").MTU.V, 9216},
		"interface MTU":              {port("  mtu 9216\n  service", "  service").MTU.V, 1500},
		"routed without state":       {port("  no shutdown\n", "").AdminUp.V, false},
		"switched without state":     {port("  no switchport\n", "", "  no shutdown\n", "").AdminUp.V, true},
		"link pause":                 {port(mode, "  flowcontrol receive on\n").LinkPause.V, true},
		"LAG":                        {port(mode, "  channel-group 10 force mode active\n").LAG.V, "port-channel10"},
		"drops instead of marks":     {queue("    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0").ECN.V, qos.ECN{Drops: true}},
		"packets":                    {queue("    random-detect minimum-threshold 1 packets maximum-threshold 2 packets drop-probability 7 weight 0 ecn").ECN.V, qos.ECN{Enabled: true, Min: 1, Max: 2, Unit: "packets", Probability: 7}},
		"two units":                  {queue("    random-detect minimum-threshold 1 bytes maximum-threshold 2 mbytes drop-probability 7 weight 3 cap-average ecn").ECN.V, qos.ECN{Enabled: true, Min: 1, Max: 2, Unit: "bytes/mbytes", Probability: 7, Weight: 3, Other: "cap-average"}},
		"fair drops that mark":       {queue("    afd queue-desired 150 kbytes ecn").ECN.V, qos.ECN{Enabled: true, Other: "afd queue-desired 150 kbytes ecn"}},
		"fair drops":                 {queue("    afd queue-desired 150 kbytes").ECN.V, qos.ECN{Other: "afd queue-desired 150 kbytes"}},
		"preset":                     {queue("    random-detect threshold burst-optimized ecn").ECN.V.Other, "threshold burst-optimized default thresholds"},
		"shaped":                     {queue("    shape min 0 bps max 25 gbps").Scheduler.V.String(), "weight 50 max 25G"},
		"shaped in packets":          {queue("    shape min 0 pps max 25 pps").Scheduler.V.Other, "shape min 0 pps max 25 pps"},
		"interface queuing policy":   {port(mode, "  service-policy type queuing output default-8q-out-policy\n").Queues[0].Scheduler.V.Weight, 100},
		"q7 not listed":              {port("  class type queuing c-out-8q-q7\n    priority level 1\n", "").Queues[7].Scheduler.Set, false},
		"q2 not listed":              {port("  class type queuing c-out-8q-q2\n    bandwidth remaining percent 0\n", "").Queues[2].Scheduler, qos.Of(qos.Scheduler{})},
		"names of code points":       {port("match dscp 26", "match dscp af31, cs5-ef").Maps.V.DSCPToTC[41], int8(3)},
		"first match wins":           {port("match dscp 48", "match dscp 26,48").Maps.V.DSCPToTC[26], int8(3)},
		"match-all with one line":    {port("match-any ROCE", "match-all ROCE").PFC.V, qos.Priorities(3)},
		"match-all with two lines":   {port("match-any ROCE\n", "match-all ROCE\n  match cos 3\n").PFC.V, qos.PrioritySet(0)},
		"match cos":                  {port("match dscp 26", "match cos 3").Maps.V.PCPToTC[3], int8(3)},
		"class-default":              {port("class class-default\n    set qos-group 0", "class class-default\n    set qos-group 2").Maps.V.DSCPToTC[1], int8(2)},
		"class-default sets nothing": {port("class class-default\n    set qos-group 0", "class class-default").Maps.V.DSCPToTC[1], int8(0)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

// A member port has the settings of its port-channel, and a note if it differs.
func TestMembersOfAPortChannel(t *testing.T) {
	text := strings.Replace(worked, "  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  mtu 9216\n  service-policy type qos input QOS_CLASSIFICATION\n", "  mtu 9216\n  channel-group 5 mode active\n", 1)
	text += "\ninterface port-channel5\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  service-policy type qos input QOS_CLASSIFICATION\n"
	d, unknown := Decode(parse(t, text), EightQueue)
	p := d.Ports["Ethernet1/1"]
	if p.PFC.V != qos.Priorities(3) || !p.Watchdog.V.Enabled || p.LAG.V != "port-channel5" || len(unknown) > 0 || len(d.Ports) != 2 {
		t.Errorf("pfc %s, watchdog %s, lag %s, unknown %v", p.PFC.V, p.Watchdog.V, p.LAG.V, unknown)
	}
	d, unknown = Decode(parse(t, strings.Replace(text, "  channel-group", "  priority-flow-control mode off\n  channel-group", 1)), EightQueue)
	if d.Ports["Ethernet1/1"].PFC.V != 0 || len(unknown) != 1 || unknown[0].Text != "priority-flow-control mode off" || !strings.Contains(unknown[0].Why, "port-channel5") {
		t.Errorf("unknown %v", unknown)
	}
	// Turning PFC off overrides the port-channel's setting on the member.
	off := &qos.Device{Ports: map[string]*qos.Port{"Ethernet1/1": {PFC: qos.Of(qos.PrioritySet(0))}}}
	c := parse(t, text)
	now := Change(c, off, EightQueue).Apply(c)
	if d, _ := Decode(now, EightQueue); len(qos.Diff(d, off)) > 0 || !strings.Contains(now.String(), "  priority-flow-control mode off\n") {
		t.Errorf("still on:\n%s", now)
	}
}

func TestDecodeReportsWhatItCannotPlace(t *testing.T) {
	text := strings.NewReplacer(
		"feature lldp\n", "hardware qos ing-pg-no-min\npriority-flow-control priority 3 no-drop\npriority-flow-control fixed-restore multiplier 3\n",
		"  class type network-qos c-8q-nq-default\n", "  class type network-qos c-out-8q-q3\n    pause no-drop\n  class type network-qos c-8q-nq-default\n",
		"  match dscp 48\n", "  match access-group name X\n  match precedence 3\n",
		"    set qos-group 7\n", "    set qos-group 7\n    set dscp 8\n",
		"    priority level 1\n", "    priority level 1\n    queue-limit dynamic 9\n",
		"  class class-default\n", "  class GONE\n    set qos-group 1\n  class class-default\n",
	).Replace(worked) + "  flowcontrol receive desired\n  priority-flow-control watch-dog\n  service-policy type queuing output LOST\n\ninterface Ethernet1/3-4\n  mtu 9216\n"
	_, unknown := Decode(parse(t, text), EightQueue)
	var got []string
	for _, u := range unknown {
		got = append(got, u.Section+": "+u.Text)
		if u.Why == "" || u.Line == 0 && u.Text != "" || !strings.Contains(u.Where(), fmt.Sprint(u.Line)) && u.Line > 0 {
			t.Errorf("%+v", u)
		}
	}
	slices.Sort(got)
	want := []string{
		": hardware qos ing-pg-no-min",
		": priority-flow-control fixed-restore multiplier 3",
		": priority-flow-control priority 3 no-drop",
		"class-map type qos match-any CNP: match access-group name X",
		"interface Ethernet1/25: flowcontrol receive desired",
		"interface Ethernet1/25: priority-flow-control watch-dog",
		"interface Ethernet1/25: service-policy type queuing output LOST",
		"policy-map type network-qos QOS_NETWORK: class type network-qos c-out-8q-q3",
		"policy-map type qos QOS_CLASSIFICATION: class GONE",
		"policy-map type queuing QOS_EGRESS_PORT: queue-limit dynamic 9",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A note about a missing policy names the block that attaches it.
func TestMissingPolicyIsNotedWhereItsLineStands(t *testing.T) {
	const line = "service-policy type queuing output LOST"
	system := strings.Replace(worked, "service-policy type queuing output QOS_EGRESS_PORT", line, 1)
	for name, tt := range map[string]struct{ text, section string }{
		"port":             {worked + "  " + line + "\n", "interface Ethernet1/25"},
		"system":           {system, systemHeader},
		"negated at port":  {system + "  no service-policy type queuing output QOS_EGRESS_PORT\n", systemHeader},
		"port-channel":     {worked + "  channel-group 5 mode active\n\ninterface port-channel5\n  " + line + "\n", "interface port-channel5"},
		"profile of ports": {worked + "  inherit port-profile P\n\nport-profile type ethernet P\n  " + line + "\n  state enabled\n", "port-profile type ethernet P"},
	} {
		_, unknown := Decode(parse(t, tt.text), EightQueue)
		if len(unknown) != 1 || unknown[0].Section != tt.section || unknown[0].Text != line {
			t.Errorf("%s: %+v, want it in %s", name, unknown, tt.section)
		}
	}
}

// TestRewrite reads what the classes of an input policy do to DSCPs.
func TestRewrite(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new string
		rdma     int8
		unknown  int
	}{
		"none":           {"", "", qos.Unmapped, 0},
		"another":        {"    set qos-group 3\n", "    set qos-group 3\n    set dscp 8\n", 8, 0},
		"by name":        {"    set qos-group 3\n", "    set dscp cs1\n    set qos-group 3\n", 8, 0},
		"the same":       {"    set qos-group 3\n", "    set qos-group 3\n    set dscp 26\n", 26, 0},
		"of part of it":  {"  class class-default\n    set qos-group 0\n", "  class class-default\n    set qos-group 3\n    set dscp 8\n", qos.Unmapped, 1},
		"no code point":  {"    set qos-group 3\n", "    set qos-group 3\n    set dscp tunnel\n", qos.Unmapped, 1},
		"of other group": {"    set qos-group 7\n", "    set qos-group 7\n    set dscp 8\n", qos.Unmapped, 0},
	} {
		text := strings.Replace(worked, tt.old, tt.new, 1)
		if text == worked && tt.old != "" {
			t.Fatalf("%s: the configuration has no %q", name, tt.old)
		}
		d, unknown := Decode(parse(t, text), EightQueue)
		if got := d.Ports["Ethernet1/1"].Maps.V.TCToDSCP[3]; got != tt.rdma || len(unknown) != tt.unknown {
			t.Errorf("%s: %d, want %d; %v", name, got, tt.rdma, unknown)
		}
	}
}

// fourQueues returns the worked configuration for a switch with four queues.
func fourQueues() string {
	return strings.NewReplacer("c-8q-nq3", "c-nq2", "c-8q-nq-default", "c-nq-default", "c-out-8q-q-default", "c-out-q-default",
		"c-out-8q-q3", "c-out-q2", "c-out-8q-q7", "c-out-q3", "c-out-8q-q2", "c-out-q1", "qos-group 3", "qos-group 2", "qos-group 7", "qos-group 3",
		"  class type queuing c-out-8q-q6\n    bandwidth remaining percent 0\n", "", "  class type queuing c-out-8q-q5\n    bandwidth remaining percent 0\n", "",
		"  class type queuing c-out-8q-q4\n    bandwidth remaining percent 0\n", "", "  class type queuing c-out-8q-q1\n    bandwidth remaining percent 0\n", "").Replace(worked)
}

func TestFourQueues(t *testing.T) {
	c := parse(t, fourQueues())
	d, unknown := Decode(c, FourQueue)
	p := d.Ports["Ethernet1/1"]
	if len(unknown) > 0 || p.PFC.V != qos.Priorities(3) || p.Maps.V.PFCToQueue[3] != 2 || p.Maps.V.DSCPToTC[26] != 3 || p.Maps.V.TCToQueue[3] != 2 || p.Maps.V.TCToQueue[2] != 3 || !p.Queues[3].Scheduler.V.Strict || p.Queues[2].Scheduler.V.Weight != 50 {
		t.Errorf("pfc %s, queues %v, unknown %v", p.PFC.V, p.Queues[:4], unknown)
	}
	want := roce()
	for _, q := range []int{6, 7} {
		want.Ports["Ethernet1/1"].Queues[q] = qos.Queue{}
	}
	m := *want.Ports["Ethernet1/1"].Maps.V
	m.DSCPToTC[48] = 2
	m.TCToQueue[3], m.TCToQueue[1], m.PFCToQueue[3] = 1, 3, 1
	wp := want.Ports["Ethernet1/1"]
	wp.Maps.V, wp.Queues[1], wp.Queues[3] = &m, wp.Queues[3], qos.Queue{}
	wp.Queues[2].Scheduler = qos.Of(qos.Scheduler{Strict: true})
	Fit(want)
	if r := append(Refusals(want), FourQueue.Refusals(want)...); len(r) > 0 {
		t.Fatalf("refused %v", r)
	}
	for _, old := range []*Config{c, parse(t, "interface Ethernet1/1\n")} {
		now := Change(old, want, FourQueue).Apply(old)
		if d, _ := Decode(now, FourQueue); len(qos.Diff(d, want)) > 0 || strings.Contains(now.String(), "8q") {
			t.Errorf("left %v\n%s", qos.Diff(d, want), now)
		}
	}
	fields := ""
	for _, r := range FourQueue.Refusals(roce()) {
		fields += r.Field.String() + " "
	}
	if fields != "maps.dscp_to_tc maps.pfc_to_queue pfc " {
		t.Errorf("refused %s", fields)
	}
	// The DSCP map decides whether a priority can be paused, whatever the PCP map says.
	for lossless, fields := range map[int8]string{3: "maps.pcp_to_tc ", 0: "maps.pcp_to_tc maps.pfc_to_queue pfc "} {
		m := *wp.Maps.V
		m.PCPToTC[3], m.PCPToTC[7], m.DSCPToTC[26] = 1, 7, lossless
		wp.Maps.V = &m
		got := ""
		for _, r := range FourQueue.Refusals(want) {
			got += r.Field.String() + " "
		}
		if got != fields {
			t.Errorf("refused %s, want %s", got, fields)
		}
	}
}

func TestModelOf(t *testing.T) {
	for text, want := range map[string]string{worked: "8q", fourQueues(): "4q", "class-map type network-qos match-any c-nq1\nc-8q-nq1": "8q", "    class type network-qos c-nq-default\n      mtu 1500": "4q", "hostname c-nq": ""} {
		m, ok := ModelOf(text)
		if ok != (want != "") || ok && m.String() != want {
			t.Errorf("%.40q: %s %v", text, m, ok)
		}
	}
}

// The watchdog needs a line on the port, a line on the switch, and a paused priority.
func TestHalfAWatchdogIsReported(t *testing.T) {
	whole := "priority-flow-control watch-dog-interval on\n" + strings.Replace(roceText, "  priority-flow-control mode on\n", "  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n", 1)
	for name, tt := range map[string]struct{ text, why string }{
		"whole":       {whole, ""},
		"none":        {roceText, ""},
		"port alone":  {strings.TrimPrefix(whole, "priority-flow-control watch-dog-interval on\n"), "the watchdog of the switch is off, so the line does nothing"},
		"no pause":    {strings.Replace(whole, "mode on", "mode off", 1), "the port pauses no priority, so the line does nothing"},
		"off on port": {strings.Replace(whole, "  priority-flow-control watch-dog-interval on", "  priority-flow-control watch-dog-interval off", 1), ""},
	} {
		d, unknown := Decode(parse(t, tt.text), EightQueue)
		on := d.Ports["Ethernet1/1"].Watchdog.V.Enabled
		if on != (name == "whole") || (tt.why == "") != (len(unknown) == 0) || tt.why != "" && (len(unknown) != 1 || unknown[0].Why != tt.why || unknown[0].Text != "priority-flow-control watch-dog-interval on") {
			t.Errorf("%s: on %t, %v", name, on, unknown)
		}
	}
}
