package sonic

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Objects that ports outside of the intent use stay unchanged for them: the intent's ports are
// bound to another object, and a switch-wide row that the intent does not need stays. The plan
// names the other users. With globals: own both are changed in place.
func TestObjectsOfOtherPortsStayUnchanged(t *testing.T) {
	type tables = map[string]map[string]map[string]string
	outside := []string{"Ethernet32", "Ethernet40", "Ethernet48", "Ethernet56"}
	alter := func(cfg tables, table, key string, row map[string]string) {
		r := maps.Clone(cfg[table][key])
		maps.Copy(r, row)
		cfg[table][key] = r
	}
	const four = "4 ports that the intent does not name: Ethernet[32-56:8]"
	for name, c := range map[string]struct {
		edit     func(tables)
		owns     bool
		say, not []string
		inPlace  bool // the map of the template is changed
		global   bool // the global row follows the intent
	}{
		"as it comes": {say: []string{"DSCP_TO_TC_MAP|AZURE, TC_TO_PRIORITY_GROUP_MAP|AZURE", "WRED_PROFILE|AZURE_LOSSLESS stay as they are and other objects are bound, because of " + four}, global: true},
		"shut": {edit: func(cfg tables) {
			for _, port := range outside {
				alter(cfg, native.TPort, port, map[string]string{"admin_status": "down"})
			}
		}, not: []string{"stays as it is"}, inPlace: true, global: true},
		"a port with the map of the switch": {edit: func(cfg tables) { delete(cfg[native.TPortQoS], "Ethernet56") },
			say: []string{"PORT_QOS_MAP|global stays as it is, because of 1 port that the intent does not name: Ethernet56"}},
		"globals own": {owns: true, say: []string{"the change of DSCP_TO_TC_MAP|AZURE, ", " also concerns " + four}, not: []string{"as it is", "as they are"}, inPlace: true, global: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: "ACS-MSN4700", release: "202511", ssh: true, edit: func(cfg tables) {
					if c.edit != nil {
						c.edit(cfg)
					}
				}})
				b.desired.OwnsGlobals = c.owns
				before, _ := native.Decode(b.config())
				_, st := b.apply(b.open())
				said := strings.Join(st.Notes, "\n")
				for _, say := range c.say {
					if strings.Count(said, say) != 1 {
						t.Errorf("notes do not say %q once: %s", say, said)
					}
				}
				for _, say := range c.not {
					if strings.Contains(said, say) {
						t.Errorf("notes say %q: %s", say, said)
					}
				}
				cfg := b.config()
				after, _ := native.Decode(cfg)
				if others := qos.Others(before, after, b.desired); len(others) > 0 {
					t.Errorf("%v behave otherwise", others)
				}
				if got := cfg.Row(native.TPortQoS, b.ports[0])["dscp_to_tc_map"] == "AZURE"; got != c.inPlace {
					t.Errorf("in place: %v", got)
				}
				global := cfg.Row(native.TDSCPToTC, cfg.Row(native.TPortQoS, "global")["dscp_to_tc_map"])["26"] == "3"
				if global != c.global {
					t.Errorf("the row of the switch follows the intent: %v", global)
				}
				if c.owns && st.Impact() < qos.ImpactLoss {
					t.Errorf("the impact is %s", st.Impact())
				}
				if _, again := b.plan(b.open()); len(again.Changes) > 0 {
					t.Errorf("still to do: %v", again.Changes)
				}
			})
		})
	}
}

// A switch without a port in the intent is not changed at all.
func TestSwitchOutsideTheIntentIsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: "ACS-MSN4700", release: "202511"})
		b.desired.Ports = map[string]*qos.Port{}
		b.desired.OwnsGlobals = true
		if _, st := b.plan(b.open()); len(st.Changes)+len(st.Items) > 0 {
			t.Errorf("%v %v", st.Changes, st.Items)
		}
	})
}
