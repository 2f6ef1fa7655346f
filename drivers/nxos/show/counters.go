package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Queuing adds the counters from "show queuing interface": unicast packets and bytes of the
// egress queues, and PFC frames by priority (Nexus 9000 NX-OS Command Reference, Show Commands,
// 9.3(x)).
func Queuing(b []byte, o *drivers.Observation) error {
	return each(b, "queuing_interface", "if_name_str", func(name string, i row) {
		p := o.Port(name)
		for _, g := range i.table("qosgrp_egress_stats") {
			q, ok := group(g.Text("eq-qosgrp"))
			if !ok {
				continue
			}
			for _, e := range g.table("qosgrp_egress_stats_entry") {
				if m, ok := queueMetrics[e.Text("eq-stat-type")+" "+e.Text("eq-stat-units")]; ok {
					p.Counters.Put(m.Of(q), e.Count("eq-uc-stat-value"))
				}
			}
		}
		for _, f := range i.table("pfc_stats") {
			if n, ok := group(f.Text("cos")); ok {
				p.Counters.Put(drivers.PFCRx.Of(n), f.Count("rx-pause-count"))
				p.Counters.Put(drivers.PFCTx.Of(n), f.Count("tx-pause-count"))
			}
		}
		if strings.EqualFold(i.Text("dir"), "ingress") {
			for _, g := range i.table("qosgrp_cfg") {
				pauseBuffer(p, g)
			}
		}
	})
}

// pauseBuffer adds the buffer of a group with PFC: its size, and the fill levels at which it
// pauses and resumes its senders. The part above the pause threshold is headroom. The switch
// shows "-" for a group without such a buffer. It is not documented that the numbers are bytes,
// as in the configuration: values below 5000 bytes, the minimum in the native model
// (Cisco-NX-OS-device, ipqos pause bufferSize, 10.5(3)), must be in another unit and are ignored.
func pauseBuffer(p *drivers.PortState, g row) {
	const least, most = 5000, 1 << 28
	q, ok := group(g.Text("qosgrp"))
	size, pause, resume := g.Count("buffer-size"), g.Count("pause-threshold"), g.Count("resume-threshold")
	if !ok || !size.Set || !pause.Set || !resume.Set || size.V < least || size.V > most || pause.V >= size.V || resume.V > pause.V {
		return
	}
	if p.Groups == nil {
		p.Groups = map[int]qos.Headroom{}
	}
	p.Groups[q] = qos.Headroom{Size: int64(size.V), XON: int64(resume.V), XOFF: int64(size.V - pause.V), Threshold: int64(pause.V), Static: true}
}

// queueMetrics maps the types and units of queue counters to metrics.
var queueMetrics = map[string]drivers.Metric{
	"Tx Pkts": drivers.QueuePackets, "Tx Byts": drivers.QueueBytes, "Dropped Pkts": drivers.QueueDrops,
}

// Watchdog adds how often the PFC watchdog shut down and restored a queue, and which queues are shut
// down now, from "show queuing pfc-queue detail" (Nexus 9000 NX-OS Command Reference, Show Commands,
// 9.3(x)).
func Watchdog(b []byte, o *drivers.Observation) error {
	return each(b, "queuing_interface", "if_name_str", func(name string, i row) {
		for _, g := range i.table("qosgrp_stats") {
			if q, ok := group(g.Text("eq-qosgrp")); ok {
				if s, ok := stormOf(g, i.Text("disable-action")); ok {
					o.Port(name).PutStorm(q, s)
				}
				for _, e := range g.table("qosgrp_stats_entry") {
					o.Port(name).Counters.Put(drivers.StormsDetected.Of(q), e.Count("q-shutdown"))
					o.Port(name).Counters.Put(drivers.StormsRestored.Of(q), e.Count("q-restored"))
				}
			}
		}
	})
}

// stormOf returns what the watchdog does with the queue of a group: it waits, then drops all packets
// of the queue until the pauses end (Nexus 9000 NX-OS QoS Configuration Guide, 10.5(x)). A switch
// with disable-action does not drop them. Other states are those of queues without a storm.
func stormOf(group row, disableAction string) (s drivers.Storm, ok bool) {
	_, state, _ := strings.Cut(group.Text("eq-qosgrp"), "[")
	switch state = cmp.Or(group.Text("eq-qosgrp-state"), strings.TrimSuffix(state, "]")); {
	case strings.EqualFold(state, "wait-to-shutdown"):
		return drivers.StormNear, true
	case !strings.EqualFold(state, "shutdown"):
		return 0, false
	case strings.EqualFold(disableAction, "yes"):
		return drivers.StormCounted, true
	}
	return drivers.StormStopped, true
}

// maxNested is the depth to which Tabular searches for rows.
const maxNested = 8

// Tabular adds the packets sent with a congestion-experienced mark by queue, from "show queuing
// tabular", whose rows have one key per group (Nexus 9000 NX-OS Command Reference, Show Commands,
// 9.3(x)). It searches all tables for these rows, because their location is not documented.
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
				o.Port(name).Counters.Put(drivers.QueueMarked.Of(q), c)
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
