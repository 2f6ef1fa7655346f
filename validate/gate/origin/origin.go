// Package origin finds the source of the pauses of a lossless priority: it follows them through
// a fabric, against the traffic that they stop, to the port that caused them.
//
// A switch sends pause when packets from that ingress port wait in one of its egress queues.
// Such a queue waits either because its own link is paused, and then the source is further on,
// or because it receives more than its link carries, and then it is the source. A NIC that
// sends pause is always a source. The flows are not known, so an answer is an inference: if
// counters are missing, or two ports of a switch explain its pauses, the answer is not certain
// and lists the ports that may be the source.
//
// Operators trace congestion by hand in the same way, and research finds the initial congestion
// point of a tree of pauses like this (Cisco, detecting and troubleshooting congestion in
// storage networks, chapter 7; RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section
// 4.3).
//
// The package is purely functional. Do not read counters or check a device's operating system
// here.
package origin

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Device describes a device to the search.
type Device struct {
	Host bool
	// Tier is 0 for switches next to hosts and grows upward.
	Tier int
}

// Way is one direction of a link, with the counts of both ends for one priority.
type Way struct {
	// From sends the data, and To sends the pauses that stop it.
	From, To intent.Endpoint
	Speed    units.Rate // 0 if not known
	// Used is the traffic as a fraction of the speed, 0 to 1.
	Used qos.Opt[float64]
	// Paused is the fraction of the time for which From was paused. AtMost is the upper bound
	// computed from Frames where only frames are counted.
	Paused, AtMost qos.Opt[float64]
	Frames         qos.Opt[uint64]
	// Marked counts the packets that From's egress queue marked; Peak is the queue's highest
	// fill in bytes.
	Marked, Peak qos.Opt[uint64]
	// Storms is how often From's watchdog found the queue stuck.
	Storms uint64
}

// Kind is a kind of source.
type Kind string

const (
	// SlowReceiver is a NIC that sends pauses although its link is not full.
	SlowReceiver Kind = "slow receiver"
	// Storm is a NIC that pauses nearly all the time and receives hardly any data.
	Storm Kind = "storm"
	// Congestion is a switch egress port that receives more than its link carries.
	Congestion Kind = "congestion"
	// Cycle is a group of switches that wait for each other: a deadlock.
	Cycle Kind = "cycle"
	// Pauser is a device whose pauses cannot be followed any further.
	Pauser Kind = "not known"
)

// Source is a source of pauses, as far as it could be found.
type Source struct {
	Kind Kind
	// At is the NIC, or the egress port of the switch; only the device if its port is not
	// known. For a cycle it is one of its ports.
	At intent.Endpoint
	// Certain is set if nothing else explains the pauses. If not, Candidates lists the possible
	// sources including At, the likeliest first.
	Certain    bool
	Candidates []intent.Endpoint
	// Why says why the source is not certain.
	Why string
	// Way is the index of the way that leads to the NIC or out of the port; -1 for none.
	Way int
	// Ways are the indices of the ways whose pauses lead here, nearest first.
	Ways []int
	// Feeders is the number of ports that pause because of the source on the switch next to it.
	Feeders int
	// Moves is set if some queues of a cycle still send.
	Moves bool

	// weight is the sum of the pauses that the source causes; a pause without counted time adds
	// its upper bound from frames. counted is the part of weight whose time is counted.
	weight, counted float64
}

// Bounds of the search. They are not limits of a protocol: they tell significant values from
// noise.
const (
	// A pause is followed only if it lasts at least this fraction of the time, and this
	// fraction of the longest pause in the fabric.
	least      = 0.001
	leastOfTop = 0.02
	// leads is the fraction of a pause that the pause behind it must reach to be its cause.
	leads = 0.1
	// covers is the fraction of a pause for which the paused egress queues must have been
	// sending or paused to explain it.
	covers = 0.75
	// full is the fraction of its speed at which a link counts as full.
	full = 0.88
	// stuck is the fraction of the time for which a storm pauses, idle the fraction of the
	// speed that a receiver in a storm receives at most.
	stuck, idle = 0.9, 0.01
	// slow is the fraction of the time for which a NIC must pause to be called slow if its link
	// is full for the rest of it.
	slow = 0.05
	// other is the fraction of the largest source that a further source must reach.
	other = 0.1
	// fewCandidates is the most candidates that an uncertain answer lists.
	fewCandidates = 4
)

// Find returns the sources of the pauses, the one that stops most first. The order of ways does
// not matter.
func Find(devices map[string]Device, ways []Way) []Source {
	s := &search{devices: devices, ways: ways, out: map[string][]int{}}
	order := make([]int, len(ways))
	for i := range order {
		order[i] = i
	}
	ordered.Sort(order, func(a, b int) int {
		x, y := ways[a], ways[b]
		return cmp.Or(natural.Compare(x.From.Device, y.From.Device), natural.Compare(x.From.Port, y.From.Port))
	})
	for _, i := range order {
		s.out[ways[i].From.Device] = append(s.out[ways[i].From.Device], i)
	}
	s.measure()
	for _, i := range order {
		if s.paused[i] {
			s.order = append(s.order, i)
		}
	}
	return s.sources()
}
