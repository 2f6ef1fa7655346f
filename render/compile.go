// Package render turns a fabric into one device model per switch.
//
// [New] checks the fabric as a whole. After that each device is compiled on its own, on demand,
// so that memory grows with the number of workers and not with the fabric. Native encoders are
// in render/sonic and its siblings, platform data in render/catalog, the buffer arithmetic in
// render/headroom. Nothing in this package talks to a device.
package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Compiler compiles the switches of one fabric. It is safe for concurrent use.
type Compiler struct {
	fabric *intent.Fabric
	fits   Fits
}

// Fits holds one function per OS name. Each adapts a compiled switch to its OS: it unsets values
// that the OS does not support and fills in values that the OS fixes. Without a function the
// model stays as it is.
type Fits map[string]func(*qos.Device)

// New returns a compiler after checking that each port exists on the catalogue model of its
// switch. The error is an [intent.Errors].
func New(f *intent.Fabric, fits Fits) (*Compiler, error) {
	var errs intent.Errors
	for _, sw := range f.Switches {
		m := model(sw)
		if m == nil || len(m.Ports) == 0 {
			continue
		}
		for _, p := range sw.Ports {
			if m.Has(p.Name) || p.Breakout.V != "" {
				continue
			}
			errs = append(errs, &intent.Error{
				Pos:  p.Pos,
				Msg:  fmt.Sprintf("%s has no port %s", m.Name, p.Name),
				Hint: fmt.Sprintf("%s is a %s with ports %s to %s; state the port's breakout where it is split", sw.Name, m.Name, m.Ports[0].Name, m.Ports[len(m.Ports)-1].Name),
			})
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return &Compiler{f, fits}, nil
}

// Fabric returns the fabric that c compiles.
func (c *Compiler) Fabric() *intent.Fabric { return c.fabric }

func model(sw *intent.Switch) *catalog.Model {
	m, _ := catalog.ModelOf(sw.OS, sw.Model.V)
	return m
}

// Device is a compiled switch.
type Device struct {
	Switch *intent.Switch
	// Model is nil if the intent names no model or one that the catalogue lacks.
	Model   *catalog.Model
	Desired *qos.Device
	// Fabric is the fabric that the switch belongs to.
	Fabric *intent.Fabric
}

// Of returns a compiled switch with the given desired state.
func (c *Compiler) Of(sw *intent.Switch, desired *qos.Device) *Device {
	return &Device{Switch: sw, Model: model(sw), Desired: desired, Fabric: c.fabric}
}

// Device compiles one switch: it derives the desired state from the intent.
func (c *Compiler) Device(sw *intent.Switch) *Device {
	m := model(sw)
	d := &qos.Device{
		Name:     sw.Name,
		Platform: qos.Platform{OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V},
		Ports:    make(map[string]*qos.Port, len(sw.Ports)),

		OwnsGlobals: sw.Globals.V == intent.GlobalsOwn,
	}
	if m != nil {
		d.Platform.ASIC = m.ASICID
		d.Platform.DynamicBuffers = m.ASIC().DynamicBuffers
	}
	if sw.Dynamic.V != nil {
		d.Platform.DynamicBuffers = *sw.Dynamic.V
	}
	for _, k := range sw.Settings.Classes {
		d.Classes = append(d.Classes, class(k))
	}
	b := builder{model: m, device: d, maps: map[*intent.Settings]*qos.Maps{}}
	for _, p := range sw.Ports {
		d.Ports[p.Name] = b.port(p)
	}
	// A switch without managed ports gets no switch-wide settings.
	if len(d.Ports) > 0 {
		b.global(sw)
	}
	qos.Normalize(d)
	if fit := c.fits[sw.OS]; fit != nil {
		fit(d)
	}
	return c.Of(sw, d)
}

// Defaults of SONiC's template for the dynamic headroom calculation
// (sonic-buildimage:files/build_templates/buffers_config.j2).
const (
	DefaultLosslessMTU  = 1024 // bytes
	DefaultSmallPackets = 50   // percent
)

func class(k *intent.Class) qos.Class {
	c := qos.Class{Name: k.Name, Priority: k.Priority.V, Queue: k.Queue.V, Lossless: k.Lossless.V, Strict: k.Strict.V}
	// Lossy traffic shares priority group 0; a lossless class has its own.
	if c.Lossless {
		c.Group = c.Priority
	}
	return c
}

type builder struct {
	model  *catalog.Model
	device *qos.Device
	maps   map[*intent.Settings]*qos.Maps
}

func (b *builder) global(sw *intent.Switch) {
	d, s, keeps := b.device, sw.Settings, sw.Globals.V == intent.GlobalsKeep
	// With a switch-wide map, a port without a map of its own would classify. There is none if no
	// port classifies, and none is written if some do.
	unclassified := 0
	for _, p := range sw.Ports {
		if p.Settings.Trust.V == qos.TrustNone {
			unclassified++
		}
	}
	g := qos.UnmappedMaps()
	switch {
	case keeps:
	case unclassified == len(sw.Ports):
		g.Unmanage(qos.PCPToTC, qos.TCToQueue, qos.TCToGroup, qos.PFCToQueue, qos.PFCToGroup, qos.TCToDSCP)
		d.GlobalMaps = qos.Of(g)
	case unclassified == 0 && s.Trust.V == qos.TrustDSCP:
		g.Unmanage(qos.PCPToTC, qos.PFCToGroup)
		g.DSCPToTC = b.mapsOf(s).DSCPToTC
		d.GlobalMaps = qos.Of(g)
	}
	if w := s.Watchdog; w.Enabled.V && s.Lossless() != 0 && !keeps && !s.Keep.Watchdog.V {
		d.WatchdogPoll, d.PollUsual = qos.Of(w.Poll.V), w.Poll.IsDefault()
	}
	if a, mixed := alphaOf(sw); a != nil && d.Platform.DynamicBuffers && !keeps {
		d.HeadroomModel = qos.Of(qos.HeadroomModel{LosslessMTU: DefaultLosslessMTU, SmallPacketPercent: DefaultSmallPackets, Alpha: *a, Mixed: mixed})
	}
}

// alphaOf returns the exponent of alpha that the intent states for the lossless groups of a switch, nil
// if it states none. mixed names the classes if they do not agree.
func alphaOf(sw *intent.Switch) (alpha *int, mixed string) {
	type use struct {
		alpha int
		known bool
	}
	var uses []use
	var says []string
	for _, p := range sw.Ports {
		for _, k := range p.Settings.Classes {
			if !k.Lossless.V {
				continue
			}
			u, text := use{}, "the platform's own"
			if a := k.Alpha.V; a != nil {
				alpha, u, text = cmp.Or(alpha, a), use{*a, true}, fmt.Sprintf("2^%d", *a)
			}
			if !slices.Contains(uses, u) {
				uses, says = append(uses, u), append(says, fmt.Sprintf("%s for class %s on %s", text, k.Name, p.Name))
			}
		}
	}
	switch len(uses) {
	case 0:
		return sw.Settings.Buffers.Alpha.V, ""
	case 1:
		return alpha, ""
	}
	return alpha, strings.Join(says, ", ")
}

func (b *builder) mapsOf(s *intent.Settings) *qos.Maps {
	if m := b.maps[s]; m != nil {
		return m
	}
	m := qos.UnmappedMaps()
	if s.Trust.V == qos.TrustDSCP {
		m.Unmanage(qos.PCPToTC)
	}
	// On chips whose SAI lacks this map, the priority of a sent pause follows the group.
	groups := b.model != nil && b.model.ASIC().PFCToGroupMap
	if !groups {
		m.Unmanage(qos.PFCToGroup)
	}
	for i := range qos.NumPriorities {
		m.TCToQueue[i] = int8(i)
		m.TCToGroup[i] = 0
		m.PFCToQueue[i] = int8(i)
	}
	if s.Keep.CodePoints.V {
		// Traffic that no class names keeps its queue and its group as well.
		m.Unmanage(qos.TCToQueue, qos.TCToGroup, qos.PFCToQueue)
	}
	for _, k := range s.Classes {
		c := class(k)
		switch s.Trust.V {
		case qos.TrustPCP:
			for _, p := range k.PCP.V {
				m.PCPToTC[p] = int8(c.Priority)
			}
			// A PCP that no class names goes to the class with the remaining DSCPs (dscp: rest).
			for p := range m.PCPToTC {
				if k.Rest && m.PCPToTC[p] == qos.Unmapped {
					m.PCPToTC[p] = int8(c.Priority)
				}
			}
		case qos.TrustDSCP:
			for _, dscp := range k.DSCP.V {
				m.DSCPToTC[dscp] = int8(c.Priority)
			}
		}
		m.TCToQueue[c.Priority] = int8(c.Queue)
		m.TCToGroup[c.Priority] = int8(c.Group)
		m.PFCToQueue[c.Priority] = int8(c.Queue)
		if groups && c.Lossless {
			m.PFCToGroup[c.Priority] = int8(c.Group)
		}
	}
	if s.Keep.CodePoints.V && s.Trust.V != qos.TrustNone {
		m.KeepUnmapped()
	}
	if s.Keep.Queues.V {
		m.Unmanage(qos.TCToQueue, qos.TCToGroup, qos.PFCToQueue, qos.PFCToGroup, qos.TCToDSCP)
	}
	b.maps[s] = m
	return m
}

func (b *builder) port(p *intent.Port) *qos.Port {
	s := p.Settings
	out := &qos.Port{
		MTU:           qos.Of(s.MTU.Fabric.V),
		Trust:         qos.Of(s.Trust.V),
		Maps:          qos.Of(b.mapsOf(s)),
		PFC:           qos.Of(s.Lossless()),
		PFCAsymmetric: qos.Of(s.PFCAsymmetric.V),
		Speed:         optional(p.Speed.V),
		FEC:           optional(p.FEC.V),
		LAG:           optional(p.LAG.V),
		Watchdog:      qos.Of(watchdog(s)),
	}
	if s.LinkPauseOff() {
		out.LinkPause = qos.Of(false)
	}
	if p.Cable.V > 0 {
		out.Cable = qos.Of(CableRow(b.model, b.device.Platform.DynamicBuffers, p.Speed.V, p.Cable.V))
	}
	if p.AdminUp.V != nil {
		out.AdminUp = qos.Of(*p.AdminUp.V)
	}
	if e, ok := p.Peer(); ok {
		out.Neighbor = qos.Of(qos.Neighbor{Device: e.Device, Port: e.Port})
	}
	b.queues(p, out)
	b.groups(p, out)
	if b.model != nil {
		out.IngressProfiles = optional(strings.Join(b.model.Bindings.IngressList, ","))
		out.EgressProfiles = optional(strings.Join(b.model.Bindings.EgressList, ","))
	}
	keep(out, &s.Keep)
	return out
}

// keep unsets the values that the intent tells the tool to leave to the switch.
func keep(p *qos.Port, k *intent.Keep) {
	if k.Watchdog.V {
		p.Watchdog = qos.Opt[qos.Watchdog]{}
	}
	if k.Buffers.V {
		p.IngressProfiles, p.EgressProfiles = qos.Opt[string]{}, qos.Opt[string]{}
	}
	for i := range qos.NumPriorities {
		q, g := &p.Queues[i], &p.Groups[i]
		if k.Bandwidth.V {
			q.Scheduler = qos.Opt[qos.Scheduler]{}
		}
		if k.Buffers.V {
			q.Buffer, *g = qos.Opt[string]{}, qos.Group{}
		}
	}
}

// optional returns v as a managed value, or an unmanaged one if v is zero: the intent does not
// state it.
func optional[T comparable](v T) qos.Opt[T] {
	return qos.Opt[T]{V: v, Set: v != *new(T)}
}

func watchdog(s *intent.Settings) qos.Watchdog {
	if !s.Watchdog.Enabled.V {
		return qos.Watchdog{}
	}
	return qos.Watchdog{
		Enabled: true, Priorities: s.Lossless(), Action: s.Watchdog.Action.V,
		Detect: s.Watchdog.Detect.V, Restore: s.Watchdog.Restore.V,
	}
}

func (b *builder) queues(p *intent.Port, out *qos.Port) {
	for _, k := range p.Settings.Classes {
		q := &out.Queues[k.Queue.V]
		q.Scheduler = qos.Of(scheduler(k))
		if k.ECN.Mode.V != intent.ECNKeep {
			q.ECN = qos.Of(ECN(p, k, b.model).Curve)
		} else if i := slices.IndexFunc(b.device.Classes, func(c qos.Class) bool { return c.Priority == k.Priority.V }); i >= 0 {
			b.device.Classes[i].KeepsECN = true
		}
		if b.model == nil {
			continue
		}
		name := b.model.Bindings.LossyQueue
		if k.Lossless.V {
			name = b.model.Bindings.LosslessQueue
		}
		q.Buffer = optional(name)
	}
}

func scheduler(k *intent.Class) qos.Scheduler {
	s := qos.Scheduler{Strict: k.Strict.V, MaxRate: k.MaxRate.V}
	if !s.Strict {
		s.Weight = max(1, percent(k.Bandwidth.V))
	}
	return s
}

// percent rounds to whole percents, as switches only take those.
func percent(p units.Percent) int { return int(math.Round(float64(p))) }

func (b *builder) groups(p *intent.Port, out *qos.Port) {
	s := p.Settings
	// A switch that looks headroom up must have done so for this speed and cable, not for
	// earlier values.
	var from qos.Opt[string]
	if b.model != nil && !b.device.Platform.DynamicBuffers && out.Cable.Set {
		if _, ok := b.model.HeadroomRow(p.Speed.V, out.Cable.V); ok {
			from = qos.Of(qos.LookupKey(p.Speed.V, out.Cable.V))
		}
	}
	for g := range out.Groups {
		out.Groups[g].Lossless = qos.Of(false)
	}
	lossy := false
	for _, k := range s.Classes {
		c := class(k)
		if c.Lossless {
			out.Groups[c.Group].Lossless = qos.Of(true)
			out.Groups[c.Group].DerivedFrom = from
		}
		lossy = lossy || !c.Lossless
	}
	if lossy && b.model != nil && b.model.Bindings.LossyGroup != "" && !out.Groups[0].Lossless.V {
		out.Groups[0].Buffer = qos.Of(b.model.Bindings.LossyGroup)
	}
}

// CableRow returns the cable length to configure. If the switch looks headroom up in a table, it
// is the shortest one in the table that covers the cable; otherwise the length in whole metres.
// A length beyond the table is rounded up as well, and has no row.
func CableRow(m *catalog.Model, dynamic bool, speed units.Rate, cable units.Length) units.Length {
	if m != nil && !dynamic {
		if row, ok := m.NextCable(speed, cable); ok {
			return row
		}
	}
	return units.Length(math.Ceil(float64(cable)))
}

// Refusal is a desired value that an OS does not accept, with the reason.
type Refusal struct {
	qos.Place
	Why string
}

// Refusals is a list of refusals.
type Refusals []Refusal

// Add adds a refusal for a port, or for the switch if port is empty.
func (r *Refusals) Add(port string, attr qos.Attr, format string, a ...any) {
	*r = append(*r, Refusal{qos.Place{Port: port, Field: attr}, fmt.Sprintf(format, a...)})
}

// Accepted returns d without the refused values: d itself if there are none, else a copy that
// shares its maps.
func Accepted(d *qos.Device, refused []Refusal) *qos.Device {
	if len(refused) == 0 {
		return d
	}
	var places []qos.Place
	for _, r := range refused {
		places = append(places, r.Place)
	}
	return d.Keeping(nil, places)
}
