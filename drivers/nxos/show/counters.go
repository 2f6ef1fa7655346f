package show

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Queuing adds the counters of "show queuing interface": unicast packets and
// bytes of the egress queues, and PFC frames by priority (Nexus 9000 NX-OS
// Command Reference, Show Commands, 9.3(x)).
func Queuing(b []byte, o *drivers.Observation) error {
	r, err := parse(b)
	if err != nil {
		return err
	}
	for _, i := range r.modules("queuing_interface") {
		name, ok := i.port("if_name_str")
		if !ok {
			continue
		}
		p := o.Port(name)
		for _, g := range i.table("qosgrp_egress_stats") {
			q, ok := group(g.text("eq-qosgrp"))
			if !ok {
				continue
			}
			for _, e := range g.table("qosgrp_egress_stats_entry") {
				if dst := counter(&p.Queues[q], e.text("eq-stat-type"), e.text("eq-stat-units")); dst != nil {
					put(dst, e.count("eq-uc-stat-value"))
				}
			}
		}
		for _, f := range i.table("pfc_stats") {
			if n, ok := group(f.text("cos")); ok {
				put(&p.PFCRx[n], f.count("rx-pause-count"))
				put(&p.PFCTx[n], f.count("tx-pause-count"))
			}
		}
	}
	return nil
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
	r, err := parse(b)
	if err != nil {
		return err
	}
	for _, i := range r.modules("queuing_interface") {
		name, ok := i.port("if_name_str")
		if !ok {
			continue
		}
		for _, g := range i.table("qosgrp_stats") {
			q, ok := group(g.text("eq-qosgrp"))
			if !ok {
				continue
			}
			for _, e := range g.table("qosgrp_stats_entry") {
				put(&o.Port(name).Queues[q].WatchdogStuck, e.count("q-shutdown"))
				put(&o.Port(name).Queues[q].WatchdogRecovered, e.count("q-restored"))
			}
		}
	}
	return nil
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
			if c := r.count(fmt.Sprintf("tx_uc_ecn_pkt_qos_%d", q)); c.Set {
				o.Port(name).Queues[q].ECNMarked = c
			}
		}
		return
	}
	for _, v := range r {
		for _, below := range rows(v) {
			tabular(below, o, depth+1)
		}
	}
}
