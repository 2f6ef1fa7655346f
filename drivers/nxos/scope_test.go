package nxos

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// theirs is a network-qos policy and a watchdog that ports outside the intent use.
const theirs = `priority-flow-control watch-dog-interval on
priority-flow-control watch-dog interval 500
class-map type qos match-any STORAGE
  match dscp 40
policy-map type qos STORAGE-IN
  class STORAGE
    set qos-group 5
policy-map type network-qos STORAGE-NQ
  class type network-qos c-8q-nq5
    mtu 9216
    pause pfc-cos 5
system qos
  service-policy type network-qos STORAGE-NQ
interface Ethernet1/7-8
  mtu 9216
  priority-flow-control mode on
  priority-flow-control watch-dog-interval on
  service-policy type qos input STORAGE-IN
`

// typed returns the lines that a plan types.
func typed(st *drivers.Steps) string {
	var all []string
	for _, s := range st.Items {
		all = append(all, s.Lines...)
	}
	return strings.Join(all, "\n")
}

// Shared settings are changed only if no port outside the intent depends on them, or if the
// intent owns the globals.
func TestScopeOfWhatPortsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: theirs})
		d := b.Open()
		_, st := b.Plan(d)
		blocked := map[qos.Kind]bool{}
		for _, c := range st.Blocked() {
			blocked[c.Field.Kind] = true
			if !strings.Contains(c.Blocked, "Ethernet1/7,Ethernet1/8, not in the intent") || !strings.Contains(c.Blocked, "globals: own") {
				t.Errorf("%s: %s", c.Path(), c.Blocked)
			}
		}
		if blocked[qos.KindPFC] || !blocked[qos.KindWatchdogPoll] || blocked[qos.KindECN] || blocked[qos.KindScheduler] {
			t.Errorf("blocked are %v", st.Blocked())
		}
		for _, line := range []string{"watch-dog interval", "shutdown-multiplier", "auto-restore"} {
			if strings.Contains(typed(st), line) {
				t.Errorf("the plan types %q:\n%s", line, typed(st))
			}
		}
		// The policy that replaces theirs also pauses their priority.
		for _, line := range []string{"pause pfc-cos 3", "pause pfc-cos 5"} {
			if !strings.Contains(typed(st), line) {
				t.Errorf("the plan does not type %q:\n%s", line, typed(st))
			}
		}
		b.Desired.OwnsGlobals = true
		_, st = b.Plan(d)
		if len(st.Blocked()) > 0 || strings.Contains(typed(st), "pause pfc-cos 5") || !strings.Contains(typed(st), "watch-dog interval 200") {
			t.Errorf("with globals: own %v is blocked, typed is\n%s", st.Blocked(), typed(st))
		}
	})
}

// A group that others use for another priority is not reassigned.
func TestScopeOfAGroupInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: strings.NewReplacer("nq5", "nq3", "qos-group 5", "qos-group 3", "priority-flow-control watch-dog interval 500\n", "").Replace(theirs)})
		b.Desired.WatchdogPoll = qos.Opt[time.Duration]{}
		_, st := b.Plan(b.Open())
		pfc := drivertest.Find(st, "ports[Ethernet1/1].pfc")
		if pfc == nil || !strings.Contains(pfc.Blocked, "network-qos policy") || strings.Contains(typed(st), "network-qos") {
			t.Errorf("%+v, typed\n%s", pfc, typed(st))
		}
	})
}

// Only the watchdog changes are blocked if the timers are the only conflict.
func TestScopeOfTheWatchdogAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: strings.NewReplacer("nq5", "nq3", "pfc-cos 5", "pfc-cos 3", "qos-group 5", "qos-group 3").Replace(theirs)})
		d := b.Open()
		_, st := b.Plan(d)
		for _, c := range st.Blocked() {
			if k := c.Field.Kind; k != qos.KindWatchdog && k != qos.KindWatchdogPoll || !strings.Contains(c.Blocked, "PFC watchdog of the switch") {
				t.Errorf("%s: %s", c.Path(), c.Blocked)
			}
		}
		if len(st.Blocked()) == 0 || !strings.Contains(typed(st), "priority-flow-control mode on") || strings.Contains(typed(st), "watch-dog interval") {
			t.Errorf("blocked %v, typed\n%s", st.Blocked(), typed(st))
		}
	})
}

// Ports that are down do not block changes of shared settings.
func TestScopeWithoutPortsThatAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{setup: theirs + "  shutdown\n"})
		d := b.Open()
		if _, st := b.Plan(d); len(st.Blocked()) > 0 {
			t.Errorf("blocked: %v", st.Blocked())
		}
	})
}

// A switch without ports in the intent is left unchanged.
func TestSwitchWithoutPortsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, setup := range map[string]string{"with QoS": theirs, "without QoS": ""} {
			b := newBox(t, boxOptions{setup: setup})
			none := compile(t, fabric())
			none.Ports = nil
			none.WatchdogPoll = qos.Opt[time.Duration]{}
			b.Desired = none
			if _, st := b.Plan(b.Open()); len(st.Changes) > 0 || len(st.Items) > 0 {
				t.Errorf("%s: changes %v", name, st.Changes)
			}
		}
	})
}

// Removing ECN in a form that the model does not represent is a change with an impact, and such ECN
// stays if the intent does not state ECN.
func TestMarkingIsNotRemovedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst = `policy-map type queuing BURST
  class type queuing c-out-8q-q3
    random-detect threshold burst-optimized ecn
interface Ethernet1/1-4
  service-policy type queuing output BURST
`
		b := newBox(t, boxOptions{setup: burst})
		d := b.Open()
		b.with(ports[0], func(p *qos.Port) { p.Queues[3].ECN = qos.Of(qos.ECN{}) })
		_, st := b.Plan(d)
		if c := drivertest.Find(st, "ports[Ethernet1/1].queues[3].ecn"); c == nil || c.Impact < qos.ImpactLoss || !strings.Contains(c.Old, "burst-optimized") {
			t.Errorf("%+v", c)
		}
		for _, name := range ports[:4] {
			b.with(name, func(p *qos.Port) { p.Queues[3].ECN = qos.Opt[qos.ECN]{} })
		}
		_, st = b.Plan(d)
		if text := typed(st); strings.Contains(text, "random-detect") && !strings.Contains(text, "random-detect threshold burst-optimized ecn") {
			t.Errorf("typed is\n%s", text)
		}
	})
}
