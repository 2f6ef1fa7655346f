package local_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// bonded is RoCE LAG over two ports, with a VLAN.
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
	// A device of another kind, and one with a name that is no device's.
	h.Put("class/net/"+ens0+"/upper_vxlan0", "")
	h.Put("class/net/"+ens0+"/upper_..", "")
	h.Put("class/net/vxlan0/uevent", "DEVTYPE=vxlan\n")
	m := h.MachineOf() // no privilege is needed
	got := read(t, m)
	none := map[string]string{}
	want := map[string]*nic.Upper{
		"bond0":     {Name: "bond0", Kind: nic.UpperBond, On: []string{ens0, ens1}, Mode: "802.3ad", MTU: qos.Of(1500), Missing: none},
		"bond0.100": {Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(1500), VLAN: qos.Of(100), Egress: qos.Of(nic.PCPs{2: 3, 3: 3}), Ingress: qos.Of(nic.PCPs{}), Missing: none},
		"br0":       {Name: "br0", Kind: nic.UpperBridge, On: []string{"bond0.100"}, MTU: qos.Of(1500), Missing: none},
	}
	if diff := cmp.Diff(want, got.Uppers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The RDMA device goes by the bond, not by its members.
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
	// What cannot be read is said.
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
