package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

const cma = "/sys/kernel/config/rdma_cm"

// link adds rxe0 on roce0 for the duration of a test.
func link(t *testing.T) {
	t.Helper()
	must(t, "rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "roce0")
	t.Cleanup(func() {
		_, _ = tool(t, "rdma", "link", "delete", "rxe0")
		_ = os.Remove(cma + "/rxe0")
	})
}

func TestRxeOnRoce0(t *testing.T) {
	begin(t)
	link(t)
	var links []struct {
		Name   string `json:"ifname"`
		Port   int    `json:"port"`
		State  string `json:"state"`
		Netdev string `json:"netdev"`
	}
	out := must(t, "rdma", "-j", "link", "show")
	if err := json.Unmarshal([]byte(out), &links); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(links) != 1 || links[0].Name != "rxe0" || links[0].Port != 1 || links[0].State != "ACTIVE" || links[0].Netdev != "roce0" {
		t.Errorf("rdma link: %s", out)
	}
}

func TestDefaultTOS(t *testing.T) {
	begin(t)
	link(t)
	if err := os.Mkdir(cma+"/roce0", 0o755); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("a folder by the name of the network device: %v", err)
	}
	if err := os.Mkdir(cma+"/rxe0", 0o755); err != nil {
		t.Fatal(err)
	}
	tos, mode := cma+"/rxe0/ports/1/default_roce_tos", cma+"/rxe0/ports/1/default_roce_mode"
	equal(t, "the first tos", read(t, tos), "0")
	write(t, tos, "106\n")
	equal(t, "the tos", read(t, tos), "106")
	if err := os.WriteFile(tos, []byte("256"), 0o644); !errors.Is(err, syscall.ERANGE) {
		t.Errorf("tos 256: %v", err)
	}
	equal(t, "the mode", read(t, mode), "RoCE v2")

	// A recreated directory belongs to the same device and shows its settings.
	if err := os.Remove(cma + "/rxe0"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(cma+"/rxe0", 0o755); err != nil {
		t.Fatal(err)
	}
	equal(t, "the tos in a new folder", read(t, tos), "106")

	must(t, "rdma", "link", "delete", "rxe0")
	if _, err := os.ReadFile(tos); !errors.Is(err, syscall.ENODEV) {
		t.Errorf("the tos of a device that is gone: %v", err)
	}
	link(t)
	equal(t, "the tos of a new device", read(t, tos), "0")
}

func TestVLAN(t *testing.T) {
	begin(t)
	must(t, "ip", "link", "add", "link", "roce0", "name", "roce0.100", "type", "vlan", "id", "100", "egress-qos-map", "3:3")
	t.Cleanup(func() { _, _ = tool(t, "ip", "link", "delete", "roce0.100") })
	if out := must(t, "ip", "-d", "-j", "link", "show", "roce0.100"); !strings.Contains(out, `"egress_qos":[{"from":3,"to":3}]`) {
		t.Errorf("the map: %s", out)
	}
	refused(t, "Operation not supported", "dcb", "pfc", "show", "dev", "roce0.100")
}

// Bonds and VLANs are read as ip shows them, and set and restored together with what the kernel
// changes along with them, starting from a bond at 1500 over members at 9000. The bonding module
// creates bond0 by itself.
func TestBondWithVLAN(t *testing.T) {
	begin(t, "ndev=2")
	must(t, "ip", "link", "add", "bond7", "type", "bond", "mode", "active-backup")
	t.Cleanup(func() { _, _ = tool(t, "ip", "link", "delete", "bond7") })
	for _, name := range []string{"roce0", "roce1"} {
		must(t, "ip", "link", "set", name, "down")
		must(t, "ip", "link", "set", name, "master", "bond7")
		must(t, "ip", "link", "set", name, "mtu", "9000")
	}
	must(t, "ip", "link", "add", "link", "bond7", "name", "bond7.100", "type", "vlan", "id", "100", "ingress-qos-map", "6:6")
	m, err := local.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.NoFirmware = true
	look := func() *nic.Host {
		t.Helper()
		h, err := m.Read(t.Context(), []string{"roce0", "roce1"})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	mtus := func() (out string) {
		for _, name := range []string{"roce0", "roce1", "bond7", "bond7.100"} {
			out += read(t, "/sys/class/net/"+name+"/mtu") + " "
		}
		return out
	}
	h := look()
	bond, vlan := h.Uppers["bond7"], h.Uppers["bond7.100"]
	if len(h.Uppers) != 2 || bond == nil || vlan == nil {
		t.Fatalf("%+v", h.Uppers)
	}
	equal(t, "the bond", fmt.Sprintf("%v %v %v %v", bond.Kind, bond.On, bond.Mode, bond.MTU.V), "bond [roce0 roce1] active-backup 1500")
	equal(t, "the VLAN", fmt.Sprintf("%v %v %v %v %v %v", vlan.Kind, vlan.On, vlan.VLAN.V, vlan.Egress.V, vlan.Ingress.V, vlan.MTU.V), "vlan [bond7] 100 [0 0 0 0 0 0 0 0] [0 0 0 0 0 0 6 0] 1500")
	equal(t, "the MTUs", mtus(), "9000 9000 1500 1500 ")

	want := &nic.Host{Ports: map[string]*nic.Port{}, Uppers: map[string]*nic.Upper{
		"bond7":     {Name: "bond7", Kind: nic.UpperBond, On: bond.On, MTU: qos.Of(8000)},
		"bond7.100": {Name: "bond7.100", Kind: nic.UpperVLAN, On: vlan.On, VLAN: vlan.VLAN, MTU: qos.Of(8000), Egress: qos.Of(nic.PCPs{0, qos.Unmanaged, 3, 3, qos.Unmanaged, qos.Unmanaged, 6, qos.Unmanaged})},
	}}
	for name := range h.Ports {
		want.Ports[name] = &nic.Port{Name: name, MTU: qos.Of(8000)}
	}
	u, err := m.Apply(t.Context(), m.Plan(h, want, local.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the MTUs after an apply", mtus(), "8000 8000 8000 8000 ")
	if out := must(t, "ip", "-d", "-j", "link", "show", "bond7.100"); !strings.Contains(out, `"egress_qos":[{"from":2,"to":3},{"from":3,"to":3},{"from":6,"to":6}]`) {
		t.Errorf("the map: %s", out)
	}
	if left := nic.Diff(look(), want); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if err := m.Revert(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	equal(t, "the MTUs after a revert", mtus(), "9000 9000 1500 1500 ")
	if out := must(t, "ip", "-d", "-j", "link", "show", "bond7.100"); strings.Contains(out, "egress_qos") {
		t.Errorf("the map after a revert: %s", out)
	}
	// A VLAN's MTU cannot exceed that of its device.
	refused(t, "Numerical result out of range", "ip", "link", "set", "bond7.100", "mtu", "9000")
}
