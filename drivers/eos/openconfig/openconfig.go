// Package openconfig reads the state of an Arista switch's ports over gNMI in
// OpenConfig's tree: links, LLDP neighbours, PFC frames, queues, ECN marks and
// the PFC watchdog.
//
// The structs in models.go are made by ygot's generator from the public
// OpenConfig models and pruned to what is read here; see internal/gen. They
// hold no schema, so nothing is validated against one: what a device sends is
// taken where it fits and passed over where it does not.
//
// Do not use it for configuration: the public models know no PFC, and EOS
// replaces configuration that OpenConfig has no words for.
package openconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// paths are what Observe asks for, each in a call of its own: what one release
// refuses must not cost the rest (aristanetworks/yang pathreport.csv).
var paths = [][]gnmi.Elem{
	{{Name: "interfaces"}, every("interface", "name"), {Name: "state"}},
	{{Name: "interfaces"}, every("interface", "name"), {Name: "ethernet"}, {Name: "state"}},
	{{Name: "interfaces"}, every("interface", "name"), {Name: "ethernet"}, {Name: "pfc"}},
	{{Name: "lldp"}, {Name: "interfaces"}, every("interface", "name"), {Name: "neighbors"}},
	{{Name: "qos"}, {Name: "interfaces"}, every("interface", "interface-id"), {Name: "output"}, {Name: "queues"}},
	{{Name: "qos"}, {Name: "queues"}, every("queue", "name"), {Name: "state"}},
}

func every(list, key string) gnmi.Elem {
	return gnmi.Elem{Name: list, Keys: map[string]string{key: "*"}}
}

// Observe reads the state of all interfaces of the device. What the release
// has no path for is not set. An error means that a call failed for another
// reason, that the device refused every path, or that an answer is no JSON.
func Observe(ctx context.Context, c *gnmi.Client) (*drivers.Observation, error) {
	taken := time.Now()
	var all []gnmi.Value
	var refused []error
	for _, p := range paths {
		vs, err := c.GetTree(ctx, "openconfig", gnmi.DataState, p)
		switch {
		case err == nil:
			all = append(all, vs...)
		case absent(err):
			refused = append(refused, err)
		default:
			return nil, fmt.Errorf("read %s: %w", pathText(p), err)
		}
	}
	if len(refused) == len(paths) {
		return nil, fmt.Errorf("the device has no OpenConfig state: %w", refused[0])
	}
	o, err := Decode(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Addr(), err)
	}
	o.Taken = taken
	return o, nil
}

// absent reports whether a device refused a path that it does not have. Which
// of the codes EOS answers with is not documented.
func absent(err error) bool {
	var e *gnmi.RPCError
	return errors.Is(err, gnmi.ErrNotFound) ||
		errors.As(err, &e) && slices.Contains([]codes.Code{codes.InvalidArgument, codes.Unimplemented}, e.Code)
}

func pathText(p []gnmi.Elem) string {
	var b strings.Builder
	for _, e := range p {
		b.WriteString("/" + e.Name)
		for _, k := range slices.Sorted(maps.Keys(e.Keys)) {
			b.WriteString("[" + k + "=" + e.Keys[k] + "]")
		}
	}
	return b.String()
}

// Decode makes an observation of the values of any subset of OpenConfig's
// tree, in any cut; the time is left to the caller. Paths and leaves that it
// does not know are passed over. An error means that a value is no JSON or
// that a list has absurdly many entries.
func Decode(vs []gnmi.Value) (*drivers.Observation, error) {
	var d Device
	var p pfcDevice
	for _, v := range vs {
		t, err := tree(v)
		if err == nil {
			err = cmp.Or(merge(&d, t), merge(&p, t))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", term.CleanLine(pathText(v.Path)), err)
		}
	}
	o := &drivers.Observation{Ports: map[string]*drivers.PortState{}}
	each(o, d.Interface, link)
	each(o, p.Interface, pfc)
	if d.Lldp != nil {
		each(o, d.Lldp.Interface, neighbors)
	}
	if d.Qos != nil {
		each(o, d.Qos.Interface, func(p *drivers.PortState, i *Qos_Interface) {
			if i.Output != nil {
				queues(p, i.Output.Queue, d.Qos.Queue)
			}
		})
	}
	return o, nil
}

// each calls f for every entry whose key can be the name of a port.
func each[T any](o *drivers.Observation, entries map[string]T, f func(*drivers.PortState, T)) {
	for name, e := range entries {
		if name != "" && name == term.CleanLine(name) {
			f(o.Port(name), e)
		}
	}
}

// opt is a leaf that may be missing.
func opt[T any](p *T) qos.Opt[T] {
	if p == nil {
		return qos.Opt[T]{}
	}
	return qos.Of(*p)
}

func link(p *drivers.PortState, i *Interface) {
	switch i.AdminStatus {
	case Interface_AdminStatus_UP:
		p.AdminUp = qos.Of(true)
	case Interface_AdminStatus_DOWN:
		p.AdminUp = qos.Of(false)
	}
	switch i.OperStatus {
	case Interface_OperStatus_UP:
		p.OperUp = qos.Of(true)
	case Interface_OperStatus_DOWN, Interface_OperStatus_DORMANT, Interface_OperStatus_NOT_PRESENT, Interface_OperStatus_LOWER_LAYER_DOWN:
		p.OperUp = qos.Of(false)
	}
	// Virtual EOS shows 0 for an MTU that is not set.
	if i.Mtu != nil && *i.Mtu > 0 {
		p.MTU = qos.Of(int(*i.Mtu))
	}
	if e := i.Ethernet; e != nil {
		p.Speed = speed(e.NegotiatedPortSpeed)
		if !p.Speed.Set {
			p.Speed = speed(e.PortSpeed)
		}
	}
}

var speedName = regexp.MustCompile(`^SPEED_([0-9]{1,6})(GB|MB)$`)

// speed reads the rate out of the name of a speed: SPEED_400GB.
func speed(s E_IfEthernet_ETHERNET_SPEED) qos.Opt[units.Rate] {
	m := speedName.FindStringSubmatch(ΛEnum["E_IfEthernet_ETHERNET_SPEED"][int64(s)].Name)
	if m == nil {
		return qos.Opt[units.Rate]{}
	}
	n, _ := strconv.Atoi(m[1]) // a few digits
	r := units.Rate(n) * 1e6
	if m[2] == "GB" {
		r *= 1000
	}
	return qos.Of(r)
}

func neighbors(p *drivers.PortState, i *Lldp_Interface) {
	for _, id := range slices.SortedFunc(maps.Keys(i.Neighbor), order) {
		n := i.Neighbor[id]
		p.Neighbors = append(p.Neighbors, qos.Neighbor{
			Device: term.CleanLine(cmp.Or(opt(n.SystemName).V, opt(n.ChassisId).V)),
			Port:   term.CleanLine(cmp.Or(opt(n.PortId).V, opt(n.PortDescription).V)),
		})
	}
}

// order is that of a person, and total.
func order(a, b string) int { return cmp.Or(natural.Compare(a, b), cmp.Compare(a, b)) }

func pfc(p *drivers.PortState, i *pfcInterface) {
	for n, prio := range i.Priority {
		if n < qos.NumPriorities {
			p.PFCRx[n], p.PFCTx[n] = opt(prio.InFrames), opt(prio.OutFrames)
		}
	}
	for key, w := range i.TxQueue {
		if key.QueueType == unicast && key.Index < qos.NumPriorities {
			q := &p.Queues[key.Index]
			q.WatchdogStuck, q.WatchdogRecovered = opt(w.StuckCount), opt(w.RecoveryCount)
		}
	}
}

// queues takes the counters of unicast queues. Where two names stand for one
// queue the first in order counts.
func queues(p *drivers.PortState, qs map[string]*Qos_Interface_Output_Queue, named map[string]*Qos_Queue) {
	var seen qos.PrioritySet
	for _, name := range slices.SortedFunc(maps.Keys(qs), order) {
		n, ok := queueNumber(name, named)
		if !ok || seen.Has(n) {
			continue
		}
		seen |= qos.Priorities(n)
		q := &p.Queues[n]
		q.TxPackets, q.TxBytes = opt(qs[name].TransmitPkts), opt(qs[name].TransmitOctets)
		q.DropPackets, q.DropBytes = opt(qs[name].DroppedPkts), opt(qs[name].DroppedOctets)
		q.ECNMarked = opt(qs[name].EcnMarkedPkts)
	}
}

// queueName matches a name that says which unicast queue it stands for: the
// bare number, or EOS's keyword for the queue with the number.
var queueName = regexp.MustCompile(`(?i)^(?:(?:uc-)?tx-queue[ -]?|uc)?([0-7])$`)

// queueNumber returns the unicast queue, 0..7, of a name. In OpenConfig a
// queue has a name of the operator's choice ("AF4"), and the device may say
// which queue that is; a digit at the end of any name says nothing.
func queueNumber(name string, named map[string]*Qos_Queue) (int, bool) {
	if q := named[name]; q != nil && q.QueueId != nil {
		return int(*q.QueueId), *q.QueueId < qos.NumPriorities
	}
	m := queueName.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	return int(m[1][0] - '0'), true
}
