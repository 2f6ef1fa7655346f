package local_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

const vfPort = "ens1"

func withVFs(t *testing.T) *localtest.Host {
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: vfPort, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5, MaxVFs: 4})
	return h
}

// vfWant returns a host with the wanted number and trust of the port's virtual functions.
func vfWant(count int, trust string) *nic.Host {
	p := &nic.Port{Name: vfPort}
	if count > 0 {
		p.VFs = qos.Of(count)
	}
	if trust != "" {
		p.VFTrust = qos.Of(trust)
	}
	return &nic.Host{Ports: map[string]*nic.Port{vfPort: p}}
}

func readVFs(t *testing.T, m *local.Machine) *nic.Host {
	t.Helper()
	running, err := m.Read(context.Background(), []string{vfPort})
	if err != nil {
		t.Fatal(err)
	}
	return running
}

// VFs are created and trusted, and removed again by the revert unless something uses one.
func TestVFs(t *testing.T) {
	ctx := context.Background()
	for name, used := range map[string]struct {
		driver string
		use    bool
		want   string
	}{
		"not used": {}, "up": {use: true, want: "VF 1 (ens1v1 is up)"}, "in a guest": {driver: "vfio-pci", use: true, want: "VF 1 (driver vfio-pci)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := withVFs(t)
				m, want := h.Machine(), vfWant(3, "on")
				steps := m.Plan(readVFs(t, m), want, local.Options{})
				undo, err := m.Apply(ctx, steps, nil)
				if err != nil || len(steps) != 2 {
					t.Fatalf("%v: %+v", err, steps)
				}
				running := readVFs(t, m)
				if p := running.Ports[vfPort]; p.VFs != qos.Of(3) || p.VFTrust != qos.Of("on") || p.MaxVFs != 4 || p.Representors != qos.Of(false) {
					t.Errorf("%+v", p.Functions)
				}
				if left := nic.Diff(running, want); len(left) > 0 {
					t.Errorf("left: %+v", left)
				}
				if used.use {
					h.UseVF(vfPort, 1, used.driver)
				}
				err = m.Revert(ctx, undo)
				n := readVFs(t, m).Ports[vfPort].VFs.V
				if !used.use && (err != nil || n != 0) || used.use && (!errors.Is(err, local.ErrInUse) || !strings.Contains(err.Error(), used.want) || n != 3) {
					t.Errorf("%d VFs: %v", n, err)
				}
			})
		})
	}
}

// If only some VFs were trusted, the revert restores exactly those; the number of VFs is unchanged.
func TestVFTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		h := withVFs(t)
		m := h.Machine()
		if _, err := m.Apply(ctx, m.Plan(readVFs(t, m), vfWant(3, ""), local.Options{}), nil); err != nil {
			t.Fatal(err)
		}
		if err := m.VFs.SetTrust(ctx, vfPort, 1, true); err != nil {
			t.Fatal(err)
		}
		h.Writes()
		running := readVFs(t, m)
		undo, err := m.Apply(ctx, m.Plan(running, vfWant(0, "on"), local.Options{}), nil)
		if want := []string{"set trust of VF 0 of ens1", "set trust of VF 2 of ens1"}; err != nil || running.Ports[vfPort].VFTrust.V != "on for VF 1" || !slices.Equal(h.Writes(), want) {
			t.Errorf("%v: %+v", err, running.Ports[vfPort].Functions)
		}
		if err := undo.Check(nil); err != nil {
			t.Error(err)
		}
		if err := m.Revert(ctx, undo); err != nil || readVFs(t, m).Ports[vfPort].VFTrust.V != "on for VF 1" {
			t.Error(err)
		}
		// A different number is never written while VFs exist, whatever a step says.
		if _, err := m.Apply(ctx, []local.Step{{Port: vfPort, Field: nic.FieldVFs, Want: local.Value{Number: new(2)}}}, nil); !errors.Is(err, local.ErrInUse) {
			t.Error(err)
		}
	})
}

func TestVFLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withVFs(t)
		h.Add(localtest.Port{Name: "eth9", RDMA: "mlx5_9", PCI: "0000:5e:00.0", Driver: nic.DriverMLX5})
		m := h.Machine()
		if _, err := m.Apply(context.Background(), m.Plan(readVFs(t, m), vfWant(2, ""), local.Options{}), nil); err != nil {
			t.Fatal(err)
		}
		h.SetSwitchdev(vfPort)
		running, err := m.Read(context.Background(), []string{vfPort, "eth9"})
		if err != nil {
			t.Fatal(err)
		}
		want := vfWant(4, "")
		want.Ports[vfPort].Representors = qos.Of(false)
		want.Ports["eth9"] = &nic.Port{Name: "eth9", Functions: nic.Functions{VFs: qos.Of(1), VFTrust: qos.Of("on")}}
		var got []string
		for _, c := range nic.Diff(running, want) {
			got = append(got, c.Port+" "+c.Field+" "+c.Old+" -> "+c.New+": "+c.Blocked)
		}
		all := []string{
			"ens1 vfs 2 -> 4: changing the number removes all 2 VFs first, even those in use: stop what uses them, write 0 to /sys/class/net/ens1/device/sriov_numvfs, and apply again",
			"ens1 representors on -> off: changing the mode recreates the interface and removes its VFs: with no VF in use, 'devlink dev eswitch set pci/0000:3b:00.0 mode legacy', and apply again",
			"eth9 vfs 0 -> 1: the firmware offers 0 VFs: set SRIOV_EN=1 and NUM_OF_VFS=1 with mlxconfig, and reset the card; in some servers SR-IOV is off in the BIOS",
		}
		if !slices.Equal(got, all) {
			t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
		}
		if steps := m.Plan(running, want, local.Options{}); len(steps) > 0 {
			t.Errorf("steps: %+v", steps)
		}
	})
}

// VFs get one tag, which the revert replaces by the tags that they had; in switchdev mode it is
// blocked.
func TestVFTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		h := withVFs(t)
		m := h.Machine()
		want := vfWant(3, "")
		want.Ports[vfPort].VFTag = qos.Of(nic.Tag{VLAN: 100, Priority: 3})
		if _, err := m.Apply(ctx, m.Plan(readVFs(t, m), vfWant(3, ""), local.Options{}), nil); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(h.ChangeVF(vfPort, 1, func(v *nic.VF) { v.Tag, v.MaxRate, v.Down = nic.Tag{VLAN: 5}, 25000, true }),
			h.ChangeVF(vfPort, 2, func(v *nic.VF) { v.Tag = nic.Tag{VLAN: 100, Priority: 3} }))
		if err != nil {
			t.Fatal(err)
		}
		running := readVFs(t, m)
		if v := running.Ports[vfPort].Each[1]; v != (nic.VF{Number: 1, Tag: nic.Tag{VLAN: 5}, Trust: qos.Of(false), MaxRate: 25000, Down: true, Interface: "ens1v1", MTU: 1500}) {
			t.Errorf("VF 1: %+v", v)
		}
		diff := nic.Diff(running, want)
		if len(diff) != 1 || diff[0].Old != "VF 0 no tag; VF 1 VLAN 5, priority 0; VF 2 VLAN 100, priority 3" || diff[0].New != "VLAN 100, priority 3" || diff[0].Impact != qos.ImpactLoss {
			t.Errorf("%+v", diff)
		}
		h.Writes()
		undo, err := m.Apply(ctx, m.Plan(running, want, local.Options{}), nil)
		if err != nil || !slices.Equal(h.Writes(), []string{"set tag of VF 0 of ens1", "set tag of VF 1 of ens1"}) {
			t.Fatal(err)
		}
		if diff := nic.Diff(readVFs(t, m), want); len(diff) > 0 {
			t.Errorf("afterwards: %+v", diff)
		}
		if err := errors.Join(undo.Check(nil), m.Revert(ctx, undo)); err != nil {
			t.Error(err)
		}
		if now := nic.Diff(readVFs(t, m), want); len(now) != 1 || now[0].Old != diff[0].Old {
			t.Errorf("reverted: %+v", now)
		}
		h.SetSwitchdev(vfPort)
		want.Ports[vfPort].Representors = qos.Of(true)
		if diff := nic.Diff(readVFs(t, m), want); len(diff) != 1 || !strings.Contains(diff[0].Blocked, "in switchdev mode") {
			t.Errorf("in switchdev mode: %+v", diff)
		}
	})
}

// VFs that the same apply creates get the tag.
func TestTagOfNewVFs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withVFs(t)
		m, want := h.Machine(), vfWant(2, "")
		want.Ports[vfPort].VFTag = qos.Of(nic.Tag{VLAN: 7, Priority: 4})
		if _, err := m.Apply(context.Background(), m.Plan(readVFs(t, m), want, local.Options{}), nil); err != nil {
			t.Fatal(err)
		}
		if p := readVFs(t, m).Ports[vfPort]; len(p.Each) != 2 || p.Each[1].Tag != want.Ports[vfPort].VFTag.V || len(nic.Diff(readVFs(t, m), want)) > 0 {
			t.Errorf("%+v", p.Functions)
		}
	})
}
