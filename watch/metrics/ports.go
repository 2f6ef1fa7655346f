package metrics

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/watch"
)

// index is the type of index that a counter has.
type index string

const (
	byPort     index = ""
	byPriority index = "priority"
	byQueue    index = "queue"
	byGroup    index = "priority_group"
)

// indexOf returns the index of a lossless class.
func (x index) indexOf(c gate.Class) int {
	switch x {
	case byPriority:
		return c.Priority
	case byQueue:
		return c.Queue
	case byGroup:
		return c.Group
	}
	return 0
}

// metric describes how a port counter is exported.
type metric struct {
	of   drivers.Metric
	by   index
	unit float64 // number of counted units in one base unit
	// anyIndex also exports indexes outside the lossless classes once their value is not 0.
	anyIndex bool
	desc     *prometheus.Desc
}

func show(m drivers.Metric, by index, name, help string) metric {
	labels := []string{"device", "port"}
	if by != byPort {
		labels = append(labels, string(by))
	}
	return metric{of: m, by: by, unit: 1, desc: desc("port_"+name, help, labels...)}
}

func (m metric) per(unit float64) metric { m.unit = unit; return m }
func (m metric) forAny() metric          { m.anyIndex = true; return m }

// series lists the exported port counters. It contains every [drivers.Metric] once.
var series = []metric{
	show(drivers.PFCRx, byPriority, "pfc_received_frames_total", "PFC frames that paused this port.").forAny(),
	show(drivers.PFCTx, byPriority, "pfc_sent_frames_total", "PFC frames that paused the other end.").forAny(),
	show(drivers.PauseRxTime, byPriority, "pfc_paused_seconds_total", "How long the priority was paused on this port.").per(1e6),
	show(drivers.PauseTxTime, byPriority, "pfc_pausing_seconds_total", "How long this port paused the priority of the other end.").per(1e6),
	show(drivers.LinkPauseRx, byPort, "link_pause_received_frames_total", "Frames of IEEE 802.3x that paused this port."),
	show(drivers.LinkPauseTx, byPort, "link_pause_sent_frames_total", "Frames of IEEE 802.3x that paused the other end."),
	show(drivers.ErrorsRx, byPort, "receive_errors_total", "Frames received with errors."),
	show(drivers.ErrorsTx, byPort, "transmit_errors_total", "Frames that could not be sent because of errors."),
	show(drivers.FECCorrected, byPort, "fec_corrected_total", "Code words that forward error correction corrected."),
	show(drivers.FECUncorrected, byPort, "fec_uncorrected_total", "Code words that forward error correction could not correct."),
	show(drivers.SymbolErrors, byPort, "symbol_errors_total", "Symbols received with errors."),
	show(drivers.PacketsRx, byPort, "receive_packets_total", "Unicast packets received without errors."),
	show(drivers.QueuePackets, byQueue, "queue_packets_total", "Packets that left through the egress queue."),
	show(drivers.QueueBytes, byQueue, "queue_bytes_total", "Bytes that left through the egress queue."),
	show(drivers.QueueDrops, byQueue, "queue_dropped_packets_total", "Packets that the egress queue dropped."),
	show(drivers.QueueMarked, byQueue, "queue_ecn_marked_packets_total", "Packets that left the egress queue marked with congestion experienced."),
	show(drivers.QueuePeak, byQueue, "queue_peak_bytes", "The highest fill level of the egress queue."),
	show(drivers.StormsDetected, byQueue, "pfc_watchdog_storms_total", "How often the PFC watchdog found the queue stuck.").forAny(),
	show(drivers.StormsRestored, byQueue, "pfc_watchdog_restored_total", "How often the PFC watchdog released the queue.").forAny(),
	show(drivers.GroupDrops, byGroup, "priority_group_dropped_packets_total", "Packets that found no room in the priority group."),
	show(drivers.GroupPeak, byGroup, "priority_group_peak_bytes", "The highest fill level of the priority group in the shared buffer."),
	show(drivers.HeadroomPeak, byGroup, "headroom_peak_bytes", "The highest fill level of the priority group's headroom."),
	show(drivers.GroupPeakKept, byGroup, "priority_group_peak_since_clear_bytes", "The highest fill level of the priority group in the shared buffer since it was last cleared."),
	show(drivers.HeadroomPeakKept, byGroup, "headroom_peak_since_clear_bytes", "The highest fill level of the priority group's headroom since it was last cleared."),
	show(drivers.PriorityRxBytes, byPriority, "priority_received_bytes_total", "Bytes of the priority that the NIC received."),
	show(drivers.PriorityTxBytes, byPriority, "priority_sent_bytes_total", "Bytes of the priority that the NIC sent."),
	show(drivers.PriorityRxPackets, byPriority, "priority_received_packets_total", "Packets of the priority that the NIC received."),
	show(drivers.PriorityTxPackets, byPriority, "priority_sent_packets_total", "Packets of the priority that the NIC sent."),
	show(drivers.PriorityDiscards, byPriority, "priority_discarded_packets_total", "Packets of the priority that the NIC had no buffer for."),
	show(drivers.Discards, byPort, "discarded_packets_total", "Packets of any priority that the NIC had no buffer for."),
	show(drivers.StallErrors, byPort, "pause_stall_errors_total", "How often the NIC stopped pausing because it had paused for too long."),
	show(drivers.StallWarnings, byPort, "pause_stall_warnings_total", "How often the NIC nearly stopped pausing for that reason."),
	show(drivers.CNPSent, byPort, "cnp_sent_total", "Congestion notifications that the NIC sent as receiver."),
	show(drivers.MarkedReceived, byPort, "ecn_marked_received_packets_total", "Packets received with congestion experienced."),
	show(drivers.CNPHandled, byPort, "cnp_handled_total", "Congestion notifications that the NIC obeyed as sender."),
	show(drivers.CNPIgnored, byPort, "cnp_ignored_total", "Congestion notifications that the NIC ignored as sender."),
	show(drivers.OutOfSequence, byPort, "rdma_out_of_sequence_packets_total", "RDMA packets received out of sequence."),
	show(drivers.SequenceErrors, byPort, "rdma_sequence_errors_total", "RDMA packets that had to be requested again."),
	show(drivers.AckTimeouts, byPort, "rdma_ack_timeouts_total", "RDMA acknowledgements that timed out."),
	show(drivers.RNRRetries, byPort, "rdma_rnr_retries_total", "RDMA retries that found no receive buffer."),
	show(drivers.RDMARxBytes, byPort, "rdma_received_bytes_total", "RDMA bytes of any priority that the NIC received."),
	show(drivers.RDMATxBytes, byPort, "rdma_sent_bytes_total", "RDMA bytes of any priority that the NIC sent."),
	show(drivers.RDMARxPackets, byPort, "rdma_received_packets_total", "RDMA packets of any priority that the NIC received."),
	show(drivers.RDMATxPackets, byPort, "rdma_sent_packets_total", "RDMA packets of any priority that the NIC sent."),
}

// Pool names are the only labels that come from a device, so their number and length are
// limited.
const (
	maxPools    = 16
	maxPoolName = 64
)

// device exports a device and, if it is up, the counters of its ports.
func (c *collector) device(s *watch.Status) {
	name, kind := s.Name, s.Kind()
	c.gauge(up, truth(s.Up), name, kind)
	c.counter(readFailures, float64(s.Failures), name, kind)
	if s.LastRead.IsZero() && s.Failures == 0 {
		return // it was not read yet
	}
	c.gauge(readTime, s.Took.Seconds(), name, kind)
	if !s.LastRead.IsZero() {
		c.gauge(lastRead, float64(s.LastRead.UnixMilli())/1e3, name, kind)
	}
	if s.Sample == nil {
		return
	}
	c.gauge(counterPolled, float64(s.Sample.Taken.UnixMilli())/1e3, name, kind)
	shown := 0
	for _, pool := range natural.Keys(s.Gate.Pools) {
		if v, ok := s.Sample.Pools[pool]; ok && shown < maxPools && len(pool) <= maxPoolName && utf8.ValidString(pool) {
			c.gauge(poolPeak, float64(v), name, pool)
			shown++
		}
	}
	for _, port := range natural.Keys(s.Gate.Ports) {
		c.port(name, port, s.Gate.Ports[port], s.Sample.Ports[port])
	}
}

// port exports all counters of one port, or none if they exceed the limit.
func (c *collector) port(device, port string, p gate.Port, n drivers.PortCounters) {
	type one struct {
		m *metric
		i int
		v uint64
	}
	var out []one
	for k := range series {
		m := &series[k]
		for i := range qos.NumPriorities {
			v, ok := n[m.of.Of(i)]
			if !ok || m.by == byPort && i > 0 {
				continue
			}
			lossless := slices.ContainsFunc(p.Classes, func(c gate.Class) bool { return m.by.indexOf(c) == i })
			if m.by == byPort || lossless || m.anyIndex && v > 0 {
				out = append(out, one{m, i, v})
			}
		}
	}
	if len(out) > c.left {
		c.left, c.leftOut = 0, c.leftOut+len(out)
		return
	}
	c.left -= len(out)
	for _, o := range out {
		labels := []string{device, port}
		if o.m.by != byPort {
			labels = append(labels, strconv.Itoa(o.i))
		}
		if v := float64(o.v) / o.m.unit; o.m.of.Peak() {
			c.gauge(o.m.desc, v, labels...)
		} else {
			c.counter(o.m.desc, v, labels...)
		}
	}
}
