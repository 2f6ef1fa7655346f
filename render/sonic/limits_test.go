package sonic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// TestRefusalsAgreeWithTheModels compares each limit with the YANG models of every release: values
// that Refusals accepts are valid there, and values that it rejects because of the models are not.
func TestRefusalsAgreeWithTheModels(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name  string
		edit  func(*qos.Device, *qos.Port)
		field string // "" if accepted; "@202511" if rejected from that release on
	}{
		{"sound", func(*qos.Device, *qos.Port) {}, ""},
		{"lowest", func(d *qos.Device, p *qos.Port) {
			d.WatchdogPoll.V, p.Watchdog.V.Detect, p.Watchdog.V.Restore, p.MTU.V = 100*ms, 100*ms, 100*ms, 68
		}, ""},
		{"highest", func(d *qos.Device, p *qos.Port) {
			d.WatchdogPoll.V, p.Watchdog.V.Detect, p.Watchdog.V.Restore, p.MTU.V = 1000*ms, 5000*ms, 60000*ms, 9216
		}, ""},
		{"detection too long", func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Detect = 5001 * ms }, "watchdog"},
		{"errdisable", func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Action = qos.ActionErrDisable }, "watchdog"},
		{"detection too short", func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Detect = 99 * ms }, "watchdog"},
		{"restoration too long", func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Restore = 60001 * ms }, "watchdog"},
		{"detection below poll", func(_ *qos.Device, p *qos.Port) { p.Watchdog.V.Detect = 150 * ms }, "watchdog"},
		{"poll too long", func(d *qos.Device, p *qos.Port) {
			d.WatchdogPoll.V, p.Watchdog.V.Detect, p.Watchdog.V.Restore = 1500*ms, 2000*ms, 2000*ms
		}, "watchdog_poll@202511"},
		{"mtu", func(_ *qos.Device, p *qos.Port) { p.MTU.V = 9217 }, "mtu"},
		{"speed", func(_ *qos.Device, p *qos.Port) { p.Speed.V = 1_600_000e6 }, "speed@-202505"},
		{"weight 0", func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.Weight = 0 }, "queues[3].scheduler"},
		{"weight 101", func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.Weight = 101 }, "queues[3].scheduler"},
		{"shaped", func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.MaxRate = 10e9 }, ""},
		{"shaped both ways", func(_ *qos.Device, p *qos.Port) {
			p.Queues[3].Scheduler.V.MinRate, p.Queues[3].Scheduler.V.MaxRate = 1e9, 10e9
		}, ""},
		{"guaranteed", func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.MinRate = 1e9 }, ""},
		{"strict and shaped", func(_ *qos.Device, p *qos.Port) {
			p.Queues[3].Scheduler.V = qos.Scheduler{Strict: true, MaxRate: 8}
		}, ""},
		{"maximum below a byte a second", func(_ *qos.Device, p *qos.Port) { p.Queues[3].Scheduler.V.MaxRate = 7 }, "queues[3].scheduler"},
		{"minimum above the maximum", func(_ *qos.Device, p *qos.Port) {
			p.Queues[3].Scheduler.V.MinRate, p.Queues[3].Scheduler.V.MaxRate = 10e9, 1e9
		}, "queues[3].scheduler"},
		{"thresholds turned", func(_ *qos.Device, p *qos.Port) { p.Queues[3].ECN.V.Min = 9e6 }, "queues[3].ecn"},
	} {
		for _, rel := range releases {
			t.Run(c.name+"/"+rel.Name, func(t *testing.T) {
				p := &qos.Port{
					MTU: qos.Of(9100), Speed: qos.Of(units.Rate(400e9)), PFC: qos.Of(qos.Priorities(3)),
					Watchdog: qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: qos.ActionDrop, Detect: 400 * ms, Restore: 400 * ms}),
				}
				p.Queues[3] = qos.Queue{Scheduler: qos.Of(qos.Scheduler{Weight: 50}), ECN: qos.Of(qos.ECN{Enabled: true, Min: 1e6, Max: 2e6, Probability: 5})}
				d := &qos.Device{Ports: map[string]*qos.Port{"Ethernet0": p}, WatchdogPoll: qos.Of(200 * ms)}
				c.edit(d, p)
				want := c.field
				if f, from, ok := strings.Cut(c.field, "@"); ok {
					want = ""
					if r, below := strings.CutPrefix(from, "-"); below && rel.Name <= r || !below && rel.Name >= from {
						want = f
					}
				}
				got := ""
				for _, r := range Refusals(d, rel) {
					got += r.Field.String()
				}
				if got != want {
					t.Errorf("refused %q, want %q", got, want)
				}
				m, err := yang.Load(sharedtest.YANG(t, rel.Name))
				if err != nil {
					t.Fatal(err)
				}
				cfg := Encode(d)
				cfg[TPort]["Ethernet0"]["lanes"] = "1"
				if bad := m.Check(cfg.Plain()); (len(bad) > 0) != (want != "") {
					t.Errorf("the models say %v, refused is %q", bad, want)
				}
			})
		}
	}
}

// SONiC's thresholds are bytes. The YANG models cannot reject other units, because CONFIG_DB does
// not contain the unit.
func TestThresholdsInOtherUnits(t *testing.T) {
	for _, u := range []qos.ThresholdUnit{qos.UnitKBytes, qos.UnitMBytes, qos.UnitCells, qos.UnitPackets, qos.UnitSegments, qos.UnitPercent, qos.UnitMilliseconds, qos.UnitMicroseconds} {
		p := &qos.Port{}
		p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 6, Max: 60, Unit: u, Probability: 10})
		got := Refusals(&qos.Device{Ports: map[string]*qos.Port{"Ethernet0": p}}, releases[len(releases)-1])
		if len(got) != 1 || got[0].Port != "Ethernet0" || got[0].Field != qos.KindECN.At(3) {
			t.Errorf("%s: refused %v", u, got)
		}
	}
}

// One row of CONFIG_DB has the alpha of all lossless groups that state none of their own.
func TestAlphasOfSeveralClasses(t *testing.T) {
	d := &qos.Device{HeadroomModel: qos.Of(qos.HeadroomModel{LosslessMTU: 1024, SmallPacketPercent: 50, Mixed: "2^-1 for class rdma on Ethernet0"})}
	got := Refusals(d, releases[len(releases)-1])
	if len(got) != 1 || got[0].Port != "" || got[0].Field != qos.KindHeadroomModel.Attr() || !strings.Contains(got[0].Why, "2^-1 for class rdma on Ethernet0") {
		t.Errorf("refused %v", got)
	}
}

func TestThresholdsThatOrchagentMisreads(t *testing.T) {
	p := &qos.Port{}
	p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 1, Max: 1 << 31})
	got := Refusals(&qos.Device{Ports: map[string]*qos.Port{"Ethernet0": p}}, releases[len(releases)-1])
	if len(got) != 1 || got[0].Port != "Ethernet0" || !strings.Contains(got[0].Why, fmt.Sprint(1<<31)) {
		t.Errorf("refused %v", got)
	}
}

// Orchagent refuses the watchdog action forward on Cisco 8000 switches, and only there: a plan does not
// write it, and a port that has it has no watchdog.
func TestForwardOnCisco8000(t *testing.T) {
	for model, refused := range map[string]bool{"Cisco-8102-C64": true, "Cisco-8122-O64": true, "DellEMC-Z9332f-O32": false, "ACS-SN5600": false, "": false, "Frobnicator": false} {
		for _, action := range actions {
			want := refused && action == qos.ActionForward
			w := qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Action: action, Detect: 400 * time.Millisecond, Restore: 400 * time.Millisecond}
			d := &qos.Device{Platform: qos.Platform{Model: model}, Ports: map[string]*qos.Port{"Ethernet0": {Watchdog: qos.Of(w)}}}
			got := Refusals(d, releases[len(releases)-1])
			if len(got) > 0 != want || want && got[0].Field != qos.KindWatchdog.Attr() {
				t.Errorf("%s, %s: refused %v", model, action, got)
			}
			cfg := Config{
				TMetadata: {"localhost": {"hwsku": model}}, TPort: {"Ethernet0": {"speed": "100000"}}, TPortQoS: {"Ethernet0": {"pfc_enable": "3", "pfcwd_sw_enable": "3"}},
				TWatchdog: {"Ethernet0": {"action": string(action), "detection_time": "400", "restoration_time": "400"}},
			}
			dev, _ := Decode(cfg)
			if on := dev.Ports["Ethernet0"].Watchdog.V.Enabled; on == want {
				t.Errorf("%s, %s: the watchdog is on: %t", model, action, on)
			}
		}
	}
}
