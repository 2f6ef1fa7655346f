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
	"github.com/roce-fabric/roce-fabric/nic/runner"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

func withSFs(t *testing.T) *localtest.Host {
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: vfPort, RDMA: "mlx5_0", PCI: "0000:3b:00.1", Driver: nic.DriverMLX5, MaxSFs: 4, Switchdev: true})
	h.Add(localtest.Port{Name: "ens2", RDMA: "mlx5_1", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5, MaxSFs: 4, Switchdev: true})
	return h
}

func sfWant(count int) *nic.Host {
	return &nic.Host{Ports: map[string]*nic.Port{vfPort: {Name: vfPort, Functions: nic.Functions{SFs: qos.Of(count)}}}}
}

// devlink runs a devlink command as a user would.
func devlink(t *testing.T, h *localtest.Host, line string) {
	t.Helper()
	if res, err := h.Programs["devlink"](context.Background(), strings.Fields(line)); err != nil || res.Code != 0 {
		t.Fatalf("%s: %v %s", line, err, res.Stderr)
	}
}

// SFs are created, and deleted again by the revert unless something uses one. SFs of another card
// and inactive ones are left alone.
func TestSFs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		for _, used := range []bool{false, true} {
			h := withSFs(t)
			devlink(t, h, "port add pci/0000:3b:00.0 flavour pcisf pfnum 0 sfnum 1")
			devlink(t, h, "port function set pci/0000:3b:00.0/32768 state active")
			devlink(t, h, "port add pci/0000:3b:00.1 flavour pcisf pfnum 1 sfnum 2")
			devlink(t, h, "port add pci/0000:3b:00.1 flavour pcisf pfnum 1 sfnum 88")
			h.Writes()
			m, want := h.Machine(), sfWant(2)
			steps := m.Plan(readVFs(t, m), want, local.Options{})
			undo, err := m.Apply(ctx, steps, nil)
			if err != nil || len(steps) != 1 {
				t.Fatalf("%v: %+v", err, steps)
			}
			if got, want := h.Writes(), []string{
				"devlink port add pci/0000:3b:00.1 flavour pcisf pfnum 1 sfnum 1",
				"devlink port function set pci/0000:3b:00.1/32768 state active",
				"devlink port function set pci/0000:3b:00.1/32770 state active",
			}; !slices.Equal(got, want) {
				t.Errorf("wrote %q", got)
			}
			running := readVFs(t, m)
			if p := running.Ports[vfPort]; p.SFs != qos.Of(2) || p.MaxSFs != qos.Of(4) {
				t.Errorf("%+v", p.Functions)
			}
			if left := nic.Diff(running, want); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			// A different number is never written while SFs exist, whatever a step says.
			if _, err := m.Apply(ctx, []local.Step{{Port: vfPort, Field: nic.FieldSFs, Want: local.Value{Number: new(3)}}}, nil); !errors.Is(err, local.ErrInUse) {
				t.Error(err)
			}
			if err := undo.Check(nil); err != nil {
				t.Error(err)
			}
			if used {
				h.UseSF(vfPort, 2)
			}
			h.Writes()
			err = m.Revert(ctx, undo)
			n := readVFs(t, m).Ports[vfPort].SFs.V
			switch {
			case used:
				if !errors.Is(err, local.ErrInUse) || !strings.Contains(err.Error(), "SF 2 (ens1s2 is up)") || n != 2 {
					t.Errorf("%d SFs: %v", n, err)
				}
			default:
				if w := h.Writes(); err != nil || n != 0 || !slices.Equal(w, []string{"devlink port del pci/0000:3b:00.1/32768", "devlink port del pci/0000:3b:00.1/32770"}) {
					t.Errorf("%d SFs: %v: %q", n, err, w)
				}
			}
		}
	})
}

// If a card can create only some of the wanted SFs, none of them is kept.
func TestSFsInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withSFs(t)
		m := h.Machine()
		if _, err := m.Apply(context.Background(), []local.Step{{Port: vfPort, Field: nic.FieldSFs, Want: local.Value{Number: new(5)}}}, nil); err == nil || !strings.Contains(err.Error(), "No space left on device") {
			t.Error(err)
		}
		res, _ := h.Programs["devlink"](context.Background(), []string{"-j", "port", "show"})
		if strings.Contains(string(res.Stdout), "pcisf") {
			t.Errorf("left: %s", res.Stdout)
		}
	})
}

func TestSFLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := withSFs(t)
		for _, p := range []localtest.Port{
			{Name: "eth1", RDMA: "mlx5_2", PCI: "0000:5e:00.0", Driver: nic.DriverMLX5, MaxSFs: 4},
			{Name: "eth2", RDMA: "bnxt_re0", PCI: "0000:5f:00.0", Driver: nic.DriverBNXT},
		} {
			h.Add(p)
		}
		devlink(t, h, "port add pci/0000:3b:00.0 flavour pcisf pfnum 0 sfnum 7")
		devlink(t, h, "port function set pci/0000:3b:00.0/32768 state active")
		m := h.Machine()
		names := []string{vfPort, "ens2", "eth1", "eth2"}
		want := &nic.Host{Ports: map[string]*nic.Port{}}
		for _, name := range names {
			want.Ports[name] = &nic.Port{Name: name, Functions: nic.Functions{SFs: qos.Of(5)}}
		}
		blocked := func() (got []string) {
			running, err := m.Read(context.Background(), names)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range nic.Diff(running, want) {
				got = append(got, c.Port+" "+c.Field+" "+c.Old+" -> "+c.New+": "+c.Blocked)
			}
			if steps := m.Plan(running, want, local.Options{}); len(steps) > 0 {
				t.Errorf("steps: %+v", steps)
			}
			return got
		}
		all := []string{
			"ens1 sfs 0 -> 5: the card offers 4 SFs: set PER_PF_NUM_SF=1 and PF_TOTAL_SF=5 with mlxconfig, and reset the card",
			"ens2 sfs 1 -> 5: changing the number would delete SFs, possibly some in use: stop what uses them, run 'devlink port del' for each port of flavour pcisf that 'devlink port show' lists for pci/0000:3b:00.0, and apply again",
			"eth1 sfs 0 -> 5: SFs need switchdev mode; changing the mode recreates the interface and removes its VFs: with no VF in use, 'devlink dev eswitch set pci/0000:5e:00.0 mode switchdev', and apply again; have the host do so at boot, before its boot unit",
			"eth2 sfs 0 -> 5: SFs are supported only on NVIDIA's cards (driver mlx5_core): remove sfs from the intent",
		}
		if got := blocked(); !slices.Equal(got, all) {
			t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(all, "\n"))
		}
		// Without devlink, the number of SFs on a card in switchdev mode is unknown.
		m.Tools = &runnertest.Fake{}
		if got := blocked(); len(got) != 4 || !strings.Contains(got[0], runner.ErrNotFound.Error()) || got[2] != all[2] {
			t.Errorf("without devlink:\n%s", strings.Join(got, "\n"))
		}
	})
}

// Of the ports that devlink shows, only active SFs of this host and this card are counted.
func TestSFsOfThisHost(t *testing.T) {
	h := withSFs(t)
	m := h.Machine()
	const sf = `"type":"eth","flavour":"pcisf","pfnum":1,"splittable":false,`
	m.Tools = &runnertest.Fake{Programs: map[string]runnertest.Program{"devlink": runnertest.Prints(`{"port":{
		"pci/0000:3b:00.1/65535":{"type":"eth","netdev":"ens1","flavour":"physical","port":0,"splittable":false},
		"pci/0000:3b:00.1/1":{"type":"eth","flavour":"pcivf","controller":0,"pfnum":1,"vfnum":0,"external":false,"splittable":false,"function":{"hw_addr":"00:00:00:00:00:00"}},
		"pci/0000:3b:00.1/32768":{`+sf+`"controller":0,"sfnum":88,"external":false,"function":{"hw_addr":"00:00:00:00:88:88","state":"active","opstate":"attached"}},
		"pci/0000:3b:00.1/32769":{`+sf+`"controller":0,"sfnum":89,"external":false,"function":{"hw_addr":"00:00:00:00:00:00","state":"inactive","opstate":"detached"}},
		"pci/0000:3b:00.1/32868":{`+sf+`"controller":1,"sfnum":88,"external":true,"function":{"hw_addr":"00:00:00:00:88:88","state":"active","opstate":"attached"}}}}`, "", 0)}}
	if p := readVFs(t, m).Ports[vfPort]; p.SFs != qos.Of(1) || p.MaxSFs.Set {
		t.Errorf("%+v", p.Functions)
	}
}
