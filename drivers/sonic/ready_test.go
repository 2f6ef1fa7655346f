package sonic

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// TestReady: over SSH it is visible whether orchagent and the other daemons run, over gNMI which
// rows wait for orchagent.
func TestReady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o     boxOptions
		spoil func(b *box)
		sure  bool
		ready bool
	}{
		"gnmi alone":                    {o: boxOptions{}, ready: true},
		"with ssh":                      {o: boxOptions{ssh: true}, sure: true, ready: true},
		"direct":                        {o: boxOptions{direct: true}, sure: true, ready: true},
		"ssh, without orchagent":        {o: boxOptions{ssh: true}, spoil: func(b *box) { b.Kill(simsonic.Orchagent) }},
		"direct, without orchagent":     {o: boxOptions{direct: true}, spoil: func(b *box) { b.Kill(simsonic.Orchagent) }},
		"ssh, without buffermgrd":       {o: boxOptions{ssh: true}, spoil: func(b *box) { b.Kill("buffermgrd") }},
		"gnmi, orchagent reads no rows": {o: boxOptions{}, spoil: backlog},
		"ssh, orchagent reads no rows": {o: boxOptions{ssh: true}, spoil: func(b *box) {
			b.SetDBRow("APPL_DB", "_BUFFER_PG_TABLE", b.ports[0]+":3", map[string]string{"profile": "x"})
		}},
		"an image without sonic-db-cli":  {o: boxOptions{ssh: true, lacks: []string{"sonic-db-cli"}}, ready: true},
		"an image without process lists": {o: boxOptions{ssh: true, lacks: []string{"pgrep"}}, sure: true, ready: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c.o.model, c.o.release, c.o.dies = known, "202511", true
				b := newBox(t, c.o)
				if c.spoil != nil {
					c.spoil(b)
				}
				sure, err := b.open().Ready(t.Context())
				if (err == nil) != c.ready || err != nil && !errors.Is(err, drivers.ErrNotReady) || err == nil && sure != c.sure {
					t.Errorf("sure %v, error %v", sure, err)
				}
			})
		})
	}
}

// backlog kills orchagent and makes portmgrd write a row for it.
func backlog(b *box) {
	b.Kill(simsonic.Orchagent)
	row := b.Config()["PORT"][b.ports[0]]
	row["mtu"] = "9000"
	b.SetRow("PORT", b.ports[0], row)
}

// TestNoPortGoesDownForNothing: gNMI alone does not show whether orchagent runs. The first step,
// which writes maps and profiles, finds out before a port goes down.
func TestNoPortGoesDownForNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", dies: true})
		was := string(b.state())
		b.Kill(simsonic.Orchagent)
		d := b.open()
		snap, st := b.plan(d)
		tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "test"})
		if !errors.Is(err, drivers.ErrNotReady) || !errors.Is(err, drivers.ErrPartial) {
			t.Errorf("applied: %v", err)
		}
		if err := d.Revert(t.Context(), tok); err != nil || string(b.state()) != was {
			t.Errorf("reverted to something else: %v", err)
		}
		if n := b.Flaps(); len(n) > 0 || len(b.Config()[native.TPort]) == 0 {
			t.Errorf("down for nothing: %v", n)
		}
	})
}
