package validate

// nicChecks are the checks that [Host] and [Hosts] make. Some of their families
// stand elsewhere: they are here because the NIC is what is looked at.
var nicChecks = []Check{
	{
		ID: "BUF-13", Title: "a NIC's receive buffer does not fit its lossless class",
		Rules: always(Warning), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "the NIC pauses too late and drops",
		Fix: "give lossless priorities a buffer of their own, and state the cable length",
	},
	{
		ID: "CLS-08", Title: "a NIC marks congestion notifications with a DSCP of another class",
		Rules: always(Error), Scope: ScopeNIC, Reads: ReadsNIC,
		Why: "they queue behind data, or are lost, and senders do not slow down",
		Fix: "set the CNP DSCP of the NIC to one of the intent's class",
	},
	{
		ID: "DCB-01", Title: "a NIC takes what its DCBX peer says",
		Rules: []Rule{{Warning, "where an agent runs DCBX"}, {Info, "else"}}, Scope: ScopeNIC, Reads: ReadsNIC,
		Why: "its settings change at the next link-up",
		Fix: "set willing to off, or make the switch authoritative in the intent",
	},
	{
		ID: "DCB-02", Title: "two LLDP or DCBX agents at one NIC",
		Rules: []Rule{{Error, "where the firmware has an agent as well"}, {Warning, "for one agent"}}, Scope: ScopeNIC, Reads: ReadsNIC,
		Why: "they undo each other's settings, and the switch sees two neighbours",
		Fix: "stop the agent of the host or of the firmware",
	},
	{
		ID: "DCB-03", Title: "PFC of a NIC is negotiated where the intent states it",
		Rules: always(Warning), Scope: ScopeNIC, Reads: ReadsNIC,
		Why: "PFC stays off unless the DCBX peer agrees",
		Fix: "let the host own DCBX",
	},
	{
		ID: "ECN-11", Title: "a NIC has no congestion control on a lossless priority",
		Rules: []Rule{{Error, "where the priority is not covered"}, {Warning, "where it is not at the next boot"}}, Scope: ScopeHost, Reads: ReadsNIC,
		Why: "it ignores the marks, and PFC alone is left",
		Fix: "enable notification and reaction point of the priority",
	},
	{
		ID: "ECN-12", Title: "congestion control differs between NICs",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsNIC,
		Why: "those that slow down less take the bandwidth of the others",
		Fix: "give all NICs the same parameters",
	},
	{
		ID: "ECN-13", Title: "RDMA may be sent as not ECN-capable",
		Rules: always(Warning), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "switches drop such packets where they would mark others",
		Fix: "set an ECN-capable ToS",
	},
	{
		ID: "MTU-04", Title: "the RDMA MTU is below the intent, or differs between NICs",
		Rules: always(Warning), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "more packets for the same data; some libraries hang on a mismatch",
		Fix: "raise the MTU of the interface",
	},
	{
		ID: "NIC-01", Title: "a NIC trusts another field than the fabric",
		Rules: always(Error), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "its frames are classified by a field that nobody sets",
		Fix: "set trust to dscp",
	},
	{
		ID: "NIC-02", Title: "a NIC gives a DSCP another priority than the fabric",
		Rules: []Rule{{Error, "where it moves RDMA or notifications"}, {Warning, "else"}}, Scope: ScopeHost, Reads: ReadsNIC,
		Why: "it pauses and is paused on the wrong priority",
		Fix: "apply the intent to the host",
	},
	{
		ID: "NIC-03", Title: "RDMA is marked with another DSCP than the intent's",
		Rules: always(Error), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "it leaves as best effort and is dropped under load",
		Fix: "set the ToS of RDMA connections",
	},
	{
		ID: "NIC-04", Title: "a rail of a host is missing or not configured",
		Rules: []Rule{{Error, "for a port of the intent"}, {Info, "for a port that the intent does not list"}}, Scope: ScopeHost, Reads: ReadsNIC,
		Why: "one slow rail stalls the whole collective",
		Fix: "apply the intent to all ports",
	},
	{
		ID: "NIC-05", Title: "no boot unit keeps the settings of a host",
		Rules: always(Warning), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "they are lost at a reboot and when the driver is loaded again",
		Fix: "install the boot unit",
	},
	{
		ID: "NIC-06", Title: "RDMA opened without RDMA-CM has no traffic class",
		Rules: []Rule{{Warning, "where a traffic class can be set"}, {Info, "where the driver has none"}}, Scope: ScopeHost, Reads: ReadsNIC,
		Why: "it rides in priority 0 unless the application marks it",
		Fix: "set the traffic class in the applications",
	},
	{
		ID: "NIC-07", Title: "a NIC may pause longer than the switch's watchdog waits",
		Rules: always(Warning), Scope: ScopeHost, Reads: ReadsNIC,
		Why: "the switch cuts the port before the NIC gives up",
		Fix: "set pfc_stall_prevention to auto",
	},
	{
		ID: "NIC-08", Title: "NICs of one kind run different firmware or drivers",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsNIC,
		Why: "they behave differently in one job",
		Fix: "bring the NICs to one version",
	},
	{
		ID: "NIC-09", Title: "a NIC gives congestion notifications another priority than the fabric",
		Rules: []Rule{{Error, "where PCP is trusted"}, {Warning, "else"}}, Scope: ScopeNIC, Reads: ReadsNIC,
		Why: "on tagged links they are in the wrong class",
		Fix: "set the CNP priority of the NIC",
	},
	{
		ID: "NIC-10", Title: "what a lossless NIC needs could not be looked at",
		Rules: []Rule{{Error, "for a physical function"}, {Warning, "for a VF, an SF or a restricted function"}}, Scope: ScopeHost, Reads: ReadsNIC,
		Why: "PFC, trust, the map of DSCPs, ETS, ToS or MTU may be anything",
		Fix: "read the host as root, or look where the setting is: at the physical function",
	},
	{
		ID: "NIC-11", Title: "a rail of a host has no carrier",
		Rules: []Rule{{Error, "for a NIC that a link of the intent uses"}, {Warning, "for another NIC of the intent"}, {Info, "where it is not shown"}}, Scope: ScopeHost, Reads: ReadsNIC,
		Why: "one rail that is missing stalls the whole collective, or halves the bandwidth",
		Fix: "bring the interface up; look at the cable, the transceivers and the switch port",
	},
	{
		ID: "SCH-04", Title: "a NIC shares its link in another way than the switch",
		Rules: always(Warning), Scope: ScopeNIC, Reads: ReadsNIC,
		Why: "a class gets less than the intent says",
		Fix: "give both ends the same shares",
	},
}
