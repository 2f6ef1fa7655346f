package local_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// Settings that the intent states for the NIC itself are written, stay, and are reverted; if the
// driver lacks a setting, it is blocked with the reason.
func TestStatedSettings(t *testing.T) {
	ice := localtest.Port{Name: ens0, RDMA: "irdma0", PCI: pci0, Driver: nic.DriverICE}
	buffers := nic.Port{Name: ens0, BufferSpeed: qos.Of(units.Rate(400e9)), PFC: qos.Of(qos.Priorities(3)), Cable: qos.Of(units.Length(10)), MTU: qos.Of(1500)}
	willing := nic.Port{Name: ens0, DCBX: qos.Of(nic.OwnerHost), Willing: qos.Of(false)}
	stall := nic.Port{Name: ens0, StallPrevention: qos.Of(nic.StallAuto)}
	for name, tt := range map[string]struct {
		port    localtest.Port
		want    nic.Port
		fields  string // fields of the steps
		blocked string
	}{
		"buffers of mlx5":    {mlx5(false), buffers, "buffers cable pfc", ""},
		"buffers of bnxt":    {bnxt(""), buffers, "", "only mlx5 supports"},
		"buffers of ice":     {ice, buffers, "", "only mlx5 supports"},
		"buffers of ionic":   {ionic(), buffers, "", "only mlx5 supports"},
		"willing on ice":     {ice, willing, "dcbx willing", ""},
		"stall with OFED":    {mlx5(true), stall, "stall_prevention", ""},
		"stall without OFED": {mlx5(false), stall, "", "NVIDIA's own driver"},
		"stall of bnxt":      {bnxt(""), stall, "", "NVIDIA's own driver"},
		"stall of ice":       {ice, stall, "", "NVIDIA's own driver"},
		"stall of ionic":     {ionic(), stall, "", "NVIDIA's own driver"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tt.port)
				m := h.Machine()
				h.Corrupt(ens0, func(s *dcb.State) { s.ETS.Willing = tt.port.Driver == nic.DriverICE })
				want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: &tt.want}}
				if tt.port.OFED {
					h.Put("class/net/"+ens0+"/settings/pfc_stall_prevention", nic.StallDefault+"\n")
				}
				before := read(t, m)
				steps := overJSON(t, m.Plan(before, want, local.Options{}))
				if tt.blocked != "" {
					field := nic.FieldBuffers
					if tt.want.StallPrevention.Set {
						field = nic.FieldStallPrevention
					}
					if c := findChange(t, before, want, field); c.Writable() || !strings.Contains(c.Blocked, tt.blocked) {
						t.Errorf("%+v", c)
					}
					return
				}
				var fields []string
				for _, s := range steps {
					fields = append(fields, s.Field)
				}
				if got := strings.Join(fields, " "); got != tt.fields {
					t.Fatalf("steps %q", got)
				}
				u := apply(t, m, steps)
				if left := nic.Diff(read(t, m), want); len(left) > 1 || len(left) == 1 && left[0].Field != nic.FieldUnit {
					t.Errorf("left: %+v", left)
				}
				if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
					t.Fatal(err)
				}
				p, old := read(t, m).Ports[ens0], before.Ports[ens0]
				if p.Buffers != old.Buffers || p.Willing != old.Willing || p.StallPrevention != old.StallPrevention || p.Cable != old.Cable {
					t.Errorf("after the revert %+v, before %+v", p, old)
				}
			})
		})
	}
}

// A step from a file cannot set an invalid stall prevention.
func TestForeignStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(true))
		u, err := h.Machine().Apply(t.Context(), []local.Step{{Port: ens0, Field: nic.FieldStallPrevention, Want: local.Value{Mode: "never"}}}, nil)
		if err == nil || len(u.Steps) > 0 {
			t.Errorf("%+v, %v", u, err)
		}
	})
}
