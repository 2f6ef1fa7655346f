package drivers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Meter is a Driver of a device that shows what its ports count.
type Meter interface {
	// Counters reads what the ports count; nil for ports is all. A counter that
	// the device does not keep, or does not show, is absent. An error means
	// that the device could not be read; one that wraps ErrUnsupported, that it
	// shows no counters at all.
	Counters(ctx context.Context, ports []string) (*Counters, error)
}

// Pauser is a Driver of a device whose Observe shows no counters, and that reads what its
// ports count of pauses with less than a [Meter] reads.
type Pauser interface {
	Pauses(ctx context.Context, ports []string) (*Counters, error)
}

// Saver is a Driver of a device that keeps what runs apart from what survives a
// restart.
type Saver interface {
	// Unsaved names what runs and would be another after a restart, in the
	// device's words and without values, which may be secrets: tables and
	// sections. nil means that all is saved; an error that wraps
	// ErrUnsupported, that the device does not show it in the ways that are
	// configured.
	Unsaved(ctx context.Context) ([]string, error)
}

// Counters are what a device had counted at one moment.
type Counters struct {
	Taken time.Time
	Ports map[string]PortCounters // by the native, long name
	// Pools are the highest fills of the buffer pools, in bytes, by native name.
	Pools map[string]uint64
	// Poll is how old a value may be: how often the device renews it. 0 means
	// that it is read when it is asked for.
	Poll map[Metric]time.Duration
	// Off are metrics that the device can count and is configured not to, and where it
	// is configured so, in its own words. One that it never has is not among them.
	Off map[Metric]string
}

// PortCounters are the counters of a port. One that is not there is unknown, not zero.
type PortCounters map[CounterID]uint64

// CounterID names a counter of a port.
type CounterID struct {
	Metric Metric
	// Index is the priority, queue or priority group, 0 to 7; 0 for what the port has
	// once.
	Index uint8
}

// Metric is what a counter counts. All but the peaks count up from a moment
// that only the device knows, and may start again at zero.
type Metric uint8

// The metrics. "By priority" and the like say what the index of a counter is.
const (
	// PFCRx and PFCTx are PFC frames by priority. One that is received stops
	// this end, one that is sent the other.
	PFCRx Metric = iota
	PFCTx
	// PauseRxTime and PauseTxTime are the microseconds that a priority was
	// stopped, here and at the other end.
	PauseRxTime
	PauseTxTime
	// LinkPauseRx and LinkPauseTx are frames of IEEE 802.3x that pause the
	// whole port.
	LinkPauseRx
	LinkPauseTx
	// ErrorsRx and ErrorsTx are frames with errors.
	ErrorsRx
	ErrorsTx
	// FECCorrected and FECUncorrected are received code words (frames, in the words of
	// SAI) that FEC could and could not repair, SymbolErrors symbols that came wrong.
	FECCorrected
	FECUncorrected
	SymbolErrors
	// PacketsRx are the unicast packets that came without errors.
	PacketsRx

	// QueuePackets, QueueBytes and QueueDrops (packets) are by egress queue.
	QueuePackets
	QueueBytes
	QueueDrops
	// QueueMarked are packets by egress queue that left with congestion
	// experienced; on some systems also those that came so.
	QueueMarked
	// QueuePeak is the highest fill by egress queue, in bytes.
	QueuePeak
	// StormsDetected and StormsRestored are how often the PFC watchdog found an
	// egress queue stuck, and gave it free again.
	StormsDetected
	StormsRestored

	// GroupDrops are packets by priority group that found no room.
	GroupDrops
	// GroupPeak and HeadroomPeak are the highest fills by priority group, of
	// the shared buffer and of the headroom, in bytes. The device decides over
	// which time: SONiC's are of one polling interval.
	GroupPeak
	HeadroomPeak

	// PriorityRxBytes and the like are what a NIC received and sent by priority.
	PriorityRxBytes
	PriorityTxBytes
	PriorityRxPackets
	PriorityTxPackets

	// PriorityDiscards are packets by priority that a NIC had no room for, and
	// Discards those of its port, of any priority.
	PriorityDiscards
	Discards
	// StallErrors is how often a NIC stopped to send pause because it had done
	// so for too long, StallWarnings how often it nearly did.
	StallErrors
	StallWarnings
	// CNPSent are the congestion notifications that a NIC sent as receiver,
	// MarkedReceived the marked packets that it got. CNPHandled and CNPIgnored
	// are what became of those that it got as sender.
	CNPSent
	MarkedReceived
	CNPHandled
	CNPIgnored
	// Packets that RDMA lost or had to send again.
	OutOfSequence
	SequenceErrors
	AckTimeouts
	RNRRetries
	// RDMARxBytes and the like are the RDMA traffic of a NIC, of any priority. Traffic
	// of its virtual functions may be missing.
	RDMARxBytes
	RDMATxBytes
	RDMARxPackets
	RDMATxPackets

	numMetrics
)

var metricNames = [numMetrics]string{
	PFCRx: "pfc-rx", PFCTx: "pfc-tx", PauseRxTime: "pause-rx-us", PauseTxTime: "pause-tx-us", LinkPauseRx: "link-pause-rx", LinkPauseTx: "link-pause-tx",
	ErrorsRx: "errors-rx", ErrorsTx: "errors-tx", FECCorrected: "fec-corrected", FECUncorrected: "fec-uncorrected", SymbolErrors: "symbol-errors", PacketsRx: "packets-rx", QueuePackets: "queue-packets", QueueBytes: "queue-bytes", QueueDrops: "queue-drops",
	QueueMarked: "queue-marked", QueuePeak: "queue-peak", StormsDetected: "storms-detected", StormsRestored: "storms-restored",
	GroupDrops: "group-drops", GroupPeak: "group-peak", HeadroomPeak: "headroom-peak", PriorityDiscards: "priority-discards", Discards: "discards",
	StallErrors: "stall-errors", StallWarnings: "stall-warnings", CNPSent: "cnp-sent", MarkedReceived: "marked-received", CNPHandled: "cnp-handled",
	CNPIgnored: "cnp-ignored", OutOfSequence: "out-of-sequence", SequenceErrors: "sequence-errors", AckTimeouts: "ack-timeouts", RNRRetries: "rnr-retries",
	PriorityRxBytes: "priority-rx-bytes", PriorityTxBytes: "priority-tx-bytes", PriorityRxPackets: "priority-rx-packets", PriorityTxPackets: "priority-tx-packets",
	RDMARxBytes: "rdma-rx-bytes", RDMATxBytes: "rdma-tx-bytes", RDMARxPackets: "rdma-rx-packets", RDMATxPackets: "rdma-tx-packets",
}

// String returns a short name: "queue-drops".
func (m Metric) String() string {
	if m < numMetrics {
		return metricNames[m]
	}
	return "metric " + strconv.Itoa(int(m))
}

// Peak reports whether the metric is a highest fill, which may fall.
func (m Metric) Peak() bool { return m == QueuePeak || m == GroupPeak || m == HeadroomPeak }

// single reports whether a port has the metric once.
func (m Metric) single() bool { return m >= LinkPauseRx && m <= PacketsRx || m >= Discards }

// Of returns the metric's counter of a priority, queue or priority group.
func (m Metric) Of(index int) CounterID { return CounterID{m, uint8(index)} }

// String returns "queue-drops[3]", and "errors-rx" for what a port has once.
func (c CounterID) String() string {
	if c.Metric.single() {
		return c.Metric.String()
	}
	return fmt.Sprintf("%s[%d]", c.Metric, c.Index)
}

// CounterNames are all counters by what [CounterID.String] prints.
func CounterNames() map[string]CounterID {
	out := map[string]CounterID{}
	for m := range numMetrics {
		for i := range qos.NumPriorities {
			if id := m.Of(i); i == 0 || !m.single() {
				out[id.String()] = id
			}
		}
	}
	return out
}

// MarshalText writes what String prints.
func (c CounterID) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Put sets a counter where its value is known.
func (p *PortCounters) Put(id CounterID, v qos.Opt[uint64]) {
	if !v.Set {
		return
	}
	if *p == nil {
		*p = PortCounters{}
	}
	(*p)[id] = v.V
}

// CountersOf takes the counters out of an observation, of the given ports; nil for
// ports is all. poll is how often the device renews them.
func CountersOf(o *Observation, ports []string, poll time.Duration) *Counters {
	out := &Counters{Taken: o.Taken, Ports: map[string]PortCounters{}, Poll: map[Metric]time.Duration{}}
	for _, m := range []Metric{
		PFCRx, PFCTx, QueuePackets, QueueBytes, QueueDrops, QueueMarked, StormsDetected, StormsRestored, ErrorsRx, ErrorsTx, SymbolErrors,
	} {
		out.Poll[m] = poll
	}
	if ports == nil {
		ports = slices.Collect(maps.Keys(o.Ports))
	}
	for _, name := range ports {
		if s := o.Ports[name]; s != nil && len(s.Counters) > 0 {
			out.Ports[name] = s.Counters
		}
	}
	return out
}
