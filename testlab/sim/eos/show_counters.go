package eos

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
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

// pfcCounters answers `show priority-flow-control counters` with sums over all priorities
// (aristanetworks/anta VerifyInterfacesPFCCounters).
func (f *front) pfcCounters([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %12s %12s\n", "Port", "RxPfc", "TxPfc")
	m := map[string]any{}
	for _, p := range ports {
		rx, tx := f.world.Sum(p.Name, cli.PFCRx), f.world.Sum(p.Name, cli.PFCTx)
		m[p.Name] = map[string]any{"rxFrames": rx, "txFrames": tx}
		fmt.Fprintf(&b, "%-16s %12d %12d\n", shortPort(p.Name), rx, tx)
	}
	return answer{text: b.String(), value: map[string]any{"interfaceCounters": m}}, true
}

// pfcDetail answers `show interfaces [PORT] priority-flow-control counters detail`
// (facebook/DNE-TaaC).
func (f *front) pfcDetail(args []string) (answer, bool) {
	ports, ok := f.ethernet(args)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %12s %12s\n", "Port", "Priority", "RxPfc", "TxPfc")
	m := map[string]any{}
	for _, p := range ports {
		priorities := map[string]any{}
		for i := range cli.NumQueues {
			rx, tx := f.world.Count(p.Name, i, cli.PFCRx), f.world.Count(p.Name, i, cli.PFCTx)
			priorities[strconv.Itoa(i)] = map[string]any{"rxFrames": rx, "txFrames": tx}
			fmt.Fprintf(&b, "%-16s %8d %12d %12d\n", shortPort(p.Name), i, rx, tx)
		}
		m[p.Name] = map[string]any{"priorities": priorities}
	}
	return answer{text: b.String(), value: map[string]any{"interfaces": m}}, ok
}

// watchdogCounters answers `show priority-flow-control counters watchdog`. Queues that were never
// stuck are omitted (facebook/DNE-TaaC).
func (f *front) watchdogCounters([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %12s %12s\n", "Port", "TxQ", "Stuck", "Recovered")
	m := map[string]any{}
	for _, p := range ports {
		queues := map[string]any{}
		for i := range cli.NumQueues {
			stuck, recovered := f.world.Count(p.Name, i, cli.WDStuck), f.world.Count(p.Name, i, cli.WDRecovery)
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
	return answer{text: b.String(), value: map[string]any{"interfaces": m}}, true
}

// ecnCounters answers `show qos interfaces ecn counters queue`. The values are strings, with "-"
// for a queue that does not mark or does not count (aristanetworks/anta
// VerifyInterfacesECNCounters).
func (f *front) ecnCounters([]string) (answer, bool) {
	ports, _ := f.ethernet(nil)
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %16s\n", "Port", "TxQ", "Marked Packets")
	m := map[string]any{}
	counted := f.e.ecnCounted()
	for _, p := range ports {
		queues := map[string]any{}
		for i := range cli.NumQueues {
			v := "-"
			if counted[p.Name][i] {
				v = strconv.FormatUint(f.world.Count(p.Name, i, cli.ECNMarked), 10)
			}
			queues[strconv.Itoa(i)] = v
			fmt.Fprintf(&b, "%-16s %8d %16s\n", shortPort(p.Name), i, v)
		}
		m[p.Name] = map[string]any{"queueCounters": queues}
	}
	return answer{text: b.String(), value: map[string]any{"intfQueueCounters": m}}, true
}

// queueCounters answers `show interfaces [PORT] counters queue detail`. The JSON is as read by
// aristanetworks/anta VerifyInterfacesEgressQueueDrops, the table as read by amd/node-scraper.
func (f *front) queueCounters(args []string) (answer, bool) {
	ports, ok := f.ethernet(args)
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %-6s %16s %16s %16s %16s\n", "Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes")
	m := map[string]any{}
	for _, p := range ports {
		classes := map[string]any{}
		for i := range cli.NumQueues {
			n := func(name string) uint64 { return f.world.Count(p.Name, i, name) }
			classes["TC"+strconv.Itoa(i)] = map[string]any{"dropPrecedences": map[string]any{"DP0": map[string]any{
				"enqueuedPackets": n(cli.TxPkts), "enqueuedBytes": n(cli.TxOctets), "droppedPackets": n(cli.DropPkts), "droppedBytes": n(cli.DropOctets)}}}
			fmt.Fprintf(&b, "%-10s %-6s %16d %16d %16d %16d\n", shortPort(p.Name), "UC"+strconv.Itoa(i), n(cli.TxPkts), n(cli.TxOctets), n(cli.DropPkts), n(cli.DropOctets))
		}
		m[p.Name] = map[string]any{"ucastQueues": map[string]any{"trafficClasses": classes}, "mcastQueues": map[string]any{"trafficClasses": map[string]any{}}}
	}
	return answer{text: b.String(), value: map[string]any{"egressQueueCounters": map[string]any{"interfaces": m}}}, ok
}

// ecnCounted returns which queues of which ports count marked packets. They need both thresholds
// and `random-detect ecn count`, on the port's queue or in its profile, and on Sand also the
// hardware counter feature.
func (e *EOS) ecnCounted() map[string][cli.NumQueues]bool {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	root := e.running.root
	out := map[string][cli.NumQueues]bool{}
	if e.sand && !root.Says("hardware counter feature ecn") {
		return out
	}
	for _, b := range root.Subs {
		if b.Mode != modeEthernet {
			continue
		}
		profile := root.Subs[strings.Replace(b.Get("service-profile"), "service-profile", "qos profile", 1)]
		var marks [cli.NumQueues]bool
		for i := range marks {
			queue := e.o.QueueKeyword + " " + strconv.Itoa(i)
			at := func(line string) bool {
				return b.Subs[queue].Says(line) || profile != nil && profile.Subs[queue].Says(line)
			}
			marks[i] = at("random-detect ecn minimum-threshold") && at("random-detect ecn count")
		}
		out[b.Name()] = marks
	}
	return out
}
