package fleet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

// If rdma_cm cannot be loaded, everything else is applied and kept, and the host is reported
// as not as intended.
func TestApplyWithoutCM(t *testing.T) {
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: "ens1f0np0", RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	h.UnloadCM()
	h.Programs["modprobe"] = runnertest.Prints("", "modprobe: FATAL: Module rdma_cm not found\n", 1)
	const cmPort = "ens1f0np0"
	want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{cmPort: {
		Name: cmPort, RDMA: "mlx5_0", PFC: qos.Of(qos.Priorities(3)), Mode: qos.Of(nic.ModeRoCEv2), ToS: qos.Of(106),
	}}}
	devices := []Device{{Name: "gpu1", OS: host.OS, Volatile: true, Desired: func() drivers.Desired { return want }, Open: func(context.Context) (drivers.Driver, error) {
		return host.New(host.Config{
			Name: "gpu1", Desired: want, Options: local.Options{CutOff: true},
			Connect: func(context.Context) (host.Conn, error) { return machine{agent.Local(h.Machine())}, nil },
		}), nil
	}}}
	for _, fields := range [][]string{{nic.FieldPFC, nic.FieldMode, nic.FieldToS}, {nic.FieldMode, nic.FieldToS}} {
		f := &intent.Fabric{Name: "pod1"}
		plan, err := Prepare(t.Context(), devices, PlanOptions{Fabric: f})
		if err != nil {
			t.Fatal(err)
		}
		var planned []string
		for d, err := range plan.Devices() {
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range d.Host.Steps {
				planned = append(planned, s.Field)
			}
		}
		res, err := Apply(t.Context(), devices, plan, ApplyOptions{RunOptions: RunOptions{Fabric: f, Store: store.Dir(t.TempDir())}, Allow: qos.ImpactLoss})
		if err := errors.Join(err, plan.Close()); err != nil {
			t.Fatal(err)
		}
		out := res.Outcomes[0]
		said := slices.ContainsFunc(out.Left, func(l string) bool {
			return strings.HasPrefix(l, "tos of "+cmPort) && strings.Contains(l, "Module rdma_cm not found")
		})
		if !slices.Equal(planned, fields) || out.State != Partial || out.Error == nil || out.Error.Text != "not as intended: tos of "+cmPort || !said {
			t.Errorf("planned %q: %s, %s, left %q", planned, out.State, out.Error, out.Left)
		}
	}
	if h.State(cmPort).PFC.Enabled != qos.Priorities(3) {
		t.Error("PFC is not set")
	}
}
