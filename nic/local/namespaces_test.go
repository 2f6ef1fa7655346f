package local_test

import (
	"context"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// The interface of an RDMA device or a VF in the network namespace of a pod, a container or a
// process is found; without root, only that it is not here.
func TestOtherNamespaces(t *testing.T) {
	h := newHost(t, mlx5(false), localtest.Port{Name: "ens2", RDMA: "mlx5_2", PCI: "0000:5e:00.0", Driver: nic.DriverMLX5, MaxVFs: 4})
	m := h.Machine()
	want := &nic.Host{Ports: map[string]*nic.Port{"ens2": {Name: "ens2", Functions: nic.Functions{VFs: qos.Of(3)}}}}
	if _, err := m.Apply(t.Context(), m.Plan(read(t, m), want, local.Options{}), nil); err != nil {
		t.Fatal(err)
	}
	const container = "0::/system.slice/docker-3f2a9c0d1e2f3f2a9c0d1e2f3f2a9c0d1e2f3f2a9c0d1e2f3f2a9c0d1e2f3f2a.scope"
	pod := localtest.Namespace{Process: 4243, Comm: "pause", Group: localtest.PodGroup}
	h.MoveVF("ens2", 0, pod, "net1", 1500)
	h.MoveVF("ens2", 1, localtest.Namespace{Process: 60, Comm: "python3", Group: container}, "eth1", 9000)
	if err := h.MoveTo(ens0, localtest.Namespace{Process: 77, Comm: "sleep", Group: "0::/user.slice"}, "rail0"); err != nil {
		t.Fatal(err)
	}
	got := read(t, h.Machine(), ens0, "ens2")
	if want := []nic.Elsewhere{{Interface: "rail0", PCI: pci0, RDMA: "mlx5_0", MTU: 1500, Up: true, Owner: "process 77 (sleep)"}}; !slices.Equal(got.Elsewhere, want) {
		t.Errorf("%+v", got.Elsewhere)
	}
	users := func(h *nic.Host) (out []string) {
		for _, v := range h.Ports["ens2"].Each {
			out = append(out, v.Interface+" "+v.User)
		}
		return out
	}
	if got, want := users(got), []string{"net1 in the network namespace of pod 0f3c5a2e-7b1d-4c8e-9a60-5d2f1e8b7c34", "eth1 in the network namespace of container 3f2a9c0d1e2f", "ens2v2 "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if v := got.Ports["ens2"].Each[0]; v.MTU != 1500 || !v.Up {
		t.Errorf("%+v", v)
	}
	user := read(t, h.MachineOf(), ens0, "ens2")
	if got, want := users(user), []string{" in another network namespace", " in another network namespace", "ens2v2 "}; !slices.Equal(got, want) || len(user.Elsewhere) > 0 || !slices.Equal(user.Away, []string{"mlx5_0"}) {
		t.Errorf("without root: %q, %+v", got, user.Elsewhere)
	}
	// With nothing to look for, no namespace is entered.
	m = h.Machine()
	entered := &counting{m.Namespaces, 0}
	m.Namespaces = entered
	if read(t, m); entered.n == 0 {
		t.Error("no namespace was entered")
	}
	other := newHost(t, mlx5(false))
	other.Process(5, "bash", "bash")
	m = other.Machine()
	entered.Namespaces, entered.n = m.Namespaces, 0
	m.Namespaces = entered
	if read(t, m); entered.n > 0 {
		t.Error("a namespace was entered")
	}
}

type counting struct {
	local.Namespaces
	n int
}

func (c *counting) Links(ctx context.Context, file string) ([]nic.Elsewhere, error) {
	c.n++
	return c.Namespaces.Links(ctx, file)
}
