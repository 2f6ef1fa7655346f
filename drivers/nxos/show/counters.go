package show

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Queuing adds the counters of "show queuing interface": unicast packets and
// bytes of the egress queues, and PFC frames by priority (Nexus 9000 NX-OS
// Command Reference, Show Commands, 9.3(x)).
func Queuing(b []byte, o *drivers.Observation) error {
	return each(b, "queuing_interface", "if_name_str", func(name string, i row) {
		p := o.Port(name)
		for _, g := range i.table("qosgrp_egress_stats") {
			q, ok := group(g.Text("eq-qosgrp"))
			if !ok {
				continue
			}
			for _, e := range g.table("qosgrp_egress_stats_entry") {
				if dst := counter(&p.Queues[q], e.Text("eq-stat-type"), e.Text("eq-stat-units")); dst != nil {
					tree.Keep(dst, e.Count("eq-uc-stat-value"))
				}
			}
		}
		for _, f := range i.table("pfc_stats") {
			if n, ok := group(f.Text("cos")); ok {
				tree.Keep(&p.PFCRx[n], f.Count("rx-pause-count"))
				tree.Keep(&p.PFCTx[n], f.Count("tx-pause-count"))
			}
		}
	})
}

func counter(q *drivers.QueueState, kind, unit string) *qos.Opt[uint64] {
	switch kind + " " + unit {
	case "Tx Pkts":
		return &q.TxPackets
	case "Tx Byts":
		return &q.TxBytes
	case "Dropped Pkts":
		return &q.DropPackets
	case "Dropped Byts":
		return &q.DropBytes
	}
	return nil
}

// Watchdog adds how often the PFC watchdog shut a queue down and gave it free
// again, from "show queuing pfc-queue detail" (Nexus 9000 NX-OS Command
// Reference, Show Commands, 9.3(x)).
func Watchdog(b []byte, o *drivers.Observation) error {
	return each(b, "queuing_interface", "if_name_str", func(name string, i row) {
		for _, g := range i.table("qosgrp_stats") {
			if q, ok := group(g.Text("eq-qosgrp")); ok {
				for _, e := range g.table("qosgrp_stats_entry") {
					tree.Keep(&o.Port(name).Queues[q].WatchdogStuck, e.Count("q-shutdown"))
					tree.Keep(&o.Port(name).Queues[q].WatchdogRecovered, e.Count("q-restored"))
				}
			}
		}
	})
}

// maxNested is how deep Tabular looks for its rows.
const maxNested = 8

// Tabular adds the packets that left with congestion experienced, by queue, of
// "show queuing tabular": its rows have one key for each group
// (Nexus 9000 NX-OS Command Reference, Show Commands, 9.3(x)). In which tables
// the rows stand is not documented; they are looked for.
func Tabular(b []byte, o *drivers.Observation) error {
	r, err := parse(b)
	if err != nil {
		return err
	}
	tabular(r, o, 0)
	return nil
}

func tabular(r row, o *drivers.Observation, depth int) {
	if depth > maxNested {
		return
	}
	for _, key := range []string{"if_name_str", "intf_name", "interface"} {
		name, ok := r.port(key)
		if !ok {
			continue
		}
		for q := range qos.NumPriorities {
			if c := r.Count(fmt.Sprintf("tx_uc_ecn_pkt_qos_%d", q)); c.Set {
				o.Port(name).Queues[q].ECNMarked = c
			}
		}
		return
	}
	for key := range r.Object {
		for _, below := range rows(r.Object, key) {
			tabular(below, o, depth+1)
		}
	}
}
