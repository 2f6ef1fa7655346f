package nxos

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

const (
	guidePFC     = "Nexus 9000 NX-OS QoS Configuration Guide, Configuring Priority Flow Control"
	guideQueuing = "Nexus 9000 NX-OS QoS Configuration Guide, Configuring Queuing and Scheduling"
	since7       = "7.0(3)I and later"

	sinceWatchdog = "9.3 and later"
)

// Defaults lists what [Decode] assumes where a configuration has no line.
var Defaults = []render.Usual{
	{Kind: qos.KindMTU, Value: "1500", What: "an interface, and a class of a network-qos policy, has an MTU of 1500 bytes", Source: "Nexus 9000 NX-OS Interfaces Configuration Guide; napalm-automation/napalm, checkpoint of 7.0(3)I2", Releases: since7},
	{Kind: qos.KindMTU, What: "a switched port has the MTU of its network-qos class", Source: "Nexus 3000 and 5000 NX-OS QoS Configuration Guides, jumbo MTU", Releases: "releases with U or N in the train, such as 6.0(2)U6 and 7.3(6)N1"},
	{Kind: qos.KindPFC, Value: "{}", What: "the PFC mode is auto, which counts as off, since it depends on the DCBX peer", Source: guidePFC, Releases: "all"},
	{Kind: qos.KindMap, What: "packets that no class of an input policy matches are in qos-group 0", Source: "Nexus 9000 NX-OS QoS Configuration Guide, Configuring Classification", Releases: "all"},
	{Kind: qos.KindScheduler, What: "without a queuing policy the highest queue is strict and queue 0 has the rest; a queue without a line has no share", Source: guideQueuing, Releases: since7},
	{Kind: qos.KindECN, Value: "off", What: "a queue marks nothing", Source: guideQueuing, Releases: "all"},
	{Kind: qos.KindWatchdog, Value: "off", What: "the watchdog is off", Source: guidePFC, Releases: sinceWatchdog},
	{Kind: qos.KindWatchdogPoll, Value: "100ms", What: "the watchdog looks every 100 ms", Source: guidePFC, Releases: sinceWatchdog},
	{Kind: qos.KindWatchdog, Part: []string{keyInterval}, What: "the watchdog looks every 100 ms", Source: guidePFC, Releases: sinceWatchdog},
	{Kind: qos.KindWatchdog, Part: []string{keyMultiplier}, What: "the watchdog shuts a queue after 1 interval", Source: guidePFC, Releases: sinceWatchdog},
	{Kind: qos.KindWatchdog, Part: []string{keyRestore}, What: "the watchdog restores a queue after 10 intervals", Source: guidePFC, Releases: sinceWatchdog},
	{Kind: qos.KindAdminUp, Value: "true", What: "a switched port is up", Source: "batfish/batfish, CiscoNxosInterface.java", Releases: "all"},
	{Kind: qos.KindAdminUp, Value: "false", What: "a routed port is down", Source: "batfish/batfish, CiscoNxosInterface.java", Releases: "all"},
	{Kind: qos.KindLinkPause, Value: "false", What: "link pause is off", Source: "Nexus 9000 NX-OS Interfaces Configuration Guide", Releases: "all"},
}
