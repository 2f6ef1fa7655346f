package simulate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Time is a moment or a span of simulated time, in picoseconds.
type Time int64

// Spans of time.
const (
	Nanosecond  Time = 1000
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
)

// TimeOf converts a span of time.
func TimeOf(d time.Duration) Time { return Time(d) * Nanosecond }

// Duration converts a span of simulated time, rounded down to nanoseconds.
func (t Time) Duration() time.Duration { return time.Duration(t / Nanosecond) }

// MaxClasses is the number of classes of a network, as a port has eight priorities.
const MaxClasses = 8

// Network is what packets run over. All indexes count from 0.
type Network struct {
	Classes []string // by priority order: a strict class with a higher index is served first
	Nodes   []Node
	Ports   []Port
	Flows   []Flow
	// Fail lists links that break while the simulation runs.
	Fail []Failure
}

// Node is a switch or a host.
type Node struct {
	Name string
	// Slices are the memories of a switch for lossless groups and lossy queues; none for a host whose
	// receiver is never the bottleneck.
	Slices []SliceSize
	// Cell is the unit in which memory is allocated, in bytes; at least 1. Each packet takes
	// Descriptor bytes besides its own.
	Cell, Descriptor int64
	Host             bool
	// Drain is the rate at which a host takes packets from its receive buffer, in bits per second;
	// 0 if it is never the bottleneck. A host that drains needs a slice.
	Drain int64
	// Storm is set if the host pauses all lossless classes from the start, without end.
	Storm bool
}

// SliceSize is one memory, in cells: its shared part, and its part of the shared headroom pool, 0 if
// each group has its own headroom.
type SliceSize struct{ Shared, Headroom int64 }

// Port is one end of a link.
type Port struct {
	Name string
	Node int
	Peer int // the port at the other end
	// Rate is the speed in bits per second, Delay the time in the cable.
	Rate  int64
	Delay Time
	// Response is how long the port still starts packets after a pause frame has arrived.
	Response Time
	// Gap is what a packet takes on the wire besides its own bytes: preamble and gap between frames.
	Gap int64
	// Slice is the memory that the groups of this port use, and the lossy queues.
	Slice   int
	Classes [MaxClasses]PortClass
}

// PortClass is what a port does with the packets of a class.
type PortClass struct {
	// Lossless is set if arriving packets of the class are stored in Group, which pauses. Packets of
	// other classes are stored in the Group of their egress queue, and the port ignores pauses of them.
	Lossless bool
	Group    headroom.GroupSize
	// Strict queues are served first. Others share what is left by Weight, at least 1.
	Strict bool
	Weight int64
	// MaxRate limits the queue, in bits per second; 0 for no limit.
	MaxRate int64
	ECN     ECN
}

// ECN is a marking curve over the length of the queue, in bytes: none up to Min, then rising to
// Probability (0 to 1) at Max, then all. It marks nothing if Max is 0.
type ECN struct {
	Min, Max    int64
	Probability float64
	// Leaving marks by the length that the queue has as the packet leaves, else as it arrives.
	Leaving bool
}

// Flow sends packets from one host to another.
type Flow struct {
	Name     string
	Class    int
	From, To int // nodes
	// Path lists the ports that send the packets, the sender's first; Back those of the
	// acknowledgements and congestion notifications.
	Path, Back []int32
	Start      Time
	// Size is how many bytes of payload it sends; 0 for no end.
	Size int64
	// Payload is the largest payload of a packet, Header what a packet has besides.
	Payload, Header int64
	// ECT is set if switches may mark the packets.
	ECT bool
	// Control rates flows by congestion notifications; nil sends at line rate.
	Control *DCQCN
	// Chunk and After make the flow wait: it may send one chunk, and one more for each chunk that
	// the flow After has delivered. Chunk 0 stands for no wait.
	Chunk int64
	After int
	// Ack is how many packets one acknowledgement confirms; 0 for none. AckClass and CNPClass are
	// the classes of acknowledgements and notifications.
	Ack, AckClass, CNPClass int
	// Timeout is the retransmission timeout; 0 for none. It needs acknowledgements.
	Timeout Time
}

// Failure breaks a link.
type Failure struct {
	Port int // one of its two ends
	At   Time
}

// controlFrame is the size of acknowledgements, congestion notifications and pause frames, in bytes.
const controlFrame = 64

// check returns an error if an index or a size is impossible.
func (n *Network) check() error {
	if len(n.Classes) == 0 || len(n.Classes) > MaxClasses {
		return fmt.Errorf("%d classes: a network has 1 to %d", len(n.Classes), MaxClasses)
	}
	for i := range n.Ports {
		if err := n.checkPort(i); err != nil {
			return fmt.Errorf("port %d (%s): %w", i, n.Ports[i].Name, err)
		}
	}
	for i, d := range n.Nodes {
		if d.Cell <= 0 && len(d.Slices) > 0 || len(d.Slices) == 0 && (!d.Host || d.Drain > 0) {
			return fmt.Errorf("node %d (%s): no memory", i, d.Name)
		}
	}
	for i := range n.Flows {
		if err := n.checkFlow(&n.Flows[i]); err != nil {
			return fmt.Errorf("flow %d (%s): %w", i, n.Flows[i].Name, err)
		}
	}
	return nil
}

func (n *Network) checkPort(i int) error {
	p := &n.Ports[i]
	switch {
	case p.Node < 0 || p.Node >= len(n.Nodes):
		return fmt.Errorf("no node %d", p.Node)
	case p.Peer < 0 || p.Peer >= len(n.Ports) || n.Ports[p.Peer].Peer != i:
		return fmt.Errorf("port %d is not its peer", p.Peer)
	case p.Rate <= 0 || p.Delay < 0 || p.Response < 0:
		return fmt.Errorf("rate %d, delay %d, response %d", p.Rate, p.Delay, p.Response)
	}
	if slices := len(n.Nodes[p.Node].Slices); slices > 0 && (p.Slice < 0 || p.Slice >= slices) {
		return fmt.Errorf("no slice %d", p.Slice)
	}
	return nil
}

func (n *Network) checkFlow(f *Flow) error {
	for _, c := range []int{f.Class, f.AckClass, f.CNPClass} {
		if c < 0 || c >= len(n.Classes) {
			return fmt.Errorf("no class %d", c)
		}
	}
	if f.Payload <= 0 || f.Header < 0 || f.Size < 0 || f.Chunk < 0 {
		return fmt.Errorf("payload %d, header %d, size %d, chunk %d", f.Payload, f.Header, f.Size, f.Chunk)
	}
	if f.Chunk > 0 && (f.After < 0 || f.After >= len(n.Flows)) {
		return fmt.Errorf("no flow %d to wait for", f.After)
	}
	if err := n.checkPath(f.Path, f.From, f.To); err != nil {
		return err
	}
	if f.Ack > 0 || f.Control != nil {
		return n.checkPath(f.Back, f.To, f.From)
	}
	return nil
}

// checkPath returns an error unless the ports lead from one node to another.
func (n *Network) checkPath(path []int32, from, to int) error {
	at := from
	for _, p := range path {
		if p < 0 || int(p) >= len(n.Ports) || n.Ports[p].Node != at {
			return fmt.Errorf("the path does not lead from node %d to %d", from, to)
		}
		at = n.Ports[n.Ports[p].Peer].Node
	}
	if at != to || len(path) == 0 {
		return fmt.Errorf("the path from node %d ends at %d, not %d", from, at, to)
	}
	return nil
}
