package validate

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// TestUnknownValues checks that a value that a switch does not show is neither as the intent says nor
// a difference, for each attribute: it makes no finding above info, and is counted.
func TestUnknownValues(t *testing.T) {
	c := compile(t, closBase)
	desired := map[string]*qos.Device{}
	for _, sw := range c.Fabric().Switches {
		desired[sw.Name] = c.Device(sw).Desired
	}
	kinds := map[string]checks.DeviceKind{}
	for name := range desired {
		kinds[name] = checks.SwitchDevice
	}
	tried := 0
	for k := range qos.NumKinds {
		for _, at := range []qos.Place{{Port: "Ethernet0", Field: k.At(0)}, {Port: "Ethernet240", Field: k.At(0)}, {Port: "Ethernet0", Field: k.At(3)}, {Port: "Ethernet240", Field: k.At(3)}} {
			of := at.Field.Kind.Of()
			if of == qos.OfMaps || of == qos.OfPort && at.Field.Index > 0 || !desired["leaf1"].Holds(at.Port, at.Field) {
				continue
			}
			tried++
			fs := runAs(t, c, false, func(name string, d *qos.Device) {
				if name != "leaf1" {
					return
				}
				*d = *d.Keeping(nil, []qos.Place{at})
				d.Doubt(at.Port, at.Field, "the switch does not show it")
			})
			for _, f := range fs {
				if f.Severity != checks.Info {
					t.Errorf("%v: %s %s %s: %s", at, f.Severity, f.ID, f.Place(), f.What)
				}
			}
			open := checks.Opened(fs, kinds)
			if !slices.ContainsFunc(open, func(o checks.Open) bool {
				return o.What == at.Field.Words() && slices.Equal(o.Devices, []string{"leaf1"})
			}) {
				t.Errorf("%v: not counted: %v", at, open)
			}
			if !strings.Contains(checks.OpenText(open), "1 of 5 switches (leaf1): "+at.Field.Words()+" not checked") {
				t.Errorf("%v: the headline says %q", at, checks.OpenText(open))
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d places tried", tried)
	}
}

// TestDoubtfulLines checks that a value that differs is not known where a line that is not understood
// may set it, and differs where none does.
func TestDoubtfulLines(t *testing.T) {
	c := compile(t, closBase)
	d := c.Device(c.Fabric().Switch("leaf1"))
	for name, e := range map[string]struct {
		port, line string
		edit       func(*qos.Port)
		unknown    bool
	}{
		"its own line":        {"Ethernet0", "mtu jumbo", func(p *qos.Port) { p.MTU.V = 1500 }, true},
		"of another port":     {"Ethernet240", "mtu jumbo", func(p *qos.Port) { p.MTU.V = 1500 }, false},
		"about another value": {"Ethernet0", "flowcontrol jumbo", func(p *qos.Port) { p.MTU.V = 1500 }, false},
		"of a map":            {"Ethernet240", "qos map dscp all to traffic-class 3", func(p *qos.Port) { m := *p.Maps.V; m.DSCPToTC[26] = 0; p.Maps.V = &m }, false},
		"no fault":            {"Ethernet0", "mtu jumbo", func(*qos.Port) {}, false},
	} {
		have := decoded(t, saved(d))
		own := *have.Ports["Ethernet0"]
		e.edit(&own)
		have.Ports["Ethernet0"] = &own
		st := &checks.State{Unknown: []drivers.Unknown{{Text: e.line}}, Account: func() []render.Line {
			return []render.Line{{Where: "interface " + e.port, Text: e.line, Fate: render.Unknown}}
		}}
		r := Switch(d, have, checks.Running, st)
		if got := len(r.outcome.Unknown) > 0; got != e.unknown {
			t.Errorf("%s: not known are %v", name, r.outcome.Unknown)
		}
		if got := r.Drift() > 0; got != (!e.unknown && name != "no fault") {
			t.Errorf("%s: drift is %v", name, r.outcome.Drift.Changes)
		}
		for _, f := range r.outcome.Findings.List {
			if e.unknown && f.Severity == checks.Error {
				t.Errorf("%s: %s %s", name, f.ID, f.What)
			}
		}
	}
}
