package cumulus

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
)

// Values that NVUE does not accept are refused with the reason, and the rest is written.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(d *qos.Device, p *qos.Port)
		release string
		why     string // "" if accepted
	}{
		"as it is":     {func(*qos.Device, *qos.Port) {}, "5.9", ""},
		"MTU":          {func(_ *qos.Device, p *qos.Port) { p.MTU.V = 9217 }, "5.17", "552 to 9216"},
		"forward":      {func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Action = qos.ActionForward }, "5.17", "no other action, such as forward"},
		"restore":      {func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Restore = 800 * time.Millisecond }, "5.17", "restores after one polling interval"},
		"detect":       {func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Detect = 500 * time.Millisecond }, "5.17", "whole polling intervals"},
		"other timers": {func(d *qos.Device, p *qos.Port) { p.Watchdog.V.Detect *= 2 }, "5.17", "one set of timers"},
		"poll":         {func(d *qos.Device, _ *qos.Port) { d.WatchdogPoll = qos.Of(50 * time.Millisecond) }, "5.17", "100ms to 5s"},
		"too short": {func(d *qos.Device, p *qos.Port) {
			for _, p := range d.Ports {
				p.Watchdog.V.Restore, p.Watchdog.V.Detect = 50*time.Millisecond, 100*time.Millisecond
			}
			Fit(d)
		}, "5.17", "100ms to 5s, after which it restores, not of 50ms"},
		"averaging":   {func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Weight = 4 }, "5.17", "no averaging"},
		"cells":       {func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Unit = qos.UnitCells }, "5.17", "not in cells"},
		"probability": {func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Probability = 0 }, "5.17", "1% to 100%"},
		"order":       {func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Min = 3_000_000 }, "5.17", "min not above max"},
		"percent": {func(_ *qos.Device, p *qos.Port) {
			p.Queues[3].ECN.V = qos.ECN{Enabled: true, Min: 10, Max: 90, Unit: qos.UnitPercent, Probability: 10}
		}, "5.17", ""},
		"percent before 5.17": {func(_ *qos.Device, p *qos.Port) {
			p.Queues[3].ECN.V = qos.ECN{Enabled: true, Min: 10, Max: 90, Unit: qos.UnitPercent, Probability: 10}
		}, "5.16", "came with 5.17"},
		"rate":       {func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.MaxRate = 1500 }, "5.17", "whole kbps"},
		"link pause": {func(_ *qos.Device, p *qos.Port) { p.LinkPause = qos.Of(true) }, "5.17", "does not turn on link pause"},
		"cable":      {func(_ *qos.Device, p *qos.Port) { p.Cable = qos.Of(units.Length(200_000)) }, "5.17", "1 to 100000 metres"},
		"another map of queues": {func(_ *qos.Device, p *qos.Port) {
			m := *p.Maps.V
			m.TCToQueue[3] = 5
			p.Maps.V = &m
		}, "5.17", "one map of switch priorities"},
	} {
		rel, _ := ReleaseOf(c.release)
		d := plain("swp1", "swp2")
		c.change(d, d.Ports["swp2"])
		var why []string
		for _, r := range Refusals(d, rel) {
			why = append(why, r.Why)
		}
		if text := strings.Join(why, "; "); (text == "") != (c.why == "") || !strings.Contains(text, c.why) {
			t.Errorf("%s: refused with %q, want %q", name, text, c.why)
		}
		have := parse(t, "nv set interface swp1-2 type swp")
		have.Release = rel
		after, _ := Decode(Change(have, d).Apply(have))
		left := slices.DeleteFunc(qos.Diff(after, d), func(ch qos.Change) bool {
			return slices.ContainsFunc(Refusals(d, rel), func(r render.Refusal) bool { return r.Port == ch.Port && r.Field.Covers(ch.Field) })
		})
		if len(left) > 0 {
			t.Errorf("%s: %v differ and are not refused", name, left)
		}
	}
	d := plain("swp1")
	d.Ports["Ethernet1"] = d.Ports["swp1"]
	if r := Refusals(d, Newest()); len(r) != 1 || r[0].Port != "Ethernet1" {
		t.Errorf("a port of another system is not refused: %v", r)
	}
}

func TestFit(t *testing.T) {
	d := plain("swp1")
	if d.WatchdogPoll.V != 400*time.Millisecond {
		t.Errorf("the polling interval is %s, not the time to restore", d.WatchdogPoll.V)
	}
	d.PollUsual, d.WatchdogPoll = false, qos.Of(200*time.Millisecond)
	if Fit(d); d.WatchdogPoll.V != 200*time.Millisecond {
		t.Error("a polling interval that is stated is another one")
	}
	p := d.Ports["swp1"]
	p.Cable = qos.Of(units.Length(2.5))
	p.Queues[0].Scheduler.V.Weight, p.Queues[3].Scheduler.V.Weight = 34, 67
	if Fit(d); p.Cable.V != 3 || p.Queues[0].Scheduler.V.Weight+p.Queues[3].Scheduler.V.Weight != 100 {
		t.Errorf("the cable is %s, the shares %d and %d", p.Cable.V, p.Queues[0].Scheduler.V.Weight, p.Queues[3].Scheduler.V.Weight)
	}
	p.PFC = qos.Of(qos.PrioritySet(0))
	if Fit(d); p.Cable.Set {
		t.Error("a port that pauses nothing has a length of cable")
	}
}

func TestWarnings(t *testing.T) {
	d := plain("swp1")
	if w := Warnings(d); len(w) > 0 {
		t.Errorf("%v", w)
	}
	d.Ports["swp1"].PFC.V = qos.Priorities(3, 4)
	d.Ports["swp1"].Queues[3].ECN.V.Unit = qos.UnitPercent
	if w := Warnings(d); len(w) != 2 || !strings.Contains(w[0], "3, 4 are lossless") || !strings.Contains(w[1], "beta") {
		t.Errorf("%v", w)
	}
}
