package render

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// Explanation is the arithmetic of one port: every value, where it came from
// and how it was worked out.
type Explanation struct {
	Device   string         `json:"device"`
	Port     string         `json:"port"`
	Peer     string         `json:"peer,omitempty"`
	Values   []Explained    `json:"values"`
	Classes  []ClassPath    `json:"classes"`
	Headroom []HeadroomPath `json:"headroom"`
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
	Name       string        `json:"name"`
	DSCP       string        `json:"dscp"`
	DSCPFrom   string        `json:"dscp_from"`
	Priority   int           `json:"priority"`
	Queue      int           `json:"queue"`
	Group      int           `json:"priority_group"`
	From       string        `json:"from"`
	Lossless   bool          `json:"lossless"`
	PFC        string        `json:"pfc"`
	PFCFrom    string        `json:"pfc_from"`
	Scheduler  qos.Scheduler `json:"-"`
	Share      string        `json:"scheduler"`
	ShareFrom  string        `json:"scheduler_from"`
	ECN        *ECNPath      `json:"ecn,omitempty"`
	ECNFrom    string        `json:"ecn_from"`
	ECNMissing string        `json:"ecn_missing,omitempty"`
}

// ECNPath is a marking curve in bytes and in time.
type ECNPath struct {
	Min         int64   `json:"min_bytes"`
	Max         int64   `json:"max_bytes"`
	MinDrainUS  float64 `json:"min_drain_us"`
	MaxDrainUS  float64 `json:"max_drain_us"`
	Probability int     `json:"probability_percent"`
	How         string  `json:"how,omitempty"`
}

// HeadroomPath is the headroom of the port by one way of getting it.
type HeadroomPath struct {
	Title string `json:"title"`
	// Row is what the platform's table gives; nil for a computed one.
	Row    *catalog.HeadroomRow `json:"row,omitempty"`
	Result *headroom.Result     `json:"result,omitempty"`
	Note   string               `json:"note,omitempty"`
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
	model := "none stated"
	if d.Switch.Model.V != "" {
		model = d.Switch.Model.V
	}
	how := "not in the catalogue: no port, buffer or headroom numbers are known"
	if d.Model != nil {
		how = d.Model.ASIC().Name + ", headroom " + map[bool]string{true: "computed by the switch (dynamic model)", false: "looked up in a table by the switch (traditional model)"}[d.Desired.Platform.DynamicBuffers]
	}
	add("model", model, d.Switch.Model.From, how)
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
	if s.Lossless() != 0 && p.Speed.V > 0 && p.Cable.V > 0 {
		e.Headroom = headroomPaths(d, p)
	}
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
	m := ECN(p, k, d.Model)
	if !m.Curve.Enabled {
		out.ECNMissing = m.Why
		return out
	}
	us := func(n int64) float64 { return float64(headroom.Drain(n, p.Speed.V).Nanoseconds()) / 1e3 }
	out.ECN = &ECNPath{Min: m.Curve.Min, Max: m.Curve.Max, MinDrainUS: us(m.Curve.Min), MaxDrainUS: us(m.Curve.Max), Probability: m.Curve.Probability, How: m.Why}
	return out
}

// headroomPaths returns what the switch will use, and the standard's formula
// to hold it against.
func headroomPaths(d *Device, p *intent.Port) []HeadroomPath {
	s := p.Settings
	frame := s.MTU.RDMA.V + intent.RDMAOverhead
	in := headroom.Input{Speed: p.Speed.V, Cable: p.Cable.V, PortMTU: s.MTU.Fabric.V, LosslessMTU: frame, Release: d.Switch.Release.V}
	var out []HeadroomPath
	if d.Model != nil {
		in.ASIC = d.Model.ASIC()
		if port, ok := d.Model.Port(p.Name); ok {
			in.Lanes = strings.Count(port.Lanes, ",") + 1
		}
		if d.Desired.Platform.DynamicBuffers {
			out = append(out, computed(in))
		} else {
			out = append(out, looked(d, p))
		}
	}
	ref, err := headroom.IEEE(in)
	path := HeadroomPath{Title: "to hold it against"}
	if err != nil {
		path.Note = err.Error()
	} else {
		path.Result = &ref
	}
	return append(out, path)
}

func computed(in headroom.Input) HeadroomPath {
	path := HeadroomPath{Title: "computed by the switch"}
	in.LosslessMTU, in.SmallPacketPercent = DefaultLosslessMTU, DefaultSmallPackets
	r, err := headroom.SONiCDyn(in)
	if err != nil {
		path.Note = err.Error()
		return path
	}
	path.Result = &r
	path.Note = fmt.Sprintf("with SONiC's template: lossless frames of %d B, %d%% small packets, no shared headroom pool", DefaultLosslessMTU, DefaultSmallPackets)
	return path
}

func looked(d *Device, p *intent.Port) HeadroomPath {
	path := HeadroomPath{Title: "looked up by the switch"}
	at := CableRow(d.Model, false, p.Speed.V, p.Cable.V)
	row, ok := d.Model.HeadroomRow(p.Speed.V, at)
	if !ok {
		path.Note = fmt.Sprintf("%s has no row for %s and %s: the switch makes no lossless priority group", d.Model.Name, p.Speed.V, at)
		return path
	}
	path.Row = &row
	return path
}
