package local_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

func TestRings(t *testing.T) {
	for _, tt := range []struct {
		name       string
		port       localtest.Port
		want       nic.Rings
		rings      nic.Rings
		blocked    string
		impossible bool
	}{
		{"both", mlx5(false), nic.Rings{RX: 8192, TX: 4096}, nic.Rings{RX: 8192, TX: 4096, MaxRX: 8192, MaxTX: 8192}, "", false},
		{"one", mlx5(false), nic.Rings{RX: 8192}, nic.Rings{RX: 8192, TX: 1024, MaxRX: 8192, MaxTX: 8192}, "", false},
		{"mlx5 rounds up", mlx5(false), nic.Rings{RX: 3000}, nic.Rings{RX: 4096, TX: 1024, MaxRX: 8192, MaxTX: 8192}, "", false},
		{"ice rounds up", localtest.Port{Name: ens0, RDMA: "irdma0", PCI: pci0, Driver: nic.DriverICE}, nic.Rings{TX: 2000}, nic.Rings{RX: 1024, TX: 2016, MaxRX: 8192, MaxTX: 8192}, "", false},
		{"bnxt takes any", bnxt(""), nic.Rings{TX: 2047}, nic.Rings{RX: 1024, TX: 2047, MaxRX: 8192, MaxTX: 8192}, "", false},
		{"too long", mlx5(false), nic.Rings{RX: 16384, TX: 1024}, nic.Rings{}, "receive rings of at most 8192", true},
		{"no power of two", ionic(), nic.Rings{TX: 3000}, nic.Rings{}, "powers of two", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tt.port)
				m := h.Machine()
				want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: {Name: ens0, Rings: qos.Of(tt.want)}}}
				running := read(t, m)
				steps := overJSON(t, m.Plan(running, want, local.Options{}))
				if tt.impossible {
					c := findChange(t, running, want, "rings")
					if len(steps) > 0 || c.Writable() || !strings.Contains(c.Blocked, tt.blocked) {
						t.Errorf("%d steps, %+v", len(steps), c)
					}
					return
				}
				if len(steps) != 1 || steps[0].Field != "rings" || steps[0].Layer != nic.LayerDriver || steps[0].Impact != qos.ImpactPortFlap {
					t.Fatalf("%+v", steps)
				}
				u := apply(t, m, steps)
				if r, err := m.Ethtool.Ring(ens0); err != nil || r != tt.rings {
					t.Errorf("%+v, %v", r, err)
				}
				if left := m.Plan(read(t, m), want, local.Options{}); left != nil {
					t.Errorf("left: %+v", left)
				}
				if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
					t.Fatal(err)
				}
				if r, err := m.Ethtool.Ring(ens0); err != nil || r != (nic.Rings{RX: 1024, TX: 1024, MaxRX: 8192, MaxTX: 8192}) {
					t.Errorf("after the revert %+v, %v", r, err)
				}
			})
		})
	}
}

// A driver may answer EINVAL to a length within the limits that it reports.
func TestRingsThatTheDriverRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, bnxt(""))
		m := h.Machine()
		want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: {Name: ens0, Rings: qos.Of(nic.Rings{RX: 8192})}}}
		steps := m.Plan(read(t, m), want, local.Options{})
		h.SetRings(ens0, nic.Rings{RX: 1024, TX: 1024, MaxRX: 2047, MaxTX: 2047})
		_, err := m.Apply(t.Context(), steps, nil)
		var hinted interface{ Hint() string }
		if err == nil || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "ethtool -g "+ens0) {
			t.Errorf("%v", err)
		}
	})
}
