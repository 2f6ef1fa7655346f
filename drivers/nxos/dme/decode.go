package dme

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/show"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// Decode makes an observation of the values of any subset of the native tree,
// in any cut; the time is left to the caller. Paths and leaves that it does not
// know are passed over. An error means that a value is no JSON or that a list
// has absurdly many entries.
func Decode(vs []gnmi.Value) (*drivers.Observation, error) {
	d := decoder{
		o:    &drivers.Observation{Ports: map[string]*drivers.PortState{}},
		seen: map[string]map[string]*adjacency{}, counters: map[queue]*counters{}, paused: map[string]*pauses{},
	}
	for _, v := range vs {
		t, err := tree(v)
		if err == nil {
			err = d.system(t.at("System"))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", term.CleanLine(pathText(v.Path)), err)
		}
	}
	d.finish()
	return d.o, nil
}

// decoder collects what is complete only once all values are seen.
type decoder struct {
	o        *drivers.Observation
	seen     map[string]map[string]*adjacency // by port and key; a port is here where LLDP is shown for it
	counters map[queue]*counters
	inForce  string             // the network-qos policy
	paused   map[string]*pauses // by network-qos policy
}

// adjacency is what LLDP sees: the system's name and chassis, the port's
// identity and description.
type adjacency [4]string

// queue is an egress queue.
type queue struct {
	port   string
	number int // 0 to 7
}

// counters are what one queue shows.
type counters struct {
	typed bool // from a row that is about queuing
	state drivers.QueueState
	// PFC frames of the priorities that the queue stands for.
	rx, tx qos.Opt[uint64]
}

// pauses are the priorities that a network-qos policy pauses, by qos-group,
// which is the number of the egress queue.
type pauses [qos.NumPriorities]qos.PrioritySet

func (d *decoder) system(sys object) error {
	intf := sys.at("intf-items")
	ipqos := sys.at("ipqos-items")
	nw := ipqos.at("nw-items")
	if name := nw.at("policy-items", "in-items", "sys-items", "pmap-items").text("name"); name != "" {
		d.inForce = name
	}
	for _, l := range []struct {
		in   object
		name string
		each func(object) error
	}{
		{intf.at("phys-items"), "PhysIf-list", func(e object) error { return d.link(e, "phys-items") }},
		{intf.at("aggr-items"), "AggrIf-list", func(e object) error { return d.link(e, "aggrif-items") }},
		{sys.at("lldp-items", "inst-items", "if-items"), "If-list", d.neighbors},
		{ipqos.at("queuing-items", "policy-items", "out-items", "intf-items"), "If-list", d.queues},
		{nw.at("p-items", "name-items"), "PMapInst-list", d.policy},
	} {
		entries, err := l.in.list(l.name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := l.each(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// longName is the name of a port as the command line has it: "eth1/1" is
// "Ethernet1/1", "po10" is "port-channel10".
func longName(id string) (string, bool) {
	if rest, ok := strings.CutPrefix(id, "eth"); ok {
		id = "Ethernet" + rest
	} else if rest, ok := strings.CutPrefix(id, "po"); ok && !strings.HasPrefix(rest, "rt") {
		id = "port-channel" + rest
	}
	return show.LongName(id)
}

// known keeps what is known where the tree has no value.
func known[T any](dst *qos.Opt[T], v qos.Opt[T]) {
	if v.Set {
		*dst = v
	}
}

// link takes a port or a port-channel with its operational state
// (ironcore-dev/network-operator internal/provider/cisco/nxos intf.go).
func (d *decoder) link(e object, state string) error {
	name, ok := longName(e.text("id"))
	if !ok {
		return nil
	}
	p, oper := d.o.Port(name), e.at(state)
	known(&p.AdminUp, up(e.text("adminSt")))
	known(&p.OperUp, up(oper.text("operSt")))
	if n := e.count("mtu"); n.V > 0 && n.V < 1<<16 {
		p.MTU = qos.Of(int(n.V))
	}
	// Else it is "auto", or a word of a release.
	if r, err := units.ParseRate(oper.text("operSpeed")); err == nil && r > 0 {
		p.Speed = qos.Of(r)
	}
	return nil
}

func up(state string) qos.Opt[bool] {
	return qos.Opt[bool]{V: state == "up", Set: state == "up" || state == "down"}
}

// neighbors takes what LLDP sees on a port (Cisco Nexus 3000 and 9000 Series
// NX-API REST SDK User Guide 10.4(x), Querying LLDP;
// ironcore-dev/network-operator internal/provider/cisco/nxos lldp.go).
func (d *decoder) neighbors(e object) error {
	name, ok := longName(e.text("id"))
	if !ok {
		return nil
	}
	list, err := e.at("adj-items").list("AdjEp-list")
	if err != nil {
		return err
	}
	if d.seen[name] == nil {
		d.seen[name] = map[string]*adjacency{}
	}
	for i, a := range list {
		id := cmp.Or(a.text("id"), fmt.Sprint("without a key ", i))
		n := d.seen[name][id]
		if n == nil {
			n = &adjacency{}
			d.seen[name][id] = n
		}
		for j, leaf := range [...]string{"sysName", "chassisIdV", "portIdV", "portDesc"} {
			n[j] = cmp.Or(a.text(leaf), n[j])
		}
	}
	return nil
}

// className matches the system-defined classes of egress queues and of
// network-qos, in the model of eight queues and in that of four.
var className = regexp.MustCompile(`^c-(?:8q-nq|nq|out-8q-q|out-q)(?:([1-7])|-default)$`)

// groupOf returns the qos-group of a system-defined class, 0 to 7.
func groupOf(class string) (int, bool) {
	m := className.FindStringSubmatch(class)
	if m == nil {
		return 0, false
	}
	n, _ := strconv.Atoi(m[1]) // a digit, or nothing for the default class
	return n, true
}

// queues takes the counters of the egress queues of a port (YangModels/yang
// vendor/cisco/nx Cisco-NX-OS-device.yang, QueuingStats). A queue has a row for
// each type of statistics; the one for queuing, by name or by number, counts
// before any other.
func (d *decoder) queues(e object) error {
	name, ok := longName(e.text("name"))
	if !ok {
		return nil
	}
	rows, err := e.at("queCmap-items").list("QueuingStats-list")
	if err != nil {
		return err
	}
	for _, r := range rows {
		group, ok := groupOf(r.text("cmapName"))
		if !ok || !strings.HasPrefix(r.text("cmapName"), "c-out-") {
			continue
		}
		key := queue{name, group}
		typed := r.text("statType") == "queuing" || r.text("statType") == "10"
		c := d.counters[key]
		switch {
		case c == nil || typed && !c.typed:
			c = &counters{typed: typed}
			d.counters[key] = c
		case c.typed && !typed:
			continue
		}
		for leaf, dst := range map[string]*qos.Opt[uint64]{
			"txPackets": &c.state.TxPackets, "txBytes": &c.state.TxBytes, "dropPackets": &c.state.DropPackets, "dropBytes": &c.state.DropBytes,
			"randEcnMarkedPackets": &c.state.ECNMarked, "pfcRxPpp": &c.rx, "pfcTxPpp": &c.tx,
		} {
			known(dst, r.count(leaf))
		}
	}
	return nil
}

// policy takes the priorities that a network-qos policy pauses.
func (d *decoder) policy(e object) error {
	classes, err := e.at("cmap-items").list("MatchCMap-list")
	if err != nil {
		return err
	}
	name := e.text("name")
	if d.paused[name] == nil {
		d.paused[name] = &pauses{}
	}
	for _, c := range classes {
		group, ok := groupOf(c.text("name"))
		if !ok {
			continue
		}
		for prio := range qos.NumPriorities {
			if c.at("pause-items").flag("pfcCos" + strconv.Itoa(prio)) {
				d.paused[name][group] |= qos.Priorities(prio)
			}
		}
	}
	return nil
}

// order is that of a person, and total.
func order(a, b string) int { return cmp.Or(natural.Compare(a, b), cmp.Compare(a, b)) }

// finish puts neighbours and counters in their places. The PFC frames of a queue are those
// of a priority where the policy in force pauses that priority alone for it;
// else nobody can tell whose they are.
func (d *decoder) finish() {
	for name, seen := range d.seen {
		p := d.o.Port(name)
		p.Neighbors = []qos.Neighbor{}
		for _, id := range slices.SortedFunc(maps.Keys(seen), order) {
			a := seen[id]
			if n := (qos.Neighbor{Device: cmp.Or(a[0], a[1]), Port: cmp.Or(a[2], a[3])}); n != (qos.Neighbor{}) {
				p.Neighbors = append(p.Neighbors, n)
			}
		}
	}
	inForce := d.paused[d.inForce]
	for key, c := range d.counters {
		p := d.o.Port(key.port)
		p.Queues[key.number] = c.state
		if inForce == nil {
			continue
		}
		for prio := range qos.NumPriorities {
			if inForce[key.number] == qos.Priorities(prio) {
				known(&p.PFCRx[prio], c.rx)
				known(&p.PFCTx[prio], c.tx)
			}
		}
	}
}
