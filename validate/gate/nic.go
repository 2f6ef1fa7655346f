package gate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// named maps the counter names of NIC drivers to metrics (Linux
// drivers/net/ethernet/mellanox/mlx5/core/en_stats.c and drivers/infiniband/hw/mlx5/counters.c;
// drivers/infiniband/hw/bnxt_re/hw_counters.c; drivers/infiniband/hw/ionic/ionic_hw_stats.c).
// Counters of the same metric add up.
var named = map[string]drivers.Metric{
	"rx_discards_phy": drivers.Discards, "rx_global_pause": drivers.LinkPauseRx, "tx_global_pause": drivers.LinkPauseTx,
	"tx_pause_storm_error_events": drivers.StallErrors, "tx_pause_storm_warning_events": drivers.StallWarnings,
	"np_cnp_sent": drivers.CNPSent, "np_ecn_marked_roce_packets": drivers.MarkedReceived,
	"rp_cnp_handled": drivers.CNPHandled, "rp_cnp_ignored": drivers.CNPIgnored,
	"out_of_sequence": drivers.OutOfSequence, "packet_seq_err": drivers.SequenceErrors,
	"local_ack_timeout_err": drivers.AckTimeouts, "rnr_nak_retry_err": drivers.RNRRetries,
	"tx_cnp_pkts": drivers.CNPSent, "rx_ecn_marked_pkts": drivers.MarkedReceived, "rx_cnp_pkts": drivers.CNPHandled,
	"oos_drop_count": drivers.OutOfSequence, "seq_err_naks_rcvd": drivers.SequenceErrors, "to_retransmits": drivers.AckTimeouts,
	"rnr_naks_rcvd": drivers.RNRRetries, "np_cnp_pkts": drivers.CNPSent,
	"tx_rdma_cnp_pkts": drivers.CNPSent, "rx_rdma_ecn_pkts": drivers.MarkedReceived, "rx_rdma_cnp_pkts": drivers.CNPHandled,
	"req_rx_pkt_seq_err": drivers.SequenceErrors, "tx_rdma_ack_timeout": drivers.AckTimeouts, "req_rx_rnr_retry_err": drivers.RNRRetries,
	"resp_rx_outouf_seq": drivers.OutOfSequence,

	"rx_vport_rdma_unicast_bytes": drivers.RDMARxBytes, "tx_vport_rdma_unicast_bytes": drivers.RDMATxBytes,
	"rx_vport_rdma_unicast_packets": drivers.RDMARxPackets, "tx_vport_rdma_unicast_packets": drivers.RDMATxPackets,
	"rx_roce_only_bytes": drivers.RDMARxBytes, "tx_roce_only_bytes": drivers.RDMATxBytes,
	"rx_roce_only_pkts": drivers.RDMARxPackets, "tx_roce_only_pkts": drivers.RDMATxPackets,
	"rx_rdma_ucast_bytes": drivers.RDMARxBytes, "tx_rdma_ucast_bytes": drivers.RDMATxBytes,
	"rx_rdma_ucast_pkts": drivers.RDMARxPackets, "tx_rdma_ucast_pkts": drivers.RDMATxPackets,

	"rx_crc_errors_phy": drivers.ErrorsRx, "rx_symbol_err_phy": drivers.ErrorsRx, "rx_fcs_err_frames": drivers.ErrorsRx, "frames_rx_bad_fcs": drivers.ErrorsRx,
	"rx_packets_phy": drivers.PacketsRx, "rx_ucast_frames": drivers.PacketsRx, "frames_rx_ok": drivers.PacketsRx,
	"rx_fec_uncorrectable_blocks": drivers.FECUncorrected,
}

// broadcom maps the RoCE counters of Broadcom's out-of-tree bnxt_re, which has no counters for
// RoCE alone; congestion notifications are included.
var broadcom = map[string]drivers.Metric{
	"rx_bytes": drivers.RDMARxBytes, "tx_bytes": drivers.RDMATxBytes, "rx_pkts": drivers.RDMARxPackets, "tx_pkts": drivers.RDMATxPackets,
}

// OfHost converts the counters read from a host's NICs.
func OfHost(h *nic.Host, taken time.Time) *drivers.Counters {
	out := &drivers.Counters{Taken: taken, Ports: map[string]drivers.PortCounters{}}
	for name, p := range h.Ports {
		if p.Counters == nil {
			continue
		}
		c := drivers.PortCounters{}
		// A driver that counts discards by priority also has rx_discards_phy; without it, a
		// zero means nothing.
		_, priorities := p.Counters.Named["rx_discards_phy"]
		for i, n := range p.Counters.Priority {
			if p.Counters.Pauses {
				c[drivers.PFCRx.Of(i)], c[drivers.PFCTx.Of(i)] = n.RxPause, n.TxPause
			}
			if p.Counters.Durations {
				c[drivers.PauseRxTime.Of(i)], c[drivers.PauseTxTime.Of(i)] = n.RxPauseDuration, n.TxPauseDuration
			}
			if p.Counters.Bytes {
				c[drivers.PriorityRxBytes.Of(i)], c[drivers.PriorityTxBytes.Of(i)] = n.RxBytes, n.TxBytes
			}
			if p.Counters.Packets {
				c[drivers.PriorityRxPackets.Of(i)], c[drivers.PriorityTxPackets.Of(i)] = n.RxPackets, n.TxPackets
			}
			if priorities {
				c[drivers.PriorityDiscards.Of(i)] = n.RxDiscards + n.RxBufDiscards
			}
		}
		for key, m := range named {
			if v, ok := p.Counters.Named[key]; ok {
				c[m.Of(0)] += v
			}
		}
		// The kernel's driver has these names too, but counts RoCE separately, or it is not
		// certain that these counters are RoCE.
		_, own := p.Counters.Named["rp_cnp_ignored"]
		for key, m := range broadcom {
			if v, ok := p.Counters.Named[key]; ok && own && p.Driver == nic.DriverBNXT {
				c[m.Of(0)] = v
			}
		}
		out.Ports[name] = c
	}
	return out
}

// pausedPart returns the fraction of the window for which a priority was paused. exact is false
// for an upper bound computed from pause frames. ok is false if neither is known.
func (p *PortWindow) pausedPart(duration, pauses drivers.Metric, priority int) (part float64, exact, ok bool) {
	if p == nil || p.Span <= 0 {
		return 0, false, false
	}
	n, known := p.grew(pauses, priority)
	// Hardware without a pause time counter shows a constant zero.
	if us, timed := p.grew(duration, priority); timed && (us > 0 || n == 0) {
		return min(1, float64(us)/1e6/p.Span.Seconds()), true, true
	}
	if !known || p.port == nil || p.port.Speed <= 0 {
		return 0, false, false
	}
	return headroom.PausedAtMost(int64(min(n, 1<<62)), p.port.Speed, p.Span), false, true
}

func (j *judge) rdmaErrors(p *PortWindow) {
	usual := j.baselineOf(p)
	for _, e := range rdmaErrors {
		n := p.count(e.m, 0)
		if n == 0 || j.apart[outlier{p.end(), e.m}] || usual != nil && p.rate(e.m, 0) <= 2*usual.rate(e.m, 0) {
			continue
		}
		j.addFinding(RDMAError, Warn, p.Device, p.Port, fmt.Sprintf("%d %s", n, e.says), "look for loss on the path: drops, cable errors, packets classified as lossy")
	}
}

// rdmaErrors lists counters of packets that RDMA lost or had to wait for.
var rdmaErrors = []struct {
	m    drivers.Metric
	says string
}{
	{drivers.OutOfSequence, "packets came out of sequence"}, {drivers.SequenceErrors, "packets were requested again"},
	{drivers.AckTimeouts, "acknowledgements timed out"}, {drivers.RNRRetries, "retries found no receive buffer"},
}
