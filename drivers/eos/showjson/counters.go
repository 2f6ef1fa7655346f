package showjson

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// PFCPriorities adds the PFC frames by priority of "show interfaces
// priority-flow-control counters detail" (facebook/DNE-TaaC, health checks).
func PFCPriorities(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		for n, key := range numbered(i.At("priorities")) {
			f := i.At("priorities", key)
			tree.Keep(&p.PFCRx[n], f.Count("rxFrames"))
			tree.Keep(&p.PFCTx[n], f.Count("txFrames"))
		}
	}, "interfaces")
}

// Watchdog adds the counters by queue of "show priority-flow-control counters
// watchdog". EOS may leave out queues that never got stuck; they stay unset
// (facebook/DNE-TaaC, health checks).
func Watchdog(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		for n, key := range numbered(i.At("txQueues")) {
			q := i.At("txQueues", key)
			tree.Keep(&p.Queues[n].WatchdogStuck, q.Count("stuckCount"))
			tree.Keep(&p.Queues[n].WatchdogRecovered, q.Count("recoveryCount"))
		}
	}, "interfaces")
}

// ECN adds the marked packets by queue of "show qos interfaces ecn counters
// queue". A queue that does not mark or count has "-" there
// (aristanetworks/anta, VerifyInterfacesECNCounters).
func ECN(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		for n, key := range numbered(i.At("queueCounters")) {
			tree.Keep(&p.Queues[n].ECNMarked, i.At("queueCounters").Count(key))
		}
	}, "intfQueueCounters")
}

// Queues adds the counters of unicast queues of "show interfaces counters
// queue detail", summed over the drop precedences. EOS names them by traffic
// class, which by default is the queue of the same number; classes counted
// together ("TC0-2") belong to no queue and are passed over
// (aristanetworks/anta, VerifyInterfacesEgressQueueDrops).
func Queues(b []byte, o *drivers.Observation) error {
	return each(b, o, func(p *drivers.PortState, i tree.Object) {
		classes := i.At("ucastQueues", "trafficClasses")
		for n, key := range numbered(classes) {
			precedences := classes.At(key, "dropPrecedences")
			for name, dst := range map[string]*qos.Opt[uint64]{
				"enqueuedPackets": &p.Queues[n].TxPackets, "enqueuedBytes": &p.Queues[n].TxBytes,
				"droppedPackets": &p.Queues[n].DropPackets, "droppedBytes": &p.Queues[n].DropBytes,
			} {
				var sum qos.Opt[uint64]
				for dp := range precedences {
					if c := precedences.At(dp).Count(name); c.Set {
						sum = qos.Of(sum.V + c.V) // it wraps as the counters do
					}
				}
				tree.Keep(dst, sum)
			}
		}
	}, "egressQueueCounters", "interfaces")
}
