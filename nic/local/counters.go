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

// maxNamed bounds the counters of a port by name.
const maxNamed = 1024

// Counters reads what the ports of a host count into them. Why a port's cannot
// be read is in its Missing; the error is the end of ctx. It needs no privilege.
// The kernel keeps the RDMA device's own for some milliseconds (hw_counters/
// lifespan), so that reading them faster shows the same ones.
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
	// dcbnl has the pause frames of every driver.
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
			why = m.why(err)
		}
		for stat, v := range stats {
			read = true
			if !count(c, stat, v) && telling(stat) {
				keep(stat, v)
			}
		}
	}
	if validName(p.RDMA, maxRDMA) {
		for _, group := range []string{"hw_counters", "counters"} {
			dir := m.infiniband(p.RDMA, "ports", strconv.Itoa(p.RDMAPort), group)
			names, err := m.list(dir)
			if err != nil {
				why = m.why(err)
			}
			for _, file := range names {
				if file == "lifespan" || !validName(file, maxRDMA) {
					continue
				}
				// The device may vanish, and some counters cannot be read.
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

// telling reports whether a statistic says something of RoCE; a driver has
// thousands, most of them of single rings.
func telling(name string) bool {
	if len(name) > maxRDMA || strings.HasPrefix(name, "rx[") || strings.HasPrefix(name, "tx[") || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	words := []string{
		"pause", "pfc", "xon", "xoff", "discard", "drop", "out_of_buffer", "storm", "marked", "ecn", "crc", "symbol_err",
		"oversize",
	}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// count takes a statistic of a priority by mlx5's name for it,
// "rx_prio3_pause_duration" (mlx5/core/en_stats.c).
func count(c *nic.Counters, name string, v uint64) bool {
	way, rest, ok := strings.Cut(name, "_prio")
	if !ok || len(rest) < 3 || rest[1] != '_' || rest[0] < '0' || rest[0] >= '0'+qos.NumPriorities {
		return false
	}
	p := &c.Priority[rest[0]-'0']
	field := map[string]*uint64{
		"rx_bytes": &p.RxBytes, "tx_bytes": &p.TxBytes, "rx_packets": &p.RxPackets, "tx_packets": &p.TxPackets,
		"rx_pause": &p.RxPause, "tx_pause": &p.TxPause, "rx_pause_duration": &p.RxPauseDuration, "tx_pause_duration": &p.TxPauseDuration,
		"rx_discards": &p.RxDiscards, "rx_buf_discard": &p.RxBufDiscards,
	}[way+"_"+rest[2:]]
	if field == nil {
		return false
	}
	*field = v
	if field == &p.RxPause || field == &p.TxPause {
		c.Pauses = true
	}
	return true
}
