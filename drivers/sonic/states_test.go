package sonic

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// TestStates checks which states a switch is in by itself. Warm restart that is enabled for a
// restart to come changes nothing yet, and a daemon may keep a state of an earlier restart.
func TestStates(t *testing.T) {
	t.Parallel()
	enable := func(b *box) {
		b.SetDBRow("STATE_DB", "WARM_RESTART_ENABLE_TABLE", "system", map[string]string{"enable": "true"})
	}
	daemon := func(b *box, name, state string) {
		b.SetDBRow("STATE_DB", "WARM_RESTART_TABLE", name, map[string]string{"restore_count": "1", "state": state})
	}
	for name, c := range map[string]struct {
		spoil func(b *box)
		says  string // "" for no state
		is    drivers.State
	}{
		"none":                    {func(*box) {}, "", drivers.State{}},
		"warm restart is enabled": {enable, "", drivers.State{}},
		"all is reconciled":       {func(b *box) { enable(b); daemon(b, "orchagent", "reconciled"); daemon(b, "teammgrd", "") }, "", drivers.State{}},
		"an earlier restart":      {func(b *box) { daemon(b, "bgp", "restored") }, "", drivers.State{}},
		"a warm restart": {func(b *box) { enable(b); daemon(b, "orchagent", "restored"); daemon(b, "bgp", "reconciled") },
			"a warm restart has not ended: orchagent (restored)", drivers.State{Settling: true}},
		"rows are waiting": {backlog, "orchagent has not read", drivers.State{Settling: true}},
		"a storm": {func(b *box) {
			if err := b.Storm(b.ports[0], 3); err != nil {
				t.Error(err)
			}
		}, "has stopped queue 3", drivers.State{Stopped: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: known, release: "202511", dies: true})
				d := b.open()
				b.apply(d)
				c.spoil(b)
				states, err := d.States(t.Context())
				if err != nil || len(states) != min(len(c.says), 1) {
					t.Fatalf("%+v, %v", states, err)
				}
				if len(states) > 0 && (!strings.Contains(states[0].What, c.says) || states[0].Settling != c.is.Settling || states[0].Stopped != c.is.Stopped) {
					t.Errorf("%+v", states[0])
				}
			})
		})
	}
}
