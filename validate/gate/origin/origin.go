// Package origin says where the pauses of a lossless priority come from: it follows
// them over a fabric, against the traffic that they stop, to the port that was first.
//
// A pause that a switch sends says that packets of that ingress port wait in one of
// its egress queues. Such a queue waits because its own link is paused, and then the
// source is further on, or because more comes in than its link carries, and then it is
// the source. A NIC that sends pause is always one. The flows are not known, so that
// an answer is an inference: where counters are missing, or two ports of a switch
// explain its pauses, it is not certain and says which ports may be meant.
//
// The same walk is how operators trace congestion by hand, and how research names the
// initial congestion point of a tree of pauses (Cisco, detecting and troubleshooting
// congestion in storage networks, chapter 7; RDMA over Commodity Ethernet at Scale,
// SIGCOMM 2016, section 4.3).
//
// Everything here is a function of values. Do not read counters or ask for the system
// of a device here.
package origin

import (
	"cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Device is what is known of a device.
type Device struct {
	Host bool
	// Tier is 0 for switches next to hosts, and more further up.
	Tier int
}

// Way is one direction of a link, and what its ends counted of one priority.
type Way struct {
	// From sends the data, and To the pauses that stop it.
	From, To intent.Endpoint
	Speed    units.Rate // 0 where it is not known
	// Used is the part of the speed that the data took, 0 to 1.
	Used qos.Opt[float64]
	// Paused is the part of the time in which From was stopped. AtMost is its bound
	// by Frames where only these are counted.
	Paused, AtMost qos.Opt[float64]
	Frames         qos.Opt[uint64]
	// Marked are packets of the egress queue of From that got a mark, Peak its
	// highest fill in bytes.
	Marked, Peak qos.Opt[uint64]
	// Storms is how often the watchdog of From found the queue stuck.
	Storms uint64
}

// Kind is a kind of source.
type Kind string

// The kinds.
const (
	// SlowReceiver is a NIC that pauses although its link is not full.
	SlowReceiver Kind = "slow receiver"
	// Storm is a NIC that pauses nearly all the time and takes hardly any data.
	Storm Kind = "storm"
	// Congestion is an egress port of a switch that gets more than its link carries.
	Congestion Kind = "congestion"
	// Cycle are switches that wait for each other: a deadlock.
	Cycle Kind = "cycle"
	// Pauser is a device whose pauses cannot be followed any further.
	Pauser Kind = "not known"
)

// Source is an answer.
type Source struct {
	Kind Kind
	// At is the NIC, or the egress port of the switch; of a switch whose port is not
	// known, the device alone. Of a cycle it is one of its ports.
	At intent.Endpoint
	// Certain says that no other answer explains the pauses. Else Candidates are those
	// that may, the likeliest first, At among them.
	Certain    bool
	Candidates []intent.Endpoint
	// Why says what makes it not certain.
	Why string
	// Way is the index of the way to the NIC, or out of the port; -1 for none.
	Way int
	// Ways are the indices of the ways whose pauses lead here, nearest first.
	Ways []int
	// Feeders are the ports that pause because of it at the switch next to it.
	Feeders int
	// Moves says of a cycle that some of its queues still send.
	Moves bool

	// weight is how much stops because of it. Where time is not counted, it is a bound by
	// frames, and counted is the part that is not.
	weight, counted float64
}

// The bounds of the search. They are no limits of a protocol: they tell apart what is
// of one scale from what is noise next to it.
const (
	// least is the part of the time, and of the longest pause of the fabric, that a
	// pause must have to be followed.
	least      = 0.001
	leastOfTop = 0.02
	// leads is the part of a pause that the pause behind it must have to be its cause.
	leads = 0.1
	// covers is the part of a pause that the time in which an egress queue can have
	// waited must have.
	covers = 0.75
	// full is the part of its speed at which a link is full.
	full = 0.88
	// stuck is the part of the time that a storm pauses, idle the part of the speed
	// that a receiver in a storm takes at most.
	stuck, idle = 0.9, 0.01
	// slow is how much of the time a NIC must pause before it is called slow, where
	// its link is full for the rest.
	slow = 0.05
	// other is the part of the largest source that a further one must have.
	other = 0.1
	// fewCandidates is how many ports an answer that is not certain names at most.
	fewCandidates = 4
)

// Find returns the sources of the pauses, the one that stops most first. The order of
// the ways does not matter.
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
