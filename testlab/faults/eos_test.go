package faults

// eosField are faults of EOS switches as they occur in operation: a block meant for other ports, a
// value in the wrong unit, a policy of another team, half of a rollback.
var eosField = []fault{
	{"pause was sent on a lossy priority, without a window", "leaf1", "counted Ethernet1/1 4 pfc-tx 1000", "warning PFC-14 leaf1 Ethernet1/1", "", ""},

	// Thresholds in the wrong unit.
	{"thresholds written in mbytes", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 1 mbytes maximum-threshold 2 mbytes max-mark-probability 10", "error ECN-03|ECN-06|DRIFT @", "ECN-05 the other switches differ", ""},
	{"bytes taken for kbytes", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 150000 kbytes maximum-threshold 1500000 kbytes max-mark-probability 10", "error ECN-03|ECN-04|ECN-06|DRIFT @", "ECN-05 the other switches differ", ""},
	{"kbytes forgotten at the minimum", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 150 bytes maximum-threshold 1500 kbytes max-mark-probability 10", "error ECN-06|DRIFT @", "ECN-05 the other switches differ", ""},
	{"a queue of one port drops at random as well", "leaf1", "interface Ethernet34/1; uc-tx-queue 3; random-detect drop minimum-threshold 150000 bytes maximum-threshold 300000 bytes drop-probability 5", "error ECN-08|DRIFT leaf1 Ethernet34/1", sibling, ""},

	// Profiles and port ranges.
	{"uplinks of a range with the default MTU", "leaf1", "interface Ethernet33/1,34/1; no mtu", "error MTU-02 leaf1 Ethernet33/1,Ethernet34/1", "MTU-01 the ends differ; " + sibling, ""},
	{"a host port has the profile of the storage team", "leaf1", "qos profile STORAGE; qos trust dscp; priority-flow-control on; priority-flow-control priority 4 no-drop; exit; interface Ethernet1/1; service-profile STORAGE", "error PFC-02 leaf1 Ethernet1/1", "ECN-01 the profile has no curve; SCH-03 nor shares; SCH-07 nor shares; WD-03 priority 3 is not watched; PFC-03 no group has headroom for it; PFC-15 it pauses another; ECN-14 the other hops mark; DRIFT queues are strict; " + sibling, ""},
	{"a host port pauses all traffic", "leaf1", "interface Ethernet1/1; priority-flow-control priority 0 no-drop", "error PFC-02 leaf1 Ethernet1/1", "WD-03 nor is it watched; PFC-03 no group has headroom for it; " + sibling, ""},
	{"the profile is deleted, the ports still name it", "leaf1", "no qos profile ROCE-FABRIC", "error PRT-01 @", "PFC-01 ports pause nothing; PFC-02 ports pause nothing", ""},
	{"a profile trusts nothing", "leaf1", profile + "no qos trust", "error CLS-04 @", "CLS-14 the other end trusts DSCP", ""},
	{"a host port marks by itself", "leaf1", "interface Ethernet1/1; no qos trust; qos dscp 26", "error CLS-04 leaf1 Ethernet1/1", sibling, ""},
	{"a port gives RDMA little", "leaf1", "interface Ethernet34/1; uc-tx-queue 3; bandwidth percent 5", "warning SCH-03 leaf1 Ethernet34/1", sibling, ""},

	// Policies.
	{"a policy sends RDMA to the default class", "leaf1", "class-map type qos match-any R; match dscp 24-31; exit; policy-map type quality-of-service EDGE; class R; set traffic-class 0; exit; exit; interface Ethernet1/1; service-policy type qos input EDGE", "error CLS-02 leaf1 Ethernet1/1", "CLS-01 the other ports differ; " + sibling, ""},
	{"a policy in the profile sends other traffic to RDMA", "leaf1", "class-map type qos match-any R; match dscp af31 cs3; exit; policy-map type quality-of-service EDGE; class R; set traffic-class 3; exit; exit; " + profile + "service-policy type qos input EDGE", "warning CLS-03 @", "CLS-01 the other switches differ", ""},
	{"a policy marks RDMA with another DSCP", "leaf1", "class-map type qos match-any R; match dscp 26; exit; policy-map type quality-of-service EDGE; class R; set traffic-class 3; set dscp 0; exit; exit; interface Ethernet1/1; service-policy type qos input EDGE", "error CLS-07 leaf1 Ethernet1/1", sibling, ""},
	{"a policy limits RDMA", "leaf1", "class-map type qos match-any R; match dscp 26; exit; policy-map type quality-of-service EDGE; class R; set traffic-class 3; police rate 10 gbps burst-size 1 mbytes; exit; exit; interface Ethernet1/1; service-policy type qos input EDGE", "info UNKNOWN leaf1", "", ""},

	// Classification.
	{"the default map is back but for RDMA", "leaf1", "no qos map dscp 24 25 27 28 29 30 31", "warning CLS-03 @", "CLS-01 the other switches differ", ""},
	{"notifications are in the queue of RDMA", "leaf1", "qos map traffic-class 6 to uc-tx-queue 3", "error CLS-09 @", "", "DRIFT says it of the map"},
	{"default traffic is in the queue of RDMA", "leaf1", "qos map traffic-class 0 to uc-tx-queue 3", "error CLS-05 @", "DRIFT the map of the switch", ""},
	{"notifications leave with DSCP 0", "leaf1", "qos map traffic-class 6 to dscp 0; qos rewrite dscp", "error CLS-07 @", "", ""},
	{"DSCP is rewritten by the default map", "leaf1", "qos rewrite dscp", "warning CLS-07 @", "", "the switch's own map is not known for certain"},

	// PFC and watchdog.
	{"802.3x is sent to a spine", "leaf1", "interface Ethernet33/1; flowcontrol send on", "error PFC-05 leaf1 Ethernet33/1", sibling, ""},
	{"802.3x is desired at a host", "leaf1", "interface Ethernet1/1; flowcontrol receive desired", "info UNKNOWN leaf1", "", ""},
	{"DCBX at a host", "leaf1", "interface Ethernet1/1; dcbx mode ieee", "info UNKNOWN leaf1", "", ""},
	{"the watchdog takes ports down", "leaf1", "no priority-flow-control pause watchdog action", "error DRIFT @", "WD-05 the other switches differ", ""},
	{"the watchdog restores after a minute", "leaf1", "priority-flow-control pause watchdog default recovery-time 60", "error DRIFT @", "WD-05 the other switches differ", ""},
	{"the watchdog polls less often than it waits", "leaf1", "priority-flow-control pause watchdog default polling-interval 5", "warning WD-04|WD-05|WD-06 @switch", "", "the interval is not compared"},

	// Queues and ports.
	{"RDMA is weighted without a weight", "leaf1", profile + "uc-tx-queue 3; no bandwidth percent", "error SCH-07 @", "SCH-03 it has another share; DRIFT it is not the intent's", ""},
	{"notifications are held to 1 Gb/s", "leaf1", profile + "uc-tx-queue 6; shape rate 1000000 kbps", "error CLS-09|DRIFT @", "", ""},
	{"all ports are shaped to half", "leaf1", profile + "shape rate 50 percent", "info UNKNOWN leaf1", "", ""},
	{"an uplink is in a port channel", "leaf1", "interface Port-Channel10; no switchport; mtu 9100; exit; interface Ethernet33/1; channel-group 10 mode active", "error PRT-02|DRIFT leaf1 Ethernet33/1", "", "an aggregate that the intent does not name is not compared"},
	{"an uplink is switched", "leaf1", "interface Ethernet33/1; switchport; switchport mode trunk; qos trust cos", "error CLS-04 leaf1 Ethernet33/1", "CLS-14 the other end trusts DSCP; DRIFT it has the MTU of switched ports; " + sibling, ""},
	{"an uplink has other FEC", "leaf1", "fec Ethernet33/1 none", "warning PRT-04|PRT-06 leaf1 Ethernet33/1", "", ""},
	{"two uplinks have changed places", "leaf1", "neighbor Ethernet33/1 spine2 Ethernet1/1; neighbor Ethernet34/1 spine1 Ethernet1/1", "error TOP-07 leaf1 Ethernet33/1,Ethernet34/1", "", ""},
	{"LLDP is off at one uplink", "leaf1", "neighbor Ethernet33/1 - -", "warning TOP-10 leaf1 Ethernet33/1", "", ""},
	{"a headroom pool of 20 cells", "leaf1", "platform trident mmu headroom-pool limit cells 20", "warning BUF-01 @; info UNKNOWN leaf1", "", ""},
	{"headroom of 8 KB for all cables", "leaf1", "platform trident mmu queue profile P; ingress headroom 8000; exit; platform trident mmu queue profile P apply", "warning BUF-01 @", "", ""},
	{"the headroom pool is for one port", "leaf1", "platform trident mmu headroom-pool limit cells 100", "info UNKNOWN leaf1", "", ""},
}
