package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

var queuingCommands = []showCommand{
	{"queuing interface", (*front).queuing},
	{"queuing interface PORT", (*front).queuing},
	{"queuing pfc-queue", pfcQueue(false)},
	{"queuing pfc-queue detail", pfcQueue(true)},
	{"queuing pfc-queue interface PORT", pfcQueue(false)},
	{"queuing pfc-queue interface PORT detail", pfcQueue(true)},
}

// extraGroups lists the groups with counters besides the eight qos-groups.
var extraGroups = []string{"CONTROL", "SPAN"}

// queuing executes `show queuing interface [PORT]` (Cisco Nexus 9000 Series NX-OS Command
// Reference, Show Commands, 9.3(x); text in the form that the ciscoos receiver of
// open-telemetry/opentelemetry-collector-contrib reads).
func (f *front) queuing(args []string) (answer, bool) {
	ports, _, ok := f.chosen(args)
	var b strings.Builder
	b.WriteString("\nslot  1\n=======\n")
	var rows []map[string]any
	for _, v := range ports {
		rows = append(rows, f.egress(&b, v), f.ingress(&b, v))
	}
	return answer{text: b.String(), value: module("queuing_interface", rows)}, ok
}

// egress prints the queues of a port and returns their row.
func (f *front) egress(b *strings.Builder, v portView) map[string]any {
	from := "Interface"
	if v.system {
		from = "System"
	}
	rule := strings.Repeat("-", 78) + "\n"
	fmt.Fprintf(b, "\n\nEgress Queuing for %s [%s]\n%sQoS-Group# Bandwidth%% PrioLevel                Shape                   QLimit\n"+
		"                                   Min          Max        Units   \n%s", v.Name, from, rule, rule)
	var config, counts []map[string]any
	for g := len(v.queues) - 1; g >= 0; g-- {
		q := v.queues[g]
		config = append(config, map[string]any{"qosgrp": text(g), "bandwidth": q.share, "priority": q.level, "shape-min": q.min, "shape-max": q.max,
			"shape-units": q.unit, "q-limit": q.limit, "q-limit-type": q.limitKind})
		fmt.Fprintf(b, "%7d %13s %9s %11s %12s %8s %13s\n", g, q.share, q.level, q.min, q.max, q.unit, q.limit+"("+q.limitKind+")")
	}
	box := "+" + strings.Repeat("-", 67) + "+\n"
	for g := range len(v.queues) + len(extraGroups) {
		title := fmt.Sprintf("QOS GROUP %d", g)
		count := func(name string) uint64 { return f.world.Count(v.Name, g, name) }
		if g >= len(v.queues) {
			title = extraGroups[g-len(v.queues)] + " QOS GROUP"
			count = func(string) uint64 { return 0 }
		}
		fmt.Fprintf(b, "%s|%33s%-34s|\n%s|                |  Unicast       | OOBFC Unicast  |  Multicast     |\n%s", box, title[:len(title)/2], title[len(title)/2:], box, box)
		var entries []map[string]any
		for _, c := range [][3]string{{"Tx", "Pkts", cli.TxPkts}, {"Tx", "Byts", cli.TxOctets}, {"Dropped", "Pkts", cli.DropPkts}, {"Dropped", "Byts", cli.DropOctets}} {
			entries = append(entries, map[string]any{"eq-stat-type": c[0], "eq-stat-units": c[1], "eq-uc-stat-value": text(count(c[2])), "eq-oobfc-uc-stat-value": "0", "eq-mc-stat-value": "0"})
			fmt.Fprintf(b, "|%15s |%16d|%16d|%16d|\n", c[0]+" "+c[1], count(c[2]), 0, 0)
		}
		row := map[string]any{"eq-qosgrp": text(g)}
		table(row, "qosgrp_egress_stats_entry", entries)
		counts = append(counts, row)
	}
	// Lossy queues with WRED drop packets; the port has one counter for all of them.
	fmt.Fprintf(b, "%s\nPort Egress Statistics\n--------------------------------------------------------\nWRED Drop Pkts                                         0\n", box)
	row := map[string]any{"dir": "Egress", "if_name_str": v.Name}
	table(row, "qosgrp_cfg", config)
	table(row, "qosgrp_egress_stats", counts)
	table(row, "egress_stats_entry", []map[string]any{{"ep-stat-type": "WRED Drop", "ep-stat-units": "Pkts", "ep-stat-value": "0"}})
	return row
}

// ingress prints the ingress buffers, drop and PFC counters of a port, and returns the row.
func (f *front) ingress(b *strings.Builder, v portView) map[string]any {
	rx, tx := f.world.Sum(v.Name, cli.PFCRx), f.world.Sum(v.Name, cli.PFCTx)
	rule := strings.Repeat("-", 78) + "\n"
	fmt.Fprintf(b, "\n\nIngress Queuing for %s\n%sQoS-Group#                 Pause\n           Buff Size       Pause Th      Resume Th\n%s", v.Name, rule, rule)
	var config []map[string]any
	for g := len(v.queues) - 1; g >= 0; g-- {
		size, pause, resume := "-", "-", "-"
		if p := f.world.Pause(v.Name, g); p.Size > 0 {
			size, pause, resume = text(p.Size), text(p.Pause), text(p.Resume)
		}
		config = append(config, map[string]any{"qosgrp": text(g), "buffer-size": size, "pause-threshold": pause, "resume-threshold": resume, "q-limit": "10", "q-limit-type": "D"})
		fmt.Fprintf(b, "%7d %12s %14s %14s\n", g, size, pause, resume)
	}
	fmt.Fprintf(b, "\nPort Ingress Statistics\n--------------------------------------------------------\nIngress MMU Drop Pkts%35d\nIngress MMU Drop Bytes%34d\n\n"+
		"PFC Statistics\n%sTxPPP: %21d, RxPPP: %21d\n%s%4s %-12s %4s %9s %9s %15s %15s\n", 0, 0, rule, tx, rx, rule, "COS", "QOS Group", "PG", "TxPause", "TxCount", "RxPause", "RxCount")
	var pauses []map[string]any
	for cos := range cli.NumQueues {
		group, state := "-", "Inactive"
		for g, priorities := range v.groups {
			if slices.Contains(priorities, cos) {
				group, state = strconv.Itoa(g), "Active"
			}
		}
		out, in := f.world.Count(v.Name, cos, cli.PFCTx), f.world.Count(v.Name, cos, cli.PFCRx)
		pauses = append(pauses, map[string]any{"cos": text(cos), "pfc-qosgrp": group, "pfc-pg": group, "tx-pause-state": state, "tx-pause-count": text(out),
			"rx-pause-state": state, "rx-pause-count": text(in)})
		fmt.Fprintf(b, "%4d %9s %9s %9s %11d %15s %15d\n", cos, group, group, state, out, state, in)
	}
	b.WriteString(rule)
	row := map[string]any{"dir": "Ingress", "if_name_str": v.Name, "tx-ppp": text(tx), "rx-ppp": text(rx)}
	table(row, "qosgrp_cfg", config)
	table(row, "ingress_stats_entry", []map[string]any{{"ip-stat-type": "Ingress MMU Drop", "ip-stat-units": "Pkts", "ip-stat-value": "0"},
		{"ip-stat-type": "Ingress MMU Drop", "ip-stat-units": "Bytes", "ip-stat-value": "0"}})
	table(row, "pfc_stats", pauses)
	return row
}

// enabled returns the word for a state.
func enabled(on bool) string {
	if on {
		return "Enabled"
	}
	return "Disabled"
}

// watched reports whether the watchdog monitors a port: it must be on for the switch and for the
// port. It then monitors the queues with working PFC.
func (v portView) watched(box qosState) bool { return box.Watchdog && v.Watchdog }

// queueState returns the watchdog state of a group: a queue that was shut down and not restored is
// shut down.
func (f *front) queueState(v portView, box qosState, group int) string {
	switch _, lossless := v.groups[group]; {
	case !lossless || !v.watched(box):
		return "-"
	case f.world.Count(v.Name, group, cli.WDStuck) > f.world.Count(v.Name, group, cli.WDRecovery):
		return "Shutdown"
	}
	return "Active"
}

// pfcQueue returns a function for `show queuing pfc-queue [interface PORT] [detail]` (Cisco
// Nexus 9000 Series NX-OS Command Reference, Show Commands, 9.3(x); detail in the form that the
// ciscoos receiver of open-telemetry/opentelemetry-collector-contrib reads).
func pfcQueue(detail bool) func(*front, []string) (answer, bool) {
	return func(f *front, args []string) (answer, bool) {
		ports, box, ok := f.chosen(args)
		const rule = "+----------------------------------------------------+\n"
		var b strings.Builder
		fmt.Fprintf(&b, "\nslot  1\n=======\n\n%sGlobal watch-dog interval [%s]\nForced Global watch-dog   [Disabled]\n%s"+
			"PFC watch-dog poll interval             : %d ms\nPFC watch-dog shutdown multiplier       : %d\nPFC watch-dog auto-restore multiplier   : %d\n"+
			"PFC watch-dog fixed-restore multiplier  : %d\nPFC watch-dog internal-interface multiplier : %d\n%s", rule, enabled(box.Watchdog), rule,
			box.WatchdogInterval, box.ShutdownMultiplier, box.AutoRestore, box.FixedRestore, box.InternalMultiplier, rule)
		if !detail {
			fmt.Fprintf(&b, "|  Port           PFC Watchdog (VL bmap)     State of QOS GROUPs 7 to 0\n%s", rule)
		}
		var rows []map[string]any
		for _, v := range ports {
			title := fmt.Sprintf("%s Interface PFC watchdog: [%s]", v.Name, enabled(v.watched(box)))
			row := map[string]any{"if_name_str": title, "wd-status": enabled(v.watched(box)), "disable-action": yes(v.DisableAction), "intf-multi": text(v.WatchdogMultiplier), "vl-bmp": "0x" + f.bitmap(v)}
			states := make([]string, 0, cli.NumQueues)
			for g := cli.NumQueues - 1; g >= 0; g-- {
				s := f.queueState(v, box, g)
				row[fmt.Sprintf("qosgrp_%d_state", g)] = s
				states = append(states, s)
			}
			if detail {
				fmt.Fprintf(&b, "\n%s\nDisable-action                     : %s\nPFC watch-dog interface-multiplier : %d\n", title, yes(v.DisableAction), v.WatchdogMultiplier)
				f.watchdogDetail(&b, row, v, box)
			} else {
				fmt.Fprintf(&b, "%-18s %s (0x%s) %s\n", v.Name, enabled(v.watched(box)), f.bitmap(v), strings.Join(states, " "))
			}
			rows = append(rows, row)
		}
		value := module("queuing_interface", rows)
		slot := value["TABLE_module"].(map[string]any)["ROW_module"].(map[string]any)
		for key, s := range map[string]string{"glb-wd-status": enabled(box.Watchdog), "glb-wd-force-status": "Disabled", "glb-wd-timer": text(box.WatchdogInterval),
			"glb-wd-timer-thresh": text(box.ShutdownMultiplier), "glb-auto-restore": text(box.AutoRestore), "glb-fixed-restore": text(box.FixedRestore), "glb-int-intf-multi": text(box.InternalMultiplier)} {
			slot[key] = s
		}
		return answer{text: b.String(), value: value}, ok
	}
}

func yes(on bool) string {
	if on {
		return "Yes"
	}
	return "No"
}

// watchdogDetail prints the watchdog counters of each monitored lossless queue.
func (f *front) watchdogDetail(b *strings.Builder, row map[string]any, v portView, box qosState) {
	const rule = "+----------------------------------------------------+\n"
	var rows []map[string]any
	for g := range cli.NumQueues {
		state := f.queueState(v, box, g)
		if state == "-" {
			continue
		}
		cos := strings.Trim(strings.ReplaceAll(text(v.groups[g]), " ", ","), "[]")
		fmt.Fprintf(b, "%s| QOS GROUP %d [%s] PFC [YES] PFC-COS [%s]\n%s|                               |  Stats             |\n%s", rule, g, state, cos, rule, rule)
		var entries []map[string]any
		for _, s := range []struct {
			title, key string
			value      uint64
		}{
			{"Shutdown", "q-shutdown", f.world.Count(v.Name, g, cli.WDStuck)},
			{"Restored", "q-restored", f.world.Count(v.Name, g, cli.WDRecovery)},
			{"Total pkts drained", "q-pkt-drained", 0},
			{"Total pkts dropped", "q-pkt-dropped", 0},
			{"Total pkts drained + dropped", "q-pkt-drained-n-dropped", 0},
			{"Aggregate pkts dropped", "q-aggr-pkt-dropped", 0},
			{"Total Ingress pkts dropped", "q-ing-pkt-dropped", 0},
			{"Aggregate Ingress pkts dropped", "q-ing-aggr-pkt-dropped", 0},
		} {
			fmt.Fprintf(b, "|%31s|%20d|\n", s.title, s.value)
			entries = append(entries, map[string]any{"q-stat-type": s.title, s.key: text(s.value)})
		}
		b.WriteString(rule)
		group := map[string]any{"eq-qosgrp": fmt.Sprintf("%d [%s]", g, state), "eq-qosgrp-state": state, "pfc-configured": "YES", "pfc-cos": cos}
		table(group, "qosgrp_stats_entry", entries)
		rows = append(rows, group)
	}
	table(row, "qosgrp_stats", rows)
}
