package local

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
)

// maxNamed limits the number of named counters of a port.
const maxNamed = 1024

// Counters reads the counters of a host's ports into the ports. If a port's counters cannot be
// read, its Missing says why; Counters returns an error only if ctx ends. It needs no privileges.
// The kernel caches the RDMA device's own counters for some milliseconds (hw_counters/lifespan), so
// reading more often returns the same values.
func (m *Machine) Counters(ctx context.Context, h *nic.Host) error {
	for _, name := range natural.Keys(h.Ports) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read the counters: %w", err)
		}
		p := h.Ports[name]
		if p.Missing == nil {
			p.Missing = map[string]string{}
		}
		delete(p.Missing, nic.FieldCounters)
		m.countersOf(ctx, p)
	}
	return nil
}

func (m *Machine) countersOf(ctx context.Context, p *nic.Port) {
	c := &nic.Counters{Named: map[string]uint64{}}
	keep := func(name string, v uint64) {
		if len(c.Named) < maxNamed {
			c.Named[name] = v
		}
	}
	p.Counters = nil
	read := false
	// dcbnl reports the pause frames for every driver.
	if s, err := m.dcbState(ctx, p.Name); err == nil && s.PFC != nil {
		read, c.Pauses = true, true
		for i := range c.Priority {
			c.Priority[i].TxPause, c.Priority[i].RxPause = s.PFC.Requests[i], s.PFC.Indications[i]
		}
	}
	why := nic.NotInDriver
	if m.Ethtool != nil && validName(p.Name, maxIfname) {
		stats, err := m.Ethtool.Stats(p.Name)
		if err != nil {
			why = m.explainError(err)
		}
		for stat, v := range stats {
			read = true
			if !storePriorityStat(c, stat, v) && isRelevantStat(stat) {
				keep(stat, v)
			}
		}
	}
	if validName(p.RDMA, maxRDMA) {
		for _, group := range []string{"hw_counters", "counters"} {
			dir := m.infiniband(p.RDMA, "ports", strconv.Itoa(p.RDMAPort), group)
			names, err := m.list(dir)
			if err != nil {
				why = m.explainError(err)
			}
			for _, file := range names {
				if file == "lifespan" || !validName(file, maxRDMA) {
					continue
				}
				// The device may disappear, and some counters cannot be read.
				if n, err := m.number(dir + "/" + file); err == nil {
					read = true
					keep(file, uint64(n))
				}
			}
		}
	}
	if !read {
		p.Missing[nic.FieldCounters] = why
		return
	}
	p.Counters = c
}

// isRelevantStat reports whether a statistic is relevant to RoCE. A driver has thousands of
// statistics, most of them for single rings.
func isRelevantStat(name string) bool {
	if len(name) > maxRDMA || strings.HasPrefix(name, "rx[") || strings.HasPrefix(name, "tx[") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	words := []string{
		"pause", "pfc", "xon", "xoff", "discard", "drop", "out_of_buffer", "storm", "marked", "ecn", "crc", "symbol_err",
		"oversize", "rdma", "roce", "fec", "corrected", "packets_phy", "frames_rx_ok", "rx_ucast_frames",
	}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// storePriorityStat stores a per-priority statistic, recognized by the names that drivers use
// (Linux drivers/net/ethernet: mellanox/mlx5/core/en_stats.c "rx_prio3_pause_duration",
// broadcom/bnxt/bnxt_ethtool.c "rx_bytes_pri3" and "pfc_pri3_rx_duration_us",
// pensando/ionic/ionic_stats.c "frames_rx_pri_3" and "rx_pripause_3_1us_count"). It reports whether
// it recognized the name.
func storePriorityStat(c *nic.Counters, name string, v uint64) bool {
	at := strings.IndexFunc(name, func(r rune) bool { return r >= '0' && r < '0'+qos.NumPriorities })
	if at < 0 {
		return false
	}
	p := &c.Priority[name[at]-'0']
	switch name[:at] + "#" + name[at+1:] {
	case "rx_prio#_bytes", "rx_bytes_pri#":
		p.RxBytes, c.Bytes = v, true
	case "tx_prio#_bytes", "tx_bytes_pri#":
		p.TxBytes, c.Bytes = v, true
	case "rx_prio#_packets", "rx_packets_pri#", "frames_rx_pri_#":
		p.RxPackets, c.Packets = v, true
	case "tx_prio#_packets", "tx_packets_pri#", "frames_tx_pri_#":
		p.TxPackets, c.Packets = v, true
	case "rx_prio#_pause":
		p.RxPause, c.Pauses = v, true
	case "tx_prio#_pause":
		p.TxPause, c.Pauses = v, true
	case "rx_prio#_pause_duration", "pfc_pri#_rx_duration_us", "rx_pripause_#_1us_count":
		p.RxPauseDuration, c.Durations = v, true
	case "tx_prio#_pause_duration", "pfc_pri#_tx_duration_us", "tx_pripause_#_1us_count":
		p.TxPauseDuration, c.Durations = v, true
	case "rx_prio#_discards":
		p.RxDiscards = v
	case "rx_prio#_buf_discard":
		p.RxBufDiscards = v
	default:
		return false
	}
	return true
}
