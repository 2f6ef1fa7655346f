package watch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/watchtest"
)

// Ports that pause priorities which are lossy in the intent can deadlock. A round reports that,
// and keeps the finding while a switch of the cycle cannot be read.
func TestDeadlocksThatAppear(t *testing.T) {
	text, err := examples.Intent("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	lossy := strings.Replace(string(text), "lossless: true", "mode: lossy", 1) + "routing: {exceptions: [{kind: default-up, switches: [role:leaf]}]}\n"
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(lossy)})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite()
	pauses := false
	s.clock = watchtest.NewClock()
	var devs []watch.Device
	for _, sw := range f.Switches {
		devs = append(devs, watch.Device{Name: sw.Name, Where: sw.Pos.String()})
	}
	w := try(t, s.clock, watch.Config{Fabric: f, Devices: devs, Interval: 1e12, Parallel: 4, Read: func(_ context.Context, d watch.Device, _ fleet.Ends) (r fleet.Reading) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.down[d.Name]; err != nil {
			return fleet.Reading{Device: d.Name, Err: &fleet.Error{Device: d.Name, Text: err.Error()}}
		}
		c, err := render.New(f, nil)
		if err != nil {
			return fleet.Reading{Device: d.Name, Err: &fleet.Error{Device: d.Name, Text: err.Error()}}
		}
		cfg := c.Device(f.Switch(d.Name)).Desired
		for _, p := range cfg.Ports {
			if pauses {
				p.PFC = qos.Of(qos.Priorities(3))
			}
		}
		return fleet.Reading{Device: d.Name, Switch: validate.Switch(c.Device(f.Switch(d.Name)), cfg, checks.Running, nil)}
	}})
	ids := func(r *watch.Round) (n int) {
		for _, f := range r.Findings {
			if f.ID == "TOP-03" {
				n++
			}
		}
		return n
	}
	if r := w.to(1, 0); ids(r) != 0 {
		t.Errorf("as the intent says: %v", r.Findings)
	}
	s.set(func() { pauses = true })
	all := ids(w.to(2, 0))
	if all == 0 {
		t.Error("TOP-03 is not found")
	}
	s.set(func() { s.down["spine1"] = context.DeadlineExceeded })
	if got := ids(w.to(3, 0)); got != all {
		t.Errorf("with spine1 down: %d findings, want %d", got, all)
	}
	s.set(func() { pauses = false; delete(s.down, "spine1") })
	if r := w.to(4, 0); ids(r) != 0 {
		t.Errorf("mended: %v", r.Findings)
	}
}
