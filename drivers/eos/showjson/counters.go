package showjson

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// PFCPriorities adds the PFC frames by priority from "show interfaces priority-flow-control
// counters detail" (facebook/DNE-TaaC, health checks).
func PFCPriorities(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		for n, key := range numbered(i.At("priorities")) {
			f := i.At("priorities", key)
			p.Counters.Put(drivers.PFCRx.Of(n), f.Count("rxFrames"))
			p.Counters.Put(drivers.PFCTx.Of(n), f.Count("txFrames"))
		}
	}, "interfaces")
}

// Watchdog adds the counters by queue from "show priority-flow-control counters watchdog". EOS
// may omit queues that were never stuck; these stay unset (facebook/DNE-TaaC, health checks).
func Watchdog(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		for n, key := range numbered(i.At("txQueues")) {
			q := i.At("txQueues", key)
			p.Counters.Put(drivers.StormsDetected.Of(n), q.Count("stuckCount"))
			p.Counters.Put(drivers.StormsRestored.Of(n), q.Count("recoveryCount"))
		}
	}, "interfaces")
}

// ECN adds the marked packets by queue from "show qos interfaces ecn counters queue". The output
// has "-" for a queue that does not mark or count (aristanetworks/anta,
// VerifyInterfacesECNCounters).
func ECN(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		for n, key := range numbered(i.At("queueCounters")) {
			p.Counters.Put(drivers.QueueMarked.Of(n), i.At("queueCounters").Count(key))
		}
	}, "intfQueueCounters")
}

// Queues adds the counters of unicast queues from "show interfaces counters queue detail", summed
// over the drop precedences. EOS names queues by traffic class, which by default is the queue
// number; classes counted together ("TC0-2") belong to no queue and are skipped
// (aristanetworks/anta, VerifyInterfacesEgressQueueDrops).
func Queues(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		classes := i.At("ucastQueues", "trafficClasses")
		for n, key := range numbered(classes) {
			precedences := classes.At(key, "dropPrecedences")
			for m, name := range map[drivers.Metric]string{
				drivers.QueuePackets: "enqueuedPackets", drivers.QueueBytes: "enqueuedBytes",
				drivers.QueueDrops: "droppedPackets",
			} {
				var sum qos.Opt[uint64]
				for dp := range precedences {
					if c := precedences.At(dp).Count(name); c.Set {
						sum = qos.Of(sum.V + c.V) // may wrap around, like the counters
					}
				}
				p.Counters.Put(m.Of(n), sum)
			}
		}
	}, "egressQueueCounters", "interfaces")
}
