package render

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Explanation is the arithmetic of one port: its values, where they come from, and how they were
// computed.
type Explanation struct {
	Device   string         `json:"device"`
	Port     string         `json:"port"`
	Peer     string         `json:"peer,omitempty"`
	Values   []Explained    `json:"values"`
	Classes  []ClassPath    `json:"classes"`
	Headroom []HeadroomPath `json:"headroom"`
	// Use is the headroom of the whole switch; nil if its pool is not known.
	Use *UsePath `json:"headroom_use,omitempty"`
	// Pools holds the pool sizes that the switch will compute; nil if it computes none.
	Pools *headroom.Pools `json:"pools,omitempty"`
	// Buffers has one entry for each lossless class; Pause is nil if there is no lossless class.
	Buffers []BufferPath `json:"buffers,omitempty"`
	Pause   *PausePath   `json:"pause,omitempty"`
}

// Explained is a value with its origin and the reason for it.
type Explained struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`          // intent line or rule
	How   string `json:"how,omitempty"` // how the configured value follows from the stated one
}

// ClassPath shows the path of a class through the port: from DSCP to priority, queue and
// marking.
type ClassPath struct {
	Name     string `json:"name"`
	DSCP     string `json:"dscp"`
	DSCPFrom string `json:"dscp_from"`
	// HostDSCP is the DSCP with which the hosts behind the port mark the class; absent if not stated.
	HostDSCP     *int     `json:"host_dscp,omitempty"`
	HostDSCPFrom string   `json:"host_dscp_from,omitempty"`
	Priority     int      `json:"priority"`
	Queue        int      `json:"queue"`
	Group        int      `json:"priority_group"`
	From         string   `json:"from"`
	Lossless     bool     `json:"lossless"`
	PFC          string   `json:"pfc"`
	PFCFrom      string   `json:"pfc_from"`
	Share        string   `json:"scheduler"`
	ShareFrom    string   `json:"scheduler_from"`
	ECN          *ECNPath `json:"ecn,omitempty"`
	ECNFrom      string   `json:"ecn_from"`
	ECNMissing   string   `json:"ecn_missing,omitempty"`
	// ECNNative is a curve in units of the switch for which no public source gives the size in
	// bytes; "" if there is none.
	ECNNative string `json:"ecn_native,omitempty"`
	// ECNKept is set if the switch keeps its present curve.
	ECNKept bool `json:"ecn_kept,omitempty"`
}

// ECNPath is a marking curve in bytes and in drain time.
type ECNPath struct {
	Min         int64   `json:"min_bytes"`
	Max         int64   `json:"max_bytes"`
	MinDrainUS  float64 `json:"min_drain_us"`
	MaxDrainUS  float64 `json:"max_drain_us"`
	Probability int     `json:"probability_percent"`
	How         string  `json:"how,omitempty"`
	// Usual is set if both times are within the range of published settings.
	Usual bool `json:"usual"`
	// Auto holds the steps of the computation; nil if the thresholds are not computed.
	Auto *headroom.ECN `json:"auto,omitempty"`
}

// BufferPath shows how a lossless class shares the buffer pool.
type BufferPath struct {
	Class      string         `json:"class"`
	FanIn      int            `json:"fan_in"`
	FanInFrom  string         `json:"fan_in_from"`
	FanOut     int            `json:"fan_out"`
	FanOutFrom string         `json:"fan_out_from"`
	Pool       *headroom.Pool `json:"pool,omitempty"`
	// Missing says why the pool is not known.
	Missing string `json:"missing,omitempty"`
	// Levels holds the buffer levels at which a group pauses and resumes.
	Levels []LevelPath `json:"levels,omitempty"`
	Cases  []CasePath  `json:"cases,omitempty"`
	// LossyDrop is the length at which a lossy queue drops if it is alone, in bytes; 0 if it is not
	// known.
	LossyDrop int64 `json:"lossy_drop,omitempty"`
}

// LevelPath holds the levels at which a group pauses and resumes while Active groups are active.
type LevelPath struct {
	Active int `json:"active"`
	headroom.Levels
}

// CasePath is one traffic case and what happens first in it under the class's curve: marking or
// a pause.
type CasePath struct {
	headroom.Limit
	// Order is "" if the class has no curve.
	Order headroom.Order `json:"order,omitempty"`
	// Information is set if the intent does not declare the case.
	Information bool `json:"information"`
}

// PausePath shows what PFC frames can do at the speed of the port.
type PausePath struct {
	LongestUS    float64 `json:"longest_us"`
	FramesToHold float64 `json:"frames_a_second_to_hold"`
}

// UsePath is the headroom of all lossless groups of a switch, compared with its pool.
type UsePath struct {
	HeadroomUse
	Ratio        float64 `json:"ratio"`
	Declared     float64 `json:"declared,omitempty"`
	DeclaredFrom string  `json:"declared_from,omitempty"`
}

// HeadroomPath is the headroom of the port, obtained in one particular way.
type HeadroomPath struct {
	Title string `json:"title"`
	// Row is the row of the platform's table; nil for a computed headroom.
	Row    *catalog.HeadroomRow `json:"row,omitempty"`
	Result *headroom.Result     `json:"result,omitempty"`
	// Margin is the switch's own headroom minus Result, in bytes. It is set on the reference
	// path only; nil if either is not known.
	Margin *int64 `json:"margin,omitempty"`
	// UsableMargin is the same for what a group can fill of its headroom.
	UsableMargin *int64 `json:"usable_margin,omitempty"`
	// Admission is the result of the switch's own admission test; nil if the switch has none.
	Admission *headroom.Admission `json:"admission,omitempty"`
	Note      string              `json:"note,omitempty"`
	// Usable is how much of the headroom a group fills before packets are lost; nil if nothing is
	// known that makes it differ.
	Usable *headroom.Usable `json:"usable,omitempty"`
}

// Explain returns the explanation of one port of a compiled switch.
func Explain(d *Device, p *intent.Port) Explanation {
	s := p.Settings
	e := Explanation{Device: d.Switch.Name, Port: p.Name}
	if peer, ok := p.Peer(); ok {
		e.Peer = peer.String()
	}
	add := func(name, value string, from intent.Origin, how string) {
		e.Values = append(e.Values, Explained{name, value, from.String(), how})
	}
	how := "not in the catalogue: no port, buffer or headroom numbers are known"
	switch {
	case d.Model == nil:
	case !intent.SystemOf(d.Switch.OS).BufferModel:
		how = d.Model.ASIC().Name + ": its ports are known, no buffer or headroom numbers are"
	default:
		how = d.Model.ASIC().Name + ", headroom " + map[bool]string{true: "computed by the switch (dynamic model)", false: "looked up in a table by the switch (traditional model)"}[d.Desired.Platform.DynamicBuffers]
	}
	add("model", cmp.Or(d.Switch.Model.V, "none stated"), d.Switch.Model.From, how)
	if id := d.Switch.Identity; id != nil {
		for _, v := range []struct {
			name string
			intent.Value[string]
		}{{"serial number", id.Serial}, {"MAC address", id.MAC}, {"identity model", id.Model}, {"hostname", id.Hostname}} {
			if v.V != "" {
				add(v.name, v.V, v.From, "apply writes to no other switch at the address")
			}
		}
	}
	add("speed", p.Speed.V.String(), p.Speed.From, "")
	cable := CableRow(d.Model, d.Desired.Platform.DynamicBuffers, p.Speed.V, p.Cable.V)
	how = ""
	if cable != p.Cable.V {
		how = "configured as " + cable.String() + ", the next length that the platform knows"
	}
	add("cable", p.Cable.V.String(), p.Cable.From, how)
	add("mtu", fmt.Sprintf("%d B", s.MTU.Fabric.V), s.MTU.Fabric.From, fmt.Sprintf("an RDMA payload of %d B makes packets of at most %d B", s.MTU.RDMA.V, s.MTU.RDMA.V+intent.RDMAOverhead))
	add("trust", string(s.Trust.V), s.Trust.From, "")
	add("watchdog", watchdog(s).String(), s.Watchdog.Detect.From, "")
	for _, k := range s.Classes {
		e.Classes = append(e.Classes, classPath(d, p, k))
	}
	if s.Lossless() == 0 || p.Speed.V == 0 {
		return e
	}
	if p.Cable.V > 0 {
		e.Headroom = headroomPaths(d, p)
		e.Use = usePath(d)
		if pools, err := d.PoolSizes(); err == nil {
			e.Pools = &pools
		}
	}
	e.Buffers = bufferPaths(d, p)
	e.Pause = &PausePath{LongestUS: micros(headroom.LongestPause(p.Speed.V)), FramesToHold: headroom.FramesToHold(p.Speed.V)}
	return e
}

func classPath(d *Device, p *intent.Port, k *intent.Class) ClassPath {
	c := class(k)
	out := ClassPath{
		Name: k.Name, DSCP: qos.FoldInts(k.DSCP.V), DSCPFrom: k.DSCP.From.String(),
		Priority: c.Priority, Queue: c.Queue, Group: c.Group, From: k.Priority.From.String(),
		Lossless: c.Lossless, PFC: "off", PFCFrom: k.Lossless.From.String(),
		Share: scheduler(k).String(), ShareFrom: k.Bandwidth.From.String(), ECNFrom: k.ECN.Mode.From.String(),
	}
	if k.Rest {
		out.DSCP += " (the rest)"
	}
	if v := k.HostDSCP; !v.IsDefault() && !p.Uplink() {
		out.HostDSCP, out.HostDSCPFrom = &v.V, v.From.String()
	}
	if c.Lossless {
		out.PFC = "on"
	}
	if c.Strict {
		out.ShareFrom = k.Strict.From.String()
	}
	if k.ECN.Mode.V == intent.ECNKeep {
		out.ECNKept = true
		return out
	}
	m := ECN(p, k, d.Model)
	if !m.Curve.Enabled {
		out.ECNMissing = m.Why
		return out
	}
	curve, ok := headroom.CurveOf(m.Curve)
	if !ok {
		out.ECNNative = m.Curve.String()
		return out
	}
	drains := curve.Drains(p.Speed.V)
	out.ECN = &ECNPath{
		Min: m.Curve.Min, Max: m.Curve.Max, MinDrainUS: micros(drains.Min), MaxDrainUS: micros(drains.Max),
		Probability: m.Curve.Probability, How: m.Why, Usual: drains.Usual, Auto: m.Auto,
	}
	return out
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// headroomPaths returns the headroom that the switch will use, then the reference.
func headroomPaths(d *Device, p *intent.Port) []HeadroomPath {
	h := d.Headroom(p)
	var out []HeadroomPath
	switch {
	case d.Model == nil, !intent.SystemOf(d.Switch.OS).BufferModel:
	case d.Desired.Platform.DynamicBuffers:
		path := HeadroomPath{Title: "computed by the switch", Result: h.Computed, Note: h.Missing}
		if h.Computed != nil {
			path.Note = fmt.Sprintf("with SONiC's template: lossless frames of %d B, %d%% small packets, %s", DefaultLosslessMTU, DefaultSmallPackets,
				map[bool]string{true: "a shared headroom pool", false: "no shared headroom pool"}[d.Memory(nil).HeadroomInput(p).SharedHeadroom])
		}
		if a, err := d.Memory(nil).Admission(p); err == nil && len(a.Terms) > 0 {
			path.Admission = &a
		}
		out = append(out, path)
	default:
		out = append(out, HeadroomPath{Title: "looked up by the switch", Row: h.Row, Note: h.Missing})
	}
	if len(out) > 0 {
		if xoff, ok := h.XOFF(); ok {
			out[0].Usable = d.Memory(nil).Usable(p, xoff)
		}
	}
	if h.Measured > 0 {
		out = append(out, HeadroomPath{Title: "measured", Note: fmt.Sprintf("%d B arrived in a group after it had paused (%s)", h.Measured, h.MeasuredHow)})
	}
	ref := HeadroomPath{Title: "for comparison", Result: h.Reference, Note: h.NoReference}
	if xoff, ok := h.XOFF(); ok && h.Reference != nil {
		ref.Margin = new(xoff - h.Reference.XOFF)
		if len(out) > 0 && out[0].Usable != nil {
			ref.UsableMargin = new(out[0].Usable.Least - h.Reference.XOFF)
		}
	}
	return append(out, ref)
}

func usePath(d *Device) *UsePath {
	u := d.Memory(nil).HeadroomUse()
	ratio, ok := u.Ratio()
	if !ok {
		return nil
	}
	out := &UsePath{HeadroomUse: u, Ratio: ratio}
	if declared := d.Switch.Settings.Buffers.OverSubscription; declared.V > 0 {
		out.Declared, out.DeclaredFrom = declared.V, declared.From.String()
	}
	return out
}

func bufferPaths(d *Device, p *intent.Port) []BufferPath {
	var out []BufferPath
	for _, k := range p.Settings.Classes {
		if !k.Lossless.V {
			continue
		}
		s := d.Memory(nil).Sharing(p, k)
		b := BufferPath{
			Class: k.Name, FanIn: s.Fan.In.V, FanInFrom: s.Fan.In.From.String(), FanOut: s.Fan.Out.V, FanOutFrom: s.Fan.Out.From.String(),
			Pool: s.Pool, Missing: s.Missing,
		}
		if s.Pool != nil {
			b.Levels = levels(d, p, *s.Pool, s.Fan.In.V)
			b.LossyDrop = lossyDrop(d, p)
		}
		curve, marks := headroom.CurveOf(ECN(p, k, d.Model).Curve)
		for _, l := range s.Limits {
			c := CasePath{Limit: l}
			switch l.Name {
			case headroom.CaseIncast:
				c.Information = s.Fan.In.IsDefault()
			case headroom.CaseOneToMany:
				c.Information = s.Fan.Out.IsDefault()
			default:
				c.Information = true
			}
			if marks {
				c.Order = l.Judge(curve.Min, curve.Max)
			}
			b.Cases = append(b.Cases, c)
		}
		out = append(out, b)
	}
	return out
}

// lossyDrop returns the length at which a lossy queue of a switch drops if it is alone, in bytes; 0
// if it is not known.
func lossyDrop(d *Device, p *intent.Port) int64 {
	if d.Model == nil {
		return 0
	}
	sizes, _, ok := headroom.Published(d.Model, p.Cable.V)
	if !ok {
		return 0
	}
	queue, err := headroom.LossyQueue(d.Model, sizes)
	if err != nil {
		return 0 // the template states no such threshold
	}
	return queue.Threshold(1)
}

// levels returns the levels at which a group of the port pauses and resumes, alone and with
// fanIn groups active.
func levels(d *Device, p *intent.Port, pool headroom.Pool, fanIn int) []LevelPath {
	var xon int64
	var offset *int64
	h := d.Headroom(p)
	switch {
	case h.Row != nil:
		xon, offset = h.Row.XON, h.Row.XONOffset
	case h.Computed != nil:
		xon = h.Computed.XON
	}
	var out []LevelPath
	for _, active := range slices.Compact([]int{1, fanIn}) {
		out = append(out, LevelPath{active, headroom.Hysteresis(pool.Threshold(active), xon, offset)})
	}
	return out
}
