package validate

import (
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// The end of a link that a finding blames is the one that differs from the intent in the value that
// the finding is about, whatever else differs at the other end.
func TestEndThatDeparts(t *testing.T) {
	c := compile(t, base)
	unrelated := func(p *qos.Port) { p.Queues[0].Scheduler = qos.Of(qos.Scheduler{Weight: 7}) }
	for name, x := range map[string]struct {
		edit func(*qos.Port)
		want string
	}{
		"PFC":         {func(p *qos.Port) { p.PFC = qos.Of(qos.PrioritySet(0)) }, "PFC-01 leaf2 Ethernet0: PFC is off; on leaf1 it is on for priority 3"},
		"MTU":         {func(p *qos.Port) { p.MTU = qos.Of(1500) }, "MTU-02 leaf2 Ethernet0: its MTU is 1500 B, that of leaf1 is 9100 B: full RDMA packets (4192 B with headers) are lost"},
		"a small MTU": {func(p *qos.Port) { p.MTU = qos.Of(9050) }, "MTU-01 leaf2 Ethernet0: its MTU is 9050 B, that of leaf1 is 9100 B"},
		"trust":       {func(p *qos.Port) { p.Trust = qos.Of(qos.TrustPCP) }, "CLS-14 leaf2 Ethernet0: the port trusts pcp, on leaf1 dscp"},
		"asymmetric":  {func(p *qos.Port) { p.PFCAsymmetric = qos.Of(true) }, "PFC-08 leaf2 Ethernet0: asymmetric PFC is on, on leaf1 off"},
	} {
		run := NewRun(c.Fabric())
		for _, sw := range c.Fabric().Switches {
			d, have := c.Device(sw), c.Device(sw).Desired
			if sw.Name == "leaf2" {
				x.edit(have.Ports["Ethernet0"])
			} else {
				unrelated(have.Ports["Ethernet0"])
				have.Ports["Ethernet0"].PFCAsymmetric = qos.Of(false)
			}
			run.Add(Switch(d, have, checks.Running, &checks.State{}))
		}
		var got []string
		for _, f := range run.Findings(today) {
			got = append(got, f.ID+" "+f.Place()+": "+f.What)
		}
		if !slices.Contains(got, x.want) {
			t.Errorf("%s: found %q", name, got)
		}
	}
}

// A finding about both ends says which of them was not read.
func TestEndNotRead(t *testing.T) {
	c := compile(t, base)
	run := NewRun(c.Fabric())
	leaf2 := c.Fabric().Switch("leaf2")
	have := c.Device(leaf2).Desired
	have.Ports["Ethernet0"].PFC = qos.Of(qos.PrioritySet(0))
	run.Add(Switch(c.Device(leaf2), have, checks.Running, &checks.State{}))
	run.Assume(c.Device(c.Fabric().Switch("leaf1")))
	want := "PFC is off; on leaf1 (by the intent) it is on for priority 3"
	fs := run.Findings(today)
	if !slices.ContainsFunc(fs, func(f checks.Finding) bool { return f.ID == "PFC-01" && f.Device == "leaf2" && f.What == want }) {
		t.Errorf("found %v", fs)
	}
}

// Without an intent nobody says which switch is right: a finding names both sides and counts them.
func TestSidesWithoutIntent(t *testing.T) {
	var cs []Config
	for _, name := range []string{"leaf1", "leaf2", "leaf3"} {
		set := qos.Priorities(3)
		if name == "leaf2" {
			set = qos.Priorities(3, 4)
		}
		cs = append(cs, Config{Name: name, File: name + ".json", Text: []byte("{}"), Running: &qos.Device{Ports: map[string]*qos.Port{"Ethernet0": {PFC: qos.Of(set)}}}})
	}
	want := "PFC is on for priorities 3 and 4 on 1 of 3 switches (leaf2), and for priority 3 on 2 of 3 switches (leaf1,leaf3)"
	fs := compareConfigs(cs)
	if len(fs) != 1 || fs[0].ID != "PFC-01" || fs[0].Device != "leaf2" || fs[0].What != want {
		t.Errorf("found %+v", fs)
	}
}

// Where most switches differ from the intent, the one that is as intended is not blamed, whatever
// else of it differs.
func TestMajorityIsWrong(t *testing.T) {
	c := compile(t, closBase)
	run := NewRun(c.Fabric())
	for _, sw := range c.Fabric().Switches {
		d, have := c.Device(sw), c.Device(sw).Desired
		for _, p := range have.Ports {
			if sw.Name == "leaf3" {
				p.Queues[0].Scheduler = qos.Of(qos.Scheduler{Weight: 7})
				p.Watchdog = qos.Of(d.Desired.Ports["Ethernet0"].Watchdog.V)
				continue
			}
			if p.Maps.V != nil {
				m := *p.Maps.V
				m.DSCPToTC[26], m.DSCPToTC[48] = 0, 0
				p.Maps = qos.Of(&m)
			}
			p.Queues[3].ECN.V.Min = 300_000
			p.Watchdog.V.Detect *= 2
		}
		run.Add(Switch(d, have, checks.Running, &checks.State{}))
	}
	wrong := map[string]bool{}
	for _, f := range run.Findings(today) {
		for _, id := range []string{"CLS-01", "CLS-02", "ECN-05", "WD-05"} {
			wrong[id] = wrong[id] || f.About(id)
		}
		if f.Device == "leaf3" && f.ID != "DRIFT" && f.Severity != checks.Info {
			t.Errorf("blamed: %s %s: %s", f.ID, f.Place(), f.What)
		}
	}
	if !wrong["CLS-02"] || !wrong["ECN-05"] {
		t.Errorf("the switches that differ are not named: %v", wrong)
	}
}
