package nic

import (
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
)

// Checks lists the checks that [Check] and [Compare] make, including checks of other families that
// look at a NIC.
var Checks = []checks.Check{
	{
		ID: "BUF-13", Title: "a NIC's receive buffer does not fit its lossless class",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "the NIC pauses too late and drops",
		Fix: "state the cable length, write buffers: auto for the NIC into the intent, and apply it",
	},
	{
		ID: "CLS-08", Title: "congestion notifications are in another class than the intent says",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeNIC, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Switch:   class.NotificationsElsewhere,
		FoldedIn: []string{"CLS-10"},
		Why:      "they queue behind data, or are lost, and senders do not slow down",
		Fix:      "set the CNP DSCP of the NIC to one of the intent's class, and map that to the class on each switch",
	},
	{
		ID: "DCB-01", Title: "a NIC accepts settings from its DCBX peer",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the firmware owns DCBX of the port, or lldpad is active on the host"}, {Severity: checks.Info, When: "else"}}, Scope: checks.ScopeNIC, Reads: checks.ReadsNIC,
		Why: "its settings change at the next link-up",
		Fix: "write willing: off for the NIC into the intent, and apply it",
	},
	{
		ID: "DCB-02", Title: "two LLDP or DCBX agents run on one NIC",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the firmware has an agent as well"}, {Severity: checks.Warning, When: "for one agent"}}, Scope: checks.ScopeNIC, Reads: checks.ReadsNIC,
		Why: "they undo each other's settings, and the switch sees two neighbours",
		Fix: "stop the host's agent or the firmware's",
	},
	{
		ID: "DCB-03", Title: "a NIC negotiates PFC although the intent sets it",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeNIC, Reads: checks.ReadsNIC,
		Why: "PFC stays off unless the DCBX peer agrees",
		Fix: "let the host own DCBX",
	},
	{
		ID: "DCB-04", Title: "two switches negotiate PFC with each other",
		FoldedIn: []string{"PFC-10", "PFC-15"},
		Rules:    checks.Always(checks.Warning), Scope: checks.ScopeLink, Reads: checks.ReadsRunning,
		Why:    "one end overwrites the settings of the other",
		Fix:    "set PFC to on at both ends",
		Absent: "PFC-15 names PFC that a saved configuration leaves to negotiation, and PFC-10 one that does not come up",
	},
	{
		ID: "ECN-11", Title: "a NIC has no congestion control on a lossless priority",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the priority is not covered"}, {Severity: checks.Warning, When: "where it is not at the next boot"}, {Severity: checks.Info, When: "where the driver does not show it"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "it ignores ECN marks, so PFC is the only congestion control",
		Fix: "enable the notification point and the reaction point for the priority",
	},
	{
		ID: "ECN-12", Title: "congestion control differs between NICs",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsNIC,
		Why: "NICs that slow down less take bandwidth from the others",
		Fix: "write dcqcn with one value for all NICs into the intent, and apply it",
	},
	{
		ID: "ECN-13", Title: "RDMA may be sent as not ECN-capable",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "switches drop these packets instead of marking them",
		Fix: "set an ECN-capable ToS",
	},
	{
		ID: "MTU-04", Title: "the RDMA MTU is below the intent, or differs between NICs",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "for a NIC, a bond, a bridge, or a VLAN of the intent"}, {Severity: checks.Info, When: "for a VLAN over it that the intent does not list"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "more packets for the same data; some libraries hang on a mismatch",
		Fix: "raise the MTU of the interface, or that of the bond, VLAN or bridge over it",
	},
	{
		ID: "NIC-01", Title: "a NIC classifies by a different field than the fabric",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "it classifies frames by a field that nothing in the fabric sets",
		Fix: "set trust to dscp",
	},
	{
		ID: "NIC-02", Title: "a NIC maps a DSCP to a different priority than the fabric, or a VLAN RDMA to a different PCP",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where it moves RDMA or notifications"}, {Severity: checks.Warning, When: "else"}, {Severity: checks.Info, When: "for a VLAN where both ends trust DSCP"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "it pauses and is paused on the wrong priority",
		Fix: "apply the intent to the host",
	},
	{
		ID: "NIC-03", Title: "RDMA is marked with a different DSCP than the intent says",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "it is sent as best effort and dropped under load",
		Fix: "set the ToS of RDMA connections",
	},
	{
		ID: "NIC-04", Title: "a rail of a host is missing",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a port of the intent"}, {Severity: checks.Info, When: "for a port that the intent does not list"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "one missing rail stalls the whole collective",
		Fix: "correct the name of the NIC in the intent, or look for the card",
	},
	{
		ID: "NIC-05", Title: "no boot unit restores the settings of a host",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "they are lost at a reboot and when the driver is reloaded",
		Fix: "install the boot unit",
	},
	{
		ID: "NIC-06", Title: "RDMA opened without RDMA-CM has no traffic class",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where a traffic class can be set"}, {Severity: checks.Info, When: "where the driver has none"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "its traffic uses priority 0 unless the application marks it",
		Fix: "set the traffic class in the applications",
	},
	{
		ID: "NIC-07", Title: "a NIC may pause for longer than the switch's PFC watchdog allows",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "the switch cuts the port before the NIC gives up",
		Fix: "write stallPrevention: auto for the NIC into the intent, and apply it",
	},
	{
		ID: "NIC-08", Title: "NICs of one kind run different firmware or drivers",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeFabric, Reads: checks.ReadsNIC,
		Why: "they behave differently in one job",
		Fix: "bring the NICs to one version",
	},
	{
		ID: "NIC-09", Title: "a NIC sends congestion notifications with a different priority than the fabric",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where an end of the link trusts PCP"}, {Severity: checks.Warning, When: "where it is not known what an end trusts"}, {Severity: checks.Info, When: "where both trust DSCP"}}, Scope: checks.ScopeNIC, Reads: checks.ReadsRunning | checks.ReadsNIC,
		Why: "on tagged links they land in the wrong class",
		Fix: "set the CNP priority of the NIC",
	},
	{
		ID: "NIC-10", Title: "settings that a lossless NIC needs could not be read",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a physical function"}, {Severity: checks.Warning, When: "for a VF, an SF or a restricted function"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "PFC, trust, DSCP map, ETS, ToS or MTU are unknown",
		Fix: "read the host as root, or read the physical function, which holds the setting",
	},
	{
		ID: "NIC-11", Title: "a rail of a host has no carrier",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for a NIC that a link of the intent uses"}, {Severity: checks.Warning, When: "for another NIC of the intent"}, {Severity: checks.Info, When: "where it is not shown"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "one missing rail stalls the whole collective, or halves its bandwidth",
		Fix: "bring the interface up; check the cable, the transceivers and the switch port",
	},
	{
		ID: "NIC-12", Title: "another program or profile writes settings of a NIC",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where it writes another value than the intent, or is a daemon that runs while settings that it can write differ"}, {Severity: checks.Info, When: "where it writes the same value, one that is not known before it runs, or does not run now"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "the settings change back when it runs",
		Fix: "leave the setting out there, or write the value of the intent there",
	},
	{
		ID: "NIC-13", Title: "a NIC does not carry RoCE",
		Rules: []checks.Rule{{Severity: checks.Error, When: "for an RDMA device that the intent names, and for one of another transport"}, {Severity: checks.Warning, When: "where the intent names none"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "no RDMA connection of the fabric can be made over it, whatever its settings",
		Fix: "load the RDMA driver of the card, in its RoCE mode",
	},
	{
		ID: "NIC-14", Title: "a NIC has no address that RoCE v2 can use",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where there is none"}, {Severity: checks.Warning, When: "where all are link-local"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "connections fail, or do not leave the subnet",
		Fix: "give the interface an IP address",
	},
	{
		ID: "NIC-15", Title: "the slot of a card is slower than its link, or than the card",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where it is slower than the link"}, {Severity: checks.Info, When: "where it is slower than the card alone"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "the NIC cannot take frames as fast as they come: it pauses the switch, and the pauses spread",
		Fix: "move the card to a slot with more lanes",
	},
	{
		ID: "NIC-16", Title: "a program sends RDMA in another class than the intent says",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where its queue pairs show it"}, {Severity: checks.Info, When: "where the driver does not show it"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "it is best effort for the fabric, and dropped under load, whatever the defaults of the host are",
		Fix: "set the traffic class of the application",
	},
	{
		ID: "NIC-17", Title: "a NIC shares its PCIe root complex with no GPU of its host",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where all GPUs are on other NUMA nodes"}, {Severity: checks.Info, When: "else"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "RDMA to the memory of GPUs is slower, and the NIC pauses the switch meanwhile",
		Fix: "move the card to a slot next to a GPU",
	},
	{
		ID: "NIC-18", Title: "a NIC has received broken frames",
		Rules: checks.Always(checks.Info), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "each is a lost packet; some are normal while a link comes up",
		Fix: "check with --window whether they continue; if so, clean or replace cable and transceivers",
	},
	{
		ID: "NIC-19", Title: "a NIC runs other firmware or another driver than the baseline of the intent",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the version is another one"}, {Severity: checks.Info, When: "where the host does not show it"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "faults that the baseline has fixed come back, and settings may mean something else",
		Fix: "install the version of the baseline",
	},
	{
		ID: "NIC-20", Title: "a bond sends RDMA through one of its members alone",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "half of the bandwidth, or more, is never used, and that link pauses while the others idle",
		Fix: "set xmit_hash_policy of the bond to layer3+4",
	},
	{
		ID: "NIC-21", Title: "a program sends RDMA from an address that is not for routed RoCE v2",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "for RoCE v1"}, {Severity: checks.Info, When: "for a link-local address, if the NIC has another one"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "the packets do not leave the subnet; those of RoCE v1 have no DSCP, so that no switch puts them in their class by it",
		Fix: "choose the GID in the application",
	},
	{
		ID: "NIC-22", Title: "all queue pairs of a program to one peer have one UDP source port",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the switch has several links to other switches"}, {Severity: checks.Info, When: "else"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "switches hash the port to choose a path: one link is full while the others idle",
		Fix: "let the driver choose the port of each queue pair",
	},
	{
		ID: "NIC-23", Title: "RDMA does not follow a bond or bridge whose address it uses",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where several RDMA devices have one address"}, {Severity: checks.Info, When: "for a bridge over one"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "an RDMA device uses its own port only: connections fail when the switch or the bridge chooses another one",
		Fix: "bond the ports of one card, or give each NIC its own address",
	},
	{
		ID: "NIC-24", Title: "what the host's kernel holds for a VF limits its RDMA",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "for a link that is shut, a tag with another priority than RDMA's where it counts, and a small MTU of an interface that is up"}, {Severity: checks.Info, When: "for a rate limit"}}, Scope: checks.ScopeHost, Reads: checks.ReadsNIC,
		Why: "a guest or pod sees none of it, and its RDMA is slow, in the wrong class, or stopped",
		Fix: "change it with 'ip link set NIC vf N', or state it in vfs of the NIC",
	},
	{
		ID: "NIC-25", Title: "no route leads through a NIC to the NICs of the same name on other hosts",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the host has no such route"}, {Severity: checks.Info, When: "where its tables could not be read"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsNIC,
		Why:     "RDMA connections fail, or leave by another interface such as that of the default route",
		Fix:     "route the networks of these NICs through it, in the main table, or in a table of its own that a rule selects for its address",
		Sources: []string{"Linux drivers/infiniband/core/addr.c, addr4_resolve"},
	},
	{
		ID: "SCH-04", Title: "a NIC divides its link between classes differently than the switch",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeNIC, Reads: checks.ReadsNIC,
		Why: "a class gets less bandwidth than the intent says",
		Fix: "give both ends the same shares",
	},
}
