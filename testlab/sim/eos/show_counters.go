package eos

import (
	"fmt"
	"strconv"
	"strings"
)

var counterCommands = []showCommand{
	{"priority-flow-control counters", false, (*front).pfcCounters},
	{"priority-flow-control counters watchdog", false, (*front).watchdogCounters},
	{"interfaces priority-flow-control counters detail", false, (*front).pfcDetail},
	{"interfaces PORT priority-flow-control counters detail", false, (*front).pfcDetail},
	{"qos interfaces ecn counters queue", false, (*front).ecnCounters},
	{"interfaces counters queue detail", false, (*front).queueCounters},
	{"interfaces PORT counters queue detail", false, (*front).queueCounters},
}

// pfcCounters is `show priority-flow-control counters`, sums over the
// priorities (aristanetworks/anta VerifyInterfacesPFCCounters).
func (f *front) pfcCounters([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %12s %12s\n", "Port", "RxPfc", "TxPfc")
	m := map[string]any{}
	for _, p := range ports {
		rx, tx := f.world.sum(p.Name, pfcRx), f.world.sum(p.Name, pfcTx)
		m[p.Name] = map[string]any{"rxFrames": rx, "txFrames": tx}
		fmt.Fprintf(&b, "%-16s %12d %12d\n", shortPort(p.Name), rx, tx)
	}
	return answer{b.String(), map[string]any{"interfaceCounters": m}}, true
}

// pfcDetail is `show interfaces [PORT] priority-flow-control counters detail`
// (facebook/DNE-TaaC).
func (f *front) pfcDetail(args []string) (answer, bool) {
	ports, ok := f.ethernet(args)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %12s %12s\n", "Port", "Priority", "RxPfc", "TxPfc")
	m := map[string]any{}
	for _, p := range ports {
		priorities := map[string]any{}
		for i := range numQueues {
			rx, tx := f.world.count(p.Name, i, pfcRx), f.world.count(p.Name, i, pfcTx)
			priorities[strconv.Itoa(i)] = map[string]any{"rxFrames": rx, "txFrames": tx}
			fmt.Fprintf(&b, "%-16s %8d %12d %12d\n", shortPort(p.Name), i, rx, tx)
		}
		m[p.Name] = map[string]any{"priorities": priorities}
	}
	return answer{b.String(), map[string]any{"interfaces": m}}, ok
}

// watchdogCounters is `show priority-flow-control counters watchdog`. A queue
// that never was stuck is left out (facebook/DNE-TaaC).
func (f *front) watchdogCounters([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %12s %12s\n", "Port", "TxQ", "Stuck", "Recovered")
	m := map[string]any{}
	for _, p := range ports {
		queues := map[string]any{}
		for i := range numQueues {
			stuck, recovered := f.world.count(p.Name, i, wdStuck), f.world.count(p.Name, i, wdRecovery)
			if stuck == 0 && recovered == 0 {
				continue
			}
			queues[strconv.Itoa(i)] = map[string]any{"stuckCount": stuck, "recoveryCount": recovered}
			fmt.Fprintf(&b, "%-16s %8s %12d %12d\n", shortPort(p.Name), "UC"+strconv.Itoa(i), stuck, recovered)
		}
		if len(queues) > 0 {
			m[p.Name] = map[string]any{"txQueues": queues}
		}
	}
	return answer{b.String(), map[string]any{"interfaces": m}}, true
}

// ecnCounters is `show qos interfaces ecn counters queue`: texts, and "-" for
// a queue that does not mark or is not told to count
// (aristanetworks/anta VerifyInterfacesECNCounters).
func (f *front) ecnCounters([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %16s\n", "Port", "TxQ", "Marked Packets")
	m := map[string]any{}
	counted := f.e.ecnCounted()
	for _, p := range ports {
		queues := map[string]any{}
		for i := range numQueues {
			v := "-"
			if counted[p.Name][i] {
				v = strconv.FormatUint(f.world.count(p.Name, i, ecnMarked), 10)
			}
			queues[strconv.Itoa(i)] = v
			fmt.Fprintf(&b, "%-16s %8d %16s\n", shortPort(p.Name), i, v)
		}
		m[p.Name] = map[string]any{"queueCounters": queues}
	}
	return answer{b.String(), map[string]any{"intfQueueCounters": m}}, true
}

// queueCounters is `show interfaces [PORT] counters queue detail`: JSON as
// aristanetworks/anta VerifyInterfacesEgressQueueDrops reads it, rows as
// amd/node-scraper reads them.
func (f *front) queueCounters(args []string) (answer, bool) {
	ports, ok := f.ethernet(args)
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %-6s %16s %16s %16s %16s\n", "Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes")
	m := map[string]any{}
	for _, p := range ports {
		classes := map[string]any{}
		for i := range numQueues {
			n := func(name string) uint64 { return f.world.count(p.Name, i, name) }
			classes["TC"+strconv.Itoa(i)] = map[string]any{"dropPrecedences": map[string]any{"DP0": map[string]any{
				"enqueuedPackets": n(txPkts), "enqueuedBytes": n(txOctets), "droppedPackets": n(dropPkts), "droppedBytes": n(dropOctets)}}}
			fmt.Fprintf(&b, "%-10s %-6s %16d %16d %16d %16d\n", shortPort(p.Name), "UC"+strconv.Itoa(i), n(txPkts), n(txOctets), n(dropPkts), n(dropOctets))
		}
		m[p.Name] = map[string]any{"ucastQueues": map[string]any{"trafficClasses": classes}, "mcastQueues": map[string]any{"trafficClasses": map[string]any{}}}
	}
	return answer{b.String(), map[string]any{"egressQueueCounters": map[string]any{"interfaces": m}}}, ok
}

// ecnCounted says which queues of which ports mark and count: both thresholds
// and `random-detect ecn count`, on the port's queue or in its profile; on
// Sand also the hardware counter feature.
func (e *EOS) ecnCounted() map[string][numQueues]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	root := e.running.root
	out := map[string][numQueues]bool{}
	if e.sand && !root.says("hardware counter feature ecn") {
		return out
	}
	for _, b := range root.subs {
		if b.mode != modeEthernet {
			continue
		}
		profile := root.subs[strings.Replace(b.get("service-profile"), "service-profile", "qos profile", 1)]
		var marks [numQueues]bool
		for i := range marks {
			queue := e.o.QueueKeyword + " " + strconv.Itoa(i)
			at := func(line string) bool {
				return b.subs[queue].says(line) || profile != nil && profile.subs[queue].says(line)
			}
			marks[i] = at("random-detect ecn minimum-threshold") && at("random-detect ecn count")
		}
		out[b.name()] = marks
	}
	return out
}

// says reports whether a line of the block begins with these words.
func (b *block) says(line string) bool {
	if b == nil {
		return false
	}
	for _, v := range b.vals {
		if strings.HasPrefix(v.line, line) {
			return true
		}
	}
	return false
}
