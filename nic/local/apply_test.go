package local_test

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

func TestApplyAndRevert(t *testing.T) {
	common := []string{"dcbx", "link_pause", "ets", "pfc", "dscp", "mode", "tos", "mtu"}
	for _, tt := range []struct {
		name  string
		port  localtest.Port
		want  []string // fields, in the order of the steps
		flaps int
	}{
		{"mlx5 of OFED", mlx5(true), []string{"link_pause", "ets", "cable", "pfc", "dscp", "ecn", "cnp_dscp", "cnp_priority", "mode", "tos", "traffic_class", "mtu"}, 2},
		{"mlx5 of the kernel", mlx5(false), []string{"link_pause", "ets", "cable", "pfc", "dscp", "cnp_dscp", "cnp_priority", "mode", "tos", "mtu"}, 2},
		{"bnxt wants ETS before PFC", localtest.Port{Name: ens0, RDMA: "bnxt_re0", PCI: pci0, Driver: nic.DriverBNXT}, common[1:], 2},
		{"bnxt that negotiates nothing", localtest.Port{Name: ens0, RDMA: "bnxt_re0", PCI: pci0, Driver: nic.DriverBNXT, FixedSpeed: true}, common[1:], 0},
		{"ice wants its agent off, and DSCP before ETS", localtest.Port{Name: ens0, RDMA: "irdma0", PCI: pci0, Driver: nic.DriverICE},
			[]string{"dcbx", "link_pause", "dscp", "ets", "pfc", "mode", "tos", "mtu"}, 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, tt.port)
				m := h.Machine()
				want := desired(ens0)
				before, files := h.State(ens0), tree(t, h)
				pause, err := m.Ethtool.Pause(ens0)
				if err != nil || !pause.RX || !pause.TX {
					t.Fatalf("link pause is %+v, %v", pause, err)
				}
				tos, mode := rdmaDefaults(t, m)
				flaps := h.Flaps(ens0)

				steps := overJSON(t, m.Plan(read(t, m), want, local.Options{}))
				if diff := cmp.Diff(tt.want, fields(steps)); diff != "" {
					t.Fatalf("steps (-want +got):\n%s", diff)
				}
				if w := h.Writes(); w != nil {
					t.Fatalf("reading and planning wrote %q", w)
				}
				var told []string
				u, err := m.Apply(t.Context(), steps, func(_, _ int, s local.Step) { told = append(told, s.Field) })
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(told, tt.want) {
					t.Errorf("progress told of %q", told)
				}
				if got := h.Flaps(ens0) - flaps; got != tt.flaps {
					t.Errorf("%d link changes, want %d", got, tt.flaps)
				}
				running := read(t, m)
				if left := m.Plan(running, want, local.Options{}); left != nil {
					t.Errorf("left after it: %q", fields(left))
				}
				for _, c := range nic.Diff(running, want) {
					if c.Writable() {
						t.Errorf("still differs: %+v", c)
					}
				}

				h.Writes()
				flaps = h.Flaps(ens0)
				if again, err := m.Apply(t.Context(), steps, nil); err != nil || len(again.Steps) > 0 {
					t.Errorf("again: %v, %+v", err, again)
				}
				if w := h.Writes(); w != nil || h.Flaps(ens0) != flaps {
					t.Errorf("again wrote %q, %d link changes", w, h.Flaps(ens0)-flaps)
				}

				if err := m.Revert(t.Context(), overJSON(t, u)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, h.State(ens0)); diff != "" {
					t.Errorf("after the revert (-before +now):\n%s", diff)
				}
				if diff := cmp.Diff(files, tree(t, h)); diff != "" {
					t.Errorf("files after the revert (-before +now):\n%s", diff)
				}
				if p, err := h.Machine().Ethtool.Pause(ens0); err != nil || p != pause {
					t.Errorf("link pause after the revert: %+v, %v", p, err)
				}
				if nowToS, nowMode := rdmaDefaults(t, m); nowToS != tos || nowMode != mode {
					t.Errorf("RDMA defaults after the revert: %d %q", nowToS, nowMode)
				}
				h.Writes()
				if err := m.Revert(t.Context(), u); err != nil || h.Writes() != nil {
					t.Errorf("the second revert: %v", err)
				}
			})
		})
	}
}

func TestEachValueIsFoundAlone(t *testing.T) {
	put := func(path, v string) func(*testing.T, *localtest.Host) {
		return func(_ *testing.T, h *localtest.Host) { h.Put(path, v) }
	}
	dcbnl := func(f func(*dcb.State)) func(*testing.T, *localtest.Host) {
		return func(_ *testing.T, h *localtest.Host) { h.Corrupt(ens0, f) }
	}
	configfs := func(file, v string) func(*testing.T, *localtest.Host) {
		return func(t *testing.T, h *localtest.Host) {
			name := filepath.Join(h.Roots.ConfigFS, "rdma_cm", "mlx5_0", "ports", "1", file)
			if err := h.Machine().FS.WriteFile(name, []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ecn := "class/net/" + ens0 + "/ecn/"
	for _, tt := range []struct {
		field   string
		layer   nic.Layer
		corrupt func(*testing.T, *localtest.Host)
	}{
		{"dcbx", nic.LayerDriver, dcbnl(func(s *dcb.State) { *s.DCBX &^= dcb.DCBXHost })},
		{"link_pause", nic.LayerDriver, func(_ *testing.T, h *localtest.Host) { h.SetPause(ens0, local.Pause{TX: true}) }},
		{"ets", nic.LayerDriver, dcbnl(func(s *dcb.State) { s.ETS.Bandwidth[0], s.ETS.Bandwidth[3] = 50, 50 })},
		{"cable", nic.LayerDriver, dcbnl(func(s *dcb.State) { s.PFC.Delay = 7 })},
		{"pfc", nic.LayerDriver, dcbnl(func(s *dcb.State) { s.PFC.Enabled = qos.Priorities(3, 4) })},
		{"dscp", nic.LayerDriver, dcbnl(func(s *dcb.State) { s.Apps[26].Priority = 4 })},
		{"dscp", nic.LayerDriver, dcbnl(func(s *dcb.State) { s.Apps = append(s.Apps, dcb.DSCP(26, 5)) })}, // listed twice
		{"dscp", nic.LayerDriver, dcbnl(func(s *dcb.State) { s.Apps = nil })},                             // trusts PCP
		{"ecn", nic.LayerDriver, put(ecn+"roce_rp/enable/3", "0\n")},
		{"cnp_dscp", nic.LayerDriver, put(ecn+"roce_np/cnp_dscp", "0\n")},
		{"cnp_priority", nic.LayerDriver, put(ecn+"roce_np/cnp_802p_prio", "0\n")},
		{"mode", nic.LayerRDMA, configfs("default_roce_mode", "IB/RoCE v1")},
		{"tos", nic.LayerRDMA, configfs("default_roce_tos", "0")},
		{"traffic_class", nic.LayerRDMA, put("class/infiniband/mlx5_0/tc/1/traffic_class", "dst_ip=10.0.0.0/24,tclass=106\n")},
		{"mtu", nic.LayerDriver, put("class/net/"+ens0+"/mtu", "1500\n")},
	} {
		t.Run(tt.field, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, mlx5(true))
				m := h.Machine()
				want := desired(ens0)
				apply(t, m, m.Plan(read(t, m), want, local.Options{}))
				tt.corrupt(t, h)
				steps := m.Plan(read(t, m), want, local.Options{})
				if len(steps) != 1 || steps[0].Field != tt.field || steps[0].Layer != tt.layer {
					t.Fatalf("%q, layer %v", fields(steps), steps)
				}
				apply(t, m, steps)
				if left := m.Plan(read(t, m), want, local.Options{}); left != nil {
					t.Errorf("not mended: %q", fields(left))
				}
			})
		})
	}
}

// On ice the first DSCP entry resets ETS, even if ETS was already as desired.
func TestMapAloneKeepsETSOnICE(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, localtest.Port{Name: ens0, RDMA: "irdma0", PCI: pci0, Driver: nic.DriverICE})
		m := h.Machine()
		want := desired(ens0)
		whole := apply(t, m, m.Plan(read(t, m), want, local.Options{}))
		if err := m.Revert(t.Context(), local.Undo{Steps: slices.DeleteFunc(whole.Steps, func(s local.UndoStep) bool { return s.Field != "dscp" })}); err != nil {
			t.Fatal(err)
		}
		h.Corrupt(ens0, func(s *dcb.State) {
			for i, tsa := range want.Ports[ens0].ETS.V.TSA {
				s.ETS.TSA[i] = map[nic.TSA]dcb.TSA{nic.TSAETS: dcb.TSAETS, nic.TSAStrict: dcb.TSAStrict}[tsa]
				s.ETS.Bandwidth[i], s.ETS.PriorityTC[i] = uint8(want.Ports[ens0].ETS.V.Bandwidth[i]), uint8(i)
			}
		})
		before := h.State(ens0)
		steps := m.Plan(read(t, m), want, local.Options{})
		if diff := cmp.Diff([]string{"dscp", "ets"}, fields(steps)); diff != "" {
			t.Fatalf("steps (-want +got):\n%s", diff)
		}
		if steps[1].Impact != qos.ImpactPortFlap {
			t.Errorf("ETS that is set again takes the link down, and its impact is %s", steps[1].Impact)
		}
		u, err := m.Apply(t.Context(), steps[:1], nil) // as if the run had been cut off there
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Revert(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, h.State(ens0)); diff != "" {
			t.Errorf("after the revert (-before +now):\n%s", diff)
		}
		apply(t, m, steps)
		if left := m.Plan(read(t, m), want, local.Options{}); left != nil {
			t.Errorf("left: %q", fields(left))
		}
	})
}
