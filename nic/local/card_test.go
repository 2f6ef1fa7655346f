package local_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
)

// Card settings of the intent are written if the driver has them, take effect, are lost at a
// reboot, and are reverted. If a setting cannot be written, the change says why.
func TestCardSettings(t *testing.T) {
	ice := localtest.Port{Name: ens0, RDMA: "irdma0", PCI: pci0, Driver: nic.DriverICE}
	params := func(name string, v uint64) nic.Port { return nic.Port{Name: ens0, DCQCN: map[string]uint64{name: v}} }
	reads := nic.Port{Name: ens0, MaxReadRequest: qos.Of(4096)}
	for name, tt := range map[string]struct {
		port    localtest.Port
		want    nic.Port
		field   string // field of the step
		blocked string
	}{
		"mlx5 of the kernel":     {mlx5(false), params("rp_ai_rate", 7), nic.FieldDCQCN, ""},
		"mlx5 of NVIDIA":         {mlx5(true), params("rp_ai_rate", 7), nic.FieldDCQCN, ""},
		"mlx5 without it":        {mlx5(true), params("rp_gd", 7), "dcqcn[rp_gd]", "does not have it"},
		"mlx5 of Broadcom":       {mlx5(true), params("init_cr", 7), "dcqcn[init_cr]", "Broadcom's"},
		"bnxt of Broadcom":       {bnxt(localtest.CCConfigFS), params("init_cr", 4096), nic.FieldDCQCN, ""},
		"bnxt of the kernel":     {bnxt(localtest.CCDebugFS), params("inactivity_cp", 4096), nic.FieldDCQCN, ""},
		"bnxt before 6.13":       {bnxt(""), params("init_cr", 7), "dcqcn[init_cr]", "6.13"},
		"bnxt of NVIDIA":         {bnxt(localtest.CCDebugFS), params("rp_ai_rate", 7), "dcqcn[rp_ai_rate]", "NVIDIA's"},
		"ice":                    {ice, params("rp_ai_rate", 7), "dcqcn[rp_ai_rate]", "while it runs"},
		"ionic":                  {ionic(), params("rp_ai_rate", 7), "dcqcn[rp_ai_rate]", "nicctl update dcqcn"},
		"reads of mlx5":          {mlx5(false), reads, nic.FieldMaxReadRequest, ""},
		"reads of bnxt":          {bnxt(""), reads, nic.FieldMaxReadRequest, ""},
		"reads of ice":           {ice, reads, nic.FieldMaxReadRequest, ""},
		"reads of ionic":         {ionic(), reads, nic.FieldMaxReadRequest, ""},
		"relaxed writes of bnxt": {bnxt(""), nic.Port{Name: ens0, RelaxedOrdering: qos.Of(true)}, nic.FieldRelaxedOrdering, "only NVIDIA cards"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tt.port)
				m := h.Machine()
				want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: &tt.want}}
				before := read(t, m)
				steps := overJSON(t, m.Plan(before, want, local.Options{}))
				if tt.blocked != "" {
					if c := findChange(t, before, want, tt.field); len(steps) > 0 || c.Writable() || !strings.Contains(c.Blocked, tt.blocked) {
						t.Errorf("%+v", c)
					}
					return
				}
				if len(steps) != 1 || steps[0].Field != tt.field || steps[0].Impact != qos.ImpactNone {
					t.Fatalf("steps %+v", steps)
				}
				held := overJSON(t, must(m.Before(t.Context(), steps)))
				u := apply(t, m, steps)
				if left := nic.Diff(read(t, m), want); len(left) > 0 {
					t.Errorf("left: %+v", left)
				}
				for _, undo := range []local.Undo{overJSON(t, u), held} {
					if err := m.Revert(t.Context(), undo); err != nil {
						t.Fatal(err)
					}
					p, old := read(t, m).Ports[ens0], before.Ports[ens0]
					if !maps.Equal(p.DCQCN, old.DCQCN) || p.MaxReadRequest != old.MaxReadRequest {
						t.Errorf("after the revert %+v, before %+v", p, old)
					}
				}
				apply(t, m, steps)
				h.Reboot()
				if again := m.Plan(read(t, m), want, local.Options{}); len(again) != 1 {
					t.Errorf("after a reboot %+v", again)
				}
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Every parameter that an intent may state belongs to exactly one driver, and every parameter that
// such a driver shows may be stated.
func TestParametersAreWritten(t *testing.T) {
	for _, name := range intent.DCQCNNames() {
		takers := 0
		for _, driver := range []string{nic.DriverMLX5, nic.DriverBNXT, nic.DriverICE, nic.DriverIonic} {
			if nic.DCQCNLimit(driver, name) == "" {
				takers++
			}
		}
		if takers != 1 {
			t.Errorf("%s: %d drivers take it", name, takers)
		}
	}
	for _, port := range []localtest.Port{mlx5(false), bnxt(localtest.CCConfigFS), bnxt(localtest.CCDebugFS)} {
		shown := read(t, newHost(t, port).Machine()).Ports[ens0].DCQCN
		for _, name := range intent.DCQCNNames() {
			if _, is := shown[name]; is != (nic.DCQCNLimit(port.Driver, name) == "") {
				t.Errorf("%s %s: %s is shown: %v", port.Driver, port.CC, name, is)
			}
			delete(shown, name)
		}
		if len(shown) > 0 {
			t.Errorf("%s %s: %v cannot be stated", port.Driver, port.CC, shown)
		}
	}
}

// Relaxed ordering takes two resets on a card that does not list it at first.
func TestRelaxedOrdering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(false))
		card := mlxconfigtest.New("mlxconfig", pci0)
		h.SetCard(card)
		m := h.Machine()
		want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens0: {Name: ens0, RelaxedOrdering: qos.Of(true)}}}
		var undo []local.Undo
		for _, name := range []string{"ADVANCED_PCI_SETTINGS", "PCI_WR_ORDERING"} {
			c := findChange(t, read(t, m), want, "nv["+name+"]")
			if c.Kind != nic.KindNotProgrammed || strings.Contains(c.After, "apply again") != (name == "ADVANCED_PCI_SETTINGS") {
				t.Errorf("%+v", c)
			}
			undo = append(undo, apply(t, m, overJSON(t, m.Plan(read(t, m), want, local.Options{}))))
			if c := findChange(t, read(t, m), want, "nv["+name+"]"); c.Kind != nic.KindResetPending || card.Get(name).Next != 1 {
				t.Errorf("%+v", c)
			}
			card.Reset()
		}
		if left := nic.Diff(read(t, m), want); len(left) > 0 {
			t.Errorf("left: %+v", left)
		}
		if err := m.Revert(t.Context(), overJSON(t, undo[1])); err != nil || card.Get("PCI_WR_ORDERING").Next != 0 {
			t.Errorf("%v", err)
		}
	})
}

// The part of the configuration space that a normal user can read does not include the value. A
// locked-down kernel and a host without setpci cannot change it.
func TestMaxReadRequestIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(false))
		steps := []local.Step{{Port: ens0, Field: nic.FieldMaxReadRequest, Driver: nic.DriverMLX5, Want: local.Value{Number: new(4096)}}}
		if p := read(t, h.MachineOf()).Ports[ens0]; p.MaxReadRequest.Set || p.Missing[nic.FieldMaxReadRequest] == nic.NotInDriver || p.Missing[nic.FieldMaxReadRequest] == "" {
			t.Errorf("%+v, %q", p.MaxReadRequest, p.Missing[nic.FieldMaxReadRequest])
		}
		h.SetFaults(localtest.Faults{Lockdown: true})
		if _, err := h.Machine().Apply(t.Context(), steps, nil); !errors.Is(err, local.ErrIgnored) {
			t.Errorf("locked down: %v", err)
		}
		h.SetFaults(localtest.Faults{})
		delete(h.Programs, "setpci")
		if u, err := h.Machine().Apply(t.Context(), steps, nil); err == nil || len(u.Steps) > 0 {
			t.Errorf("without setpci: %+v, %v", u, err)
		}
		steps[0].Want.Number = new(1000)
		if u, err := h.Machine().Apply(t.Context(), steps, nil); err == nil || len(u.Steps) > 0 {
			t.Errorf("1000 bytes: %+v, %v", u, err)
		}
	})
}

// A step from a file cannot name anything that is not a parameter.
func TestForeignParameter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, v := range []map[string]uint64{{"../../qos": 1}, {"rp_ai_rate": 1 << 40}} {
			s := local.Step{Port: ens0, Field: nic.FieldDCQCN, Want: local.Value{DCQCN: v}}
			if err := s.Check(nil); err == nil {
				t.Errorf("%v is taken", v)
			}
			h := newHost(t, mlx5(true))
			if u, err := h.Machine().Apply(t.Context(), []local.Step{s}, nil); err == nil || len(u.Steps) > 0 {
				t.Errorf("%v: %+v, %v", v, u, err)
			}
		}
	})
}
