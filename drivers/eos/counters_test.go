package eos

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Both transports return the same counters. Marks are counted where the switch is configured to
// count them, and a queue that was never stuck has the value 0.
func TestCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi, setup: "interface Ethernet1/1\n   uc-tx-queue 3\n      random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 10\n      random-detect ecn count\n"})
			d := b.Open()
			b.Counters().Set("Ethernet1/1", 3, sim.ECNMarked, 7)
			b.Counters().Set("Ethernet1/1", 3, sim.WDStuck, 2)
			b.Counters().Set("Ethernet1/1", 0, sim.RxErrors, 5)
			b.Counters().Set("Ethernet1/1", 0, sim.SymbolErrors, 6)
			c, err := d.Counters(t.Context(), []string{"Ethernet1/1", "Ethernet2/1", "Ethernet99/1"})
			if err != nil {
				t.Fatal(err)
			}
			one, two := c.Ports["Ethernet1/1"], c.Ports["Ethernet2/1"]
			if one[drivers.QueueMarked.Of(3)] != 7 || one[drivers.StormsDetected.Of(3)] != 2 || len(c.Ports) != 2 {
				t.Errorf("gnmi %v: %v", gnmi, c.Ports)
			}
			if !gnmi && (one[drivers.ErrorsRx.Of(0)] != 5 || one[drivers.SymbolErrors.Of(0)] != 6) {
				t.Errorf("errors: %v", one)
			}
			if n, ok := two[drivers.StormsDetected.Of(3)]; !ok || n != 0 {
				t.Errorf("gnmi %v: storms are %d (%v)", gnmi, n, ok)
			}
			if _, ok := two[drivers.QueueMarked.Of(3)]; ok || c.Poll[drivers.QueueDrops] != lines.CounterAge {
				t.Errorf("gnmi %v: %v, renewed %v", gnmi, two, c.Poll)
			}
			if _, ok := two[drivers.GroupDrops.Of(3)]; ok {
				t.Error("EOS shows no drops of priority groups")
			}
		}
	})
}

// A queue is in a storm as long as the watchdog has counted fewer ends than beginnings.
func TestStorms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi})
			d := b.Open()
			b.Counters().Set("Ethernet1/1", 3, sim.WDStuck, 2)
			for ended, want := range []int{1, 1, 0, 0} { // the last one was cleared in between
				b.Counters().Set("Ethernet1/1", 3, sim.WDRecovery, uint64(ended))
				o, err := d.Observe(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				states := o.States()
				if len(states) != want {
					t.Errorf("gnmi %v, %d ended: %+v", gnmi, ended, states)
				}
				if want > 0 && (states[0].Port != "Ethernet1/1" || states[0].Stopped || !strings.Contains(states[0].What, "queue 3")) {
					t.Errorf("gnmi %v: %+v", gnmi, states[0])
				}
			}
		}
	})
}

// A counter whose command the release lacks is not set.
func TestCountersNotShown(t *testing.T) {
	o := drivers.Observation{}
	for _, s := range countShows() {
		if s.cmd == watchdogShow {
			continue
		}
		if err := s.into([]byte(`{"interfaces":{"Ethernet1/1":{"priorities":{"3":{"rxFrames":1}}}}}`), &o); err != nil {
			t.Error(err)
		}
	}
	c := drivers.CountersOf(&o, nil, lines.CounterAge)
	if _, ok := c.Ports["Ethernet1/1"][drivers.StormsDetected.Of(3)]; ok || c.Ports["Ethernet1/1"][drivers.PFCRx.Of(3)] != 1 {
		t.Errorf("%v", c.Ports)
	}
	if cmds := countShows(); cmds[len(cmds)-1].cmd != watchdogShow || len(cmds) != len(counterShows)+1 {
		t.Errorf("%d commands", len(cmds))
	}
}

// Unsaved names the unsaved sections.
func TestUnsaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gnmi := range []bool{false, true} {
			b := newBox(t, boxOptions{gnmi: gnmi})
			drivertest.NamesUnsaved(b.LineBox, b.Open(), "interface Ethernet2/1\n   mtu 4000\nqos map dscp 26 to traffic-class 4\n", "interface Ethernet2/1", "qos map")
		}
	})
}

// The active FEC is shown only for ports that are up.
func TestFEC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{})
		b.SetFEC("Ethernet2/1", "fc")
		b.SetFEC("Ethernet3/1", "none")
		b.Unplug("Ethernet4/1", true)
		o, err := b.Open().Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for port, want := range map[string]qos.Opt[string]{"Ethernet1/1": qos.Of("rs"), "Ethernet2/1": qos.Of("fc"), "Ethernet3/1": qos.Of("none"), "Ethernet4/1": {}} {
			if p := o.Ports[port]; p == nil || p.FEC != want {
				t.Errorf("%s: %+v, want %v", port, p, want)
			}
		}
	})
}
