package cumulus

import (
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

const (
	guideQoS      = "Cumulus Linux 5.17, Quality of Service"
	guideWatchdog = "Cumulus Linux 5.17, PFC Watchdog"
	guidePorts    = "Cumulus Linux 5.15, Switch Port Attributes"
	readFor       = "5.14 to 5.17"
)

// Defaults lists what [Decode] assumes where a configuration has no line.
var Defaults = []render.Usual{
	{Kind: qos.KindMTU, Value: "9216", What: "a port has an MTU of 9216 bytes", Source: guidePorts, Releases: readFor},
	{Kind: qos.KindTrust, Value: string(qos.TrustPCP), What: "a port trusts PCP (trust l2)", Source: guideQoS, Releases: readFor},
	{Kind: qos.KindMap, What: "eight DSCPs share a priority, a PCP is the priority of the same number, and a priority has the traffic class of the same number", Source: guideQoS, Releases: readFor},
	{Kind: qos.KindPFC, Value: "{}", What: "PFC is off", Source: guideQoS, Releases: readFor},
	{Kind: qos.KindLinkPause, Value: "false", What: "link pause is off", Source: guideQoS, Releases: readFor},
	{Kind: qos.KindScheduler, What: "traffic classes share a port by 12 and 13 percent in turn", Source: guideQoS, Releases: readFor},
	{Kind: qos.KindECN, What: "traffic class 0 marks from 150 KB to 1500 KB, and no other one", Source: "Cumulus Linux 5.17, Congestion Control", Releases: readFor},
	{Kind: qos.KindWatchdog, Value: "off", What: "the watchdog is off", Source: guideWatchdog, Releases: readFor},
	{Kind: qos.KindWatchdogPoll, Value: "100ms", What: "the watchdog looks every 100 ms", Source: guideWatchdog, Releases: readFor},
	{Kind: qos.KindWatchdog, Part: []string{"nv set qos pfc-watchdog polling-interval", "qos pfc-watchdog polling-interval"}, What: "the watchdog looks every 100 ms, and restores a queue after as long", Source: guideWatchdog, Releases: readFor},
	{Kind: qos.KindWatchdog, Part: []string{"nv set qos pfc-watchdog robustness", "qos pfc-watchdog robustness"}, What: "the watchdog acts after 3 intervals", Source: guideWatchdog, Releases: readFor},
}
