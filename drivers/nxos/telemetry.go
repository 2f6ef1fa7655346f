package nxos

import (
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/telemetry"
)

// subscriptions uses the native model, because OpenConfig has neither PFC nor ECN on NX-OS
// (YangModels/yang, deviations of 10.5 and 10.6).
var subscriptions = telemetry.Source{Encoding: "json", Streams: func(d *render.Device) []telemetry.Stream {
	if len(d.Desired.Ports) == 0 {
		return nil
	}
	return []telemetry.Stream{{
		Name:  "queues",
		Paths: []string{"/System/ipqos-items/queuing-items/policy-items"},
		Comments: []string{
			"all ports of the switch, by policy: txPackets, dropPackets, randEcnMarkedPackets, currQueueDepth,",
			"maxQueueDepth, pfcRxPpp, pfcTxPpp of each class. The pfcwd counters stay 0 on some releases. Not",
			"verified on a switch: a subscription to the If-list entry of one port below it"},
	}}
}}
