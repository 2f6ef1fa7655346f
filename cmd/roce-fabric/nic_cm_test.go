package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

const cmPort = "ens1f0np0"

// withoutCM is a host that cannot load rdma_cm, and what is wanted of it.
func withoutCM(t *testing.T) (*localtest.Host, *nic.Host) {
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: cmPort, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	h.UnloadCM()
	h.Programs["modprobe"] = runnertest.Prints("", "modprobe: FATAL: Module rdma_cm not found\n", 1)
	want := &nic.Port{Name: cmPort, RDMA: "mlx5_0", PFC: qos.Of(qos.Priorities(3)), Mode: qos.Of(nic.ModeRoCEv2), ToS: qos.Of(106)}
	return h, &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{cmPort: want}}
}

// Where rdma_cm cannot be loaded, all else is applied and stays, and the host is
// not said to be as intended.
func TestApplyWithoutCM(t *testing.T) {
	h, want := withoutCM(t)
	target := nicTarget{Host: &intent.Host{Name: "gpu1"}, desired: want, open: func() *host.Driver {
		return host.New(host.Config{
			Name: "gpu1", Desired: want, Options: local.Options{CutOff: true},
			Connect: func(context.Context) (host.Conn, error) { return machine{agent.Local(h.Machine())}, nil },
		})
	}}
	for _, fields := range [][]string{{nic.FieldPFC, nic.FieldMode, nic.FieldToS}, {nic.FieldMode, nic.FieldToS}} {
		var steps []local.Step
		devices, _ := nicDevices([]nicTarget{target})
		f := &intent.Fabric{Name: "pod1"}
		plan, err := fleet.Prepare(t.Context(), devices, fleet.PlanOptions{Fabric: f}, func(d *fleet.DevicePlan) (err error) {
			steps, err = host.Steps(d.Steps)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var planned []string
		for _, s := range steps {
			planned = append(planned, s.Field)
		}
		res, err := fleet.Apply(t.Context(), devices, plan, fleet.ApplyOptions{RunOptions: fleet.RunOptions{Fabric: f, State: t.TempDir()}, Allow: qos.ImpactLoss})
		if err := errors.Join(err, plan.Close()); err != nil {
			t.Fatal(err)
		}
		out := res.Outcomes[0]
		said := slices.ContainsFunc(out.Left, func(l string) bool {
			return strings.HasPrefix(l, "tos of "+cmPort) && strings.Contains(l, "Module rdma_cm not found")
		})
		if !slices.Equal(planned, fields) || out.State != fleet.Partial || out.Error == nil || out.Error.Text != "not as intended: tos of "+cmPort || !said {
			t.Errorf("planned %q: %s, %s, left %q", planned, out.State, out.Error, out.Left)
		}
	}
	if h.State(cmPort).PFC.Enabled != qos.Priorities(3) {
		t.Error("PFC is not set")
	}
}

// machine is a connection to a machine of the test.
type machine struct{ agent.Machine }

func (machine) Close() error { return nil }

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

// The boot unit sets what it can, and fails for what a port wants and cannot have,
// not for what it prints after that.
func TestBootWithoutCM(t *testing.T) {
	boot := func(t *testing.T, h *localtest.Host, want *nic.Host, then func(cancel func())) (string, error) {
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
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &last{then: func() { then(cancel) }}
		a := &app{stdout: io.Discard, stderr: l, getenv: func(string) string { return "" }}
		err = a.nicBootOn(ctx, h.Machine(), cmPort)
		if h.State(cmPort).PFC.Enabled != qos.Priorities(3) {
			t.Error("PFC is not set")
		}
		return l.String(), err
	}
	nothing := func(func()) {}
	t.Run("not to be loaded", func(t *testing.T) {
		h, want := withoutCM(t)
		if said, err := boot(t, h, want, nothing); err == nil || !strings.Contains(err.Error(), "Module rdma_cm not found") || !strings.Contains(said, "left: tos of") {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("not in configfs", func(t *testing.T) {
		h, want := withoutCM(t)
		h.Put("module/rdma_cm/refcnt", "1\n")
		if said, err := boot(t, h, want, nothing); err == nil || !strings.Contains(said, "left: tos of") {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("ended after the last step", func(t *testing.T) {
		h, want := withoutCM(t)
		h.UnloadCM() // and modprobe has it again
		said, err := boot(t, h, want, func(cancel func()) { h.OnRead("sys/kernel/hostname", cancel) })
		if err != nil || !strings.Contains(said, "left: not read: ") {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("no RDMA device yet", func(t *testing.T) {
		h, want := withoutCM(t)
		h.DropRDMA(cmPort)
		if said, err := boot(t, h, want, nothing); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	})
}
