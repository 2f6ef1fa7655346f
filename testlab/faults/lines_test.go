package faults

// profile is the command that opens the QoS profile of the ports of the EOS switches.
const profile = "qos profile ROCE-FABRIC; "

// eosFaults are lines typed on EOS switches (Arista EOS user manual, Quality of Service;
// arista/avd, platform trident mmu).
var eosFaults = []fault{
	// Buffers and thresholds.
	{"headroom of ten cells", "leaf1", "platform trident mmu queue profile P; ingress headroom cells 10; exit; platform trident mmu queue profile P apply", "warning BUF-01 @", "", ""},
	{"headroom of ten cells everywhere", "switches", "platform trident mmu queue profile P; ingress headroom cells 10; exit; platform trident mmu queue profile P apply", "warning BUF-01 @", "", ""},
	{"alpha of 1/64", "leaf1", "platform trident mmu queue profile P; ingress threshold 1/64; exit; platform trident mmu queue profile P apply", "info UNKNOWN leaf1", "", ""},
	{"alpha of 1/64 for the lossless group", "leaf1", "platform trident mmu queue profile P; ingress priority-group 3 threshold 1/64; exit; platform trident mmu queue profile P apply", "info UNKNOWN leaf1", "", ""},
	{"lossless queues may hold little", "leaf1", "platform trident mmu queue profile P; egress unicast queue 3 threshold 1/64; exit; platform trident mmu queue profile P apply", "info UNKNOWN leaf1", "", ""},
	{"thresholds of 20 and 40 MB on one leaf", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes max-mark-probability 10", "error ECN-03|ECN-06|DRIFT @", "ECN-04 the queue never gets that long; ECN-05 the other switches differ; ECN-06 nor does it fit the speed", ""},
	{"thresholds of 20 and 40 MB everywhere", "switches", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes max-mark-probability 10", "error ECN-03|ECN-06|DRIFT @", "ECN-04 the queue never gets that long; ECN-05 it is not the intent's; ECN-06 nor does it fit the speed", ""},
	{"the switch floods what goes to a host that is gone", "leaf1", "interface Ethernet2/1; switchport; switchport access vlan 10; exit; interface Ethernet1/1; switchport; switchport access vlan 10; mtu 9100; exit; interface Vlan10; ip address 192.0.2.1/24; exit", "warning TOP-04 leaf1 Ethernet1/1", "DRIFT the MTU of a switched port is another; CLS-04 a switched port trusts CoS; CLS-14 and the other end DSCP; MTU-02 and; MTU-03 and", ""},
	{"a subinterface trusts the CoS", "leaf1", "interface Ethernet1/1.100; encapsulation dot1q vlan 100; qos trust cos; exit", "warning CLS-16 leaf1 Ethernet1/1", "", ""},
	{"a port is shaped to a quarter of its speed", "leaf1", "interface Ethernet33/1; shape rate 100000000 kbps", "info UNKNOWN leaf1", "", ""},
	{"a policy classifies past the trust", "leaf1", "class-map type qos match-any R; match dscp 26; exit; policy-map type quality-of-service MARK; class R; set traffic-class 0; exit; exit; interface Ethernet1/1; service-policy type qos input MARK", "error CLS-02 leaf1 Ethernet1/1", "CLS-01 the other ports differ; " + sibling, ""},
	{"RDMA has a guarantee and no share", "leaf1", profile + "uc-tx-queue 3; no bandwidth percent; bandwidth guaranteed percent 10", "error DRIFT @", "", ""},
	{"a queue is shaped", "leaf1", profile + "uc-tx-queue 3; shape rate 10000000 kbps", "error DRIFT @", "", ""},
	{"RDMA is strict", "leaf1", profile + "uc-tx-queue 3; no bandwidth percent; priority strict", "error DRIFT @", "", ""},
	{"a port trusts nothing", "leaf1", "interface Ethernet1/1; no qos trust", "error CLS-04 leaf1 Ethernet1/1", "", ""},
	{"a port pauses one priority more", "leaf1", "interface Ethernet33/1; priority-flow-control priority 4 no-drop", "error PFC-01 leaf1 Ethernet33/1", "", ""},
	{"a watchdog only tells", "leaf1", "interface Ethernet1/1; priority-flow-control pause watchdog port action notify-only", "error DRIFT leaf1 Ethernet1/1", "", ""},
	{"the watchdog of a port waits 5 s", "leaf1", "interface Ethernet33/1; priority-flow-control pause watchdog port timer timeout 5 polling-interval 1 recovery-time 5 forced", "error DRIFT leaf1 Ethernet33/1", "WD-05 a storm lasts longer than others allow", ""},
	{"a port has a curve of its own", "leaf1", "interface Ethernet33/1; uc-tx-queue 3; random-detect ecn minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes max-mark-probability 10", "error ECN-06 leaf1 Ethernet33/1", "", ""},
	{"a port has another profile", "leaf1", "qos profile OTHER; qos trust dscp; exit; interface Ethernet33/1; service-profile OTHER", "error PRT-01 leaf1 Ethernet33/1", "", ""},
	{"thresholds in segments", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 150 segments maximum-threshold 1500 segments max-mark-probability 10", "warning ECN-15 @", "ECN-05 the other switches differ", ""},
	{"thresholds of another switch", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 300000 bytes maximum-threshold 1400000 bytes max-mark-probability 10", "error DRIFT @", "", ""},
	{"thresholds of another speed", "spine1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 5000 bytes maximum-threshold 20000 bytes max-mark-probability 10", "error ECN-06 @", "ECN-05 the other switches differ", ""},
	{"a step that marks one packet in ten", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 1500000 bytes maximum-threshold 1500000 bytes max-mark-probability 10", "error ECN-02 @", "ECN-05 the other switches differ; ECN-03 the pause comes before the first mark", ""},
	{"another probability", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes max-mark-probability 100", "warning ECN-07 @", "ECN-05 the other switches differ", ""},
	{"marking follows an average", "leaf1", profile + "uc-tx-queue 3; random-detect ecn minimum-threshold 150000 bytes maximum-threshold 1500000 bytes max-mark-probability 10 weight 9", "warning ECN-10 @", "ECN-05 the other switches differ", ""},
	{"no curve", "leaf1", profile + "uc-tx-queue 3; no random-detect ecn", "error ECN-01 @", "ECN-14 the other hops mark", ""},
	{"random drops in place of marks", "leaf1", profile + "uc-tx-queue 3; no random-detect ecn; random-detect drop minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 10", "error ECN-08 @", "ECN-01 and marks nothing; ECN-14 the other hops mark", ""},

	// Classification.
	{"DSCP of RDMA in the default class", "leaf1", "qos map dscp 26 to traffic-class 0", "error CLS-02 @", "CLS-01 the other switches differ", ""},
	{"DSCP of notifications in the default class", "leaf1", "qos map dscp 48 to traffic-class 0", "error CLS-01 @", "CLS-09 they are not served first", ""},
	{"other traffic in the lossless class", "leaf1", "qos map dscp 27 to traffic-class 3", "warning CLS-03 @", "CLS-01 the other switches differ", ""},
	{"the class of RDMA in another queue", "leaf1", "qos map traffic-class 3 to uc-tx-queue 4", "error DRIFT|CLS-05 @switch", "SCH-03 it has another share; ECN-01 and no curve", ""},
	{"RDMA leaves with another DSCP", "leaf1", "qos map traffic-class 3 to dscp 8; qos rewrite dscp", "error CLS-07 @", "", ""},
	{"ports trust PCP", "leaf1", profile + "qos trust cos", "error CLS-04 @", "CLS-14 the other end trusts DSCP", ""},
	{"one port trusts PCP", "leaf1", "interface Ethernet33/1; qos trust cos", "error CLS-04 leaf1 Ethernet33/1", "CLS-14 the other end trusts DSCP; " + sibling, ""},

	// PFC.
	{"no PFC", "leaf1", profile + "no priority-flow-control on", "error PFC-01 @up; error PFC-02 @down", "PFC-10 it is off; PFC-15 half of it is configured; WD-03 nothing is watched", ""},
	{"PFC is off on the switch", "leaf1", "priority-flow-control all off", "error PFC-01|PFC-10 @up; error PFC-02|PFC-10 @down", "PFC-10 it is off; PFC-15 half of it is configured; WD-03 nothing is watched", ""},
	{"one port is not watched", "leaf1", "interface Ethernet1/1; no priority-flow-control pause watchdog", "error WD-01 leaf1 Ethernet1/1", sibling, ""},
	{"another priority is no-drop as well", "leaf1", profile + "priority-flow-control priority 4 no-drop", "error PFC-01 @up; error PFC-02 @down", "WD-03 nor is it watched; PFC-03 no group has headroom for it", ""},
	{"RDMA is not no-drop", "leaf1", profile + "priority-flow-control priority 3 drop", "error PFC-01 @up; error PFC-02 @down", "PFC-15 half of it is configured; WD-03 nothing is watched", ""},
	{"802.3x towards a host", "leaf1", "interface Ethernet1/1; flowcontrol receive on", "error PFC-05 leaf1 Ethernet1/1", sibling, ""},

	// Scheduling.
	{"RDMA has a fifth of the link", "leaf1", profile + "uc-tx-queue 3; bandwidth percent 10", "warning SCH-03 @", "", ""},
	{"other traffic is strict", "leaf1", profile + "uc-tx-queue 0; priority strict", "error DRIFT @", "SCH-03 less may be left for RDMA", ""},
	{"notifications have a share of 1", "leaf1", profile + "uc-tx-queue 6; no priority; bandwidth percent 1", "error CLS-09 @", "", ""},

	// MTU.
	{"a small MTU between switches", "leaf1", "interface Ethernet33/1; mtu 1500", "error MTU-02 leaf1 Ethernet33/1", "MTU-01 the ends differ; " + sibling, ""},
	{"an MTU below that of the host", "leaf1", "interface Ethernet1/1; mtu 8000", "error MTU-03 leaf1 Ethernet1/1", sibling, ""},

	// Watchdog.
	{"no watchdog", "leaf1", "no priority-flow-control pause watchdog default timeout", "error WD-01 @down; warning WD-02 @up", "WD-05 the other switches differ", ""},
	{"the watchdog waits 4 s", "leaf1", "priority-flow-control pause watchdog default timeout 4", "error DRIFT @", "WD-05 a storm lasts longer than others allow", ""},

	// Ports and operations.
	{"a port has no profile", "leaf1", "interface Ethernet33/1; no service-profile ROCE-FABRIC", "error PRT-01 leaf1 Ethernet33/1", "", ""},
	{"a port towards a host is shut", "leaf1", "interface Ethernet1/1; shutdown", "error PRT-05 leaf1 Ethernet1/1", "", ""},
	{"a port has no link", "leaf1", "unplug Ethernet1/1", "error PRT-05 leaf1 Ethernet1/1", "", ""},
	{"a port towards a switch runs at another speed", "leaf1", "interface Ethernet33/1; speed forced 200gfull", "error PRT-05 leaf1 Ethernet33/1; error PRT-05 spine1 Ethernet1/1", "", ""},
	{"a port has another FEC", "leaf1", "interface Ethernet33/1; error-correction encoding fire-code", "error PRT-05 leaf1 Ethernet33/1; error PRT-05 spine1 Ethernet1/1", "", ""},
	{"a port towards a host has no FEC", "leaf1", "interface Ethernet1/1; no error-correction encoding", "error PRT-05 leaf1 Ethernet1/1", "", ""},
	{"LLDP is off", "leaf1", "no lldp run", "warning TOP-10 spine1 Ethernet1/1; warning TOP-10 spine2 Ethernet1/1; info TOP-10 leaf1", "", ""},
	{"a port sends no LLDP", "leaf1", "interface Ethernet33/1; no lldp transmit", "warning TOP-10 spine1 Ethernet1/1", "", ""},
	{"a port takes no LLDP", "leaf1", "interface Ethernet33/1; no lldp receive", "warning TOP-10 leaf1 Ethernet33/1", "", ""},
	{"a cable is in another switch", "leaf1", "neighbor Ethernet33/1 spine2 Ethernet9/1", "error TOP-07 leaf1 Ethernet33/1", "", ""},
	{"a change was not saved", "leaf1", "interface Ethernet1/1; description new; unsaved", "warning OPS-01 leaf1", "", ""},
}

// nxosFaults are lines typed on NX-OS switches (Cisco Nexus 9000 QoS configuration guide, 10.x).
var nxosFaults = []fault{
	{"pause was sent on a lossy priority, without a window", "leaf1", "counted Ethernet1/1 4 pfc-tx 1000", "warning PFC-14 leaf1 Ethernet1/1", "", ""},

	// Buffers and thresholds.
	{"a pause buffer below the floor", "leaf1", "policy-map type queuing IN; class type queuing c-in-q3; pause buffer-size 27456 pause-threshold 12480 resume-threshold 10000; exit; exit; system qos; service-policy type queuing input IN", "error BUF-01 @up", "BUF-01 the buffer is below the model of the short cable as well; BUF-10 and pauses after three frames; " + sibling, ""},
	{"a pause buffer below the floor everywhere", "switches", "policy-map type queuing IN; class type queuing c-in-q3; pause buffer-size 27456 pause-threshold 12480 resume-threshold 10000; exit; exit; system qos; service-policy type queuing input IN", "error BUF-01 @up", "BUF-01 the buffer is below the model of the short cable as well; BUF-10 and pauses after three frames", ""},
	{"a pause buffer without hysteresis", "leaf1", "policy-map type queuing IN; class type queuing c-in-q3; pause buffer-size 400000 pause-threshold 200000 resume-threshold 200000; exit; exit; system qos; service-policy type queuing input IN", "warning PFC-11 @", "ECN-04 the group pauses before the queue is that long; " + sibling, ""},
	{"a pause buffer that resumes above its pause", "leaf1", "policy-map type queuing IN; class type queuing c-in-q3; pause buffer-size 400000 pause-threshold 100000 resume-threshold 200000; exit; exit; system qos; service-policy type queuing input IN", "warning PFC-11 @", "ECN-03 the group pauses before the first mark; ECN-04 and before the queue is that long; " + sibling, ""},
	{"thresholds in megabytes", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 150 mbytes maximum-threshold 1500 mbytes drop-probability 10 weight 0 ecn", "error ECN-06 @", "", ""},
	{"a port has a queuing policy that drops", "leaf1", "policy-map type queuing PORT-OUT; class type queuing c-out-8q-q3; bandwidth remaining percent 60; random-detect minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 10 weight 0; exit; class type queuing c-out-8q-q-default; bandwidth remaining percent 40; exit; class type queuing c-out-8q-q7; priority level 1; exit; class type queuing c-out-8q-q6; priority level 2; exit; exit; interface Ethernet1/29; no service-policy type queuing output ROCE-FABRIC-OUT; service-policy type queuing output PORT-OUT", "error ECN-08 leaf1 Ethernet1/29", "", ""},
	{"a lossless queue of 100 KB", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; queue-limit 100000 bytes", "info UNKNOWN leaf1", "", ""},
	{"thresholds of 20 and 40 MB on one leaf", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes drop-probability 10 weight 0 ecn", "error ECN-03|ECN-06|DRIFT @", "ECN-04 the queue never gets that long; ECN-05 the other switches differ; ECN-06 nor does it fit the speed", ""},
	{"thresholds of 20 and 40 MB everywhere", "switches", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 20000000 bytes maximum-threshold 40000000 bytes drop-probability 10 weight 0 ecn", "error ECN-03|ECN-06|DRIFT @", "ECN-04 the queue never gets that long; ECN-05 it is not the intent's; ECN-06 nor does it fit the speed", ""},
	{"thresholds of another switch", "spine1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 300000 bytes maximum-threshold 1400000 bytes drop-probability 10 weight 0 ecn", "error DRIFT @", "", ""},
	{"thresholds of another speed", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 5000 bytes maximum-threshold 20000 bytes drop-probability 10 weight 0 ecn", "error ECN-06 @", "ECN-05 the other switches differ", ""},
	{"the switch floods what goes to a host that is gone", "leaf1", "feature interface-vlan; mac address-table aging-time 300; interface Ethernet1/2; switchport; switchport access vlan 10; exit; interface Ethernet1/1; switchport; switchport access vlan 10; mtu 9216; exit; interface Vlan10; ip address 192.0.2.1/24; exit", "warning TOP-04 leaf1 Ethernet1/1", "DRIFT the MTU of a switched port is that of the switch", ""},
	{"a curve of the switch's own", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect threshold burst-optimized ecn", "error DRIFT @", "", ""},
	{"another class comes before that of RDMA", "leaf1", "class-map type qos match-any OTHER; match dscp 26; exit; policy-map type qos ROCE-FABRIC-IN; class OTHER insert-before ROCE-FABRIC-RDMA; set qos-group 0", "error CLS-02 @", "", ""},
	{"the class of notifications is gone", "leaf1", "policy-map type qos ROCE-FABRIC-IN; no class ROCE-FABRIC-CNP", "error CLS-01 @", "", ""},
	{"the class of RDMA is gone from the network-qos policy", "leaf1", "policy-map type network-qos ROCE-FABRIC-NQ; no class type network-qos c-8q-nq3", "error PFC-10 @", "MTU-05 and its room for large packets", ""},
	{"the default class has a small MTU", "leaf1", "policy-map type network-qos ROCE-FABRIC-NQ; class type network-qos c-8q-nq-default; mtu 1500", "error MTU-05 @", "", ""},
	{"RDMA is strict", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; no bandwidth remaining percent; priority level 1", "error DRIFT @", "", ""},
	{"a queue is shaped", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; shape min 0 mbps max 10000 mbps", "error DRIFT @", "", ""},
	{"a watchdog only tells", "leaf1", "interface Ethernet1/1; priority-flow-control watch-dog-interval on disable-action", "error DRIFT leaf1 Ethernet1/1", "", ""},
	{"the watchdog looks half as often", "leaf1", "priority-flow-control watch-dog interval 500", "error DRIFT @; error DRIFT @switch", "", ""},
	{"another probability", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 100 weight 0 ecn", "warning ECN-07 @", "ECN-05 the other switches differ", ""},
	{"marking follows an average", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 10 weight 8 ecn", "warning ECN-10 @", "ECN-05 the other switches differ", ""},
	{"drops and no marks", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; random-detect minimum-threshold 150000 bytes maximum-threshold 1500000 bytes drop-probability 10 weight 0", "error ECN-08 @", "ECN-14 the other hops mark", ""},
	{"no curve", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; no random-detect", "error ECN-01 @", "ECN-14 the other hops mark", ""},

	// Classification.
	{"DSCP of RDMA in the default class", "leaf1", "class-map type qos match-any ROCE-FABRIC-RDMA; no match dscp 26; match dscp 24", "error CLS-02 @", "CLS-01 the other switches differ; CLS-03 and other traffic is lossless", ""},
	{"other traffic in the lossless class", "leaf1", "class-map type qos match-any ROCE-FABRIC-RDMA; match dscp 27", "warning CLS-03 @", "CLS-01 the other switches differ", ""},
	{"DSCP of notifications in the default class", "leaf1", "class-map type qos match-any ROCE-FABRIC-CNP; no match dscp 48; match dscp 49", "error CLS-01 @", "CLS-09 they are not served first", ""},
	{"RDMA in another group", "leaf1", "policy-map type qos ROCE-FABRIC-IN; class ROCE-FABRIC-RDMA; set qos-group 2", "error CLS-02 @", "CLS-01 the other switches differ; SCH-07 the queue has no share; MTU-05 its class has the default MTU", ""},
	{"RDMA leaves with another DSCP", "leaf1", "policy-map type qos ROCE-FABRIC-IN; class ROCE-FABRIC-RDMA; set dscp 8", "error CLS-07 @", "", ""},
	{"notifications leave with another DSCP", "spine1", "policy-map type qos ROCE-FABRIC-IN; class ROCE-FABRIC-CNP; set dscp 8", "error CLS-07 @", "", ""},
	{"RDMA is matched by DSCP and PCP at once", "leaf1", "class-map type qos match-all BOTH; match dscp 26; match cos 3; exit; policy-map type qos ROCE-FABRIC-IN; no class ROCE-FABRIC-RDMA; class BOTH; set qos-group 3", "error CLS-12 leaf1", "CLS-02 a packet without a tag is in the default class", ""},
	{"a port has a policy without notifications", "leaf1", "policy-map type qos COPY; class ROCE-FABRIC-RDMA; set qos-group 3; exit; exit; interface Ethernet1/1; no service-policy type qos input ROCE-FABRIC-IN; service-policy type qos input COPY", "error CLS-01 leaf1 Ethernet1/1", "", ""},
	{"one port does not classify", "leaf1", "interface Ethernet1/29; no service-policy type qos input ROCE-FABRIC-IN", "error CLS-04|CLS-02 leaf1 Ethernet1/29", "CLS-08 nor is the class of notifications known; CLS-04 it trusts nothing; CLS-02 RDMA is lossy there; CLS-14 the other end trusts DSCP; CLS-01 the other ports differ; " + sibling, ""},

	// PFC.
	{"PFC waits for the other end", "leaf1", "interface Ethernet1/1; priority-flow-control mode auto", "error PFC-10 leaf1 Ethernet1/1", "DCB-03 it negotiates; PFC-02 and is off; " + sibling, ""},
	{"no PFC between two switches", "leaf1", "interface Ethernet1/29; priority-flow-control mode off", "error PFC-01|PFC-10 leaf1 Ethernet1/29", "PFC-10 it is off; PFC-15 half of it is configured; WD-03 nothing is watched; " + sibling, ""},
	{"no PFC towards a host", "leaf1", "interface Ethernet1/1; priority-flow-control mode off", "error PFC-02|PFC-10 leaf1 Ethernet1/1", "PFC-10 it is off; PFC-15 half of it is configured; WD-03 nothing is watched; " + sibling, ""},
	{"no class pauses", "leaf1", "policy-map type network-qos ROCE-FABRIC-NQ; class type network-qos c-8q-nq3; no pause pfc-cos 3", "error PFC-10|PFC-01|PFC-02 @", "PFC-15 half of it is configured; PFC-10 it is off; WD-03 nothing is watched", ""},
	{"the class of RDMA pauses another priority", "leaf1", "policy-map type network-qos ROCE-FABRIC-NQ; class type network-qos c-8q-nq3; no pause pfc-cos 3; pause pfc-cos 4", "error PFC-10 @", "PFC-01 the other end pauses 3; PFC-02 as does the host; CLS-05 the pause stops another queue; WD-03 priority 3 is not watched", ""},
	{"the switch's own network-qos policy", "leaf1", "system qos; service-policy type network-qos default-8q-nq-policy", "error PFC-10 @", "", ""},
	{"PFC is off on the switch", "leaf1", "priority-flow-control override-interface mode off", "error PFC-10 @", "", ""},
	{"another class pauses as well", "leaf1", "policy-map type network-qos ROCE-FABRIC-NQ; class type network-qos c-8q-nq4; pause pfc-cos 4", "info UNKNOWN leaf1", "", ""},
	{"802.3x towards a host", "leaf1", "interface Ethernet1/1; flowcontrol receive on", "error PFC-05 leaf1 Ethernet1/1", sibling, ""},

	// Scheduling.
	{"RDMA has a fifth of the link", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; bandwidth remaining percent 10", "warning SCH-03 @", "", ""},
	{"RDMA has no share", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q3; bandwidth remaining percent 0", "error SCH-07 @", "SCH-03 which is less", ""},
	{"notifications are not first", "leaf1", "policy-map type queuing ROCE-FABRIC-OUT; class type queuing c-out-8q-q6; no priority level 2; bandwidth remaining percent 0", "error CLS-09 @", "SCH-07 the queue has no share; DRIFT it is not the intent's", ""},

	// MTU.
	{"the class of RDMA has a small MTU", "leaf1", "policy-map type network-qos ROCE-FABRIC-NQ; class type network-qos c-8q-nq3; mtu 1500", "error MTU-05 @", "", ""},
	{"a small MTU between switches", "leaf1", "interface Ethernet1/29; mtu 1500", "error MTU-02 leaf1 Ethernet1/29", "MTU-01 the ends differ; " + sibling, ""},
	{"an MTU below that of the host", "leaf1", "interface Ethernet1/1; mtu 8000", "error MTU-03 leaf1 Ethernet1/1", sibling, ""},

	// Watchdog.
	{"no watchdog towards a host", "leaf1", "interface Ethernet1/1; no priority-flow-control watch-dog-interval on", "error WD-01 leaf1 Ethernet1/1", "WD-06 half of it is configured; " + sibling, ""},
	{"no watchdog on the switch", "leaf1", "no priority-flow-control watch-dog-interval on", "error WD-01 @down; warning WD-02 @up", "WD-06 half of it is configured", ""},
	{"a stopped queue is not restored", "leaf1", "priority-flow-control auto-restore multiplier 0", "error DRIFT @", "", ""},
	{"the watchdog of a port waits longer", "leaf1", "interface Ethernet1/1; priority-flow-control watch-dog-interval on interface-multiplier 10", "error DRIFT leaf1 Ethernet1/1", "WD-05 a storm lasts longer than others allow", ""},
	{"the watchdog waits longer", "leaf1", "priority-flow-control watch-dog shutdown-multiplier 10", "error DRIFT @", "WD-05 a storm lasts longer than others allow", ""},

	// Ports and operations.
	{"a port has no policies", "leaf1", "interface Ethernet1/29; no service-policy type qos input ROCE-FABRIC-IN; no service-policy type queuing output ROCE-FABRIC-OUT; priority-flow-control mode off; no priority-flow-control watch-dog-interval on", "error PRT-01 leaf1 Ethernet1/29", "PFC-01 it does not pause", ""},
	{"a port towards a host is shut", "leaf1", "interface Ethernet1/1; shutdown", "error PRT-05 leaf1 Ethernet1/1", "", ""},
	{"a port has no link", "leaf1", "unplug Ethernet1/1", "error PRT-05 leaf1 Ethernet1/1", "", ""},
	{"a port towards a switch runs at another speed", "leaf1", "interface Ethernet1/29; speed 100000; no negotiate auto", "error PRT-05 leaf1 Ethernet1/29; error PRT-05 spine1 Ethernet1/1", "", ""},
	{"a port has no FEC", "leaf1", "interface Ethernet1/29; fec off", "error PRT-05 leaf1 Ethernet1/29; error PRT-05 spine1 Ethernet1/1", "", ""},
	{"LLDP is off", "leaf1", "no feature lldp", "warning TOP-10 spine1 Ethernet1/1; warning TOP-10 spine2 Ethernet1/1; info TOP-10 leaf1", "", ""},
	{"a port sends no LLDP", "leaf1", "interface Ethernet1/29; no lldp transmit", "warning TOP-10 spine1 Ethernet1/1", "", ""},
	{"a port takes no LLDP", "leaf1", "interface Ethernet1/29; no lldp receive", "warning TOP-10 leaf1 Ethernet1/29", "", ""},
	{"a cable is in another switch", "leaf1", "neighbor Ethernet1/29 spine2 Ethernet1/9", "error TOP-07 leaf1 Ethernet1/29", "", ""},
	{"a change was not saved", "leaf1", "interface Ethernet1/1; description new; unsaved", "warning OPS-01 leaf1", "", ""},
}

// gid and noGID edit the GID table of a host's NIC.
const gid = "file class/infiniband/mlx5_0/ports/1/gid_attrs/"

func noGID(slot string) string {
	return "file class/infiniband/mlx5_0/ports/1/gids/" + slot + " 0000:0000:0000:0000:0000:0000:0000:0000; "
}

// address gives a NIC an address of its own, 10.9.0.1.
func address(slot string) string {
	return "file class/infiniband/mlx5_0/ports/1/gids/" + slot + " 0000:0000:0000:0000:0000:ffff:0a09:0001; "
}

// hostFaults are faults of the hosts in a mixed fabric, in their drivers and files, and faults
// between switches of different systems.
var hostFaults = []fault{
	{"a NIC pauses nothing", "gpu1", "pfc eth0 -", "error PFC-02 @", "", ""},
	{"a NIC pauses another priority", "gpu2", "pfc eth0 4", "error PFC-02 @", "", ""},
	{"a NIC pauses one more", "gpu3", "pfc eth0 3,4", "error PFC-02 @", "", ""},
	{"a NIC classifies by PCP", "gpu1", "trust eth0 pcp", "error NIC-01 @", "NIC-02 it has no map of DSCPs", ""},
	{"a NIC has RDMA in another priority", "gpu1", "dscp eth0 26=0", "error NIC-02 @", "", ""},
	{"a NIC has other traffic in the priority of RDMA", "gpu1", "dscp eth0 10=3", "warning NIC-02 @", "", ""},
	{"a NIC has notifications in another priority", "gpu1", "dscp eth0 48=0", "error NIC-02 @", "", ""},
	{"RDMA-CM marks nothing", "gpu1", "tos mlx5_0 0", "error NIC-03 @", "", ""},
	{"RDMA-CM marks another DSCP", "gpu1", "tos mlx5_0 98", "error NIC-03 @", "", ""},
	{"queue pairs have no traffic class", "gpu1", "file class/infiniband/mlx5_0/tc/1/traffic_class -1", "warning NIC-06 @", "", ""},
	{"802.3x on a NIC", "gpu1", "pause eth0", "error PFC-05 @", "", ""},
	{"a NIC has a small MTU", "gpu1", "file class/net/eth0/mtu 1500", "warning MTU-04 @", "MTU-04 the hosts differ; DRIFT it is not the intent's", ""},
	{"a NIC sends more than its switch takes", "gpu1", "file class/net/eth0/mtu 9500", "error MTU-03 @", "MTU-04 the hosts differ; DRIFT it is not the intent's", ""},
	{"a NIC gives RDMA a tenth", "gpu1", "ets eth0 3=10,0=90", "warning SCH-04 @", "", ""},
	{"a NIC has RDMA in the buffer of the rest", "gpu1", "buffer eth0 3=0", "warning BUF-13 @", "", ""},
	{"a NIC knows of a longer cable", "gpu1", "cable eth0 100", "warning BUF-13 @", "", ""},
	{"a NIC sends no notifications", "gpu1", "file class/net/eth0/ecn/roce_np/enable/3 0", "error ECN-11 @", "", ""},
	{"a NIC does not react to notifications", "gpu1", "file class/net/eth0/ecn/roce_rp/enable/3 0", "error ECN-11 @", "", ""},
	{"a NIC reacts more slowly than the others", "gpu1", "file class/net/eth0/ecn/roce_rp/rpg_ai_rate 50", "warning ECN-12 @", "", ""},
	{"a NIC marks notifications with another DSCP", "gpu1", "cnp eth0 8 6", "error CLS-08 @", "", ""},
	{"a firmware setting waits for a reset", "gpu1", "staged eth0 CNP_DSCP_P1 4", "warning DRIFT @", "", ""},
	{"the operator of NVIDIA marks notifications", "gpu1", "cnp eth0 4 6", "error CLS-08 @", "", ""},
	{"a NIC sends notifications with another priority", "gpu1", "cnp eth0 48 7", "info NIC-09 @", "", ""},
	{"the firmware owns DCBX", "gpu1", "dcbx eth0 firmware", "warning DCB-03 @", "", ""},
	{"an agent negotiates DCBX", "gpu1", "process lldpad", "warning DCB-02 gpu1", "", ""},
	{"a NIC pauses for longer than the watchdog waits", "gpu1", "file class/net/eth0/settings/pfc_stall_prevention default", "warning NIC-07 @", "", ""},
	{"a NIC is willing, and an agent runs", "gpu1", "willing eth0; process lldpad", "warning DCB-01 @; warning DCB-02 gpu1", "", ""},
	{"a cron table sets PFC of another priority", "gpu1", "cron * * * * * root mlnx_qos -i eth0 --pfc 0,0,0,0,1,0,0,0", "warning NIC-12 @", "", ""},
	{"netplan has a small MTU", "gpu1", "netplan network: {ethernets: {eth0: {mtu: 1500}}}", "warning NIC-12 @", "", ""},
	{"netplan has the MTU of the intent", "gpu1", "netplan network: {ethernets: {eth0: {mtu: 9000}}}", "info NIC-12 @", "", ""},
	{"an operator's daemon runs", "gpu1", "process nic-configurati", "info NIC-12 gpu1", "", ""},
	{"a library ignores the traffic class of the NIC", "gpu1", "pair mlx5_0 python3 0", "warning NIC-16 @", "", ""},
	{"a library sends RoCE v1", "gpu1", "pair mlx5_0 python3 26 slot=2", "warning NIC-21 @", "", ""},
	{"a library sends from a link-local address", "gpu1", "pair mlx5_0 python3 26 slot=1", "info NIC-21 @", "", ""},
	{"queue pairs have one UDP port", "gpu1", "pair mlx5_0 python3 26 udp=-1 pairs=4", "info NIC-22 @", "", ""},
	{"the GPUs of a NIC are at the other CPU", "gpu1", "gpu 0000:9b:00.0 pci0000:97 1; gpu 0000:ab:00.0 pci0000:a7 1", "warning NIC-17 @", "", ""},
	{"a NIC has received broken frames", "gpu1", "stat eth0 rx_crc_errors_phy 900; stat eth0 rx_packets_phy 1000000", "info NIC-18 @", "", ""},
	{"a link runs with FEC at one end", "gpu1,gpu2,gpu3", "nicfec eth0 Off", "warning PRT-06 @", "", ""},
	{"a NIC has no carrier", "gpu1", "unplug eth0", "error NIC-11 @", "", ""},
	{"a link has come up at half its speed", "gpu1", "file class/net/eth0/speed 200000", "warning PRT-04 @", "", ""},
	{"a NIC has other firmware", "gpu1", "file class/infiniband/mlx5_0/fw_ver 28.50.1000", "warning NIC-08 @", "", ""},
	{"a NIC has firmware that is older than the baseline", "gpu1", "file class/infiniband/mlx5_0/fw_ver 28.39.3560", "warning NIC-19 @", "NIC-08 the others have that of the baseline", ""},
	{"a host does not answer", "gpu1", "refuse", "error READ gpu1", "", ""},
	{"a NIC shows no DCB", "gpu1", "nodcb", "warning NIC-10 @", "", ""},
	{"notifications have the DSCP of RDMA", "gpu1", "cnp eth0 26 6", "error CLS-08 @", "", ""},
	{"congestion control is on for another priority", "gpu1", "file class/net/eth0/ecn/roce_np/enable/3 0; file class/net/eth0/ecn/roce_rp/enable/3 0; file class/net/eth0/ecn/roce_np/enable/4 1; file class/net/eth0/ecn/roce_rp/enable/4 1", "error ECN-11 @", "", ""},
	{"queue pairs have another traffic class", "gpu1", "file class/infiniband/mlx5_0/tc/1/traffic_class Global tclass=98", "error NIC-03 @", "", ""},
	{"notifications are in the priority of RDMA", "gpu1", "dscp eth0 48=3", "error NIC-02 @", "", ""},
	{"RDMA-CM uses RoCE v1", "gpu1", "mode mlx5_0 IB/RoCE v1", "error DRIFT @", "", ""},
	{"a tag of notifications is wrong, and the NIC classifies by PCP", "gpu1", "cnp eth0 48 7; trust eth0 pcp", "error NIC-09 @; error NIC-01 @", "", ""},
	{"the firmware owns DCBX of a willing NIC", "gpu1", "willing eth0; dcbx eth0 firmware", "warning DCB-01 @; warning DCB-03 @", "", ""},
	{"a NIC has nothing of the intent", "gpu1", "pfc eth0 -; trust eth0 pcp; tos mlx5_0 0", "error PFC-02 @; error NIC-01 @; error NIC-03 @", "", ""},

	// RDMA cannot work, whatever the settings.
	{"a NIC speaks iWARP", "gpu1", "file class/infiniband/mlx5_0/node_type 4: RNIC", "error NIC-13 @", "", ""},
	{"a NIC is set to InfiniBand", "gpu1", "file class/infiniband/mlx5_0/ports/1/link_layer InfiniBand", "error NIC-13 @", "", ""},
	{"an RDMA port is down", "gpu1", "file class/infiniband/mlx5_0/ports/1/state 1: DOWN", "error NIC-13 @", "", ""},
	{"the RDMA driver is not loaded", "gpu1", "nordma eth0", "error NIC-13 @", "NIC-10 what belongs to it cannot be read", ""},
	{"RoCE v2 is off", "gpu1", gid + "types/1 IB/RoCE v1; " + gid + "types/3 IB/RoCE v1", "error NIC-14 @", "", ""},
	{"a NIC has an address to which no route leads", "gpu1", address("2") + address("3"), "warning NIC-25 @", "NIC-25 the others have no route to it", ""},
	{"a NIC has no addresses", "gpu1", noGID("1") + noGID("3") + noGID("0") + noGID("2"), "error NIC-14 @", "", ""},
	{"a NIC has no IP address", "gpu1", noGID("2") + noGID("3"), "warning NIC-14 @", "", ""},
	{"a card is in a slot of four lanes", "gpu1", "file class/net/eth0/device/current_link_width 4", "warning NIC-15 @", "", ""},
	{"a card is in a slot of an older generation", "gpu1", "file class/net/eth0/device/current_link_speed 8.0 GT/s PCIe", "warning NIC-15 @", "", ""},
	{"a container has the interface", "gpu1", "away eth0", "error NIC-04 @", "", ""},

	// Between the systems.
	{"a SONiC leaf pauses other priorities than its EOS spine", "leaf1", "PORT_QOS_MAP|Ethernet240 pfc_enable=4", "error PFC-01 leaf1 Ethernet240", "PFC-03 no group has headroom for it; PFC-04 the group of the other has no PFC; WD-03 nor is it watched; " + sibling, ""},
	{"an EOS spine pauses other priorities than its leaves", "spine1", profile + "priority-flow-control priority 4 no-drop", "error PFC-01 @", "WD-03 nor is it watched; PFC-03 no group has headroom for it", ""},
	{"an NX-OS leaf has another MTU than its EOS spine", "leaf3", "interface Ethernet1/29; mtu 1500", "error MTU-02 leaf3 Ethernet1/29", "MTU-01 the ends differ; " + sibling, ""},
	{"a SONiC leaf has no FEC towards its EOS spine", "leaf1", "PORT|Ethernet240 fec=none", "warning PRT-06 leaf1 Ethernet240", "", ""},
	{"an EOS leaf classifies RDMA otherwise than the others", "leaf2", "qos map dscp 26 to traffic-class 0", "error CLS-02 @", "CLS-01 the other switches differ", ""},
}
