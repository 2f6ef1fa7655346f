package inside

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

const cma = "/sys/kernel/config/rdma_cm"

// link adds rxe0 on roce0 for the length of a test.
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

	// A folder that is made again is for the same device, with its settings.
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
