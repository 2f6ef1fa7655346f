package nxos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

func TestRefusals(t *testing.T) {
	for field, edit := range map[string]func(d *qos.Device, p *qos.Port){
		"mtu":                 func(_ *qos.Device, p *qos.Port) { p.MTU.V = 9300 },
		"pfc_asymmetric":      func(_ *qos.Device, p *qos.Port) { p.PFCAsymmetric = qos.Of(true) },
		"pfc":                 func(_ *qos.Device, p *qos.Port) { p.PFC.V = qos.Priorities(3, 5) },
		"maps.tc_to_queue":    func(_ *qos.Device, p *qos.Port) { p.Maps.V.TCToQueue[3] = 4 },
		"queues[3].scheduler": func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.MinRate = 1e9 },
		"queues[0].scheduler": func(_ *qos.Device, p *qos.Port) { p.Queues[0].Scheduler.V = qos.Scheduler{Strict: true} },
		"queues[3].ecn":       func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Unit = qos.UnitCells },
		"watchdog": func(_ *qos.Device, p *qos.Port) {
			p.Watchdog.V = qos.Watchdog{Enabled: true, Priorities: p.PFC.V, Action: qos.ActionDrop, Detect: 5e6, Restore: 1e9}
		},
		"watchdog_poll": func(d *qos.Device, _ *qos.Port) { d.WatchdogPoll = qos.Of(minInterval / 2) },
	} {
		d := roce()
		edit(d, d.Ports["Ethernet1/1"])
		refused := Refusals(d)
		if len(refused) == 0 || !slices.ContainsFunc(refused, func(r render.Refusal) bool { return r.Field.String() == field }) {
			t.Errorf("%s: refused %v", field, refused)
		}
		// Values that are not refused are still written.
		old := parse(t, "interface Ethernet1/1\n")
		running, _ := Decode(Change(old, d, EightQueue).Apply(old), EightQueue)
		for _, c := range qos.Diff(running, d) {
			if !slices.ContainsFunc(refused, func(r render.Refusal) bool { return r.Port == c.Port && r.Field == c.Field }) {
				t.Errorf("%s: %s differs and is not refused: %s, not %s", field, c.Path(), c.Old, c.New)
			}
		}
	}
	if r := Refusals(roce()); len(r) > 0 {
		t.Errorf("refused: %v", r)
	}
	full := roce()
	full.Ports["Ethernet1/1"].Queues[0].Scheduler.V.Weight = 41
	if r := Refusals(full); len(r) != 2 {
		t.Errorf("101 percent: %v", r)
	}
}

func TestFilledIn(t *testing.T) {
	const want = "class cnp asks for strict on queue 6: queue 7 is strict as well (level 1), queue 6 gets level 2"
	if w := FilledIn(roce(), EightQueue); !slices.Equal(w, []string{want}) {
		t.Errorf("%q", w)
	}
	// A strict queue below a weighted class is refused, and nothing is filled in.
	weighted := roce()
	weighted.Classes[2].Priority, weighted.Classes[2].Queue = 2, 2
	if w := FilledIn(weighted, EightQueue); len(w) > 0 {
		t.Errorf("%q", w)
	}
	four := roce()
	four.Classes[1].Queue, four.Classes[2].Queue = 1, 3
	if w := FilledIn(four, FourQueue); len(w) > 0 {
		t.Errorf("the top queue: %q", w)
	}
	four.Classes[2].Queue = 2
	if w := FilledIn(four, FourQueue); !slices.Equal(w, []string{"class cnp asks for strict on queue 2: queue 3 is strict as well (level 1), queue 2 gets level 2"}) {
		t.Errorf("%q", w)
	}
}

// Port names that no Nexus uses are refused, and nothing is written for them.
func TestPortNames(t *testing.T) {
	for name, good := range map[string]bool{"Ethernet1/1": true, "Ethernet101/1/48": true, "Ethernet1": false, "Eth1/1": false, "Ethernet1/01": false, "Ethernet1/1.5": false, "ethernet1/1": false, "port-channel7": false, "Ethernet1/1/1/1": false} {
		d := roce()
		d.Ports = map[string]*qos.Port{name: d.Ports["Ethernet1/1"], "Ethernet9/9": d.Ports["Ethernet1/1"]}
		rs := Refusals(d)
		if good != (len(rs) == 0) || !good && (rs[0].Port != name || rs[0].Field.Kind != qos.KindPort || !strings.Contains(rs[0].Why, "Ethernet1/1 or")) {
			t.Errorf("%s: %+v", name, rs)
		}
		if e := Change(parse(t, "interface "+name+"\ninterface Ethernet9/9\n"), d, EightQueue); !good && slices.ContainsFunc(e, func(s lines.Setting) bool { return s.Section == "interface "+name }) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestFit(t *testing.T) {
	d := roce()
	p := d.Ports["Ethernet1/1"]
	if !p.Queues[7].Scheduler.V.Strict || p.Trust.Set {
		t.Errorf("queue 7 %v, trust %v", p.Queues[7].Scheduler, p.Trust)
	}
	if m := p.Maps.V; m.PFCToQueue[3] != 3 || m.PFCToQueue[4] != qos.Unmanaged || m.PCPToTC[0] != qos.Unmanaged || m.TCToGroup[0] != qos.Unmanaged {
		t.Errorf("maps %+v", m)
	}
	ms := time.Millisecond
	for _, c := range []struct{ poll, detect, restore, want time.Duration }{
		{200 * ms, 300 * ms, 600 * ms, 150 * ms},
		{200 * ms, 200 * ms, 400 * ms, 200 * ms},
		{3 * time.Second, 3 * time.Second, 3 * time.Second, time.Second},
		{200 * ms, 70 * ms, 140 * ms, 200 * ms}, // no interval fits: unchanged, and refused
		{50 * ms, 100 * ms, 100 * ms, 50 * ms},
	} {
		d := roce()
		d.WatchdogPoll = qos.Of(c.poll)
		d.Ports["Ethernet1/1"].Watchdog.V = qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: qos.ActionDrop, Detect: c.detect, Restore: c.restore}
		Fit(d)
		if d.WatchdogPoll.V != c.want {
			t.Errorf("poll %s for %s and %s is fitted to %s, not %s", c.poll, c.detect, c.restore, d.WatchdogPoll.V, c.want)
		}
		if refused := len(Refusals(d)) > 0; refused != (c.detect%c.want != 0 || c.want < minInterval) {
			t.Errorf("poll %s for %s and %s: refused %v", c.poll, c.detect, c.restore, Refusals(d))
		}
	}
	pcp := roce()
	pcp.Ports["Ethernet1/1"].Trust = qos.Of(qos.TrustPCP)
	m := *pcp.Ports["Ethernet1/1"].Maps.V
	m.PCPToTC = [8]int8{0, 0, 0, 3, 0, 0, 0, 0}
	pcp.Ports["Ethernet1/1"].Maps.V = &m
	Fit(pcp)
	if text := Encode(pcp, EightQueue).String(); !strings.Contains(text, "  match cos 3\n") || strings.Contains(text, "match dscp") {
		t.Errorf("for PCP:\n%s", text)
	}
}
