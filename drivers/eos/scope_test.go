package eos

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// Shared settings are changed only if no active port outside the intent would behave differently.
func TestScopeOfWhatAllPortsShare(t *testing.T) {
	const cos = "interface Ethernet5/1\nqos trust cos\ninterface Ethernet6/1\nqos trust cos\ninterface Ethernet7/1\nqos trust cos\ninterface Ethernet8/1\nqos trust cos\n"
	const shut = "interface Ethernet5/1-8/1\nshutdown\n"
	const pfc = "interface Ethernet7/1\npriority-flow-control on\npriority-flow-control priority 3 no-drop\n"
	for _, c := range []struct {
		name, setup string
		own         bool
		blocked     string // path of the blocked change; typed and not are texts that the lines must and must not contain
		typed, not  []string
	}{
		{"others trust DSCP", "", false, "global_maps.dscp_to_tc", []string{watch + "timeout 0.4"}, []string{"qos map"}},
		{"they do, and the globals are owned", "", true, "", []string{"qos map dscp", watch + "timeout 0.4"}, nil},
		{"they are shut", shut, false, "", []string{"qos map dscp"}, nil},
		{"they trust CoS", cos, false, "", []string{"qos map dscp"}, []string{"qos map cos"}},
		{"they have PFC", cos + pfc, false, "", []string{"qos map dscp", "watchdog port timer timeout 0.4", "watchdog port action drop"}, []string{watch + "timeout"}},
		{"PFC is off everywhere", cos + pfc + "priority-flow-control all off\n", false, "ports[Ethernet1/1].pfc", nil, []string{"no priority-flow-control all off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, setup: c.setup, shared: !c.own})
				_, st := b.Plan(b.Open())
				typed := ""
				for _, i := range st.Items {
					typed += strings.Join(i.Lines, "\n") + "\n"
				}
				for _, l := range c.typed {
					if !strings.Contains(typed, l) {
						t.Errorf("no %q in\n%s", l, typed)
					}
				}
				for _, l := range c.not {
					if strings.Contains(typed, l) {
						t.Errorf("%q in\n%s", l, typed)
					}
				}
				if c.blocked == "" {
					if n := st.Blocked(); len(n) > 0 {
						t.Errorf("blocked: %v", n)
					}
				} else if ch := drivertest.Find(st, c.blocked); ch == nil || !names7.MatchString(ch.Blocked) || !strings.Contains(ch.Blocked, "globals: own") {
					t.Errorf("%+v", ch)
				}
			})
		})
	}
}

// names7 matches Ethernet7/1, alone or in a range.
var names7 = regexp.MustCompile(`Ethernet(7|\[5-8\])/1`)

const watch = "priority-flow-control pause watchdog default "

// Settings that the ports of the intent do not need are not in the plan.
func TestScopeLeavesOutWhatIsNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, shared: true,
			setup: "interface Ethernet5/1-8/1\nqos trust cos\nqos map cos 3 to traffic-class 5\n"})
		m := *b.Desired.GlobalMaps.V
		m.PCPToTC[3] = 3
		b.Desired.GlobalMaps = qos.Of(&m)
		_, st := b.Plan(b.Open())
		if c := drivertest.Find(st, "global_maps.pcp_to_tc"); c != nil || len(st.Blocked()) > 0 {
			t.Errorf("%+v, %v", c, st.Blocked())
		}
		if !strings.Contains(notes(st), "the CoS map of the switch stays") || !strings.Contains(notes(st), "globals: own") {
			t.Error(notes(st))
		}
	})
}

// A switch without a managed port gets no change at all.
func TestNoManagedPortNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, own := range []bool{false, true} {
			b := newBox(t, boxOptions{Options: simeos.Options{Model: strata}, shared: !own})
			b.Desired.Ports = map[string]*qos.Port{}
			if _, st := b.Plan(b.Open()); len(st.Changes) > 0 || len(st.Items) > 0 {
				t.Errorf("%v %v", st.Changes, st.Items)
			}
		}
	})
}
