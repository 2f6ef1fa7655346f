package gate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// named are the counters that NICs have by name (Linux
// drivers/net/ethernet/mellanox/mlx5/core/en_stats.c and
// drivers/infiniband/hw/mlx5/counters.c; drivers/infiniband/hw/bnxt_re/
// hw_counters.c).
var named = map[string]drivers.Metric{
	"rx_discards_phy": drivers.Discards, "rx_global_pause": drivers.LinkPauseRx, "tx_global_pause": drivers.LinkPauseTx,
	"tx_pause_storm_error_events": drivers.StallErrors, "tx_pause_storm_warning_events": drivers.StallWarnings,
	"np_cnp_sent": drivers.CNPSent, "np_ecn_marked_roce_packets": drivers.MarkedReceived,
	"rp_cnp_handled": drivers.CNPHandled, "rp_cnp_ignored": drivers.CNPIgnored,
	"out_of_sequence": drivers.OutOfSequence, "packet_seq_err": drivers.SequenceErrors,
	"local_ack_timeout_err": drivers.AckTimeouts, "rnr_nak_retry_err": drivers.RNRRetries,
	"tx_cnp_pkts": drivers.CNPSent, "rx_ecn_marked_pkts": drivers.MarkedReceived, "rx_cnp_pkts": drivers.CNPHandled,
	"oos_drop_count": drivers.OutOfSequence, "seq_err_naks_rcvd": drivers.SequenceErrors, "to_retransmits": drivers.AckTimeouts,
}

// OfHost takes the counters that were read of a host's NICs.
func OfHost(h *nic.Host, taken time.Time) *drivers.Counters {
	out := &drivers.Counters{Taken: taken, Ports: map[string]drivers.PortCounters{}}
	for name, p := range h.Ports {
		if p.Counters == nil {
			continue
		}
		c := drivers.PortCounters{}
		// A driver that counts by priority also has this, and dcbnl has pauses of
		// others; else a zero there stands for nothing.
		_, priorities := p.Counters.Named["rx_discards_phy"]
		for i, n := range p.Counters.Priority {
			if p.Counters.Pauses {
				c[drivers.PFCRx.Of(i)], c[drivers.PFCTx.Of(i)] = n.RxPause, n.TxPause
			}
			if priorities {
				c[drivers.PauseRxTime.Of(i)], c[drivers.PauseTxTime.Of(i)] = n.RxPauseDuration, n.TxPauseDuration
				c[drivers.PriorityDiscards.Of(i)] = n.RxDiscards + n.RxBufDiscards
			}
		}
		for key, m := range named {
			if v, ok := p.Counters.Named[key]; ok {
				c[m.Of(0)] = v
			}
		}
		out.Ports[name] = c
	}
	return out
}

// pausedPart returns the part of the window in which a priority was stopped;
// exact is false for what it was at most, by the frames. ok is false where
// neither is known.
func (p *PortWindow) pausedPart(duration, pauses drivers.Metric, priority int) (part float64, exact, ok bool) {
	if p.Span <= 0 {
		return 0, false, false
	}
	if us, known := p.grew(duration, priority); known {
		return min(1, float64(us)/1e6/p.Span.Seconds()), true, true
	}
	n, known := p.grew(pauses, priority)
	if !known || p.port == nil || p.port.Speed <= 0 {
		return 0, false, false
	}
	return headroom.PausedAtMost(int64(min(n, 1<<62)), p.port.Speed, p.Span), false, true
}

func (j *judge) nic(p *PortWindow) {
	j.pausedMore(p, drivers.PauseRxTime, drivers.PFCRx, pausedFabric, "was paused by the switch")
	if timed(p, drivers.PauseTxTime) {
		j.pausedMore(p, drivers.PauseTxTime, drivers.PFCTx, pausedHost, "of the switch was paused by this NIC")
	}
	if n := p.count(drivers.CNPIgnored, 0); n > 0 {
		j.found(CNPLoop, Warn, p.Device, p.Port, fmt.Sprintf("%d congestion notifications were ignored", n), "enable the reaction point of the class's priority")
	}
	usual := j.usual(p)
	for _, e := range []struct {
		m    drivers.Metric
		says string
	}{
		{drivers.OutOfSequence, "packets came out of sequence"}, {drivers.SequenceErrors, "packets were requested again"},
		{drivers.AckTimeouts, "acknowledgements timed out"}, {drivers.RNRRetries, "retries found no receive buffer"},
	} {
		n := p.count(e.m, 0)
		if n == 0 || usual != nil && p.rate(e.m, 0) <= 2*usual.rate(e.m, 0) {
			continue
		}
		j.found(RDMAError, Warn, p.Device, p.Port, fmt.Sprintf("%d %s", n, e.says), "look for loss on the path: drops, cable errors, packets classified as lossy")
	}
}

// fewest is how many marks or notifications there must be before their answers
// are missed; the ends of a way are not read at one moment.
const (
	fewestHere   = 100
	fewestAcross = 1000
)

// loop finds congestion control that is open: marks that nobody answers, and
// answers that nobody obeys.
func (j *judge) loop() {
	var marks, sent, handled uint64
	allSend, allHandle, told, nics := true, true, false, 0
	for _, w := range j.windows {
		for _, p := range w.ports {
			if !w.dev.Host {
				for _, c := range p.port.Classes {
					marks += p.count(drivers.QueueMarked, c.Queue)
				}
				continue
			}
			nics++
			s, sOK := p.grew(drivers.CNPSent, 0)
			h, hOK := p.grew(drivers.CNPHandled, 0)
			sent, handled = sent+s, handled+h
			allSend, allHandle = allSend && sOK, allHandle && hOK
			if n := p.count(drivers.MarkedReceived, 0); sOK && s == 0 && n >= fewestHere {
				j.found(CNPLoop, Fail, p.Device, p.Port, fmt.Sprintf("the NIC received %d marked packets and sent no congestion notification", n), "enable the notification point of the class's priority")
				told = true
			}
		}
	}
	if nics == 0 || !j.o.AllHosts {
		return
	}
	if allSend && !told && sent == 0 && marks >= fewestAcross {
		j.found(CNPLoop, Fail, "", "", fmt.Sprintf("the switches marked %d packets of lossless classes, but no NIC sent a congestion notification", marks), "enable the notification point on the NICs, and make sure that nothing on the path clears the marks")
	}
	if allHandle && handled == 0 && sent >= fewestAcross {
		j.found(CNPLoop, Fail, "", "", fmt.Sprintf("the NICs sent %d congestion notifications, but none was handled", sent), "enable the reaction point on the NICs, and make sure that the notifications are not dropped")
	}
}
