package local_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// A setting that another program changes back is reported once, with its new value, and no other
// setting is. Watch stops when the context ends.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: {Name: ens0, PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9000), ToS: qos.Of(106)}}}
		for rival, found := range map[string][]string{"": nil, "pfc": {"0x10 {4} 0x08 {3}"}} {
			h := newHost(t, mlx5(true))
			m := h.Machine()
			steps := m.Plan(read(t, m, ens0), want, local.Options{CutOff: true})
			if rival != "" {
				h.Rival(ens0, 2, func(s *dcb.State) { s.PFC.Enabled = qos.Priorities(4) })
			}
			if _, err := m.Apply(t.Context(), steps, nil); err != nil {
				t.Fatal(err)
			}
			// Settings that no step wrote are not reported.
			only := want.Ports[ens0]
			only.Trust = qos.Of(qos.TrustDSCP)
			got, err := m.Watch(t.Context(), want, steps)
			var said []string
			for _, c := range got {
				said = append(said, c.Old+" "+c.New)
			}
			if err != nil || !slices.Equal(said, found) {
				t.Errorf("%q: %q, %v", rival, said, err)
			}
			only.Trust = qos.Opt[qos.Trust]{}
		}
		// A value that a driver reports only for a moment is not taken for a change.
		h := newHost(t, mlx5(true))
		m := h.Machine()
		if _, err := m.Apply(t.Context(), m.Plan(read(t, m, ens0), want, local.Options{CutOff: true}), nil); err != nil {
			t.Fatal(err)
		}
		steps := []local.Step{{Port: ens0, Field: nic.FieldMTU, Driver: nic.DriverMLX5}}
		h.Put("class/net/"+ens0+"/mtu", "1500\n")
		h.OnRead("/"+ens0+"/mtu", func() {
			h.OnRead("/"+ens0+"/carrier_changes", func() { h.Put("class/net/"+ens0+"/mtu", "9000\n") })
		})
		if got, err := m.Watch(t.Context(), want, steps); err != nil || len(got) > 0 {
			t.Errorf("for a moment: %+v, %v", got, err)
		}
		h = newHost(t, mlx5(true))
		m = h.Machine()
		m.Stay = 1 << 40
		steps = m.Plan(read(t, m, ens0), want, local.Options{CutOff: true})
		ctx, cancel := context.WithCancel(t.Context())
		h.OnRead("/"+ens0+"/mtu", cancel)
		if _, err := m.Watch(ctx, want, steps); !errors.Is(err, context.Canceled) {
			t.Errorf("a watch that is cancelled: %v", err)
		}
	})
}
