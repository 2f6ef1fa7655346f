package sonic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Counters returns the counters of the ports, with indexes for egress queues (equal to traffic
// classes by default), for priorities (pfc-rx, pfc-tx and pause-rx-us), and for priority groups.
func (s *Switch) Counters() *sim.Tally { return &s.tally }

// countersDB returns the name maps, and the counters of polled groups with the values of the tally.
// SetDBRow overrides them.
func (s *Switch) countersDB(only string) tables {
	t := tables{}
	on := func(group string) bool { return s.cfg["FLEX_COUNTER_TABLE"][group]["FLEX_COUNTER_STATUS"] == "enable" }
	ports, queues, groups := row{}, row{}, row{}
	configured := s.configuredIndexes()
	for port := range s.cfg["PORT"] {
		ports[port] = oid("PORT", port)
		for i := range numQueues {
			name := indexed(port, i)
			if on("QUEUE") && configured("BUFFER_QUEUE", port, i) {
				queues[name] = oid("QUEUE", name)
			}
			if (on("PG_WATERMARK") || on("PG_DROP")) && configured("BUFFER_PG", port, i) {
				groups[name] = oid("INGRESS_PRIORITY_GROUP", name)
			}
		}
	}
	pools := row{}
	for p := range s.cfg["BUFFER_POOL"] {
		pools[p] = oid("BUFFER_POOL", p)
	}
	for table, r := range map[string]row{"COUNTERS_PORT_NAME_MAP": ports, "COUNTERS_QUEUE_NAME_MAP": queues, "COUNTERS_PG_NAME_MAP": groups, "COUNTERS_BUFFER_POOL_NAME_MAP": pools} {
		if len(r) > 0 && isRequested(only, table) {
			t.set(table, "", r)
		}
	}
	if on("PG_WATERMARK") && isRequested(only, "PERSISTENT_WATERMARKS") {
		s.keepWatermarks(t, ports, groups)
	}
	if !isRequested(only, "COUNTERS") {
		return t
	}
	drops, peaks := on("PG_DROP"), on("PG_WATERMARK")
	for port, id := range ports {
		if on("PORT") {
			t.set("COUNTERS", id, s.portCounters(port))
		}
		guarded := expandList(s.cfg["PORT_QOS_MAP"][port]["pfcwd_sw_enable"])
		for i := range numQueues {
			name := indexed(port, i)
			if id := groups[name]; id != "" {
				t.set("COUNTERS", id, s.groupCounters(port, i, drops, peaks))
			}
			if id := queues[name]; id != "" {
				t.set("COUNTERS", id, s.queueCounters(port, i, slices.Contains(guarded, i), on))
			}
		}
	}
	return t
}

// keepWatermarks adds the watermarks of priority groups since they were last cleared (sonic-swss
// orchagent/watermark_pg.lua).
func (s *Switch) keepWatermarks(t tables, ports, groups row) {
	for port := range ports {
		for i := range numQueues {
			if id := groups[indexed(port, i)]; id != "" {
				t.set("PERSISTENT_WATERMARKS", id, row{
					"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": strconv.FormatUint(s.tally.Most(port, i, sim.HeadroomPeak), 10),
					"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES":    "0",
				})
			}
		}
	}
}

func expandList(v string) []int {
	var l []int
	for _, p := range strings.Split(v, ",") {
		l = append(l, expand(p)...)
	}
	return l
}

// configuredIndexes returns whether an index has counters: with create_only_config_db_buffers only
// those that CONFIG_DB names do.
func (s *Switch) configuredIndexes() func(table, port string, i int) bool {
	if s.cfg["DEVICE_METADATA"]["localhost"]["create_only_config_db_buffers"] != "true" {
		return func(string, string, int) bool { return true }
	}
	set := map[string]bool{}
	for _, table := range []string{"BUFFER_QUEUE", "BUFFER_PG"} {
		for k := range s.cfg[table] {
			port, r, _ := strings.Cut(k, "|")
			for _, i := range expand(r) {
				set[fmt.Sprintf("%s|%s|%d", table, port, i)] = true
			}
		}
	}
	return func(table, port string, i int) bool { return set[fmt.Sprintf("%s|%s|%d", table, port, i)] }
}

func zeros(prefix string, names ...string) row {
	r := row{}
	for _, n := range names {
		r[prefix+n] = "0"
	}
	return r
}

// tallied sets a field to the value of a counter.
func (s *Switch) tallied(r row, field, port string, index int, name string) {
	r[field] = strconv.FormatUint(s.tally.Read(port, index, name), 10)
}

func (s *Switch) portCounters(port string) row {
	r := zeros("SAI_PORT_STAT_", "IF_IN_OCTETS", "IF_OUT_OCTETS", "IF_IN_UCAST_PKTS", "IF_OUT_UCAST_PKTS", "IF_IN_DISCARDS", "IF_OUT_DISCARDS")
	s.tallied(r, "SAI_PORT_STAT_PAUSE_RX_PKTS", port, 0, sim.LinkPauseRx)
	s.tallied(r, "SAI_PORT_STAT_PAUSE_TX_PKTS", port, 0, sim.LinkPauseTx)
	s.tallied(r, "SAI_PORT_STAT_IF_IN_ERRORS", port, 0, sim.RxErrors)
	s.tallied(r, "SAI_PORT_STAT_IF_OUT_ERRORS", port, 0, sim.TxErrors)
	s.tallied(r, "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", port, 0, sim.FECCorrected)
	s.tallied(r, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", port, 0, sim.FECUncorrected)
	s.tallied(r, "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", port, 0, sim.SymbolErrors)
	nvidia := strings.HasPrefix(s.o.ASIC, "spc") && s.cfg["FLEX_COUNTER_TABLE"]["PFCWD"]["FLEX_COUNTER_STATUS"] == "enable" && s.orch["PFC_WD"][port] != nil
	for i := range sim.NumQueues {
		s.tallied(r, fmt.Sprintf("SAI_PORT_STAT_PFC_%d_RX_PKTS", i), port, i, sim.PFCRx)
		s.tallied(r, fmt.Sprintf("SAI_PORT_STAT_PFC_%d_TX_PKTS", i), port, i, sim.PFCTx)
		// Only this vendor's watchdog polls pause times (sonic-swss orchagent/orchdaemon.cpp).
		if nvidia {
			s.tallied(r, fmt.Sprintf("SAI_PORT_STAT_PFC_%d_RX_PAUSE_DURATION_US", i), port, i, sim.PauseRxTime)
		}
	}
	return r
}

func (s *Switch) groupCounters(port string, i int, drops, peaks bool) row {
	r := row{}
	if drops {
		s.tallied(r, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", port, i, sim.GroupDrops)
	}
	if peaks {
		s.tallied(r, "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", port, i, sim.HeadroomPeak)
		r["SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"] = "0"
	}
	return r
}

func (s *Switch) queueCounters(port string, i int, guarded bool, on func(group string) bool) row {
	r := row{}
	for f, name := range map[string]string{"PACKETS": sim.TxPkts, "BYTES": sim.TxOctets, "DROPPED_PACKETS": sim.DropPkts, "DROPPED_BYTES": sim.DropOctets} {
		s.tallied(r, "SAI_QUEUE_STAT_"+f, port, i, name)
	}
	if on("QUEUE_WATERMARK") {
		r["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"] = "0"
	}
	if on("WRED_ECN_QUEUE") && s.rel >= r202505 {
		for f := range zeros("SAI_QUEUE_STAT_WRED_", "ECN_MARKED_BYTES", "DROPPED_PACKETS", "DROPPED_BYTES") {
			r[f] = "0"
		}
		s.tallied(r, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", port, i, sim.ECNMarked)
	}
	if wd := s.orch["PFC_WD"][port]; wd != nil && guarded && on("PFCWD") {
		for f := range zeros("PFC_WD_QUEUE_STATS_", "TX_PACKETS", "TX_DROPPED_PACKETS", "RX_PACKETS", "RX_DROPPED_PACKETS",
			"TX_PACKETS_LAST", "TX_DROPPED_PACKETS_LAST", "RX_PACKETS_LAST", "RX_DROPPED_PACKETS_LAST") {
			r[f] = "0"
		}
		s.tallied(r, "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", port, i, sim.WDStuck)
		s.tallied(r, "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", port, i, sim.WDRecovery)
		r["PFC_WD_STATUS"], r["PFC_WD_ACTION"] = "operational", wd["action"]
		for f, src := range map[string]string{"PFC_WD_DETECTION_TIME": "detection_time", "PFC_WD_RESTORATION_TIME": "restoration_time"} {
			if ms, err := strconv.Atoi(wd[src]); err == nil {
				r[f] = strconv.Itoa(ms * 1000)
			}
		}
	}
	return r
}
