package local_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// chooser returns a host with two cards, a bond over them, and a VF that is never chosen.
func chooser(t *testing.T) *localtest.Host {
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: "ens2", RDMA: "mlx5_1", PCI: "0000:5e:00.0", Driver: nic.DriverMLX5, Part: "MCX75", Serial: "MT2"})
	h.Add(localtest.Port{Name: "ens1", RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5, Part: "MCX75", Serial: "MT1"})
	h.Add(localtest.Port{Name: "ens1v0", RDMA: "mlx5_2", PCI: "0000:3b:00.2", Driver: nic.DriverMLX5, VF: true})
	h.AddBond("bond0", "ens1", "ens2")
	return h
}

// A NIC is addressed by its name in the intent, whatever its interface is called.
func TestSelect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := chooser(t)
		m := h.Machine()
		want := &nic.Host{Ports: map[string]*nic.Port{}}
		for name, s := range map[string]intent.Selector{"rail1": {Vendor: "nvidia", Rail: 1}, "rail2": {Vendor: "nvidia", Rail: 2}} {
			want.Ports[name] = &nic.Port{Name: name, Select: qos.Of(s), PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9000)}
		}
		want.Uppers = map[string]*nic.Upper{"bond0": {Name: "bond0", Kind: nic.UpperBond, On: []string{"rail1", "rail2"}, MTU: qos.Of(9000)}}
		m.Select(want.Selectors())
		ctx, names := context.Background(), []string{"rail1", "rail2"}
		running, err := m.Read(ctx, names)
		if err != nil || running.Ports["rail1"].Name != "ens1" || running.Ports["rail2"].Name != "ens2" || len(running.Unchosen) != 0 {
			t.Fatalf("%v: %+v %v", err, running.Ports, running.Unchosen)
		}
		steps := m.Plan(running, want, local.Options{CutOff: true})
		undo, err := m.Apply(ctx, steps, nil)
		if err != nil || h.State("ens1").PFC.Enabled != qos.Priorities(3) || h.MTU("ens2") != 9000 {
			t.Fatalf("%v: %+v", err, steps)
		}
		if gone, err := m.Watch(ctx, want, steps); err != nil || len(gone) > 0 {
			t.Errorf("%v: %v", err, gone)
		}
		if running, err = m.Read(ctx, names); err != nil {
			t.Fatal(err)
		}
		if left := nic.Diff(running, want); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if err := m.Counters(ctx, running); err != nil || running.Ports["rail1"].Counters == nil {
			t.Errorf("%v: %v", err, running.Ports["rail1"].Missing)
		}

		// The interface has a new name when another Machine reverts.
		m = h.Machine()
		m.Select(want.Selectors())
		h.Remove("ens1")
		h.Add(localtest.Port{Name: "eth7", RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
		h.Corrupt("eth7", corruptPFC)
		if err := m.Revert(ctx, undo); err != nil || h.State("eth7").PFC.Enabled != 0 || h.MTU("ens2") != 1500 {
			t.Errorf("%v: %v", err, h.State("eth7").PFC)
		}
		if name, ok := m.Chosen("mlx5_0"); !ok || name != "rail1" || m.Interface("rail1") != "eth7" {
			t.Errorf("mlx5_0 is of %q", name)
		}
	})
}

// Only root can read a card's part and serial number.
func TestSelectBySerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := chooser(t)
		selectors := map[string]intent.Selector{"a": {Part: "mcx75", Serial: "MT2"}, "b": {Serial: "MT9"}}
		read := func(m *local.Machine) *nic.Host {
			m.Select(selectors)
			running, err := m.Read(context.Background(), []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			return running
		}
		running := read(h.Machine())
		if p := running.Ports["a"]; p == nil || p.Name != "ens2" || running.Ports["b"] != nil || !strings.Contains(running.Unchosen["b"], "matches none of 2 NICs") {
			t.Errorf("%+v %v", running.Ports, running.Unchosen)
		}
		running = read(h.MachineOf())
		if why := running.Unchosen["a"]; why != "the part and serial number of ens1 cannot be read: needs root" {
			t.Error(why)
		}
		// A NIC without a chosen interface is never mistaken for the interface of that name.
		if _, err := h.Machine().Apply(context.Background(), []local.Step{{Port: "a", Field: nic.FieldMTU, Want: local.Value{Number: new(9000)}}}, nil); err == nil {
			t.Error("a step of no interface was carried out")
		}
	})
}

func corruptPFC(s *dcb.State) { s.PFC.Enabled = qos.Priorities(3) }
