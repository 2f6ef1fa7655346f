package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// cmPort is a port whose RDMA defaults need the module rdma_cm.
const cmPort = "ens1f0np0"

// withoutCM returns a host that cannot load rdma_cm, and its desired state.
func withoutCM(t *testing.T) (*localtest.Host, *nic.Host) {
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: cmPort, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	h.UnloadCM()
	h.Programs["modprobe"] = runnertest.Prints("", "modprobe: FATAL: Module rdma_cm not found\n", 1)
	want := &nic.Port{Name: cmPort, RDMA: "mlx5_0", PFC: qos.Of(qos.Priorities(3)), Mode: qos.Of(nic.ModeRoCEv2), ToS: qos.Of(106)}
	return h, &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{cmPort: want}}
}

// last calls then when the last step begins.
type last struct {
	strings.Builder
	then func()
}

func (l *last) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "set tos") {
		l.then()
	}
	return l.Builder.Write(b)
}

// install writes the host file of a unit to a host.
func install(t *testing.T, h *localtest.Host, want *nic.Host) {
	t.Helper()
	files, err := unit.Files(unit.Settings{Binary: "/usr/local/sbin/roce-fabric-nic", Host: want})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == "roce-fabric/host.json" {
			name := filepath.Join(h.Roots.Etc, f.Path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Content, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The boot unit sets everything it can. It fails if a port needs a setting that cannot be made,
// but not because of errors after the last step.
func TestBootWithoutCM(t *testing.T) {
	boot := func(t *testing.T, h *localtest.Host, want *nic.Host, then func(cancel func())) (string, error) {
		install(t, h, want)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &last{then: func() { then(cancel) }}
		err := host.Boot(ctx, h.Machine(), cmPort, func(format string, a ...any) { fmt.Fprintf(l, format+"\n", a...) })
		if h.State(cmPort).PFC.Enabled != qos.Priorities(3) {
			t.Error("PFC is not set")
		}
		return l.String(), err
	}
	nothing := func(func()) {}
	t.Run("not to be loaded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, want := withoutCM(t)
			if said, err := boot(t, h, want, nothing); err == nil || !strings.Contains(err.Error(), "Module rdma_cm not found") || !strings.Contains(said, "left: tos of") {
				t.Errorf("%v\n%s", err, said)
			}
		})
	})
	t.Run("not in configfs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, want := withoutCM(t)
			h.Put("module/rdma_cm/refcnt", "1\n")
			if said, err := boot(t, h, want, nothing); err == nil || !strings.Contains(said, "left: tos of") {
				t.Errorf("%v\n%s", err, said)
			}
		})
	})
	t.Run("ended after the last step", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, want := withoutCM(t)
			h.UnloadCM() // the module is not loaded, but modprobe can load it
			said, err := boot(t, h, want, func(cancel func()) { h.OnRead("sys/kernel/hostname", cancel) })
			if err != nil || !strings.Contains(said, "left: not read: ") {
				t.Errorf("%v\n%s", err, said)
			}
		})
	})
	t.Run("no RDMA device yet", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h, want := withoutCM(t)
			h.DropRDMA(cmPort)
			if said, err := boot(t, h, want, nothing); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
		})
	})
}

// A bond or VLAN that appears gets its settings, whichever of the interfaces below it are already
// set.
func TestBootOfUppers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for device, want := range map[string]string{"bond0": "9000 9000 1500 0", "bond0.100": "9000 9000 9000 3", cmPort: "9000 1500 1500 0"} {
			h, desired := withoutCM(t)
			h.AddBond("bond0", cmPort)
			h.AddVLAN("bond0.100", "bond0", 100)
			desired.Ports[cmPort] = &nic.Port{Name: cmPort, MTU: qos.Of(9000), PFC: qos.Of(qos.Priorities(3))}
			desired.Uppers = map[string]*nic.Upper{
				"bond0":     {Name: "bond0", Kind: nic.UpperBond, On: []string{cmPort}, MTU: qos.Of(9000)},
				"bond0.100": {Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, MTU: qos.Of(9000), Egress: qos.Of(nic.PCPs{2: 3})},
			}
			install(t, h, desired)
			if err := host.Boot(t.Context(), h.Machine(), device, t.Logf); err != nil {
				t.Errorf("%s: %v", device, err)
			}
			running, err := h.Machine().Read(t.Context(), []string{cmPort})
			if err != nil {
				t.Fatal(err)
			}
			vlan := running.Uppers["bond0.100"]
			if got := fmt.Sprint(h.MTU(cmPort), h.MTU("bond0"), h.MTU("bond0.100"), vlan.Egress.V[2]); got != want {
				t.Errorf("%s: %s", device, got)
			}
			if pfc := h.State(cmPort).PFC.Enabled != 0; pfc != (device == cmPort) {
				t.Errorf("%s: PFC is set: %v", device, pfc)
			}
		}
	})
}

// NICs with selectors are set when their interface or RDMA device appears, and rails when the
// last rail appears. The unit is also started for other devices, which it does not change.
func TestBootOfSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, desired := withoutCM(t)
		port := func(name string, s intent.Selector) {
			desired.Ports[name] = &nic.Port{Name: name, Select: qos.Of(s), MTU: qos.Of(9000)}
		}
		delete(desired.Ports, cmPort)
		port("rail1", intent.Selector{Model: "1021", Rail: 1})
		port("rail2", intent.Selector{Model: "1021", Rail: 2})
		port("store", intent.Selector{Model: "ConnectX-6"})
		desired.Uppers = map[string]*nic.Upper{"bond0": {Name: "bond0", Kind: nic.UpperBond, On: []string{"rail1", "rail2"}, MTU: qos.Of(9000)}}
		install(t, h, desired)
		var there []string
		appears := func(p localtest.Port, device, want string) {
			t.Helper()
			if p.Name != "" {
				h.Add(p)
				there = append(there, p.Name)
			}
			if err := host.Boot(t.Context(), h.Machine(), device, t.Logf); err != nil {
				t.Errorf("%s: %v", device, err)
			}
			var got []string
			for _, name := range []string{cmPort, "eth5", "eth6", "eth7"} {
				if name == cmPort || slices.Contains(there, name) {
					got = append(got, fmt.Sprint(h.MTU(name)))
				}
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("after %s: %s, want %s", device, s, want)
			}
		}
		appears(localtest.Port{}, cmPort, "1500")
		appears(localtest.Port{Name: "eth5", RDMA: "mlx5_5", PCI: "0000:05:00.0", Driver: nic.DriverMLX5, Model: "101b"}, "eth5", "1500 9000")
		appears(localtest.Port{Name: "eth7", PCI: "0000:07:00.0", Driver: "igb"}, "eth7", "1500 9000 1500")
		h.AddBond("bond0", cmPort)
		appears(localtest.Port{Name: "eth6", RDMA: "mlx5_6", PCI: "0000:06:00.0", Driver: nic.DriverMLX5, Bond: "bond0"}, "mlx5_6", "9000 9000 9000 1500")
		if h.MTU("bond0") != 9000 {
			t.Errorf("bond0 has an MTU of %d", h.MTU("bond0"))
		}
	})
}

// Settings of a card in the intent are restored at boot.
func TestBootOfCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, desired := withoutCM(t)
		desired.Ports[cmPort] = &nic.Port{Name: cmPort, MaxReadRequest: qos.Of(4096), DCQCN: map[string]uint64{"rp_ai_rate": 7}}
		install(t, h, desired)
		for range 2 {
			if err := host.Boot(t.Context(), h.Machine(), cmPort, t.Logf); err != nil {
				t.Fatal(err)
			}
			running, err := h.Machine().Read(t.Context(), []string{cmPort})
			if err != nil {
				t.Fatal(err)
			}
			if p := running.Ports[cmPort]; p.MaxReadRequest != qos.Of(4096) || p.DCQCN["rp_ai_rate"] != 7 {
				t.Errorf("%+v %v", p.MaxReadRequest, p.DCQCN)
			}
			h.Reboot()
		}
	})
}
