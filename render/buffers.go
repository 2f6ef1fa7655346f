package render

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Fan is the number of ports of a switch that take part when one class is congested.
type Fan struct {
	// In is the number of ports that send into one queue at the same time, Out the number of
	// congested queues that one port sends into. Both are at least 1.
	In, Out intent.Value[int]
}

// FanOf returns the fan of a class at an egress port: the declared one, or else the largest that
// the topology allows. Every other port that carries the class lossless may send into the queue,
// and one port into the queues of all others. A leaf (a switch with hosts) forwards nothing from
// one uplink to another.
func FanOf(p *intent.Port, k *intent.Class) Fan {
	f := Fan{In: p.Settings.Buffers.FanIn, Out: p.Settings.Buffers.FanOut}
	if f.In.V > 0 && f.Out.V > 0 {
		return f
	}
	hosts, uplinks, leaf := p.Switch.Carriers(k.Priority.V)
	others := max(hosts+uplinks-1, 1)
	in, out := derived(others, "other lossless port", "other lossless ports"), others
	switch {
	case leaf && p.Uplink():
		in = derived(max(hosts, 1), "lossless port towards a host", "lossless ports towards hosts")
	case leaf && hosts < 2:
		// Only uplinks send to the one host port, and they send nowhere else.
		out = 1
	}
	if f.In.V == 0 {
		f.In = in
	}
	if f.Out.V == 0 {
		f.Out = derived(out, "lossless port that one port can send into", "lossless ports that one port can send into")
	}
	return f
}

func derived(n int, one, many string) intent.Value[int] {
	return intent.Value[int]{V: n, From: intent.Origin{Rule: "topology: " + words.Plural(n, one, many)}}
}

// Sharing describes how a class on a port shares the buffer pool of the switch.
type Sharing struct {
	Fan Fan
	// Pool is nil if it is not known; Missing then says why.
	Pool    *headroom.Pool
	Missing string
	// Limits holds the three cases: incast from Fan.In ports, one port to Fan.Out queues, and
	// (for information) the worst case of the DCQCN paper over all ports of the model. It is
	// empty without a pool.
	Limits []headroom.Limit
}

// Limit returns the case with the given name; ok is false if there is none.
func (s Sharing) Limit(name string) (l headroom.Limit, ok bool) {
	for _, l := range s.Limits {
		if l.Name == name {
			return l, true
		}
	}
	return headroom.Limit{}, false
}

// Sharing returns how a class on a port shares the buffer pool.
func (m Memory) Sharing(p *intent.Port, k *intent.Class) Sharing {
	s := Sharing{Fan: FanOf(p, k)}
	pool, err := m.Pool(p, k)
	if err != nil {
		s.Missing = err.Error()
		return s
	}
	s.Pool = &pool
	lossless := len(p.Settings.Lossless().List())
	for _, c := range []headroom.Case{
		headroom.Incast(s.Fan.In.V), headroom.OneToMany(s.Fan.Out.V, lossless), headroom.WorstCase(m.dataPorts(), lossless),
	} {
		s.Limits = append(s.Limits, pool.Limit(c))
	}
	return s
}

// dataPorts returns the number of ports that may carry the class: the highest of the counts in
// the intent, in the model and on the switch.
func (m Memory) dataPorts() int {
	n := len(m.Switch.Ports)
	if m.Model != nil {
		n = max(n, headroom.DataPorts(m.Model))
	}
	if m.have != nil {
		n = max(n, len(m.have.Ports))
	}
	return n
}

// Most returns the largest number of bytes of a class that one queue can hold before every
// priority group that can feed it has paused, if all ports of the switch carry the class; 0
// without a pool.
func (m Memory) Most(s Sharing) int64 {
	if s.Pool == nil {
		return 0
	}
	return s.Pool.Limit(headroom.Incast(max(m.dataPorts(), s.Fan.In.V+1) - 1)).Upper
}

// markingCase returns the traffic case in which computed ECN thresholds must mark before PFC
// pauses: one port sending to the declared number of queues. If no fan-out is declared, it is
// the worst case of the DCQCN paper over the ports of the topology, as it is unknown how many
// groups are active at once.
func (f Fan) markingCase(lossless int) headroom.Case {
	if f.Out.IsDefault() {
		return headroom.WorstCase(f.Out.V, lossless)
	}
	return headroom.OneToMany(f.Out.V, lossless)
}

// Marking is the ECN curve of a class on one port and how it was derived.
type Marking struct {
	Curve qos.ECN
	// Auto holds the steps of the computation; nil if the thresholds are not computed.
	Auto *headroom.ECN
	// Why is Auto in one line, or the reason why there is no curve; "" if the intent states the
	// thresholds.
	Why string
}

// ECN returns the marking curve that the intent asks for, for a class on a port. m may be nil.
func ECN(p *intent.Port, k *intent.Class, m *catalog.Model) Marking {
	e := k.ECN
	prob := percent(e.Probability.V)
	switch e.Mode.V {
	case intent.ECNFixed:
		curve := qos.ECN{Enabled: true, Min: e.Min.V.N, Max: e.Max.V.N, Unit: qos.Units(e.Min.V.Unit, e.Max.V.Unit), Probability: prob}
		if native := intent.SystemOf(p.Switch.OS).TimeThresholds; native != nil && native(p.Switch.Model.V) {
			return Marking{Curve: curve}
		}
		bytes, ok := curve.InBytes(p.Speed.V)
		switch {
		case !ok:
			return Marking{Why: "the speed is not known, so thresholds in time cannot be computed"}
		case bytes.Unit != curve.Unit:
			return Marking{Curve: bytes, Why: fmt.Sprintf("%s and %s at %s", e.Min.V, e.Max.V, p.Speed.V)}
		}
		return Marking{Curve: curve}
	case intent.ECNAuto:
		in := headroom.ECNInput{Speed: p.Speed.V, LosslessMTU: losslessFrame(p)}
		if pool, err := headroom.PoolOf(m, p.Speed.V, statedPool(p, k)); err != nil {
			in.Missing = err.Error()
		} else {
			in.Pool, in.Case = &pool, FanOf(p, k).markingCase(len(p.Settings.Lossless().List()))
		}
		auto, err := headroom.ECNAuto(in)
		if err != nil {
			// Without a speed there is nothing to scale; a check reports the missing speed.
			return Marking{Why: err.Error()}
		}
		return Marking{Curve: qos.ECN{Enabled: true, Min: auto.Min, Max: auto.Max, Probability: prob}, Auto: &auto, Why: auto.String()}
	}
	return Marking{}
}

// losslessFrame returns the size of the largest RDMA packet on a port, in bytes.
func losslessFrame(p *intent.Port) int { return p.Settings.MTU.RDMA.V + intent.RDMAOverhead }

// PortHeadroom is the headroom of each lossless group of a port: the value that the switch will
// set, and the reference to compare it with.
type PortHeadroom struct {
	// Row is the table row that the switch looks up, Computed the value that it computes. Both
	// are nil if neither is known; Missing then says why.
	Row      *catalog.HeadroomRow
	Computed *headroom.Result
	Missing  string
	// Unpublished is set if the catalogue knows the model but has no headroom table for it.
	Unpublished bool
	// Reference is the result of the model named by buffers.headroom in the intent. It is nil if
	// that model does not cover the speed or the chip; NoReference then says why.
	Reference   *headroom.Result
	NoReference string
	// Measured is the most that was measured to arrive in a group after it had paused, in bytes, and
	// MeasuredHow who measured it and when; 0 if nobody did.
	Measured    int64
	MeasuredHow string
	// Floor is the smallest headroom that can work, in bytes.
	Floor int64
}

// XOFF returns the headroom in bytes that the switch will set; ok is false if it is unknown.
func (h PortHeadroom) XOFF() (n int64, ok bool) {
	switch {
	case h.Row != nil:
		return h.Row.XOFF, true
	case h.Computed != nil:
		return h.Computed.XOFF, true
	}
	return 0, false
}

// Headroom returns the headroom of a port according to the intent and the catalogue.
func (d *Device) Headroom(p *intent.Port) PortHeadroom { return d.Memory(nil).Headroom(p) }

// Headroom returns the headroom of a port. It needs the speed and the cable length, and ignores
// the headroom that the switch shows for its groups.
func (m Memory) Headroom(p *intent.Port) PortHeadroom {
	key := headroomKey{in: m.HeadroomInput(p), settings: p.Settings}
	if m.have != nil && m.have.Ports[p.Name] != nil {
		key.speed, key.cable = m.have.Ports[p.Name].Speed, m.have.Ports[p.Name].Cable
	}
	h, ok := m.ofPorts[key]
	if !ok {
		h = m.headroom(p, key.in)
		m.ofPorts[key] = h
	}
	return h
}

func (m Memory) headroom(p *intent.Port, in headroom.Input) PortHeadroom {
	h := PortHeadroom{Floor: headroom.Floor(in.Speed, in.Cable, in.LosslessMTU)}
	if seen := p.Switch.Measurement(p.Speed.V, p.Cable.V); seen != nil {
		h.Measured, h.MeasuredHow = seen.Headroom, measuredBy(seen)
	}
	row, own, ok := m.Row(p)
	switch {
	case m.Model == nil && (!own || m.dynamic()):
		h.Missing = "the model is not in the catalogue"
	case m.dynamic():
		at := in
		at.Cable = CableRow(m.Model, true, p.Speed.V, p.Cable.V)
		r, err := headroom.SONiCDyn(m.pattern(at))
		if err != nil {
			h.Missing = err.Error()
			break
		}
		r.Floor = h.Floor // for the intent's frame size, not the template's
		h.Computed = &r
	case !own && len(m.Model.Headroom) == 0:
		h.Missing, h.Unpublished = "no headroom table of "+m.Model.Name+" is published", true
	case !ok:
		who := "the switch"
		if !own {
			who = m.Model.Name
		}
		h.Missing = fmt.Sprintf("%s has no row for %s and %s: the switch makes no lossless priority group", who, p.Speed.V, CableRow(m.Model, false, p.Speed.V, p.Cable.V))
	default:
		h.Row = &row
	}
	model := headroom.IEEE
	if p.Settings.Buffers.Headroom.V == headroom.ModelSONiCDyn {
		model, in = headroom.SONiCDyn, m.pattern(in)
	}
	r, err := model(in)
	if err != nil {
		h.NoReference = err.Error()
		return h
	}
	r.Floor = h.Floor
	h.Reference = &r
	return h
}

// HeadroomInput returns the values that the headroom of a port depends on, including the pause
// response time of the peer.
func (m Memory) HeadroomInput(p *intent.Port) headroom.Input {
	d, s := m.Device, p.Settings
	in := headroom.Input{
		Speed: p.Speed.V, Cable: p.Cable.V, PortMTU: s.MTU.Fabric.V, LosslessMTU: losslessFrame(p),
		MinPacket: int(s.Buffers.MinLosslessPacket.V), Release: d.Switch.Release.V,
	}
	if r := PeerResponse(d.Fabric, p); !r.V.IsZero() && p.Speed.V > 0 {
		in.PeerBytes, in.PeerHow = r.V.Bytes(p.Speed.V), fmt.Sprintf("pauseResponse %s of the peer, %s", r.V, r.From)
	}
	if d.Model == nil {
		return in
	}
	in.ASIC = d.Model.ASIC()
	in.SharedHeadroom = m.SharedHeadroom()
	if port, ok := d.Model.Port(p.Name); ok && port.Lanes != "" {
		in.Lanes = strings.Count(port.Lanes, ",") + 1
	}
	return in
}

// Usable returns how much of its headroom xoff a lossless group of a port fills before packets are
// lost; nil if nothing is known that makes it differ from xoff.
func (m Memory) Usable(p *intent.Port, xoff int64) *headroom.Usable {
	in := m.HeadroomInput(p)
	return headroom.UsableOf(in.ASIC, p.Speed.V, in.Lanes, len(p.Settings.Lossless().List()), xoff, in.SharedHeadroom)
}

// SlowPeer returns what is known of the model of the switch at the other end of a port's link, if it
// obeys a pause late; nil if nothing is known.
func SlowPeer(f *intent.Fabric, p *intent.Port) *catalog.SlowPeer {
	e, ok := p.Peer()
	if !ok || f == nil {
		return nil
	}
	if sw := f.Switch(e.Device); sw != nil {
		if m := model(sw); m != nil {
			return m.ASIC().SlowPeer
		}
	}
	return nil
}

// PeerResponse returns the time that the peer of a port takes to obey a pause, as stated in the
// intent.
func PeerResponse(f *intent.Fabric, p *intent.Port) intent.Value[intent.Response] {
	e, ok := p.Peer()
	if !ok || f == nil {
		return intent.Value[intent.Response]{}
	}
	if sw := f.Switch(e.Device); sw != nil {
		if q := sw.Port(e.Port); q != nil {
			return q.Settings.Buffers.PauseResponse
		}
		return sw.Settings.Buffers.PauseResponse
	}
	if h := f.Host(e.Device); h != nil {
		return h.PauseResponse
	}
	return intent.Value[intent.Response]{}
}
