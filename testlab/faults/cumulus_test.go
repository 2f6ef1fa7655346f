package faults

// cumulusFaults are faults of Cumulus Linux switches as they occur in operation: a preset that a
// colleague enabled, a profile of another team, a value in the wrong unit.
var cumulusFaults = []fault{
	{"an uplink has another MTU", "leaf1", "nv set interface swp33 link mtu 1500", "error MTU-02 leaf1 swp33", "MTU-01 the ends differ; MTU-03 it is below RDMA's; " + sibling, ""},
	{"an uplink is shut", "leaf1", "nv set interface swp33 link state down", "error PRT-05 leaf1 swp33", "DRIFT it is to be up", ""},
	{"the cable of an uplink is out", "leaf1", "unplug swp33", "error PRT-05 leaf1 swp33", "", ""},
	{"LLDP is off at an uplink", "leaf1", "neighbor swp33 - -", "warning TOP-10 leaf1 swp33", "", ""},
	{"two uplinks have changed places", "leaf1", "neighbor swp33 spine2 swp1; neighbor swp34 spine1 swp1", "error TOP-07 leaf1 swp33,swp34", "", ""},
	{"no watchdog at a host port", "leaf1", "nv unset interface swp1 qos pfc-watchdog", "error WD-01 leaf1 swp1", sibling, ""},
	{"an uplink pauses nothing", "leaf1", "nv set qos pfc LOSSY tx enable; nv set interface swp33 qos pfc profile LOSSY; nv unset interface swp33 qos pfc-watchdog", "error PFC-01|PFC-02 leaf1 swp33", "WD-01 nor is it watched; WD-02 nor is it watched; DRIFT the cable length and the group go with its profile; " + sibling, ""},
	{"a host port trusts PCP", "leaf1", "nv set qos mapping L2 trust l2; nv set interface swp1 qos mapping profile L2", "error CLS-04 leaf1 swp1", "CLS-14 the other end trusts DSCP; CLS-02 no DSCP counts; DRIFT no DSCP is mapped; " + sibling, ""},
	{"a change is not saved", "leaf1", "nv set interface swp1 description new; unsaved", "warning OPS-01 leaf1", "", ""},
	{"pause was sent on a lossy priority, without a window", "leaf1", "counted swp1 4 pfc-tx 1000", "warning PFC-14 leaf1 swp1", "", ""},
	{"the preset is on", "leaf1", "nv set qos roce state enabled", "info UNKNOWN leaf1", "", ""},
	{"the switch answers nobody", "leaf1", "refuse", "error READ leaf1", "", ""},

	// Classification.
	{"RDMA is in priority 0", "leaf1", "nv set qos mapping roce-fabric dscp 26 switch-priority 0", "error CLS-02 @", "CLS-01 the other switches differ", ""},
	{"the DSCP of the preset", "leaf1", "nv set qos mapping roce-fabric dscp 24-31 switch-priority 3", "warning CLS-03 @", "CLS-01 the other switches differ", ""},
	{"notifications are in the priority of RDMA", "leaf1", "nv set qos mapping roce-fabric dscp 48 switch-priority 3", "error CLS-10 @", "CLS-01 the other switches differ", ""},
	{"the queue of RDMA is that of the default class", "leaf1", "nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 0", "error CLS-05|DRIFT @", "", ""},
	{"a host port has the profile of the switch", "leaf1", "nv unset interface swp1 qos mapping profile", "error CLS-02 leaf1 swp1", "CLS-04 the switch trusts PCP; DRIFT no DSCP is mapped; " + sibling, ""},

	// PFC.
	{"another priority pauses", "leaf1", "nv set qos pfc roce-fabric switch-priority 4", "error PFC-02 leaf1 swp1", "", ""},
	{"pauses are sent and not obeyed", "leaf1", "nv set qos pfc roce-fabric rx disable", "error PFC-01|PFC-02 leaf1 swp1", "", ""},
	{"the cable of uplinks is 1 m", "leaf1", "nv set qos pfc roce-fabric-2 cable-length 1", "error BUF-02 @up", "", ""},

	{"next to no memory is left to lossy traffic", "leaf1", "nv set qos traffic-pool default-lossy memory-percent 10; nv set qos traffic-pool default-lossless memory-percent 90", "info BUF-11 leaf1", "", ""},

	// Queues and ECN marking.
	{"RDMA is not marked", "leaf1", "nv set qos congestion-control roce-fabric traffic-class 3 ecn disable", "error ECN-01 @", "", ""},
	{"thresholds in kilobytes", "leaf1", "nv set qos congestion-control roce-fabric traffic-class 3 min-threshold 600; nv set qos congestion-control roce-fabric traffic-class 3 max-threshold 6000", "error ECN-03|ECN-06 @", "", ""},
	{"RDMA is dropped at random", "leaf1", "nv set qos congestion-control roce-fabric traffic-class 3 red enable", "error ECN-08 @", "", ""},
	{"RDMA has a tenth of the link", "leaf1", "nv set qos egress-scheduler roce-fabric traffic-class 3 bw-percent 10; nv set qos egress-scheduler roce-fabric traffic-class 0 bw-percent 90", "warning SCH-03 @", "DRIFT nor has the default class its share", ""},
	{"notifications wait for their turn", "leaf1", "nv set qos egress-scheduler roce-fabric traffic-class 6 mode dwrr; nv set qos egress-scheduler roce-fabric traffic-class 6 bw-percent 0", "error CLS-09 @", "SCH-07 its weight is 0", ""},
	{"an uplink marks by the preset's curve", "leaf1", "nv unset interface swp33 qos congestion-control", "error ECN-01 leaf1 swp33", "DRIFT the switch marks its default class", ""},
	{"all that is for RoCE is gone", "leaf1", "nv unset qos; nv unset interface swp1 qos; nv unset interface swp33 qos; nv unset interface swp34 qos", "error PRT-01 @", "DRIFT the watchdog polls at its own interval", ""},
	{"the lossy preset is on", "leaf1", "nv set qos roce state enabled; nv set qos roce mode lossy", "info UNKNOWN leaf1", "", ""},
}
