package validate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// lossless3 returns a switch without faults whose ports pause priority 3.
func lossless3(ports ...string) *qos.Device {
	m := qos.UnmappedMaps()
	for d := range m.DSCPToTC {
		m.DSCPToTC[d] = int8(d / 8)
	}
	for i := range qos.NumPriorities {
		m.TCToQueue[i], m.PFCToQueue[i], m.TCToGroup[i], m.PFCToGroup[i] = int8(i), int8(i), int8(i), int8(i)
	}
	dev := &qos.Device{Ports: map[string]*qos.Port{}}
	for _, name := range ports {
		p := &qos.Port{PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9216), Trust: qos.Of(qos.TrustDSCP), Maps: qos.Of(m), LAG: qos.Of("")}
		p.Watchdog = qos.Of(qos.Watchdog{Enabled: true, Priorities: qos.Priorities(3), Detect: 400 * time.Millisecond})
		p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 1e6, Max: 3e6, Probability: 10})
		p.Queues[3].Scheduler, p.Queues[0].Scheduler = qos.Of(qos.Scheduler{Weight: 50}), qos.Of(qos.Scheduler{Weight: 50})
		dev.Ports[name] = p
	}
	return dev
}

// TestAloneNamesFaults checks that each fault of a running configuration has exactly one
// finding, with its severity.
func TestAloneNamesFaults(t *testing.T) {
	cases := []struct {
		want string
		edit func(p *qos.Port, m *qos.Maps)
	}{
		{"", func(*qos.Port, *qos.Maps) {}},
		{"error CLS-05", func(_ *qos.Port, m *qos.Maps) { m.PFCToQueue[3] = 4 }},
		{"error CLS-06", func(_ *qos.Port, m *qos.Maps) { m.PFCToGroup[3] = 4 }},
		{"error CLS-07", func(_ *qos.Port, m *qos.Maps) { m.TCToDSCP[3] = 0 }},
		{"", func(_ *qos.Port, m *qos.Maps) { m.TCToDSCP[3] = 26 }},
		{"warning CLS-03", func(_ *qos.Port, m *qos.Maps) { m.DSCPToTC[0] = 3 }},
		{"warning CLS-03", func(p *qos.Port, m *qos.Maps) {
			p.PFC.V, m.DSCPToTC[0] = qos.Priorities(0), qos.Unmapped
			p.Watchdog.V.Priorities, p.Queues[0].ECN = p.PFC.V, p.Queues[3].ECN
		}},
		{"warning CLS-18", func(_ *qos.Port, m *qos.Maps) { m.DSCPToTC[48] = 3 }},
		{"warning CLS-04", func(p *qos.Port, _ *qos.Maps) { p.Trust.V = qos.TrustPCP }},
		{"error CLS-19", func(_ *qos.Port, m *qos.Maps) {
			for d := 24; d < 32; d++ {
				m.DSCPToTC[d] = 1
			}
		}},
		{"warning CLS-19", func(p *qos.Port, m *qos.Maps) {
			p.PFC.V |= qos.Priorities(4)
			p.Watchdog.V.Priorities, p.Queues[4] = p.PFC.V, p.Queues[3]
			for d := 32; d < 40; d++ {
				m.DSCPToTC[d] = 1
			}
		}},
		{"error PFC-05", func(p *qos.Port, _ *qos.Maps) { p.LinkPause = qos.Of(true) }},
		{"error PFC-03", func(p *qos.Port, _ *qos.Maps) {
			p.Groups[3] = qos.Group{Lossless: qos.Of(false), Buffer: qos.Of("lossy")}
		}},
		{"", func(p *qos.Port, _ *qos.Maps) { p.Groups[3] = qos.Group{Lossless: qos.Of(false)} }},
		{"error PFC-04", func(p *qos.Port, _ *qos.Maps) {
			p.Groups[4] = qos.Group{Lossless: qos.Of(true), Buffer: qos.Of("mine")}
		}},
		{"error PFC-04", func(p *qos.Port, _ *qos.Maps) { // group 0 is not the group of priority 3
			p.Groups[0] = qos.Group{Lossless: qos.Of(true), Buffer: qos.Of("mine")}
		}},
		{"warning PFC-11", func(p *qos.Port, _ *qos.Maps) {
			p.Groups[3] = qos.Group{Lossless: qos.Of(true), Buffer: qos.Of("mine"), Headroom: qos.Of(qos.Headroom{XOFF: 1})}
		}},
		{"warning PFC-12", func(p *qos.Port, _ *qos.Maps) {
			p.PFC.V, p.Watchdog.V.Priorities = qos.Priorities(3, 7), qos.Priorities(3, 7)
			p.Queues[7], p.Maps.V.DSCPToTC[56] = p.Queues[3], 0
		}},
		{"error ECN-02", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].ECN.V.Min = 4e6 }},
		{"error ECN-02", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].ECN.V.Min = 3e6 }},
		{"error ECN-02", func(p *qos.Port, _ *qos.Maps) { // also for a queue that is not lossless
			p.Queues[1].ECN = qos.Of(qos.ECN{Enabled: true, Min: 2, Max: 1000, Unit: qos.Units(qos.UnitMBytes, qos.UnitKBytes)})
		}},
		{"", func(p *qos.Port, _ *qos.Maps) {
			p.Queues[3].ECN = qos.Of(qos.ECN{Enabled: true, Min: 500, Max: 3, Unit: qos.Units(qos.UnitKBytes, qos.UnitMBytes), Probability: 5})
		}},
		{"error ECN-08", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].ECN.V = qos.ECN{Drops: true} }},
		{"error ECN-09", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].ECN.V.Enabled = false }},
		{"warning ECN-01", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].ECN.V = qos.ECN{} }},
		{"warning ECN-03", func(p *qos.Port, _ *qos.Maps) {
			p.Groups[3].Headroom = qos.Of(qos.Headroom{Static: true, Threshold: 500000})
		}},
		{"warning SCH-02", func(p *qos.Port, m *qos.Maps) {
			p.Queues[5].Scheduler, m.DSCPToTC[0] = qos.Of(qos.Scheduler{Strict: true}), 5
		}},
		{"", func(p *qos.Port, _ *qos.Maps) { p.Queues[6].Scheduler = qos.Of(qos.Scheduler{Strict: true}) }},
		{"warning SCH-03", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].Scheduler.V.Weight = 1 }},
		{"warning SCH-07", func(p *qos.Port, _ *qos.Maps) { p.Queues[3].Scheduler.V.Weight = 0 }},
		{"warning MTU-02", func(p *qos.Port, _ *qos.Maps) { p.MTU.V = 1500 }},
		{"warning WD-01", func(p *qos.Port, _ *qos.Maps) { p.Watchdog.V.Enabled = false }},
		{"warning WD-03", func(p *qos.Port, _ *qos.Maps) { p.Watchdog.V.Priorities = qos.Priorities(4) }},
		{"warning WD-05", func(p *qos.Port, _ *qos.Maps) { p.Watchdog.V.Detect = 2 * time.Second }},
	}
	for i, c := range cases {
		dev := lossless3("Ethernet1")
		c.edit(dev.Ports["Ethernet1"], dev.Ports["Ethernet1"].Maps.V)
		var have []string
		for _, f := range Alone([]Config{{Name: "leaf1", File: "x.cfg", Text: []byte("interface Ethernet1\n"), Running: dev}}) {
			have = append(have, string(f.Severity)+" "+f.ID)
			if f.Where != "x.cfg:1" || f.Fix == "" || strings.Contains(f.Fix, "intent") || !MadeAlone(f.ID) {
				t.Errorf("case %d: %s at %q, made %t, fix %q", i, f.ID, f.Where, MadeAlone(f.ID), f.Fix)
			}
		}
		if got := strings.Join(have, ", "); got != c.want {
			t.Errorf("case %d: %q, not %q", i, got, c.want)
		}
	}
}

// TestAloneCountsLosslessClasses checks that two more lossless classes between switches, for
// remapped traffic, are accepted, and that a priority without a group does not count.
func TestAloneCountsLosslessClasses(t *testing.T) {
	dev := lossless3("Ethernet1", "Ethernet2")
	more := func(p *qos.Port, prios ...int) {
		p.PFC.V |= qos.Priorities(prios...)
		p.Watchdog.V.Priorities = p.PFC.V
		for _, n := range prios {
			p.Queues[n] = p.Queues[3]
		}
	}
	ids := func() (out []string) {
		for _, f := range Alone([]Config{{Name: "leaf1", File: "x.cfg", Running: dev}}) {
			out = append(out, fmt.Sprint(f.ID, f.Ports))
		}
		return out
	}
	more(dev.Ports["Ethernet1"], 2, 4, 5)
	if got := ids(); len(got) > 0 {
		t.Error(got)
	}
	more(dev.Ports["Ethernet2"], 2, 4)
	if got := fmt.Sprint(ids()); got != "[PFC-06[Ethernet1] PFC-06[Ethernet2]]" {
		t.Error(got)
	}
	dev.Ports["Ethernet1"].PFC.V &^= qos.Priorities(5)
	for _, p := range dev.Ports {
		p.Groups[2] = qos.Group{Buffer: qos.Of("lossy"), Lossless: qos.Of(false)}
	}
	if got := fmt.Sprint(ids()); got != "[PFC-03[Ethernet1 Ethernet2]]" {
		t.Error(got)
	}
}

// TestAloneReadsTheAccount checks that a finding names the line that sets the value, that equal
// failing lines of several ports are one finding, and that all lines not understood are one
// finding.
func TestAloneReadsTheAccount(t *testing.T) {
	dev := lossless3("Ethernet1", "Ethernet2")
	dev.Ports["Ethernet1"].MTU.V, dev.Ports["Ethernet2"].MTU.V = 1500, 1500
	text := "interface Ethernet1\n   mtu 1500\ninterface Ethernet2\n"
	account := []render.Line{
		{No: 9, Where: "interface defaults", Text: "mtu 1500", Fate: render.Represented, Ports: []string{"Ethernet1", "Ethernet2"}, Attrs: []qos.Attr{qos.KindMTU.Attr()}},
		{No: 20, Where: "interface Ethernet1", Text: "watchdog on", Fate: render.Inert, Why: "it does nothing", Check: "WD-06"},
		{No: 30, Where: "interface Ethernet2", Text: "watchdog on", Fate: render.Inert, Why: "it does nothing", Check: "WD-06"},
		{No: 40, Text: "one", Fate: render.Unknown}, {No: 41, Text: "two", Fate: render.Unknown},
		{No: 50, Text: "x", Fate: render.Inert, Check: "no check"},
	}
	var have []string
	for _, f := range Alone([]Config{{Name: "leaf1", File: "x.cfg", Text: []byte(text), Running: dev, Account: account}}) {
		have = append(have, fmt.Sprint(f.ID, " ", f.Ports, " ", f.Where, " ", f.Unchecked))
	}
	want := []string{"MTU-02 [Ethernet1 Ethernet2] x.cfg:9 ", "WD-06 [Ethernet1 Ethernet2] x.cfg:20 ", "UNKNOWN [] x.cfg some QoS lines"}
	if !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
}

// TestAloneComparesFiles checks that configurations are compared with each other, and that
// there is no finding if all switches have ports with the same set, whatever other ports do.
func TestAloneComparesFiles(t *testing.T) {
	ids := func(devices ...*qos.Device) string {
		var cs []Config
		for i, d := range devices {
			cs = append(cs, Config{Name: fmt.Sprintf("leaf%d", i+1), File: "x.cfg", Running: d})
		}
		var out []string
		for _, f := range Alone(cs) {
			out = append(out, f.Device+" "+f.ID)
		}
		return strings.Join(out, ", ")
	}
	other := func() *qos.Device {
		d := lossless3("Ethernet1")
		p := d.Ports["Ethernet1"]
		p.PFC.V, p.Watchdog.V.Priorities, p.Queues[4] = qos.Priorities(4), qos.Priorities(4), p.Queues[3]
		return d
	}
	if got := ids(lossless3("Ethernet1"), lossless3("Ethernet1"), other()); got != "leaf3 PFC-01" {
		t.Error(got)
	}
	both := other()
	both.Ports["Ethernet2"] = lossless3("Ethernet2").Ports["Ethernet2"]
	if got := ids(lossless3("Ethernet1"), both); got != "" {
		t.Error(got)
	}
	moved := lossless3("Ethernet1")
	moved.Ports["Ethernet1"].Maps.V.DSCPToTC[26] = 1
	if got := ids(lossless3("Ethernet1"), moved, lossless3("Ethernet1")); got != "leaf2 CLS-01" {
		t.Error(got)
	}
}

// FuzzAlone checks that no file makes the checks panic, and that places are lines of the file.
func FuzzAlone(f *testing.F) {
	f.Add("interface Ethernet1\n  priority-flow-control mode on\n  service-policy type queuing output OUT\nsystem qos\n  service-policy type network-qos N\npolicy-map type network-qos N\n  class x\n    pause pfc-cos 3\n")
	f.Add("qos profile R\n\tpriority-flow-control priority 3 no-drop\n interface Ethernet1\ninterface Ethernet1\n service-profile R\nqos map traffic-class 3 to dscp 99\n")
	f.Add("{\"PORT\": {}}")
	f.Add("policy-map \xff\n random-detect\n")
	f.Fuzz(func(t *testing.T, text string) {
		dev := lossless3("Ethernet1", "Ethernet2")
		dev.Ports["Ethernet1"].PFC.V, dev.Ports["Ethernet2"].MTU.V = 0, 1500
		for _, found := range Alone([]Config{{Name: "a", File: "x", Text: []byte(text), Running: dev}}) {
			var no int
			if n, _ := fmt.Sscanf(found.Where, "x:%d", &no); n == 1 && (no < 1 || no > strings.Count(text, "\n")+1) {
				t.Errorf("%s at %s of %q", found.ID, found.Where, text)
			}
		}
	})
}
