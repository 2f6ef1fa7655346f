package sonic

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// An object that ports outside of the intent use changes for them as well: the
// plan names them, and moving their traffic must be allowed explicitly.
func TestPlanSaysWhomASharedObjectConcerns(t *testing.T) {
	type tables = map[string]map[string]map[string]string
	outside := []string{"Ethernet32", "Ethernet40", "Ethernet48", "Ethernet56"}
	each := func(do func(cfg tables, port string)) func(tables) {
		return func(cfg tables) {
			for _, port := range outside {
				do(cfg, port)
			}
		}
	}
	// theirs gives a port a row of its own with other names.
	theirs := func(cfg tables, table, key string, row map[string]string) {
		r := maps.Clone(cfg[table][key])
		maps.Copy(r, row)
		cfg[table][key] = r
	}
	ownMaps := each(func(cfg tables, port string) {
		own := map[string]string{}
		for field, table := range map[string]string{
			"dscp_to_tc_map": native.TDSCPToTC, "tc_to_queue_map": native.TTCToQueue, "tc_to_pg_map": native.TTCToGroup,
			"pfc_to_queue_map": native.TPFCToQueue, "pfc_to_pg_map": native.TPFCToGroup,
		} {
			if cfg[table]["AZURE"] != nil {
				cfg[table]["THEIRS"], own[field] = cfg[table]["AZURE"], "THEIRS"
			}
		}
		theirs(cfg, native.TPortQoS, port, own)
	})
	for _, c := range []struct {
		name     string
		edit     func(tables)
		say, not []string
		loss     bool
	}{
		{"as it comes", func(tables) {}, []string{"DSCP_TO_TC_MAP|AZURE", "WRED_PROFILE|AZURE_LOSSLESS", "4 ports that the intent does not name: Ethernet[32-56:8]"}, nil, true},
		{"shut", each(func(cfg tables, port string) {
			theirs(cfg, native.TPort, port, map[string]string{"admin_status": "down"})
		}),
			[]string{"DSCP_TO_TC_MAP|AZURE"}, nil, false},
		{"maps of their own", ownMaps, []string{"the change of WRED_PROFILE|AZURE_LOSSLESS also concerns 4 ports"}, []string{"_MAP|"}, false},
		{"the map of the switch", func(cfg tables) {
			ownMaps(cfg)
			delete(cfg[native.TPortQoS], "Ethernet56")
		}, []string{"the change of DSCP_TO_TC_MAP|AZURE also concerns 1 port that the intent does not name: Ethernet56"}, nil, true},
		{"the row of the switch", func(cfg tables) {
			ownMaps(cfg)
			delete(cfg[native.TPortQoS], "Ethernet56")
			delete(cfg[native.TPortQoS], "global")
		}, []string{"the change of PORT_QOS_MAP|global also concerns 1 port that the intent does not name: Ethernet56"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t, boxOptions{model: "ACS-MSN4700", release: "202511", ssh: true, edit: func(cfg tables) {
				// Between the map as it is and as it will be, lossy traffic alone moves.
				theirs(cfg, native.TDSCPToTC, "AZURE", map[string]string{"3": "1", "4": "1", "26": "3"})
				c.edit(cfg)
			}})
			_, st := b.plan(b.open())
			said := strings.Join(st.Notes, "\n")
			for _, say := range c.say {
				if !strings.Contains(said, say) {
					t.Errorf("notes do not say %q: %s", say, said)
				}
			}
			for _, say := range c.not {
				if strings.Contains(said, say) {
					t.Errorf("notes say %q: %s", say, said)
				}
			}
			loss := slices.ContainsFunc(st.Changes, func(c qos.Change) bool {
				return strings.HasSuffix(c.Field.String(), "maps.dscp_to_tc") && c.Impact == qos.ImpactLoss
			})
			if loss != c.loss {
				t.Errorf("traffic-loss of a map: %v, want %v: %+v", loss, c.loss, st.Changes)
			}
		})
	}
}
