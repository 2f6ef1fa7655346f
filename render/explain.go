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

// Explanation is the arithmetic of one port: values, their origin and working.
type Explanation struct {
	Device   string         `json:"device"`
	Port     string         `json:"port"`
	Peer     string         `json:"peer,omitempty"`
	Values   []Explained    `json:"values"`
	Classes  []ClassPath    `json:"classes"`
	Headroom []HeadroomPath `json:"headroom"`
	// Use is the headroom of the whole switch; nil where its pool is not known.
	Use *UsePath `json:"headroom_use,omitempty"`
	// Pools are the sizes that the switch will compute; nil where it does not.
	Pools *headroom.Pools `json:"pools,omitempty"`
	// Buffers has one entry for each lossless class; Pause is nil without one.
	Buffers []BufferPath `json:"buffers,omitempty"`
	Pause   *PausePath   `json:"pause,omitempty"`
}

// Explained is one value.
type Explained struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`          // intent line or rule
	How   string `json:"how,omitempty"` // what was made of it
}

// ClassPath follows a class through the port.
type ClassPath struct {
	Name       string   `json:"name"`
	DSCP       string   `json:"dscp"`
	DSCPFrom   string   `json:"dscp_from"`
	Priority   int      `json:"priority"`
	Queue      int      `json:"queue"`
	Group      int      `json:"priority_group"`
	From       string   `json:"from"`
	Lossless   bool     `json:"lossless"`
	PFC        string   `json:"pfc"`
	PFCFrom    string   `json:"pfc_from"`
	Share      string   `json:"scheduler"`
	ShareFrom  string   `json:"scheduler_from"`
	ECN        *ECNPath `json:"ecn,omitempty"`
	ECNFrom    string   `json:"ecn_from"`
	ECNMissing string   `json:"ecn_missing,omitempty"`
	// ECNNative is a curve in units of the switch's own, whose size in bytes no public
	// source tells; "" for none.
	ECNNative string `json:"ecn_native,omitempty"`
	// ECNKept says that the switch keeps the curve that it has.
	ECNKept bool `json:"ecn_kept,omitempty"`
}

// ECNPath is a marking curve in bytes and in time.
type ECNPath struct {
	Min         int64   `json:"min_bytes"`
	Max         int64   `json:"max_bytes"`
	MinDrainUS  float64 `json:"min_drain_us"`
	MaxDrainUS  float64 `json:"max_drain_us"`
	Probability int     `json:"probability_percent"`
	How         string  `json:"how,omitempty"`
	// Usual says that both times are in the window of published settings.
	Usual bool `json:"usual"`
	// Auto holds the steps of computed thresholds.
	Auto *headroom.ECN `json:"auto,omitempty"`
}

// BufferPath is what the shared pool means for a lossless class.
type BufferPath struct {
	Class      string         `json:"class"`
	FanIn      int            `json:"fan_in"`
	FanInFrom  string         `json:"fan_in_from"`
	FanOut     int            `json:"fan_out"`
	FanOutFrom string         `json:"fan_out_from"`
	Pool       *headroom.Pool `json:"pool,omitempty"`
	// Missing says why there is no pool.
	Missing string `json:"missing,omitempty"`
	// Levels are where a group pauses and goes on.
	Levels []LevelPath `json:"levels,omitempty"`
	Cases  []CasePath  `json:"cases,omitempty"`
}

// LevelPath is where a group pauses with that many groups active, and goes on.
type LevelPath struct {
	Active int `json:"active"`
	headroom.Levels
}

// CasePath is one case of traffic and what the class's curve leads to in it.
type CasePath struct {
	headroom.Limit
	// Order is empty where the class has no curve.
	Order headroom.Order `json:"order,omitempty"`
	// Information says that nobody declared the case.
	Information bool `json:"information"`
}

// PausePath is what PFC frames can do at the port's speed.
type PausePath struct {
	LongestUS    float64 `json:"longest_us"`
	FramesToHold float64 `json:"frames_a_second_to_hold"`
}

// UsePath is the headroom of all lossless groups of a switch.
type UsePath struct {
	HeadroomUse
	Ratio        float64 `json:"ratio"`
	Declared     float64 `json:"declared,omitempty"`
	DeclaredFrom string  `json:"declared_from,omitempty"`
}

// HeadroomPath is the headroom of the port by one way of getting it.
type HeadroomPath struct {
	Title string `json:"title"`
	// Row is what the platform's table gives; nil for a computed one.
	Row    *catalog.HeadroomRow `json:"row,omitempty"`
	Result *headroom.Result     `json:"result,omitempty"`
	// Margin is what the switch's own headroom has beyond Result, of the path
	// that it is compared with; nil where either is not known.
	Margin *int64 `json:"margin,omitempty"`
	// Admission is the switch's own test of the port; nil where it has none.
	Admission *headroom.Admission `json:"admission,omitempty"`
	Note      string              `json:"note,omitempty"`
}

// Explain works out one port of a compiled switch.
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

// headroomPaths returns what the switch will use, and the model to compare with.
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
	ref := HeadroomPath{Title: "for comparison", Result: h.Reference, Note: h.NoReference}
	if xoff, ok := h.XOFF(); ok && h.Reference != nil {
		ref.Margin = new(xoff - h.Reference.XOFF)
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

// levels returns where a group of the port pauses and goes on, alone and with
// as many groups as send into one queue.
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
