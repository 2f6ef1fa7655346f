package faults

// Reasons for further findings. On the Z9332f, host ports use the profile for 400G and 5 m and
// fabric ports the one for 40 m: at 400G the round trips are 2.5 KB and 20 KB, and a fabric packet
// has 9.1 KB.
const (
	sibling = "PRT-03 its ports differ from those of the other switches of the role"
	inTable = "BUF-06 a longer cable then has less headroom than a shorter one"
	asBuilt = "DRIFT the value is in the intent's own model too"
	byASIC  = "OPS-02 the ASIC and the configuration differ"
)

// sonicBuffers are faults of buffers and thresholds on switches with the traditional buffer model.
var sonicBuffers = []fault{
	// Headroom (theory 1.3: less than the round trip and two frames means loss, less than the
	// model a risk).
	{"xoff below the floor of a short cable", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_5m_profile xoff=2000", "error BUF-01 @down", inTable + "; " + sibling, ""},
	{"xoff below the floor of a long cable", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_40m_profile xoff=25000", "error BUF-01 @up", inTable + "; " + sibling, ""},
	{"xoff below the floor on a spine", "spine2", "BUFFER_PROFILE|pg_lossless_400000_40m_profile xoff=20000", "error BUF-01 @", inTable + "; " + sibling, ""},
	{"xoff below the floor everywhere", "switches", "BUFFER_PROFILE|pg_lossless_400000_40m_profile xoff=25000", "error BUF-01 @up", inTable, ""},
	{"xoff below the model", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_40m_profile xoff=60000", "warning BUF-01 @up", inTable + "; " + sibling, ""},
	{"xoff below the model everywhere", "switches", "BUFFER_PROFILE|pg_lossless_400000_40m_profile xoff=60000", "warning BUF-01 @up", inTable, ""},
	{"a profile of a port's own, below the model", "leaf2", "BUFFER_PROFILE|mine pool=ingress_lossless_pool size=2540 xon=2540 xon_offset=2540 xoff=100000 dynamic_th=-2; BUFFER_PG|Ethernet240|3 profile=mine", "warning BUF-01 leaf2 Ethernet240", "DRIFT no length is behind it; " + inTable + "; " + sibling, ""},
	{"a lossless profile without xoff", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_5m_profile -xoff", "error PFC-03 @down", "BUF-07 the profile is no lossless one; BUF-15 the group is not in force; " + sibling, ""},
	{"the profile of a shorter cable", "leaf1", "BUFFER_PG|Ethernet240|3 profile=pg_lossless_400000_5m_profile", "error BUF-02 leaf1 Ethernet240", sibling, ""},
	{"a cable length of another port", "leaf1", "CABLE_LENGTH|AZURE Ethernet240=5m", "error BUF-02 leaf1 Ethernet240", sibling, ""},
	{"a cable length of nothing", "leaf1", "CABLE_LENGTH|AZURE Ethernet240=0m", "error BUF-02|BUF-03 leaf1 Ethernet240", "BUF-02 a length of nothing is also too short; BUF-03 SONiC makes no headroom for it; " + sibling, ""},
	{"a cable length without a row", "leaf1", "CABLE_LENGTH|AZURE Ethernet240=7m", "error BUF-02|BUF-03 leaf1 Ethernet240", "BUF-02 it is too short; BUF-03 and has no row; " + sibling, ""},
	{"cable lengths of nothing on a whole leaf", "leaf3", "CABLE_LENGTH|AZURE Ethernet0=0m Ethernet240=0m Ethernet248=0m", "error BUF-02|BUF-03 @", "BUF-02 a length of nothing is also too short; BUF-03 SONiC makes no headroom for it; " + sibling, ""},
	{"a cable length above the intent's", "leaf1", "CABLE_LENGTH|AZURE Ethernet0=40m", "error DRIFT leaf1 Ethernet0", sibling, ""},

	// Groups.
	{"a lossless group with the lossy profile", "leaf1", "BUFFER_PG|Ethernet0|3 profile=ingress_lossy_profile", "error PFC-03 leaf1 Ethernet0", "BUF-07 the profile is the lossy one; BUF-15 no headroom is in force; " + sibling, ""},
	{"a lossless group that is gone", "leaf1", "-BUFFER_PG|Ethernet240|3", "error PFC-03 leaf1 Ethernet240", "BUF-15 no headroom is in force; " + sibling, ""},
	{"no lossless groups on a spine", "spine1", "-BUFFER_PG|Ethernet0|3; -BUFFER_PG|Ethernet8|3; -BUFFER_PG|Ethernet16|3", "error PFC-03 @", "BUF-15 no headroom is in force; " + sibling, ""},
	{"a lossless group without PFC", "leaf1", "BUFFER_PG|Ethernet0|4 profile=pg_lossless_400000_5m_profile", "error PFC-04 leaf1 Ethernet0", sibling, ""},
	{"groups without hysteresis", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_5m_profile xon=0 xon_offset=0", "warning PFC-11 @down", sibling, ""},
	{"groups without hysteresis everywhere", "switches", "BUFFER_PROFILE|pg_lossless_400000_40m_profile xon=0 xon_offset=0", "warning PFC-11 @up", "", ""},

	// Thresholds.
	{"alpha of 1/128 on one leaf", "leaf1", "BUFFER_PROFILE|pg_lossless_* dynamic_th=-7", "warning BUF-09 @", "ECN-03 the pause comes before full marking; BUF-10 and early; ECN-04 the group cannot hold that much; " + sibling, ""},
	{"alpha of 1/128 on one port", "leaf1", "BUFFER_PROFILE|pg_lossless_400000_5m_profile dynamic_th=-7", "warning BUF-09 leaf1 Ethernet0", "ECN-03 the pause comes before full marking; BUF-10 and early; ECN-04 the group cannot hold that much; " + sibling, ""},
	{"alpha of 1/128 everywhere", "switches", "BUFFER_PROFILE|pg_lossless_* dynamic_th=-7", "warning BUF-09 @", "ECN-03 the pause comes before full marking; BUF-10 and early; ECN-04 the group cannot hold that much", ""},
	{"alpha of 2 on a spine", "spine1", "BUFFER_PROFILE|pg_lossless_* dynamic_th=1", "warning BUF-09 @", sibling, ""},
	{"alpha of 128 everywhere", "switches", "BUFFER_PROFILE|pg_lossless_* dynamic_th=7", "warning BUF-09 @", "", ""},
	{"the lossless pool is a hundredth on one leaf", "leaf1", "BUFFER_POOL|ingress_lossless_pool size=663940", "error BUF-09 @switch", "BUF-10 the group pauses early; BUF-04 the headroom does not fit; BUF-05 nor is it shared as declared; BUF-09 the pool is not the platform's; BUF-11 the lossy group may take all of it; ECN-04 the group cannot hold that much; DRIFT the pool is not as the platform has it; " + sibling, ""},
	{"the lossless pool is a hundredth everywhere", "switches", "BUFFER_POOL|ingress_lossless_pool size=663940", "error BUF-09 @switch", "BUF-10 the group pauses early; BUF-04 the headroom does not fit; BUF-05 nor is it shared as declared; BUF-09 the pool is not the platform's; BUF-11 the lossy group may take all of it; ECN-04 the group cannot hold that much; DRIFT the pool is not as the platform has it", ""},
	{"the headroom pool is a hundredth on one leaf", "leaf1", "BUFFER_POOL|ingress_lossless_pool xoff=272003", "warning BUF-05|BUF-09 @switch", "DRIFT the pool is not as the platform has it; BUF-04 the headroom does not fit", ""},
	{"the headroom pool is a hundredth everywhere", "switches", "BUFFER_POOL|ingress_lossless_pool xoff=272003", "warning BUF-05|BUF-09 @switch", "DRIFT the pool is not as the platform has it; BUF-04 the headroom does not fit", ""},
	{"pools of more than the chip's memory", "leaf1", "BUFFER_POOL|ingress_lossless_pool size=266394076", "error BUF-04 @switch", "BUF-08 egress holds less than ingress; BUF-09 the pool is not the platform's; DRIFT the pool is not as the platform has it", ""},
	{"egress of lossless queues below their ingress", "leaf1", "BUFFER_PROFILE|egress_lossless_profile static_th=3456789", "error BUF-08 leaf1 Ethernet0,Ethernet240,Ethernet248", sibling, ""},
	{"egress of lossless queues below their ingress everywhere", "switches", "BUFFER_PROFILE|egress_lossless_profile static_th=1234567", "error BUF-08 @", "ECN-04 the queue never gets that long; ECN-03 nor does it mark", ""},
	{"a lossless queue of 100 KB", "spine1", "BUFFER_PROFILE|egress_lossless_profile static_th=100000", "error BUF-08 @", "ECN-04 the queue never gets that long; ECN-03 nor does it mark; " + sibling, ""},
	{"a lossless queue with the lossy profile", "leaf1", "BUFFER_QUEUE|Ethernet0|3-4 profile=egress_lossy_profile", "error BUF-07 leaf1 Ethernet0", "BUF-08 which may hold less than the ingress pool; " + sibling, ""},
	{"a lossless queue without a profile", "leaf1", "-BUFFER_QUEUE|Ethernet0|3-4", "error BUF-07 leaf1 Ethernet0", "BUF-15 no profile is in force; " + sibling, ""},
	{"lossless queues of all ports with the lossy profile", "leaf1", "BUFFER_QUEUE|Ethernet0|3-4 profile=egress_lossy_profile; BUFFER_QUEUE|Ethernet240|3-4 profile=egress_lossy_profile; BUFFER_QUEUE|Ethernet248|3-4 profile=egress_lossy_profile", "error BUF-07 @", "BUF-08 which may hold less than the ingress pool; " + sibling, ""},

	// In ASIC_DB and APPL_DB.
	{"the ASIC has no profile for a lossless group", "leaf1", "ASIC pg Ethernet0:3 SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE=oid:0x0", "error BUF-15 leaf1 Ethernet0", "", ""},
	{"the ASIC has no profile for the lossless group of an uplink", "spine2", "ASIC pg Ethernet16:3 SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE=oid:0x0", "error BUF-15 spine2 Ethernet16", "", ""},
	{"the ASIC has another xoff", "leaf1", "ASIC pgprofile Ethernet0:3 SAI_BUFFER_PROFILE_ATTR_XOFF_TH=2000", "error BUF-15|OPS-02|BUF-01 leaf1 Ethernet0", "BUF-01 the headroom in force is below the floor", ""},
	{"the ASIC has another alpha", "leaf1", "ASIC pgprofile Ethernet0:3 SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH=-7", "error OPS-02|BUF-15 leaf1 Ethernet0", "BUF-09 the alpha in force is not the platform's", ""},
	{"the ASIC has a smaller pool", "leaf1", "ASIC pool Ethernet0:3 SAI_BUFFER_POOL_ATTR_SIZE=663940", "error OPS-02 leaf1", "ECN-03 the pause comes before the first mark; BUF-10 and early", ""},
	{"the ASIC has no headroom pool", "leaf1", "ASIC pool Ethernet0:3 SAI_BUFFER_POOL_ATTR_XOFF_SIZE=0", "error OPS-02 leaf1", "BUF-05 the headroom is not shared as declared", ""},
	{"the ASIC has no profile for a lossless queue", "leaf1", "ASIC queue Ethernet0:3 SAI_QUEUE_ATTR_BUFFER_PROFILE_ID=oid:0x0", "error OPS-02|BUF-15 leaf1 Ethernet0", "", ""},
	{"the ASIC has a smaller lossless queue", "leaf1", "ASIC qprofile Ethernet0:3 SAI_BUFFER_PROFILE_ATTR_SHARED_STATIC_TH=100000", "error OPS-02|BUF-08 @", byASIC + "; BUF-08 the limit in force is below the ingress pool", ""},
	{"the daemons gave a group another profile", "leaf1", "APPL BUFFER_PG_TABLE Ethernet0:3 profile=ingress_lossy_profile", "error BUF-15 leaf1 Ethernet0", "PFC-03 PFC is on and the group in force is lossy", ""},
}

// sonicFaults are the other faults of switches with the traditional buffer model.
var sonicFaults = []fault{
	// States of the switch itself.
	{"the watchdog has stopped RDMA at a host", "leaf1", "storm Ethernet0 3", "error OPS-06 leaf1 Ethernet0", "", ""},
	{"the watchdog has stopped RDMA at two ports", "leaf1", "storm Ethernet0 3; storm Ethernet240 3", "error OPS-06 leaf1 Ethernet0,Ethernet240", "", ""},
	{"a warm restart has not ended", "leaf1", "STATE WARM_RESTART_ENABLE_TABLE system enable=true; STATE WARM_RESTART_TABLE orchagent state=restored; ASIC port Ethernet0 SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL=0", "warning OPS-06 leaf1", "", ""},
	{"orchagent is still reading", "leaf1", "APPL _BUFFER_PG_TABLE Ethernet0:3-4 profile=p; ASIC pg Ethernet0:3 SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE=oid:0x0", "warning OPS-06 leaf1", "", ""},

	// Classification.
	{"DSCP of RDMA in the default class", "leaf1", "DSCP_TO_TC_MAP|AZURE_* 26=0", "error CLS-02 @", "CLS-01 the other switches differ", ""},
	{"DSCP of RDMA in the default class everywhere", "switches", "DSCP_TO_TC_MAP|AZURE_* 26=0", "error CLS-02 @", "", ""},
	{"DSCP of notifications in the default class", "leaf1", "DSCP_TO_TC_MAP|AZURE_* 48=0", "error CLS-01 @", "CLS-09 they are not served first", ""},
	{"other traffic in the lossless class", "leaf1", "DSCP_TO_TC_MAP|AZURE_* 27=3", "warning CLS-03 @", "CLS-01 the other switches differ", ""},
	{"notifications in the lossless class", "leaf1", "DSCP_TO_TC_MAP|AZURE_* 48=3", "error CLS-10 @", "CLS-01 the other switches differ; CLS-03 it takes other traffic; CLS-18 and control traffic; CLS-10 and notifications; CLS-09 they are not served first", ""},
	{"the shipped map on a port", "leaf1", "PORT_QOS_MAP|Ethernet0 dscp_to_tc_map=AZURE", "error CLS-02 leaf1 Ethernet0", "CLS-01 the other ports differ; CLS-03 DSCP 3 is lossless there; DRIFT other DSCPs differ as well; " + sibling, ""},
	{"a port without a map", "leaf1", "-PORT_QOS_MAP|global; PORT_QOS_MAP|Ethernet240 -dscp_to_tc_map", "error CLS-04 leaf1 Ethernet240", "CLS-02 RDMA is lossy there; CLS-14 the other end trusts DSCP; DRIFT the port has no map; " + sibling, ""},
	{"the class of RDMA in another queue", "leaf1", "TC_TO_QUEUE_MAP|MINE 0=0 1=1 2=2 3=4 4=4 5=5 6=6 7=7; PORT_QOS_MAP|Ethernet0 tc_to_queue_map=MINE", "error CLS-05 leaf1 Ethernet0", sibling, ""},
	{"pause of RDMA for another queue", "leaf1", "MAP_PFC_PRIORITY_TO_QUEUE|MINE 0=0 1=1 2=2 3=4 4=4 5=5 6=6 7=7; PORT_QOS_MAP|Ethernet0 pfc_to_queue_map=MINE", "error CLS-05 leaf1 Ethernet0", sibling, ""},
	{"the class of RDMA in the lossy group", "leaf1", "TC_TO_PRIORITY_GROUP_MAP|AZURE_* 3=0", "error CLS-06|PFC-03 @", "PFC-03 its traffic is in a lossy group; DRIFT the group is not the intent's", ""},
	{"RDMA leaves with another DSCP", "spine1", "TC_TO_DSCP_MAP|MARK 3=8; PORT_QOS_MAP|Ethernet0 tc_to_dscp_map=MARK", "error CLS-07 spine1 Ethernet0", sibling, ""},
	{"the switch has a map of its own", "leaf1", "PORT_QOS_MAP|global dscp_to_tc_map=AZURE", "warning CLS-15 @switch", "DRIFT the map of the switch is in the intent", ""},
	{"the counters of the watchdog are off", "leaf1", "FLEX_COUNTER_TABLE|PFCWD FLEX_COUNTER_STATUS=disable", "error OPS-02 @", "", ""},
	{"the ASIC has no DSCP map", "leaf1", "ASIC port Ethernet0 SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP=oid:0x0", "error OPS-02 leaf1 Ethernet0", "", ""},
	{"the ASIC has another DSCP map", "leaf1", "ASIC dscpmap Ethernet0 SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST={\"count\":0,\"list\":null}", "error OPS-02 @", "", ""},

	// PFC.
	{"a port towards a host pauses another priority as well", "leaf1", "PORT_QOS_MAP|Ethernet0 pfc_enable=3,4", "error PFC-02 leaf1 Ethernet0", "PFC-03 no group has headroom for it; BUF-18 buffermgrd makes a row 3-4 beside 3; WD-03 nor is it watched; " + sibling, ""},
	{"a port between switches pauses another priority", "leaf1", "PORT_QOS_MAP|Ethernet240 pfc_enable=4", "error PFC-01 leaf1 Ethernet240", "PFC-03 no group has headroom for it; PFC-04 the group of the other has no PFC; WD-03 nor is it watched; " + sibling, ""},
	{"no PFC between two switches", "leaf1", "PORT_QOS_MAP|Ethernet240 -pfc_enable", "error PFC-01 leaf1 Ethernet240", "PFC-04 the group has no PFC; WD-03 nothing is watched; " + sibling, ""},
	{"no PFC towards a host", "leaf1", "PORT_QOS_MAP|Ethernet0 -pfc_enable", "error PFC-02 leaf1 Ethernet0", "PFC-04 the group has no PFC; WD-03 nothing is watched; " + sibling, ""},
	{"asymmetric PFC on one end", "leaf1", "PORT|Ethernet240 pfc_asym=on", "warning PFC-08 leaf1 Ethernet240", "PFC-10 the ASIC pauses more; " + sibling, ""},
	{"the ASIC pauses nothing", "leaf1", "ASIC port Ethernet0 SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL=0", "error PFC-10 leaf1 Ethernet0", "", ""},
	{"the ASIC pauses more", "spine1", "ASIC port Ethernet8 SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL=24", "error PFC-10 spine1 Ethernet8", "", ""},
	{"pause was sent on a lossy priority, without a window", "leaf1", "counted Ethernet0 4 pfc-tx 1000", "warning PFC-14 leaf1 Ethernet0", "", ""},
	{"pause was sent on a lossy priority", "leaf1", "count Ethernet0 4 pfc-tx 1000", "warning PFC-14 leaf1 Ethernet0", "gate:no-traffic nothing is sent in the window; gate:window-too-short which is short", ""},

	// ECN.
	{"a lossless queue without a curve", "leaf1", "QUEUE|Ethernet0|3 -wred_profile", "error ECN-01 leaf1 Ethernet0", "ECN-14 the other hops mark; " + sibling, ""},
	{"no curves on a spine", "spine1", "QUEUE|Ethernet0|3 -wred_profile; QUEUE|Ethernet8|3 -wred_profile; QUEUE|Ethernet16|3 -wred_profile", "error ECN-01 @", "ECN-14 the other hops mark; " + sibling, ""},
	{"thresholds of 20 and 40 MB on one leaf", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_min_threshold=20000000 green_max_threshold=40000000", "error ECN-03 @", "ECN-04 the queue never gets that long; ECN-05 the other switches differ; ECN-06 nor does it fit the speed", ""},
	{"thresholds of 20 and 40 MB everywhere", "switches", "WRED_PROFILE|AZURE_LOSSLESS_* green_min_threshold=20000000 green_max_threshold=40000000", "error ECN-03 @", "ECN-04 the queue never gets that long; ECN-05 it is not the intent's; ECN-06 nor does it fit the speed", ""},
	{"a maximum that is never reached", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_max_threshold=30000000", "error ECN-04 @", "ECN-03 the pause comes before full marking; ECN-05 the other switches differ; ECN-06 nor does it fit the speed", ""},
	{"thresholds of another switch", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_min_threshold=300000 green_max_threshold=1400000", "error DRIFT @", "", ""},
	{"thresholds of another speed", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_min_threshold=5000 green_max_threshold=20000", "error ECN-06 @", "ECN-05 the other switches differ", ""},
	{"a step that marks one packet in ten", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_min_threshold=1500000", "error ECN-02 @", "ECN-05 the other switches differ; ECN-03 the pause comes before the first mark", ""},
	{"thresholds upside down", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_min_threshold=2500000", "error ECN-02 @", "ECN-05 the other switches differ; ECN-03 the pause comes before the first mark; ECN-04 the queue never gets that long", ""},
	{"another probability", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* green_drop_probability=100", "warning ECN-07 @", "ECN-05 the other switches differ", ""},
	{"drops and no marks", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* ecn=ecn_none", "error ECN-08 @", "ECN-14 the other hops mark", ""},
	{"a curve that is not enabled", "leaf1", "WRED_PROFILE|AZURE_LOSSLESS_* wred_green_enable=false", "error ECN-09 @", "ECN-14 the other hops mark", ""},
	{"the ASIC has no curve", "leaf1", "ASIC queue Ethernet0:3 SAI_QUEUE_ATTR_WRED_PROFILE_ID=oid:0x0", "error OPS-02|ECN-01 leaf1 Ethernet0", "ECN-14 the other hops mark", ""},
	{"the ASIC has other thresholds", "leaf1", "ASIC wred Ethernet0:3 SAI_WRED_ATTR_GREEN_MIN_THRESHOLD=20000000 SAI_WRED_ATTR_GREEN_MAX_THRESHOLD=40000000", "error OPS-02|ECN-03 @", byASIC + "; ECN-03 the pause comes before the first mark", ""},
	{"the ASIC does not mark", "leaf1", "ASIC wred Ethernet0:3 SAI_WRED_ATTR_ECN_MARK_MODE=SAI_ECN_MARK_MODE_NONE", "error OPS-02|ECN-08 @", byASIC, ""},

	// Scheduling.
	{"RDMA has a fifth of the link", "leaf1", "SCHEDULER|roce.rdma weight=10", "warning SCH-03 @", "", ""},
	{"RDMA has a fifth of the link everywhere", "switches", "SCHEDULER|roce.rdma weight=10", "warning SCH-03 @", "", ""},
	{"other traffic is strict", "leaf1", "SCHEDULER|roce.default type=STRICT -weight", "error SCH-02 @", "SCH-03 nothing is left for RDMA", ""},
	{"notifications have a share of 1", "leaf1", "SCHEDULER|roce.cnp type=DWRR weight=1", "error CLS-09 @", "", ""},
	{"the queue of other traffic has no scheduler", "leaf1", "QUEUE|Ethernet0|0 -scheduler", "error SCH-07|DRIFT leaf1 Ethernet0", sibling, ""},

	// MTU.
	{"a small MTU between switches", "leaf1", "PORT|Ethernet240 mtu=1500", "error MTU-02 leaf1 Ethernet240", "MTU-01 the ends differ; " + sibling, ""},
	{"an MTU below that of hosts between switches", "leaf1", "PORT|Ethernet240 mtu=8000", "error MTU-01 leaf1 Ethernet240", sibling, ""},
	{"an MTU below that of the host", "leaf1", "PORT|Ethernet0 mtu=8000", "error MTU-03 leaf1 Ethernet0", sibling, ""},
	{"the ASIC has a small MTU", "leaf1", "ASIC port Ethernet240 SAI_PORT_ATTR_MTU=1522", "error OPS-02|MTU-02 leaf1 Ethernet240", "", ""},

	// Watchdog.
	{"no watchdog towards a host", "leaf1", "-PFC_WD|Ethernet0", "error WD-01 leaf1 Ethernet0", "WD-06 half of it is configured; " + sibling, ""},
	{"no watchdog between switches", "leaf1", "-PFC_WD|Ethernet240", "warning WD-02 leaf1 Ethernet240", "WD-06 half of it is configured; " + sibling, ""},
	{"the watchdog watches another priority", "leaf1", "PORT_QOS_MAP|Ethernet0 pfcwd_sw_enable=4", "warning WD-03 leaf1 Ethernet0", sibling, ""},
	{"the watchdog waits 4 s", "leaf1", "PFC_WD|Ethernet0 detection_time=4000; PFC_WD|Ethernet240 detection_time=4000; PFC_WD|Ethernet248 detection_time=4000", "error DRIFT @", "WD-05 a storm lasts longer than others allow", ""},
	{"the watchdog of one port waits longer", "leaf1", "PFC_WD|Ethernet240 detection_time=800", "error DRIFT leaf1 Ethernet240", sibling, ""},

	// Ports and operations.
	{"a port towards a host is shut", "leaf1", "PORT|Ethernet0 admin_status=down", "error PRT-05 leaf1 Ethernet0", sibling, ""},
	{"a port towards a host has no link", "leaf1", "unplug Ethernet0", "error PRT-05 leaf1 Ethernet0", "", ""},
	{"a port runs at another speed", "leaf1", "PORT|Ethernet240 speed=100000", "warning PRT-04 leaf1 Ethernet240", "BUF-03 there is no row for it; ECN-06 the curve does not fit; ECN-04 nor can it be reached; " + sibling, ""},
	{"a link has FEC on one end only", "leaf1", "PORT|Ethernet240 fec=none", "warning PRT-04|PRT-06 leaf1 Ethernet240", sibling, ""},
	{"a cable is in another switch", "leaf1", "neighbor Ethernet240 spine2 etp9", "error TOP-07 leaf1 Ethernet240", "", ""},
	{"a neighbour that nobody knows", "leaf1", "neighbor Ethernet240 somebody eth9", "warning TOP-07 leaf1 Ethernet240", "", ""},
	{"a neighbour that does not show", "leaf1", "neighbor Ethernet240 - -", "warning TOP-10 leaf1 Ethernet240", "", ""},
	{"a port lost its configuration", "leaf1", "-PORT_QOS_MAP|Ethernet0; -QUEUE|Ethernet0|3; -BUFFER_PG|Ethernet0|3; -PFC_WD|Ethernet0; QUEUE|Ethernet0|0 scheduler=scheduler.0; QUEUE|Ethernet0|6 scheduler=scheduler.0", "error PRT-01 leaf1 Ethernet0", "", ""},
	{"a change was not saved", "leaf1", "SCHEDULER|roce.rdma weight=59; unsaved", "warning OPS-01 leaf1", "SCH-03 RDMA has a little less; DRIFT it is not the intent's", ""},
	{"a switch does not answer", "leaf1", "refuse", "error READ leaf1", "", ""},
}

// dynamicFaults are faults of switches with the dynamic buffer model.
var dynamicFaults = []fault{
	{"alpha of 1/64 on one leaf", "leaf1", "DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE default_dynamic_th=-6", "warning BUF-09 @", "ECN-03 the pause comes before full marking; BUF-10 and early; ECN-04 the group cannot hold that much; " + sibling, ""},
	{"alpha of 1/64 everywhere", "switches", "DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE default_dynamic_th=-6", "warning BUF-09 @", "ECN-03 the pause comes before full marking; BUF-10 and early; ECN-04 the group cannot hold that much", ""},
	{"small packets are not accounted for", "leaf1", "LOSSLESS_TRAFFIC_PATTERN|AZURE small_packet_percentage=0", "warning BUF-17 @", "DRIFT it is not the intent's", ""},
	{"a lossless group that is gone", "leaf1", "-BUFFER_PG|Ethernet240|3", "error PFC-03 leaf1 Ethernet240", "BUF-15 no headroom is in force; " + sibling, ""},
	{"a lossless group with the lossy profile", "leaf1", "BUFFER_PG|Ethernet0|3 profile=ingress_lossy_profile", "error PFC-03 leaf1 Ethernet0", "BUF-07 the profile is the lossy one; BUF-15 no headroom is in force; " + sibling, ""},
	{"headroom by hand, below the floor", "leaf1", "BUFFER_PROFILE|mine pool=ingress_lossless_pool xon=19456 xoff=20000 size=39456 dynamic_th=0; BUFFER_PG|Ethernet240|3 profile=mine", "error BUF-01 leaf1 Ethernet240", inTable + "; " + sibling, ""},
	{"headroom by hand, below the model", "leaf1", "BUFFER_PROFILE|mine pool=ingress_lossless_pool xon=19456 xoff=60000 size=79456 dynamic_th=0; BUFFER_PG|Ethernet240|3 profile=mine", "warning BUF-01 leaf1 Ethernet240", inTable + "; " + sibling, ""},
	{"the daemon computed too little headroom", "leaf1", "APPL BUFFER_PROFILE_TABLE pg_lossless_400000_40m_profile xoff=20000; ASIC pgprofile Ethernet240:3 SAI_BUFFER_PROFILE_ATTR_XOFF_TH=20000", "error BUF-01 @up", inTable + "; " + sibling, ""},
	{"the daemon has not computed a group", "leaf1", "APPL BUFFER_PG_TABLE Ethernet240:3 profile=", "error BUF-15 leaf1 Ethernet240", "PFC-03 PFC is on without a lossless group; " + sibling, ""},
	{"a port may have less headroom than its groups take", "leaf1", "STATE BUFFER_MAX_PARAM_TABLE Ethernet240 max_headroom_size=60000", "error BUF-04 leaf1 Ethernet240", "", ""},
	{"a cable length of another port", "leaf1", "CABLE_LENGTH|AZURE Ethernet240=5m", "error BUF-02 leaf1 Ethernet240", "BUF-01 and too little for the cable; " + sibling, ""},
	{"a cable length of nothing", "leaf1", "CABLE_LENGTH|AZURE Ethernet240=0m", "error BUF-02|BUF-03 leaf1 Ethernet240", "BUF-02 a length of nothing is also too short; BUF-03 SONiC makes no headroom for it; PFC-03 there is no lossless group; BUF-15 no headroom is in force; " + sibling, ""},
	{"lossless queues may hold little", "leaf1", "BUFFER_PROFILE|egress_lossless_profile dynamic_th=-8", "error BUF-08 @", "ECN-04 the queue never gets that long; ECN-03 nor does it mark; " + sibling, ""},
	{"the pool of lossless queues is small", "leaf1", "BUFFER_POOL|egress_lossless_pool size=158229", "error BUF-08 @", "ECN-04 the queue never gets that long; ECN-03 nor does it mark; DRIFT the pool is not as the platform has it; " + sibling, ""},
	{"a lossless queue with the lossy profile", "spine1", "BUFFER_QUEUE|Ethernet0|3-4 profile=q_lossy_profile", "error BUF-07 spine1 Ethernet0", "BUF-08 which may hold less than the ingress pool; " + sibling, ""},
	{"the ASIC has no profile for a lossless group", "leaf1", "ASIC pg Ethernet0:3 SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE=oid:0x0", "error BUF-15 leaf1 Ethernet0", "", ""},
	{"the lossless pool in force is a hundredth", "leaf1", "APPL BUFFER_POOL_TABLE ingress_lossless_pool size=663940; ASIC pool Ethernet0:3 SAI_BUFFER_POOL_ATTR_SIZE=663940", "warning BUF-09 @switch", "BUF-10 the group pauses early; BUF-04 the headroom does not fit; BUF-05 nor is it shared as declared; ECN-04 the group cannot hold that much; DRIFT the pool is not as the platform has it; " + sibling, ""},
	{"pause belongs to another group", "leaf1", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|MINE 3=4; PORT_QOS_MAP|Ethernet0 pfc_to_pg_map=MINE", "error CLS-06 leaf1 Ethernet0", "PFC-03 that group is lossy; " + sibling, ""},
}
