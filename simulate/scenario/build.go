// Package scenario turns a compiled intent into a network to simulate: its switches with their
// memory, maps and queues, its cables and NICs, and traffic over them. It says what it had to assume.
package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/simulate"
)

// Sizes on the wire. A RoCEv2 packet has Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 and FCS 4 bytes
// around its payload (IBTA specification, annex A17), and preamble and gap of 20 between packets.
const (
	headerBytes = 62
	gapBytes    = 20
)

// What is assumed where neither the intent nor the catalogue says it.
const (
	assumedMemory = 32 << 20 // bytes, as the public simulators have
	assumedCable  = 5        // meters
	assumedResume = 3072     // bytes below the threshold, as in HPCC's simulator
)

// fabric is a network that is being built, and the fabric that it is built from.
type fabric struct {
	simulate.Network
	intent  *intent.Fabric
	classes []*intent.Class
	cnp     int            // class of congestion notifications
	nodes   map[string]int // by name of the switch, or host/nic
	ports   map[string]int // by endpoint
	out     [][]int        // by node: its ports
	hosts   []int          // nodes that send and receive, in natural order
	nics    map[int]*intent.NIC
	near    map[int][]int          // by host: the distances to it
	assumed map[string][]string    // what was assumed: for which devices
	guessed map[string]bool        // assumptions that decide about pauses and losses
	running map[string]*qos.Device // configurations that replace what the intent says, by switch
}

// build makes the network of a fabric, without traffic. Switches in running are as they run.
func build(c *render.Compiler, running map[string]*qos.Device) (*fabric, error) {
	f := &fabric{intent: c.Fabric(), running: running, nodes: map[string]int{}, ports: map[string]int{}, nics: map[int]*intent.NIC{}, near: map[int][]int{}, assumed: map[string][]string{}, guessed: map[string]bool{}}
	f.classes = f.intent.Settings.Classes
	if len(f.classes) == 0 {
		return nil, fmt.Errorf("the intent has no class")
	}
	for _, k := range f.classes {
		f.Classes = append(f.Classes, k.Name)
	}
	if k, _, ok := nic.CNPClass(f.intent.Settings); ok {
		f.cnp = slices.Index(f.Classes, k.Name)
	} else {
		f.assume("congestion notifications in the first class, as the intent has no class for them", "all NICs")
	}
	for _, l := range f.intent.Links {
		if err := f.link(l); err != nil {
			return nil, err
		}
	}
	for _, sw := range f.intent.Switches {
		if n, ok := f.nodes[sw.Name]; ok {
			f.memory(n, c.Device(sw))
		}
	}
	return f, nil
}

// node returns the node at one end of a link. Each NIC is a host of its own.
func (f *fabric) node(e intent.Endpoint) int {
	name := e.Device
	h := f.intent.Host(e.Device)
	if h != nil && len(h.NICs) != 1 {
		name = e.String()
	}
	if n, ok := f.nodes[name]; ok {
		return n
	}
	n := len(f.Nodes)
	f.nodes[name] = n
	f.Nodes = append(f.Nodes, simulate.Node{Name: name, Host: h != nil, Cell: 1})
	f.out = append(f.out, nil)
	if h != nil {
		f.hosts = append(f.hosts, n)
		f.nics[n] = h.NIC(e.Port)
	}
	return n
}

// portOf returns the port of a switch at one end of a link; nil for a NIC.
func (f *fabric) portOf(e intent.Endpoint) *intent.Port {
	if sw := f.intent.Switch(e.Device); sw != nil {
		return sw.Port(e.Port)
	}
	return nil
}

func (f *fabric) link(l *intent.Link) error {
	a, b := f.portOf(l.A), f.portOf(l.B)
	speed, cable := l.Speed.V, l.Cable.V
	for _, p := range []*intent.Port{a, b} {
		if p == nil {
			continue
		}
		if p.AdminUp.V != nil && !*p.AdminUp.V {
			return nil
		}
		speed, cable = max(speed, p.Speed.V), max(cable, p.Cable.V)
	}
	if speed <= 0 {
		return fmt.Errorf("%s to %s has no speed: the simulation needs the speed of each link", l.A, l.B)
	}
	if cable <= 0 {
		cable = assumedCable
		f.assume(fmt.Sprintf("cables of %dm, where none is stated", assumedCable), l.A.Device)
	}
	at := len(f.Ports)
	for i, e := range []intent.Endpoint{l.A, l.B} {
		n := f.node(e)
		p := simulate.Port{
			Name: e.String(), Node: n, Peer: at + 1 - i, Rate: int64(speed), Gap: gapBytes,
			Delay: simulate.Time(float64(cable) / headroom.SignalSpeed * 1e12), Response: f.response(e, speed),
		}
		if f.Nodes[n].Host {
			for c, k := range f.classes {
				p.Classes[c] = simulate.PortClass{Lossless: k.Lossless.V, Strict: k.Strict.V, Weight: int64(max(1, math.Round(float64(k.Bandwidth.V))))}
			}
		}
		f.ports[e.String()] = at + i
		f.out[n] = append(f.out[n], at+i)
		f.Ports = append(f.Ports, p)
	}
	return nil
}

// response returns how long a device takes to obey a pause: as stated, or what the standard allows.
func (f *fabric) response(e intent.Endpoint, speed units.Rate) simulate.Time {
	var r intent.Response
	if p := f.portOf(e); p != nil {
		r = p.Settings.Buffers.PauseResponse.V
	} else if h := f.intent.Host(e.Device); h != nil {
		r = h.PauseResponse.V
	}
	bytes := r.Bytes(speed)
	if r.IsZero() {
		var ok bool
		if bytes, ok = headroom.ResponseBytes(speed); !ok {
			f.assume("an immediate reaction to pauses, as no response time is known at the speed", e.Device)
		}
	}
	return simulate.Time(float64(bytes) * 8e12 / float64(speed))
}

func (f *fabric) assume(what, device string) {
	if l := f.assumed[what]; !slices.Contains(l, device) {
		f.assumed[what] = append(l, device)
	}
}

// guess is assume for what decides about pauses and losses: an expectation that holds or
// fails only because of it is unknown.
func (f *fabric) guess(what, device string) {
	f.assume(what, device)
	f.guessed[what] = true
}

// Assumption is something that neither the intent nor the catalogue says.
type Assumption struct {
	What    string   `json:"what"`
	Devices []string `json:"devices"`
	Decides bool     `json:"decides,omitempty" doc:"Set if pauses and losses depend on it: the size of a memory or of headroom."`
}

func (f *fabric) assumptions() (out []Assumption) {
	for _, what := range natural.Keys(f.assumed) {
		l := slices.Clone(f.assumed[what])
		slices.SortFunc(l, natural.Compare)
		out = append(out, Assumption{what, l, f.guessed[what]})
	}
	return out
}

// memory sets the memory and the queues of a switch.
func (f *fabric) memory(n int, d *render.Device) {
	node := &f.Nodes[n]
	m := d.Memory(f.running[d.Switch.Name])
	slicesOfChip := 1
	if a := asicOf(d); a.cell > 0 {
		node.Cell, slicesOfChip = a.cell, a.slices
	}
	shared, reserve := int64(0), m.HeadroomUse().Slice()
	if m.SharedHeadroom() && reserve == 0 {
		f.assume("headroom of its own for each group, as the size of the shared headroom pool is not known", d.Switch.Name)
	}
	if slicesOfChip > 1 {
		f.assume("ports that use the memories of the chip in turn, as the map of ports to memories is not known", d.Switch.Name)
	}
	for i, at := range f.out[n] {
		p := &f.Ports[at]
		p.Slice = i % slicesOfChip
		_, name, _ := strings.Cut(p.Name, "/")
		port := d.Switch.Port(name)
		for c, k := range f.classes {
			pc, bytes := f.class(node, d, m, port, k)
			shared = max(shared, bytes)
			p.Classes[c] = pc
		}
	}
	if shared == 0 {
		shared = assumedMemory
	}
	for range slicesOfChip {
		node.Slices = append(node.Slices, simulate.SliceSize{Shared: shared / node.Cell, Headroom: reserve / node.Cell})
	}
}

type asic struct {
	cell   int64
	slices int
}

func asicOf(d *render.Device) asic {
	if d.Model == nil {
		return asic{slices: 1}
	}
	a := d.Model.ASIC()
	return asic{a.CellBytes, max(a.Slices, 1)}
}

// class returns what a port does with a class, and the shared memory of its lossless groups in
// bytes, 0 if it is not known.
func (f *fabric) class(node *simulate.Node, d *render.Device, m render.Memory, port *intent.Port, common *intent.Class) (pc simulate.PortClass, shared int64) {
	k := port.Settings.Class(common.Name)
	if k == nil {
		k = common
	}
	queue, curve := k.Queue.V, qos.ECN{}
	if k.ECN.Mode.V != intent.ECNKeep {
		curve = render.ECN(port, k, d.Model).Curve
	}
	pc = simulate.PortClass{Lossless: k.Lossless.V, Strict: k.Strict.V, Weight: 1}
	q := d.Desired.Ports[port.Name]
	have := f.running[d.Switch.Name]
	switch {
	case have == nil && k.ECN.Mode.V == intent.ECNKeep:
		f.assume("no marking of class "+k.Name+", whose curve the intent leaves to the switch", d.Switch.Name)
	case have == nil:
	case have.Ports[port.Name] == nil:
		f.assume("the intent's settings of ports that the switch does not show", d.Switch.Name)
	default:
		var tc int
		q = have.Ports[port.Name]
		tc, queue = lands(have, port.Name, k)
		pc.Lossless, curve = f.asRun(d, q, k, tc, queue, pc.Lossless, curve)
	}
	if q != nil {
		s := q.Queues[queue].Scheduler
		pc.Strict, pc.Weight, pc.MaxRate = s.V.Strict || !s.Set && k.Strict.V, int64(max(s.V.Weight, 1)), int64(s.V.MaxRate)
	}
	pc.ECN = f.marking(node, d, k, curve)
	if !pc.Lossless {
		pc.Group = headroom.GroupSize{Min: f.lossyQueue(d, port) / node.Cell} // a memory of its own
		return pc, 0
	}
	pc.Group, shared = f.group(node, d, m, port, k)
	return pc, shared
}

// group returns the group of a lossless class, and the shared memory in bytes, 0 if it is not known.
func (f *fabric) group(node *simulate.Node, d *render.Device, m render.Memory, port *intent.Port, k *intent.Class) (g headroom.GroupSize, shared int64) {
	pool, err := m.Pool(port, k)
	if err != nil {
		f.guess(fmt.Sprintf("a shared memory of %d MiB with alpha 1", assumedMemory>>20), d.Switch.Name)
		pool = headroom.Pool{Bytes: assumedMemory, Alpha: headroom.Alpha{Num: 1, Den: 1}}
	}
	if pool.PortAlpha != nil {
		f.assume("no share of the port in the memory, which the chip has", d.Switch.Name)
	}
	h := m.Headroom(port)
	xoff, ok := h.XOFF()
	switch {
	case ok:
	case h.Reference != nil:
		xoff = h.Reference.XOFF
		f.guess("the headroom that the reference asks for, as that of the switch is not known", d.Switch.Name)
	default:
		xoff = 1 << 20
		f.guess("1 MiB of headroom a group, as neither the switch's nor a reference is known", d.Switch.Name)
	}
	resume := int64(assumedResume)
	if h.Row != nil && h.Row.XONOffset != nil {
		resume = *h.Row.XONOffset
	} else {
		f.assume(fmt.Sprintf("pauses that end %d B below the threshold, as no offset is published", assumedResume), d.Switch.Name)
	}
	return headroom.GroupSize{
		Min: pool.Min / node.Cell, Alpha: pool.Alpha, Fixed: pool.Fixed / node.Cell,
		Headroom: (xoff + node.Cell - 1) / node.Cell, Resume: resume / node.Cell,
	}, pool.Bytes
}

// lossyQueue returns what a lossy queue of a port may hold, in bytes.
func (f *fabric) lossyQueue(d *render.Device, port *intent.Port) int64 {
	if d.Model != nil {
		if sizes, _, ok := headroom.Published(d.Model, port.Cable.V); ok {
			if pool, err := headroom.LossyQueue(d.Model, sizes); err == nil {
				return pool.Threshold(1)
			}
		}
	}
	f.assume("1 MiB for each lossy queue", d.Switch.Name)
	return 1 << 20
}

// marking returns the curve of a class in bytes.
func (f *fabric) marking(node *simulate.Node, d *render.Device, k *intent.Class, e qos.ECN) simulate.ECN {
	if !e.Enabled {
		return simulate.ECN{}
	}
	low, high := e.Unit.Split()
	bytes := func(n int64, u qos.ThresholdUnit) (int64, bool) {
		if u == qos.UnitCells {
			return n * node.Cell, node.Cell > 1
		}
		decimal, _, ok := u.Bytes(n)
		return decimal, ok
	}
	from, ok1 := bytes(e.Min, low)
	to, ok2 := bytes(e.Max, high)
	if !ok1 || !ok2 {
		f.assume(fmt.Sprintf("no marking of class %s, as its thresholds in %s have no size in bytes", k.Name, e.Unit), d.Switch.Name)
		return simulate.ECN{}
	}
	return simulate.ECN{Min: from, Max: max(to, 1), Probability: float64(e.Probability) / 100}
}
