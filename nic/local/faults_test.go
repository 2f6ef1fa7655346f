package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

func TestFaults(t *testing.T) {
	t.Run("not root", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			h.SetFaults(localtest.Faults{NotRoot: true})
			m := h.Machine()
			running := read(t, m)
			p := running.Ports[ens0]
			if p.Missing["tos"] != "needs root" || p.Missing["cnp_dscp"] != "needs root" || !p.PFC.Set || !p.MTU.Set {
				t.Errorf("missing %v", p.Missing)
			}
			steps := m.Plan(running, desired(ens0), local.Options{})
			u, err := m.Apply(t.Context(), steps, nil)
			var hinted interface{ Hint() string }
			if !errors.Is(err, local.ErrPermission) || errors.Is(err, local.ErrPartial) || len(u.Steps) > 0 || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "root") {
				t.Errorf("%v, undo %+v", err, u)
			}
		})
	})
	t.Run("lockdown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			h.SetFaults(localtest.Faults{Lockdown: true})
			running := read(t, h.Machine())
			if why := running.Ports[ens0].Missing["cnp_dscp"]; !strings.Contains(why, "locked down") {
				t.Errorf("cnp_dscp: %q", why)
			}
			for _, c := range nic.Diff(running, desired(ens0)) {
				if c.Field == "cnp_dscp" && c.Kind != nic.KindUnknown {
					t.Errorf("%+v", c)
				}
			}
		})
	})
	t.Run("no DCB", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, tt := range []struct {
				faults     localtest.Faults
				restricted bool
			}{{localtest.Faults{NoDCB: true}, true}, {localtest.Faults{NoDCBNL: true}, false}} {
				h := newHost(t, mlx5(false))
				h.SetFaults(tt.faults)
				running := read(t, h.Machine())
				p := running.Ports[ens0]
				unknown := slices.ContainsFunc(nic.Diff(running, desired(ens0)), func(c nic.Change) bool { return c.Field == "pfc" && c.Kind == nic.KindUnknown })
				if p.VF != tt.restricted || unknown == tt.restricted || p.Missing["pfc"] == "" {
					t.Errorf("%+v: restricted %t, PFC unknown %t: %q", tt.faults, p.VF, unknown, p.Missing["pfc"])
				}
			}
		})
	})
	t.Run("mlx5 takes no autonegotiation of pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			h.SetPause(ens0, local.Pause{Autoneg: true, RX: true, TX: true})
			m := h.Machine()
			apply(t, m, m.Plan(read(t, m), desired(ens0), local.Options{}))
		})
	})
	t.Run("a driver that says yes and does nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, field := range []string{"link_pause", "ets", "cable", "pfc", "dscp", "ecn", "cnp_dscp", "mode", "tos", "traffic_class", "mtu"} {
				h := newHost(t, mlx5(true))
				m := h.Machine()
				steps := m.Plan(read(t, m), desired(ens0), local.Options{})
				h.SetFaults(localtest.Faults{Ignore: true})
				i := slices.Index(fields(steps), field)
				u, err := m.Apply(t.Context(), steps[i:i+1], nil)
				if !errors.Is(err, local.ErrIgnored) || len(u.Steps) > 0 {
					t.Errorf("%s: %v, undo %+v", field, err, u)
				}
			}
		})
	})
	t.Run("firmware keeps DCBX", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(false))
			h.Corrupt(ens0, func(s *dcb.State) { *s.DCBX = dcb.DCBXIEEE })
			h.SetFaults(localtest.Faults{FirmwareDCBX: true})
			m := h.Machine()
			running := read(t, m)
			if running.Ports[ens0].DCBX != qos.Of(nic.OwnerFirmware) {
				t.Errorf("owner %+v", running.Ports[ens0].DCBX)
			}
			steps := m.Plan(running, desired(ens0), local.Options{})
			if steps[0].Field != "dcbx" || steps[0].Changes[0].Kind != nic.KindConflict {
				t.Fatalf("first %+v", steps[0])
			}
			if u, err := m.Apply(t.Context(), steps, nil); !errors.Is(err, dcb.ErrRefused) || len(u.Steps) > 0 {
				t.Errorf("%v, undo %+v", err, u)
			}
			if h.State(ens0).PFC.Enabled != 0 {
				t.Error("it went on to PFC")
			}
		})
	})
	t.Run("the RDMA device vanishes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true), localtest.Port{Name: ens1, RDMA: "mlx5_1", PCI: pci1, Driver: nic.DriverMLX5})
			m := h.Machine()
			h.OnRead("default_roce_tos", func() { h.DropRDMA(ens0) })
			got := read(t, m)
			if p := got.Ports[ens0]; p == nil || p.ToS.Set || p.Missing["tos"] == "" || !p.PFC.Set {
				t.Errorf("%+v", got.Ports[ens0])
			}
			if p := got.Ports[ens1]; p == nil || !p.ToS.Set {
				t.Errorf("the other port: %+v", p)
			}
		})
	})
	t.Run("the port vanishes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true))
			h.OnRead("/mtu", func() { h.Remove(ens0) })
			if got := read(t, h.Machine()); len(got.Ports) > 0 {
				t.Errorf("%+v", got.Ports)
			}
		})
	})
	t.Run("a folder of an RDMA device that was made anew", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true))
			m := h.Machine()
			want := desired(ens0)
			apply(t, m, m.Plan(read(t, m), want, local.Options{}))
			h.DropRDMA(ens0)
			h.RenewRDMA(ens0)
			steps := m.Plan(read(t, m), want, local.Options{})
			if diff := cmp.Diff([]string{"mode", "tos", "traffic_class"}, fields(steps)); diff != "" {
				t.Fatalf("lost with the device (-want +got):\n%s", diff)
			}
			apply(t, m, steps)
			if p := read(t, m).Ports[ens0]; p.ToS != qos.Of(106) {
				t.Errorf("ToS %+v", p.ToS)
			}
		})
	})
	t.Run("the folder goes stale between plan and apply", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true))
			m := h.Machine()
			want := desired(ens0)
			steps := m.Plan(read(t, m), want, local.Options{})
			apply(t, m, steps)
			h.DropRDMA(ens0)
			h.RenewRDMA(ens0)
			apply(t, m, steps)
			if p := read(t, m).Ports[ens0]; p.ToS != qos.Of(106) || p.Mode != qos.Of(nic.ModeRoCEv2) {
				t.Errorf("ToS %+v, mode %+v", p.ToS, p.Mode)
			}
		})
	})
	t.Run("rdma_cm is not loaded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true))
			h.UnloadCM()
			m := h.Machine()
			want := desired(ens0)
			running := read(t, m)
			steps := m.Plan(running, want, local.Options{})
			if w := h.Writes(); running.Ports[ens0].Missing["tos"] != nic.NoCM || !strings.Contains(read(t, m).Ports[ens0].Missing["mode"], "rdma_cm") || w != nil {
				t.Errorf("reading and planning load it: %v, %q", running.Ports[ens0].Missing, w)
			}
			u := apply(t, m, steps)
			now := read(t, m)
			if p := now.Ports[ens0]; p.ToS != qos.Of(106) || p.Mode != qos.Of(nic.ModeRoCEv2) || m.Plan(now, want, local.Options{}) != nil {
				t.Errorf("ToS %+v, mode %+v after the steps %q", p.ToS, p.Mode, fields(steps))
			}
			if err := m.Revert(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			if p := read(t, m).Ports[ens0]; p.ToS != qos.Of(0) || p.PFC != qos.Of(qos.PrioritySet(0)) {
				t.Errorf("after the revert: %+v, PFC %+v", p.ToS, p.PFC)
			}
		})
	})
	t.Run("rdma_cm cannot be loaded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true))
			h.UnloadCM()
			h.Programs["modprobe"] = runnertest.Prints("", "modprobe: FATAL: Module rdma_cm not found\n", 1)
			m := h.Machine()
			steps := m.Plan(read(t, m), desired(ens0), local.Options{})
			flaps := h.Flaps(ens0)
			u, err := m.Apply(t.Context(), steps, nil)
			if !errors.Is(err, local.ErrNoCM) || !strings.Contains(err.Error(), "Module rdma_cm not found") || errors.Is(err, local.ErrPartial) {
				t.Errorf("%v", err)
			}
			left := m.Plan(read(t, m), desired(ens0), local.Options{})
			if diff := cmp.Diff([]string{"mode", "tos"}, fields(left)); diff != "" || len(u.Steps) != len(steps)-2 || h.Flaps(ens0) == flaps {
				t.Errorf("all but the defaults of RDMA-CM: undo %+v, left (-want +got):\n%s", u, diff)
			}
			if err := m.Revert(t.Context(), u); err != nil || h.State(ens0).PFC.Enabled != 0 {
				t.Errorf("revert: %v", err)
			}
		})
	})
	t.Run("rdma_cm is loaded, and configfs is not mounted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, mlx5(true))
			h.UnloadCM()
			h.Put("module/rdma_cm/refcnt", "1\n")
			m := h.Machine()
			running := read(t, m)
			if why := running.Ports[ens0].Missing["tos"]; !strings.Contains(why, "configfs") {
				t.Errorf("tos: %q", why)
			}
			if f := fields(m.Plan(running, desired(ens0), local.Options{})); slices.Contains(f, "tos") {
				t.Errorf("steps %q", f)
			}
		})
	})
}

func TestBounceIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(false))
		m := h.Machine()
		steps := m.Plan(read(t, m), desired(ens0), local.Options{})
		i := slices.Index(fields(steps), "pfc")
		if steps[i].Impact != qos.ImpactPortFlap {
			t.Errorf("impact of pfc: %s", steps[i].Impact)
		}
		h.SetFaults(localtest.Faults{LinkSlow: 4})
		apply(t, m, steps[:i+1])
		if p := read(t, m).Ports[ens0]; p.Carrier != qos.Of(true) {
			t.Error("apply went on with the link down")
		}

		h = newHost(t, mlx5(false))
		h.SetFaults(localtest.Faults{LinkLate: time.Second})
		m = h.Machine()
		m.Settle = 2 * time.Second
		before := h.Flaps(ens0)
		apply(t, m, steps[:i+1])
		if n := h.Flaps(ens0); n < before+2 {
			t.Errorf("apply went on before the link went down: it went down or up %d times", n-before)
		}

		h = newHost(t, mlx5(false))
		h.SetFaults(localtest.Faults{LinkDead: true})
		m = h.Machine()
		begun := time.Now()
		u, err := m.Apply(t.Context(), steps, nil)
		if !errors.Is(err, local.ErrCarrier) || !errors.Is(err, local.ErrPartial) || u.Steps[len(u.Steps)-1].Field != "pfc" {
			t.Errorf("%v, undo %+v", err, u)
		}
		if took := time.Since(begun); took < m.CarrierWait || took > m.CarrierWait+time.Second {
			t.Errorf("the wait for the link ended after %s", took)
		}
		if s := h.State(ens0); len(s.Apps) > 0 {
			t.Error("it went on after the link was lost")
		}
	})
}

// A link that is up but not yet used by its bond does not count as back.
func TestBondUsesTheMemberAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := mlx5(false)
		p.Bond = "bond0"
		h := newHost(t, p)
		m := h.Machine()
		steps := m.Plan(read(t, m), desired(ens0), local.Options{})
		status := "class/net/" + ens0 + "/bonding_slave/mii_status"
		h.Put(status, "down\n")
		m.CarrierWait = m.Settle
		if _, err := m.Apply(t.Context(), steps, nil); !errors.Is(err, local.ErrCarrier) {
			t.Errorf("unused by the bond: %v", err)
		}
	})
}

// Congestion control on other priorities is left as it is.
func TestECNOfOthersStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(true))
		m := h.Machine()
		for _, f := range []string{"roce_np/enable/3", "roce_np/enable/5", "roce_rp/enable/5"} {
			h.Put("class/net/"+ens0+"/ecn/"+f, "1\n")
		}
		u := apply(t, m, m.Plan(read(t, m), desired(ens0), local.Options{}))
		if got := read(t, m).Ports[ens0].ECN; got != qos.Of(qos.Priorities(3, 5)) {
			t.Errorf("after apply %+v", got)
		}
		if err := m.Revert(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if got := read(t, m).Ports[ens0].ECN; got != qos.Of(qos.Priorities(5)) {
			t.Errorf("after the revert %+v", got)
		}
	})
}

func TestCancelBetweenSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(false))
		m := h.Machine()
		steps := m.Plan(read(t, m), desired(ens0), local.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		u, err := m.Apply(ctx, steps, func(i, _ int, _ local.Step) {
			if i == 1 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, local.ErrPartial) || len(u.Steps) != 1 || u.Steps[0].Field != "link_pause" {
			t.Fatalf("%v, undo %+v", err, u)
		}
		if h.State(ens0).PFC.Enabled != 0 {
			t.Error("PFC was set after the cancel")
		}
		if err := m.Revert(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if p := read(t, m).Ports[ens0]; p.LinkPause != qos.Of(true) {
			t.Error("link pause was not restored")
		}
		if _, err := m.Read(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
	})
}
