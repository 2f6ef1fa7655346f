package showjson

import "github.com/roce-fabric/roce-fabric/drivers"

type frames struct {
	Rx count `json:"rxFrames"`
	Tx count `json:"txFrames"`
}

// PFCPriorities adds the PFC frames by priority of "show interfaces
// priority-flow-control counters detail" (facebook/DNE-TaaC, health checks).
func PFCPriorities(b []byte, o *drivers.Observation) error {
	type port struct {
		Priorities map[string]frames `json:"priorities"`
	}
	var out struct {
		Interfaces map[string]port `json:"interfaces"`
	}
	if err := decode(b, &out); err != nil {
		return err
	}
	return each(o, out.Interfaces, func(p *drivers.PortState, i port) {
		for key, f := range inOrder(i.Priorities) {
			if n, ok := index(key); ok {
				put(&p.PFCRx[n], f.Rx)
				put(&p.PFCTx[n], f.Tx)
			}
		}
	})
}

// Watchdog adds the counters by queue of "show priority-flow-control counters
// watchdog". EOS may leave out queues that never got stuck; they stay unset
// (facebook/DNE-TaaC, health checks).
func Watchdog(b []byte, o *drivers.Observation) error {
	type port struct {
		Queues map[string]struct {
			Stuck     count `json:"stuckCount"`
			Recovered count `json:"recoveryCount"`
		} `json:"txQueues"`
	}
	var out struct {
		Interfaces map[string]port `json:"interfaces"`
	}
	if err := decode(b, &out); err != nil {
		return err
	}
	return each(o, out.Interfaces, func(p *drivers.PortState, i port) {
		for key, q := range inOrder(i.Queues) {
			if n, ok := index(key); ok {
				put(&p.Queues[n].WatchdogStuck, q.Stuck)
				put(&p.Queues[n].WatchdogRecovered, q.Recovered)
			}
		}
	})
}

// ECN adds the marked packets by queue of "show qos interfaces ecn counters
// queue". A queue that does not mark or count has "-" there
// (aristanetworks/anta, VerifyInterfacesECNCounters).
func ECN(b []byte, o *drivers.Observation) error {
	type port struct {
		Queues map[string]count `json:"queueCounters"`
	}
	var out struct {
		Interfaces map[string]port `json:"intfQueueCounters"`
	}
	if err := decode(b, &out); err != nil {
		return err
	}
	return each(o, out.Interfaces, func(p *drivers.PortState, i port) {
		for key, c := range inOrder(i.Queues) {
			if n, ok := index(key); ok {
				put(&p.Queues[n].ECNMarked, c)
			}
		}
	})
}

type queueCounters struct {
	Packets     count `json:"enqueuedPackets"`
	Bytes       count `json:"enqueuedBytes"`
	DropPackets count `json:"droppedPackets"`
	DropBytes   count `json:"droppedBytes"`
}

// Queues adds the counters of unicast queues of "show interfaces counters
// queue detail", summed over the drop precedences. EOS names them by traffic
// class, which by default is the queue of the same number; classes counted
// together ("TC0-2") belong to no queue and are passed over
// (aristanetworks/anta, VerifyInterfacesEgressQueueDrops).
func Queues(b []byte, o *drivers.Observation) error {
	type class struct {
		Precedences map[string]queueCounters `json:"dropPrecedences"`
	}
	type port struct {
		Unicast struct {
			Classes map[string]class `json:"trafficClasses"`
		} `json:"ucastQueues"`
	}
	var out struct {
		Egress struct {
			Interfaces map[string]port `json:"interfaces"`
		} `json:"egressQueueCounters"`
	}
	if err := decode(b, &out); err != nil {
		return err
	}
	return each(o, out.Egress.Interfaces, func(p *drivers.PortState, i port) {
		for key, c := range inOrder(i.Unicast.Classes) {
			n, ok := index(key)
			if !ok {
				continue
			}
			var sum queueCounters
			for _, q := range c.Precedences {
				add(&sum.Packets, q.Packets)
				add(&sum.Bytes, q.Bytes)
				add(&sum.DropPackets, q.DropPackets)
				add(&sum.DropBytes, q.DropBytes)
			}
			put(&p.Queues[n].TxPackets, sum.Packets)
			put(&p.Queues[n].TxBytes, sum.Bytes)
			put(&p.Queues[n].DropPackets, sum.DropPackets)
			put(&p.Queues[n].DropBytes, sum.DropBytes)
		}
	})
}

// add sums the counters that are set; the sum wraps as the counters do.
func add(sum *count, c count) {
	if c.Set {
		*sum = count{V: sum.V + c.V, Set: true}
	}
}
