package scenario

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// asIntended returns the switches of an intent as they run after an apply.
func asIntended(c *render.Compiler) map[string]*qos.Device {
	out := map[string]*qos.Device{}
	for _, sw := range c.Fabric().Switches {
		out[sw.Name] = c.Device(sw).Desired.Copy()
	}
	return out
}

// Switches that run as the intent says are predicted as the intent is.
func TestRunningAsIntended(t *testing.T) {
	c := compiled(t, "quickstart", nil)
	intended := predict(t, c, Options{})
	running := predict(t, c, Options{Running: asIntended(c)})
	if got := strings.Join(running.Running, " "); got != "leaf1 leaf2 spine1 spine2" {
		t.Errorf("running %s", got)
	}
	if a, b := intended.Runs[0].Seeds[0], running.Runs[0].Seeds[0]; a != b {
		t.Errorf("intended %+v, running %+v", a, b)
	}
	if !slices.EqualFunc(intended.Assumed, running.Assumed, func(a, b Assumption) bool { return a.What == b.What }) {
		t.Errorf("assumed %+v, running %+v", intended.Assumed, running.Assumed)
	}
}

// What runs decides: a curve, the priorities with PFC, the map to the queue.
func TestRunningDecides(t *testing.T) {
	slow := Options{For: time.Millisecond, Slow: map[string]float64{"gpu1": 0.1}}
	each := func(change func(*qos.Device, *qos.Port)) func(*qos.Device) {
		return func(d *qos.Device) {
			for name := range d.Ports {
				change(d, d.Ports[name])
			}
		}
	}
	rdma := 3 // priority and queue of the example
	for name, x := range map[string]struct {
		change func(*qos.Device)
		want   func(r Run) bool
	}{
		"as intended":      {each(func(*qos.Device, *qos.Port) {}), func(r Run) bool { return r.Mark != nil && r.Loss == nil }},
		"no curve":         {each(func(_ *qos.Device, p *qos.Port) { p.Queues[rdma].ECN = qos.Of(qos.ECN{}) }), func(r Run) bool { return r.Mark == nil && r.Pause != nil && r.Loss == nil }},
		"no PFC":           {each(func(_ *qos.Device, p *qos.Port) { p.PFC = qos.Of(qos.PrioritySet(0)) }), func(r Run) bool { return r.Loss != nil }},
		"in another queue": {func(d *qos.Device) { wrongMap(d) }, func(r Run) bool { return r.Mark == nil && r.Loss != nil }},
	} {
		c := compiled(t, "quickstart", nil)
		o := slow
		o.Running = asIntended(c)
		for _, d := range o.Running {
			x.change(d)
		}
		if r := predict(t, c, o).Runs[0]; !x.want(r) {
			t.Errorf("%s: mark %+v, pause %+v, loss %+v", name, r.Mark, r.Pause, r.Loss)
		}
	}
}

// wrongMap puts all code points into traffic class 0.
func wrongMap(d *qos.Device) {
	change := func(m *qos.Maps) *qos.Maps {
		if m == nil {
			return nil
		}
		out := *m
		for i := range out.DSCPToTC {
			out.DSCPToTC[i] = 0
		}
		return &out
	}
	d.GlobalMaps.V = change(d.GlobalMaps.V)
	for _, p := range d.Ports {
		p.Maps.V = change(p.Maps.V)
	}
}

// What a switch does not show is taken from the intent, and named.
func TestRunningNotShown(t *testing.T) {
	c := compiled(t, "quickstart", nil)
	o := Options{Running: asIntended(c)}
	for name := range maps.Keys(o.Running["leaf1"].Ports) {
		o.Running["leaf1"].Ports[name] = &qos.Port{}
	}
	o.Running["leaf2"].Ports = nil
	p := predict(t, c, o)
	for what, device := range map[string]string{
		"the priorities that the intent pauses, as the switch does not show them":     "leaf1",
		"the ECN curve of the intent for class rdma, as the switch does not show one": "leaf1",
		"the intent's settings of ports that the switch does not show":                "leaf2",
	} {
		if !slices.ContainsFunc(p.Assumed, func(a Assumption) bool { return a.What == what && slices.Equal(a.Devices, []string{device}) }) {
			t.Errorf("not assumed of %s: %s\n%+v", device, what, p.Assumed)
		}
	}
}
