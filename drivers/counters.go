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

// Meter is a Driver of a device that shows port counters.
type Meter interface {
	// Counters reads the counters of the ports; nil ports reads all. A counter that the device
	// does not keep or show is absent. An error means that the device could not be read; if it
	// wraps ErrUnsupported, the device shows no counters at all.
	Counters(ctx context.Context, ports []string) (*Counters, error)
}

// Pauser is a Driver of a device whose Observe shows no counters. Pauses reads only the pause
// counters of the ports, with fewer requests than a [Meter].
type Pauser interface {
	Pauses(ctx context.Context, ports []string) (*Counters, error)
}

// Saver is a Driver of a device whose running configuration is separate from the configuration
// that survives a restart.
type Saver interface {
	// Unsaved names the tables and sections of the running configuration that would change in a
	// restart, in the device's words and without values, which may be secret. nil means that
	// everything is saved. An error that wraps ErrUnsupported means that the configured
	// transports cannot show it.
	Unsaved(ctx context.Context) ([]string, error)
}

// Counters holds counter values of a device at one moment.
type Counters struct {
	Taken time.Time
	Ports map[string]PortCounters // by full native name
	// Pools maps native pool names to the highest fill of each buffer pool, in bytes.
	Pools map[string]uint64
	// Poll is the interval at which the device refreshes each metric, which is the maximum age of
	// its values. 0 means that values are read on request.
	Poll map[Metric]time.Duration
	// Off holds the metrics that the device could count but is configured not to count, each with
	// the place of that configuration in native words. Metrics that the device does not support
	// are not included.
	Off map[Metric]string
}

// PortCounters holds the counters of a port. A missing counter is unknown, not zero.
type PortCounters map[CounterID]uint64

// CounterID names a counter of a port.
type CounterID struct {
	Metric Metric
	// Index is the priority, queue or priority group, 0 to 7; 0 if the port has only one such
	// counter.
	Index uint8
}

// Metric is a kind of counter. All except peaks count up from a moment that only the device
// knows, and may be reset to zero.
type Metric uint8

// Metrics. "By priority", "by queue" and "by priority group" give the meaning of CounterID.Index.
const (
	// PFCRx and PFCTx are PFC frames by priority. A received frame pauses this end, a sent frame
	// the other end.
	PFCRx Metric = iota
	PFCTx
	// PauseRxTime and PauseTxTime are the microseconds that a priority was paused, at this end
	// and at the other end.
	PauseRxTime
	PauseTxTime
	// LinkPauseRx and LinkPauseTx are IEEE 802.3x frames, which pause the whole port.
	LinkPauseRx
	LinkPauseTx
	// ErrorsRx and ErrorsTx are frames with errors.
	ErrorsRx
	ErrorsTx
	// FECCorrected and FECUncorrected are received code words (SAI calls them frames) that FEC
	// could and could not correct. SymbolErrors are received symbols with errors.
	FECCorrected
	FECUncorrected
	SymbolErrors
	// PacketsRx are unicast packets received without errors.
	PacketsRx

	// QueuePackets, QueueBytes and QueueDrops (packets) are counted by egress queue.
	QueuePackets
	QueueBytes
	QueueDrops
	// QueueMarked are packets by egress queue that were sent with a congestion-experienced mark;
	// on some systems this includes packets that were received with the mark.
	QueueMarked
	// QueuePeak is the highest fill of an egress queue, in bytes.
	QueuePeak
	// StormsDetected and StormsRestored count how often the PFC watchdog found an egress queue
	// stuck and how often it restored one.
	StormsDetected
	StormsRestored

	// GroupDrops are packets dropped by priority group for lack of buffer.
	GroupDrops
	// GroupPeak and HeadroomPeak are the highest fills by priority group, in the shared buffer
	// and in the headroom, in bytes. The device chooses the period: SONiC's is one polling
	// interval.
	GroupPeak
	HeadroomPeak
	// GroupPeakKept and HeadroomPeakKept are the same since they were last cleared on the device.
	GroupPeakKept
	HeadroomPeakKept

	// These four are a NIC's received and sent bytes and packets, by priority.
	PriorityRxBytes
	PriorityTxBytes
	PriorityRxPackets
	PriorityTxPackets

	// PriorityDiscards are packets that a NIC dropped for lack of buffer, by priority; Discards
	// are the same for the whole port.
	PriorityDiscards
	Discards
	// StallErrors counts how often a NIC stopped sending pause frames because it had paused too
	// long, StallWarnings how often it came close to that.
	StallErrors
	StallWarnings
	// CNPSent are the congestion notifications that a NIC sent as receiver, and MarkedReceived
	// the marked packets it received. CNPHandled and CNPIgnored are the notifications that it
	// received as sender and acted on, or ignored.
	CNPSent
	MarkedReceived
	CNPHandled
	CNPIgnored
	// These four count RDMA packet loss and retransmission.
	OutOfSequence
	SequenceErrors
	AckTimeouts
	RNRRetries
	// These four are the RDMA traffic of a NIC, of all priorities. Traffic of its virtual
	// functions may be missing.
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
	GroupDrops: "group-drops", GroupPeak: "group-peak", HeadroomPeak: "headroom-peak", GroupPeakKept: "group-peak-kept", HeadroomPeakKept: "headroom-peak-kept", PriorityDiscards: "priority-discards", Discards: "discards",
	StallErrors: "stall-errors", StallWarnings: "stall-warnings", CNPSent: "cnp-sent", MarkedReceived: "marked-received", CNPHandled: "cnp-handled",
	CNPIgnored: "cnp-ignored", OutOfSequence: "out-of-sequence", SequenceErrors: "sequence-errors", AckTimeouts: "ack-timeouts", RNRRetries: "rnr-retries",
	PriorityRxBytes: "priority-rx-bytes", PriorityTxBytes: "priority-tx-bytes", PriorityRxPackets: "priority-rx-packets", PriorityTxPackets: "priority-tx-packets",
	RDMARxBytes: "rdma-rx-bytes", RDMATxBytes: "rdma-tx-bytes", RDMARxPackets: "rdma-rx-packets", RDMATxPackets: "rdma-tx-packets",
}

// String returns the short name of the metric: "queue-drops".
func (m Metric) String() string {
	if m < numMetrics {
		return metricNames[m]
	}
	return "metric " + strconv.Itoa(int(m))
}

// Peak reports whether the metric is a highest fill, which may decrease.
func (m Metric) Peak() bool { return m == QueuePeak || m >= GroupPeak && m <= HeadroomPeakKept }

// single reports whether a port has only one counter of this metric.
func (m Metric) single() bool { return m >= LinkPauseRx && m <= PacketsRx || m >= Discards }

// Of returns the counter of the metric for a priority, queue or priority group.
func (m Metric) Of(index int) CounterID { return CounterID{m, uint8(index)} }

// String returns "queue-drops[3]", or "errors-rx" if the port has only one.
func (c CounterID) String() string {
	if c.Metric.single() {
		return c.Metric.String()
	}
	return fmt.Sprintf("%s[%d]", c.Metric, c.Index)
}

// CounterNames maps the name of each counter, as in [CounterID.String], to its ID.
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

// MarshalText encodes the ID as String does.
func (c CounterID) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Put sets a counter if its value is known.
func (p *PortCounters) Put(id CounterID, v qos.Opt[uint64]) {
	if !v.Set {
		return
	}
	if *p == nil {
		*p = PortCounters{}
	}
	(*p)[id] = v.V
}

// CountersOf returns the counters in an observation for the given ports; nil ports returns all.
// poll is the interval at which the device refreshes them.
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
