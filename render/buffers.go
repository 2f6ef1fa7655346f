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

// Fan is how many ports of a switch take part in a congestion of one class.
type Fan struct {
	// In is how many ports send into one queue at the same time, Out how many
	// congested queues one port sends into; at least 1.
	In, Out intent.Value[int]
}

// FanOf returns the fan of a class at an egress port: as declared, else what
// the topology allows. Every other port that carries the class lossless may
// send into the queue, and into the queues of all others; but a switch with
// hosts sends nothing from one uplink to another.
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
		// Only uplinks feed the one host port, and they feed nothing else.
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

// Sharing is what the shared pool of a switch means for a class on a port.
type Sharing struct {
	Fan Fan
	// Pool is nil where it is not known; Missing then says why.
	Pool    *headroom.Pool
	Missing string
	// Limits are the cases, empty without a pool: the incast of Fan.In ports,
	// one port to Fan.Out queues, and the worst case of the DCQCN paper over
	// all ports of the model, which is for information.
	Limits []headroom.Limit
}

// Limit returns the case of that name; ok is false without a pool.
func (s Sharing) Limit(name string) (l headroom.Limit, ok bool) {
	for _, l := range s.Limits {
		if l.Name == name {
			return l, true
		}
	}
	return headroom.Limit{}, false
}

// SharingOf works out the sharing of a class on a port. m may be nil.
func SharingOf(p *intent.Port, k *intent.Class, m *catalog.Model) Sharing {
	s := Sharing{Fan: FanOf(p, k)}
	pool, err := poolOf(p, m)
	if err != nil {
		s.Missing = err.Error()
		return s
	}
	s.Pool = &pool
	lossless := len(p.Settings.Lossless().List())
	ports := max(headroom.DataPorts(m), len(p.Switch.Ports))
	for _, c := range []headroom.Case{
		headroom.Incast(s.Fan.In.V), headroom.OneToMany(s.Fan.Out.V, lossless), headroom.WorstCase(ports, lossless),
	} {
		s.Limits = append(s.Limits, pool.Limit(c))
	}
	return s
}

// poolOf returns the pool of a port's lossless groups, or what is missing.
func poolOf(p *intent.Port, m *catalog.Model) (headroom.Pool, error) {
	var exponent *int64
	if a := p.Settings.Buffers.Alpha.V; a != nil {
		exponent = new(int64(*a))
	}
	return headroom.PoolOf(m, p.Speed.V, exponent)
}

// markingCase is the case in which thresholds that are computed must mark
// before a pause: one port to as many queues as are declared. Without a
// declaration it is that of the DCQCN paper over the ports that the topology
// has, as nobody says that so many groups are active at once.
func (f Fan) markingCase(lossless int) headroom.Case {
	if f.Out.IsDefault() {
		return headroom.WorstCase(f.Out.V, lossless)
	}
	return headroom.OneToMany(f.Out.V, lossless)
}

// Marking is a class's ECN curve on one port and how it came about.
type Marking struct {
	Curve qos.ECN
	// Auto holds every step of computed thresholds; nil for others.
	Auto *headroom.ECN
	// Why is Auto in one line, or why there is no curve; empty for thresholds
	// that the intent states.
	Why string
}

// ECN returns the marking curve of a class on a port. m may be nil.
func ECN(p *intent.Port, k *intent.Class, m *catalog.Model) Marking {
	e := k.ECN
	prob := percent(e.Probability.V)
	switch e.Mode.V {
	case intent.ECNFixed:
		return Marking{Curve: qos.ECN{Enabled: true, Min: e.Min.V.N, Max: e.Max.V.N, Unit: qos.Units(e.Min.V.Unit, e.Max.V.Unit), Probability: prob}}
	case intent.ECNAuto:
		in := headroom.ECNInput{Speed: p.Speed.V, LosslessMTU: losslessFrame(p)}
		if pool, err := poolOf(p, m); err != nil {
			in.Missing = err.Error()
		} else {
			in.Pool, in.Case = &pool, FanOf(p, k).markingCase(len(p.Settings.Lossless().List()))
		}
		auto, err := headroom.ECNAuto(in)
		if err != nil {
			// Without a speed there is nothing to scale; the check names it.
			return Marking{Why: err.Error()}
		}
		return Marking{Curve: qos.ECN{Enabled: true, Min: auto.Min, Max: auto.Max, Probability: prob}, Auto: &auto, Why: auto.String()}
	}
	return Marking{}
}

// losslessFrame is the largest packet of RDMA on a port, bytes.
func losslessFrame(p *intent.Port) int { return p.Settings.MTU.RDMA.V + intent.RDMAOverhead }

// PortHeadroom is the headroom of each lossless group of a port: what the
// switch will set, and what that is compared with.
type PortHeadroom struct {
	// Row is what the switch looks up, Computed what it computes; nil both
	// where neither is known, and then Missing says why.
	Row      *catalog.HeadroomRow
	Computed *headroom.Result
	Missing  string
	// Unpublished says that the catalogue has the model without a headroom table.
	Unpublished bool
	// Reference is the model of the intent's buffers.headroom; nil where it
	// has nothing for the speed or the chip, and then NoReference says why.
	Reference   *headroom.Result
	NoReference string
	// Floor is what no headroom can be below, bytes.
	Floor int64
}

// XOFF returns the headroom in bytes that the switch will set; false where unknown.
func (h PortHeadroom) XOFF() (n int64, ok bool) {
	switch {
	case h.Row != nil:
		return h.Row.XOFF, true
	case h.Computed != nil:
		return h.Computed.XOFF, true
	}
	return 0, false
}

// Headroom works out the headroom of a port, which needs a speed and a cable.
func (d *Device) Headroom(p *intent.Port) PortHeadroom {
	in := d.HeadroomInput(p)
	h := PortHeadroom{Floor: headroom.Floor(in.Speed, in.Cable, in.LosslessMTU)}
	switch {
	case d.Model == nil:
		h.Missing = "the model is not in the catalogue"
	case d.Desired.Platform.DynamicBuffers:
		at := in
		at.Cable = CableRow(d.Model, true, p.Speed.V, p.Cable.V)
		r, err := headroom.SONiCDyn(pattern(at))
		if err != nil {
			h.Missing = err.Error()
			break
		}
		r.Floor = h.Floor // of the intent's frames, not the template's
		h.Computed = &r
	case len(d.Model.Headroom) == 0:
		h.Missing, h.Unpublished = "no headroom table of "+d.Model.Name+" is published", true
	default:
		at := CableRow(d.Model, false, p.Speed.V, p.Cable.V)
		row, ok := d.Model.HeadroomRow(p.Speed.V, at)
		if !ok {
			h.Missing = fmt.Sprintf("%s has no row for %s and %s: the switch makes no lossless priority group", d.Model.Name, p.Speed.V, at)
			break
		}
		h.Row = &row
	}
	model := headroom.IEEE
	if p.Settings.Buffers.Headroom.V == headroom.ModelSONiCDyn {
		model, in = headroom.SONiCDyn, pattern(in)
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

// HeadroomInput returns what the headroom of a port depends on, with the
// response of the device at the other end.
func (d *Device) HeadroomInput(p *intent.Port) headroom.Input {
	s := p.Settings
	in := headroom.Input{
		Speed: p.Speed.V, Cable: p.Cable.V, PortMTU: s.MTU.Fabric.V, LosslessMTU: losslessFrame(p),
		MinPacket: int(s.Buffers.MinLosslessPacket.V), Release: d.Switch.Release.V,
	}
	if r := d.peerResponse(p); !r.V.IsZero() && p.Speed.V > 0 {
		in.PeerBytes, in.PeerHow = r.V.Bytes(p.Speed.V), fmt.Sprintf("pauseResponse %s of the peer, %s", r.V, r.From)
	}
	if d.Model == nil {
		return in
	}
	in.ASIC = d.Model.ASIC()
	if pool, ok := d.Model.Pool(catalog.IngressPool); ok {
		in.SharedHeadroom = pool.XOFF > 0
	}
	if d.Desired.Platform.DynamicBuffers && s.Buffers.OverSubscription.V > 0 {
		in.SharedHeadroom = true // a ratio is declared of nothing else
	}
	if port, ok := d.Model.Port(p.Name); ok {
		in.Lanes = strings.Count(port.Lanes, ",") + 1
	}
	return in
}

// pattern gives an input the traffic that SONiC's template assumes.
func pattern(in headroom.Input) headroom.Input {
	in.LosslessMTU, in.SmallPacketPercent = DefaultLosslessMTU, DefaultSmallPackets
	return in
}

// peerResponse returns how long the device at the other end takes to obey a
// pause, as the intent says of that device.
func (d *Device) peerResponse(p *intent.Port) intent.Value[intent.Response] {
	e, ok := p.Peer()
	if !ok || d.Fabric == nil {
		return intent.Value[intent.Response]{}
	}
	if sw := d.Fabric.Switch(e.Device); sw != nil {
		if q := sw.Port(e.Port); q != nil {
			return q.Settings.Buffers.PauseResponse
		}
		return sw.Settings.Buffers.PauseResponse
	}
	if h := d.Fabric.Host(e.Device); h != nil {
		return h.PauseResponse
	}
	return intent.Value[intent.Response]{}
}
