package local_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// bonded returns a host with RoCE LAG over two ports, and a VLAN.
func bonded(t *testing.T) *localtest.Host {
	t.Helper()
	h := newHost(t,
		localtest.Port{Name: ens0, RDMA: "mlx5_bond_0", PCI: pci0, Driver: nic.DriverMLX5, Bond: "bond0"},
		localtest.Port{Name: ens1, PCI: pci1, Driver: nic.DriverMLX5, Bond: "bond0"})
	h.AddVLAN("bond0.100", "bond0", 100)
	return h
}

func TestUppersAreRead(t *testing.T) {
	h := bonded(t)
	h.AddBridge("br0", "bond0.100")
	h.SetEgress("bond0.100", nic.PCPs{2: 3, 3: 3})
	h.SetMTU(ens0, 9000)
	h.SetMTU(ens1, 9000)
	// A device of another kind, and an entry that is not a device name.
	h.Put("class/net/"+ens0+"/upper_vxlan0", "")
	h.Put("class/net/"+ens0+"/upper_..", "")
	h.Put("class/net/vxlan0/uevent", "DEVTYPE=vxlan\n")
	m := h.MachineOf() // no privileges are needed
	got := read(t, m)
	none := map[string]string{}
	want := map[string]*nic.Upper{
		"bond0":     {Name: "bond0", Kind: nic.UpperBond, On: []string{ens0, ens1}, Mode: "802.3ad", Hash: "layer3+4", MTU: qos.Of(1500), Missing: none},
		"bond0.100": {Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(1500), VLAN: qos.Of(100), Egress: qos.Of(nic.PCPs{2: 3, 3: 3}), Ingress: qos.Of(nic.PCPs{}), Missing: none},
		"br0":       {Name: "br0", Kind: nic.UpperBridge, On: []string{"bond0.100"}, MTU: qos.Of(1500), Missing: none},
	}
	if diff := cmp.Diff(want, got.Uppers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The RDMA MTU follows the MTU of the bond, not that of its members.
	if p := got.Ports[ens0]; p.MTU != qos.Of(9000) || p.ActiveMTU != qos.Of(1024) {
		t.Errorf("MTU %+v, RDMA MTU %+v", p.MTU, p.ActiveMTU)
	}
	var names []string
	for _, u := range got.Above(ens1) {
		names = append(names, u.Name)
	}
	if s := strings.Join(names, " "); s != "bond0 bond0.100 br0" {
		t.Errorf("over %s: %s", ens1, s)
	}
	// If something cannot be read, the reason is reported.
	m.VLANs = nil
	h.Put("class/net/br0/mtu", "many\n")
	got = read(t, m)
	if u := got.Uppers["bond0.100"]; u.Egress.Set || u.Missing[nic.FieldEgress] == "" {
		t.Errorf("%+v", u)
	}
	if u := got.Uppers["br0"]; u.MTU.Set || !strings.Contains(u.Missing[nic.FieldMTU], "not a number") {
		t.Errorf("%+v", u)
	}
}

func TestUppersAreBounded(t *testing.T) {
	h := newHost(t, mlx5(false))
	for i := range 300 {
		h.AddVLAN(fmt.Sprintf("v%d", i), ens0, i)
	}
	got := read(t, h.Machine())
	if len(got.Uppers) != 256 || !strings.Contains(got.Missing[nic.FieldUppers], "more than 256") {
		t.Errorf("%d, %v", len(got.Uppers), got.Missing)
	}
}

// stack returns the wanted state of the bonded host, with one MTU.
func stack(mtu int) *nic.Host {
	tags := nic.PCPs{0, qos.Unmanaged, 3, 3, qos.Unmanaged, qos.Unmanaged, 6, qos.Unmanaged}
	h := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{}, Uppers: map[string]*nic.Upper{
		"bond0":     {Name: "bond0", Kind: nic.UpperBond, On: []string{ens0, ens1}, MTU: qos.Of(mtu)},
		"bond0.100": {Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(mtu), VLAN: qos.Of(100), Egress: qos.Of(tags)},
	}}
	for _, name := range []string{ens0, ens1} {
		h.Ports[name] = &nic.Port{Name: name, MTU: qos.Of(mtu)}
	}
	return h
}

func mtus(h *localtest.Host) string {
	var out []string
	for _, name := range []string{ens0, ens1, "bond0", "bond0.100"} {
		out = append(out, fmt.Sprint(h.MTU(name)))
	}
	return strings.Join(out, " ")
}

// A bond and its VLAN get the MTU and the map of the intent, in the order that the kernel accepts.
// A revert restores everything that the kernel changed along with them.
func TestUppersApplyAndRevert(t *testing.T) {
	for name, tt := range map[string]struct {
		from  map[string]int
		mtu   int
		steps string
	}{
		"raised":             {nil, 9000, "bond0.100 egress_qos_map, ens1f0np0 mtu, ens1f1np1 mtu, bond0 mtu, bond0.100 mtu"},
		"a bond below":       {map[string]int{ens0: 9000, ens1: 9000}, 9000, "bond0.100 egress_qos_map, bond0 mtu, bond0.100 mtu"},
		"a VLAN below":       {map[string]int{"bond0": 9000}, 9000, "bond0.100 egress_qos_map, bond0.100 mtu"},
		"lowered":            {map[string]int{"bond0": 9000, "bond0.100": 9000}, 1500, "bond0.100 egress_qos_map, bond0.100 mtu, bond0 mtu, ens1f0np0 mtu, ens1f1np1 mtu"},
		"one member lowered": {map[string]int{ens0: 4000}, 1500, "bond0.100 egress_qos_map, ens1f0np0 mtu"},
	} {
		for record, before := range map[string]bool{"of the apply": false, "before it": true} {
			t.Run(name+" "+record, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := bonded(t)
					for _, dev := range []string{ens0, ens1, "bond0", "bond0.100"} {
						if mtu := tt.from[dev]; mtu != 0 {
							h.SetMTU(dev, mtu)
						}
					}
					was := mtus(h)
					m, want := h.Machine(), stack(tt.mtu)
					steps := m.Plan(read(t, m), want, local.Options{})
					var order []string
					for _, s := range steps {
						order = append(order, s.Port+" "+s.Field)
						if err := s.Check(want.Manages); err != nil {
							t.Error(err)
						}
					}
					if got := strings.Join(order, ", "); got != tt.steps {
						t.Errorf("steps: %s", got)
					}
					first, err := m.Before(t.Context(), steps)
					if err != nil {
						t.Fatal(err)
					}
					u := apply(t, m, overJSON(t, steps))
					if before {
						u = first
					}
					if got, w := mtus(h), fmt.Sprintf("%[1]d %[1]d %[1]d %[1]d", tt.mtu); got != w {
						t.Errorf("MTUs %s", got)
					}
					got := read(t, m)
					if e := got.Uppers["bond0.100"].Egress.V; e != (nic.PCPs{2: 3, 3: 3, 6: 6}) {
						t.Errorf("map %v", e)
					}
					if left := nic.Diff(got, want); left != nil {
						t.Errorf("left: %+v", left)
					}
					u = overJSON(t, u)
					if err := u.Check(want.Manages); err != nil {
						t.Fatal(err)
					}
					if err := m.Revert(t.Context(), u); err != nil {
						t.Fatal(err)
					}
					if got := mtus(h); got != was {
						t.Errorf("reverted to %s, from %s", got, was)
					}
					if e := read(t, m).Uppers["bond0.100"].Egress.V; e != (nic.PCPs{}) {
						t.Errorf("map after the revert: %v", e)
					}
				})
			})
		}
	}
}

// A VLAN that the intent does not list follows its NIC to a lower MTU; the revert restores it.
func TestVLANOfOthersComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(false))
		h.SetMTU(ens0, 9000)
		h.AddVLAN("v7", ens0, 7)
		m := h.Machine()
		u := apply(t, m, m.Plan(read(t, m), &nic.Host{Ports: map[string]*nic.Port{ens0: {Name: ens0, MTU: qos.Of(1500)}}}, local.Options{}))
		if h.MTU("v7") != 1500 {
			t.Fatal("the VLAN has kept its MTU")
		}
		if err := m.Revert(t.Context(), overJSON(t, u)); err != nil || h.MTU(ens0) != 9000 || h.MTU("v7") != 9000 {
			t.Errorf("%v: %d, %d", err, h.MTU(ens0), h.MTU("v7"))
		}
	})
}

// A rejection by the kernel ends the run, and a record that names other devices is rejected.
func TestUppersThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bonded(t)
		m, want := h.Machine(), stack(9000)
		steps := m.Plan(read(t, m), want, local.Options{})
		vlan := steps[len(steps)-1]
		if _, err := m.Apply(t.Context(), []local.Step{vlan}, nil); !errors.Is(err, syscall.ERANGE) {
			t.Errorf("a VLAN above its bond: %v", err)
		}
		if _, err := h.MachineOf().Apply(t.Context(), steps[:1], nil); !errors.Is(err, local.ErrPermission) {
			t.Errorf("without root: %v", err)
		}
		h.SetFaults(localtest.Faults{Ignore: true})
		if _, err := m.Apply(t.Context(), steps[:1], nil); !errors.Is(err, local.ErrIgnored) {
			t.Errorf("a kernel that ignores the map: %v", err)
		}
		for name, v := range map[string]local.Value{
			"a PCP of 8":  {PCPs: &nic.PCPs{8}},
			"no map":      {Number: new(1)},
			"a map twice": {PCPs: &nic.PCPs{}, Number: new(1)},
		} {
			s := local.Step{Port: "bond0.100", Field: nic.FieldEgress, Want: v}
			if _, err := m.Apply(t.Context(), []local.Step{s}, nil); err == nil && s.Check(nil) == nil {
				t.Errorf("%s is taken", name)
			}
		}
		for name, along := range map[string]map[string]int{"a path": {"../x": 1500}, "an MTU of 1": {ens0: 1}} {
			u := local.Undo{Steps: []local.UndoStep{{Port: "bond0", Field: nic.FieldMTU, Old: local.Value{Number: new(1500), Along: along}}}}
			if err := u.Check(nil); err == nil {
				t.Errorf("%s is taken", name)
			}
		}
		// A device that is neither over nor below the bond is left alone.
		h.SetFaults(localtest.Faults{})
		h.Add(localtest.Port{Name: "eth7", PCI: "0000:77:00.0", Driver: nic.DriverMLX5})
		u := local.Undo{Steps: []local.UndoStep{{Port: "bond0", Field: nic.FieldMTU, Old: local.Value{Number: new(2000), Along: map[string]int{"eth7": 4000}}}}}
		if err := m.Revert(t.Context(), u); err != nil || h.MTU("eth7") != 1500 || h.MTU("bond0") != 2000 {
			t.Errorf("%v: %d, %d", err, h.MTU("eth7"), h.MTU("bond0"))
		}
	})
}

// Another writer of a bond is detected like one of a NIC.
func TestWatchOfUppers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bonded(t)
		m, want := h.Machine(), stack(9000)
		steps := m.Plan(read(t, m), want, local.Options{})
		apply(t, m, steps)
		for i, found := range []string{"", "bond0 mtu 1500 9000"} {
			rival := i == 1
			if rival {
				h.OnRead("/bond0/mtu", func() { h.SetMTU("bond0", 1500) })
			}
			got, err := m.Watch(t.Context(), want, steps)
			var said []string
			for _, c := range got {
				if c.Port == "bond0" {
					said = append(said, fmt.Sprint(c.Port, " ", c.Field, " ", c.Old, " ", c.New))
				}
			}
			if err != nil || strings.Join(said, "; ") != found || !rival && got != nil {
				t.Errorf("%v: %+v, %v", rival, got, err)
			}
		}
	})
}
