package dme

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/show"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// decode builds an observation from the values of any subset of the native tree, in any
// partition; the caller sets the time. It skips unknown paths and leaves.
func decode(vs []gnmi.Value) (*drivers.Observation, error) {
	d := decoder{
		o:         &drivers.Observation{Ports: map[string]*drivers.PortState{}},
		neighbors: tree.Neighbors{}, counters: map[queue]*counters{}, paused: map[string]*pauses{},
	}
	if err := tree.Each(vs, func(t tree.Object) { d.system(t.At("System")) }); err != nil {
		return nil, err
	}
	d.finish()
	return d.o, nil
}

// decoder collects data that is complete only once all values are read.
type decoder struct {
	o         *drivers.Observation
	neighbors tree.Neighbors
	counters  map[queue]*counters
	inForce   string             // name of the active network-qos policy
	paused    map[string]*pauses // by network-qos policy
}

// queue is an egress queue.
type queue struct {
	port   string
	number int // 0 to 7
}

// counters holds the counters of one queue.
type counters struct {
	typed bool // set from a row of queuing statistics
	// shown is indexed by the queue number. Its PFC frames are those of the priorities mapped to
	// the queue.
	shown drivers.PortCounters
}

// pauses holds the priorities that a network-qos policy pauses, by qos-group, which is the number
// of the egress queue.
type pauses [qos.NumPriorities]qos.PrioritySet

func (d *decoder) system(sys tree.Object) {
	intf, ipqos := sys.At("intf-items"), sys.At("ipqos-items")
	for _, e := range intf.At("phys-items").List("PhysIf-list") {
		d.link(e, "phys-items")
	}
	for _, e := range intf.At("aggr-items").List("AggrIf-list") {
		d.link(e, "aggrif-items")
	}
	for _, e := range sys.At("lldp-items", "inst-items", "if-items").List("If-list") {
		d.addNeighbors(e)
	}
	for _, e := range ipqos.At("queuing-items", "policy-items", "out-items", "intf-items").List("If-list") {
		d.queues(e)
	}
	nw := ipqos.At("nw-items")
	for _, e := range nw.At("p-items", "name-items").List("PMapInst-list") {
		d.policy(e)
	}
	d.inForce = cmp.Or(nw.At("policy-items", "in-items", "sys-items", "pmap-items").Text("name"), d.inForce)
}

// longName converts a port ID to the name in the command line: "eth1/1" becomes "Ethernet1/1",
// "po10" becomes "port-channel10".
func longName(id string) (string, bool) {
	if rest, ok := strings.CutPrefix(id, "eth"); ok {
		id = "Ethernet" + rest
	} else if rest, ok := strings.CutPrefix(id, "po"); ok && !strings.HasPrefix(rest, "rt") {
		id = "port-channel" + rest
	}
	return show.LongName(id)
}

// link adds a port or port-channel with its operational state (ironcore-dev/network-operator
// internal/provider/cisco/nxos intf.go), and the configured and active FEC
// (CiscoDevNet/terraform-provider-nxos physical_interface; influxdata/telegraf
// cisco_telemetry_mdt, sys/intf).
func (d *decoder) link(e tree.Object, state string) {
	name, ok := longName(e.Text("id"))
	if !ok {
		return
	}
	p, oper := d.o.Port(name), e.At(state)
	tree.Keep(&p.AdminUp, drivers.UpOf(e.Text("adminSt")))
	tree.Keep(&p.OperUp, drivers.UpOf(oper.Text("operSt")))
	p.AdminFEC = drivers.FECOf(e.Text("FECMode"))
	if p.OperUp.V {
		p.FEC = drivers.FECOf(cmp.Or(oper.Text("operFECMode"), oper.Text("operFecMode")))
	}
	if n := e.Count("mtu"); n.V > 0 && n.V < 1<<16 {
		p.MTU = qos.Of(int(n.V))
	}
	// Other values are "auto" and words of certain releases.
	if r, err := units.ParseRate(oper.Text("operSpeed")); err == nil && r > 0 {
		p.Speed = qos.Of(r)
	}
}

// addNeighbors adds the LLDP neighbors of a port (Cisco Nexus 3000 and 9000 Series NX-API REST
// SDK User Guide 10.4(x), Querying LLDP; ironcore-dev/network-operator
// internal/provider/cisco/nxos lldp.go).
func (d *decoder) addNeighbors(e tree.Object) {
	name, ok := longName(e.Text("id"))
	if !ok {
		return
	}
	d.neighbors.See(name, "", [4]string{})
	for i, a := range e.At("adj-items").List("AdjEp-list") {
		d.neighbors.See(name, cmp.Or(a.Text("id"), fmt.Sprint("without a key ", i)),
			[4]string{a.Text("sysName"), a.Text("chassisIdV"), a.Text("portIdV"), a.Text("portDesc")})
	}
}

// className matches the system-defined classes of egress queues and of network-qos, in the
// 8-queue and in the 4-queue model.
var className = lazyre.New(`^c-(?:8q-nq|nq|out-8q-q|out-q)(?:([1-7])|-default)$`)

// groupOf returns the qos-group of a system-defined class, 0 to 7.
func groupOf(class string) (int, bool) {
	m := className.FindStringSubmatch(class)
	if m == nil {
		return 0, false
	}
	n, _ := strconv.Atoi(m[1]) // a digit, or "" for the default class
	return n, true
}

// queues adds the counters of a port's egress queues (YangModels/yang vendor/cisco/nx
// Cisco-NX-OS-device.yang, QueuingStats). A queue has one row per type of statistics; the row for
// queuing, by name or number, takes precedence.
func (d *decoder) queues(e tree.Object) {
	name, ok := longName(e.Text("name"))
	if !ok {
		return
	}
	for _, r := range e.At("queCmap-items").List("QueuingStats-list") {
		group, ok := groupOf(r.Text("cmapName"))
		if !ok || !strings.HasPrefix(r.Text("cmapName"), "c-out-") {
			continue
		}
		key := queue{name, group}
		typed := r.Text("statType") == "queuing" || r.Text("statType") == "10"
		c := d.counters[key]
		switch {
		case c == nil || typed && !c.typed:
			c = &counters{typed: typed}
			d.counters[key] = c
		case c.typed && !typed:
			continue
		}
		for leaf, m := range map[string]drivers.Metric{
			"txPackets": drivers.QueuePackets, "txBytes": drivers.QueueBytes, "dropPackets": drivers.QueueDrops,
			"randEcnMarkedPackets": drivers.QueueMarked, "pfcRxPpp": drivers.PFCRx, "pfcTxPpp": drivers.PFCTx,
		} {
			c.shown.Put(m.Of(group), r.Count(leaf))
		}
	}
}

// policy adds the priorities that a network-qos policy pauses.
func (d *decoder) policy(e tree.Object) {
	name := e.Text("name")
	if d.paused[name] == nil {
		d.paused[name] = &pauses{}
	}
	for _, c := range e.At("cmap-items").List("MatchCMap-list") {
		group, ok := groupOf(c.Text("name"))
		if !ok {
			continue
		}
		for prio := range qos.NumPriorities {
			if c.At("pause-items").Flag("pfcCos" + strconv.Itoa(prio)) {
				d.paused[name][group] |= qos.Priorities(prio)
			}
		}
	}
}

// finish adds the neighbors and counters to the observation. The PFC frames of a queue are
// assigned to a priority only if the active policy pauses exactly one priority in this queue.
func (d *decoder) finish() {
	d.neighbors.Put(d.o)
	inForce := cmp.Or(d.paused[d.inForce], &pauses{})
	for key, c := range d.counters {
		p := d.o.Port(key.port)
		paused := inForce[key.number].List()
		for id, n := range c.shown {
			if id.Metric == drivers.PFCRx || id.Metric == drivers.PFCTx {
				if len(paused) != 1 {
					continue
				}
				id = id.Metric.Of(paused[0])
			}
			p.Counters.Put(id, qos.Of(n))
		}
	}
}
