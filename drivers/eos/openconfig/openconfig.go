// Package openconfig reads the port state of an Arista switch over gNMI from the OpenConfig tree:
// links, LLDP neighbors, PFC frames, queues, ECN marks and the PFC watchdog. The public models
// lack the PFC data that EOS has below "ethernet/pfc"; those paths, and the releases that have
// them, are from aristanetworks/yang EOS-4.36.1F, pathreport.csv: counters of priorities and of
// the watchdog since 4.23.2.
//
// Do not use it for configuration: EOS replaces everything that OpenConfig cannot express.
package openconfig

import (
	"context"
	"maps"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines/tree"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// source lists paths from aristanetworks/yang pathreport.csv. It is not documented which of the
// codes EOS returns for an unknown path.
var source = tree.Source{
	Name: "OpenConfig", Origin: "openconfig", Type: gnmi.DataState,
	Paths: []string{
		"/interfaces/interface[name=*]/state",
		"/interfaces/interface[name=*]/ethernet/state",
		"/interfaces/interface[name=*]/ethernet/pfc",
		"/lldp/interfaces/interface[name=*]/neighbors",
		"/qos/interfaces/interface[interface-id=*]/output/queues",
		"/qos/queues/queue[name=*]/state",
	},
	Refusals: []codes.Code{codes.InvalidArgument, codes.Unimplemented},
	Decode:   decode,
}

// Observe reads the state of all interfaces, see [tree.Source.Observe].
func Observe(ctx context.Context, c *gnmi.Client) (*drivers.Observation, error) {
	return source.Observe(ctx, c)
}

// decode builds an observation from the values of any subset of the OpenConfig tree, in any
// partition; the caller sets the time. It skips unknown paths and leaves.
func decode(vs []gnmi.Value) (*drivers.Observation, error) {
	d := decoder{
		o:          &drivers.Observation{Ports: map[string]*drivers.PortState{}},
		negotiated: map[string]bool{}, neighbors: tree.Neighbors{},
		queues: map[string]map[string]drivers.PortCounters{}, numbers: map[string]uint64{},
	}
	if err := tree.Each(vs, d.add); err != nil {
		return nil, err
	}
	d.neighbors.Put(d.o)
	for port := range d.queues {
		d.count(port)
	}
	return d.o, nil
}

// decoder collects data that is complete only once all values are read.
type decoder struct {
	o          *drivers.Observation
	negotiated map[string]bool // ports whose speed was negotiated
	neighbors  tree.Neighbors
	queues     map[string]map[string]drivers.PortCounters // by port and queue name, all with index 0
	numbers    map[string]uint64                          // queue numbers by name
}

func (d *decoder) add(t tree.Object) {
	for _, e := range t.At("interfaces").List("interface") {
		if name := nameOf(e, "name"); name != "" {
			d.link(name, e)
			pfc(d.o.Port(name), e.At("ethernet", "pfc"))
		}
	}
	for _, e := range t.At("lldp", "interfaces").List("interface") {
		if port := nameOf(e, "name"); port != "" {
			d.o.Port(port)
			for _, n := range e.At("neighbors").List("neighbor") {
				if id, s := key(n, "id").Text("id"), n.At("state"); id != "" {
					d.neighbors.See(port, id, [4]string{s.String("system-name"), s.String("chassis-id"), s.String("port-id"), s.String("port-description")})
				}
			}
		}
	}
	for _, e := range t.At("qos", "interfaces").List("interface") {
		if port := nameOf(e, "interface-id"); port != "" {
			d.o.Port(port)
			for _, q := range e.At("output", "queues").List("queue") {
				if name := nameOf(q, "name"); name != "" {
					d.queue(port, name, q.At("state"))
				}
			}
		}
	}
	for _, q := range t.At("qos", "queues").List("queue") {
		if id := q.At("state").Count("queue-id"); id.Set {
			d.numbers[nameOf(q, "name")] = id.V
		}
	}
}

// key returns the part of an entry that contains its key: the state or the entry itself.
func key(e tree.Object, name string) tree.Object {
	if s := e.At("state"); s.Get(name) != nil {
		return s
	}
	return e
}

func nameOf(e tree.Object, name string) string { return key(e, name).Name(name) }

func (d *decoder) link(name string, e tree.Object) {
	p, s := d.o.Port(name), e.At("state")
	switch tree.Local(s.String("admin-status")) {
	case "UP":
		p.AdminUp = qos.Of(true)
	case "DOWN":
		p.AdminUp = qos.Of(false)
	}
	switch tree.Local(s.String("oper-status")) {
	case "UP":
		p.OperUp = qos.Of(true)
	case "DOWN", "DORMANT", "NOT_PRESENT", "LOWER_LAYER_DOWN":
		p.OperUp = qos.Of(false)
	}
	// Virtual EOS reports 0 for an MTU that is not set.
	if n := s.Count("mtu"); n.V > 0 && n.V < 1<<16 {
		p.MTU = qos.Of(int(n.V))
	}
	s = e.At("ethernet", "state")
	if r := speed(s.String("negotiated-port-speed")); r.Set {
		p.Speed, d.negotiated[name] = r, true
	} else if !d.negotiated[name] {
		tree.Keep(&p.Speed, speed(s.String("port-speed")))
	}
}

var speedName = lazyre.New(`^SPEED_([0-9]{1,6})(GB|MB)$`)

// speed parses the name of a speed: SPEED_400GB.
func speed(name string) qos.Opt[units.Rate] {
	m := speedName.FindStringSubmatch(tree.Local(name))
	if m == nil {
		return qos.Opt[units.Rate]{}
	}
	n, _ := strconv.Atoi(m[1]) // at most six digits
	r := units.Rate(n) * 1e6
	if m[2] == "GB" {
		r *= 1000
	}
	return qos.Of(r)
}

func pfc(p *drivers.PortState, e tree.Object) {
	for _, prio := range e.At("priorities").List("priority") {
		if n := key(prio, "index").Count("index"); n.Set && n.V < qos.NumPriorities {
			p.Counters.Put(drivers.PFCRx.Of(int(n.V)), prio.At("state").Count("in-frames"))
			p.Counters.Put(drivers.PFCTx.Of(int(n.V)), prio.At("state").Count("out-frames"))
		}
	}
	for _, w := range e.At("watchdog", "tx-queues").List("tx-queue") {
		n := key(w, "index").Count("index")
		if n.Set && n.V < qos.NumPriorities && tree.Local(key(w, "queue-type").String("queue-type")) == "UNICAST" {
			p.Counters.Put(drivers.StormsDetected.Of(int(n.V)), w.At("state").Count("stuck-count"))
			p.Counters.Put(drivers.StormsRestored.Of(int(n.V)), w.At("state").Count("recovery-count"))
		}
	}
}

// queueLeaves maps metrics to the counter leaves of a queue.
var queueLeaves = map[drivers.Metric]string{
	drivers.QueuePackets: "transmit-pkts", drivers.QueueBytes: "transmit-octets", drivers.QueueDrops: "dropped-pkts",
	drivers.QueueMarked: "ecn-marked-pkts",
}

func (d *decoder) queue(port, name string, s tree.Object) {
	if d.queues[port] == nil {
		d.queues[port] = map[string]drivers.PortCounters{}
	}
	q := d.queues[port][name]
	for m, leaf := range queueLeaves {
		q.Put(m.Of(0), s.Count(leaf))
	}
	d.queues[port][name] = q
}

// count sets the counters of a port's unicast queues. If two names denote the same queue, the
// first in order is used.
func (d *decoder) count(port string) {
	p := d.o.Port(port)
	var seen qos.PrioritySet
	for _, name := range ordered.Sorted(maps.Keys(d.queues[port]), tree.Order) {
		n, ok := queueNumber(name, d.numbers)
		if !ok || seen.Has(n) {
			continue
		}
		seen |= qos.Priorities(n)
		for id, v := range d.queues[port][name] {
			p.Counters.Put(id.Metric.Of(n), qos.Of(v))
		}
	}
}

// queueName matches a name that contains the number of a unicast queue: the bare number, or an
// EOS keyword with the number.
var queueName = lazyre.New(`(?i)^(?:(?:uc-)?tx-queue[ -]?|uc)?([0-7])$`)

// queueNumber returns the unicast queue, 0..7, of a name. OpenConfig queue names are chosen by
// the operator ("AF4"), and the device may show their numbers; a digit at the end of any other
// name means nothing.
func queueNumber(name string, numbers map[string]uint64) (int, bool) {
	if n, ok := numbers[name]; ok {
		return int(n), n < qos.NumPriorities
	}
	m := queueName.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	return int(m[1][0] - '0'), true
}
