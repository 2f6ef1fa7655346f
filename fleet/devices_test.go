package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/engine/enginetest"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

const nicPort = "ens1f0np0"

type machine struct{ agent.Machine }

func (machine) Close() error { return nil }

// A switch and a host are changed in one run, and rolled back from its journal.
func TestSwitchAndHostInOneRun(t *testing.T) {
	k := localtest.New(t.TempDir())
	k.Add(localtest.Port{Name: nicPort, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	k.Routes("eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0")
	want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{nicPort: {Name: nicPort, PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9000)}}}
	leaf := &enginetest.Box{Mask: qos.Priorities(3, 4)}
	open := func(_ context.Context, name string) (drivers.Driver, error) {
		if name == "leaf1" {
			return leaf, nil
		}
		return host.New(host.Config{Name: "gpu1", Desired: want, Connect: func(context.Context) (host.Conn, error) {
			return machine{agent.Local(k.Machine())}, nil
		}}), nil
	}
	device := func(name, os string, want drivers.Desired) Device {
		return Device{Name: name, OS: os, Desired: func() drivers.Desired { return want }, Open: func(ctx context.Context) (drivers.Driver, error) { return open(ctx, name) }}
	}
	devices := []Device{device("leaf1", "", enginetest.Holding(qos.Priorities(3))), device("gpu1", host.OS, want)}
	dir := t.TempDir()
	o := ApplyOptions{RunOptions: RunOptions{Fabric: &intent.Fabric{Name: "pod1"}, Store: store.Dir(dir), Workers: 2, Writers: 2}, Allow: qos.ImpactLoss}
	apply := func(confirm func() error) (*Result, error) {
		leaf.Calls = nil
		plan, err := Prepare(t.Context(), devices, PlanOptions{Fabric: o.Fabric, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		o.Confirm = confirm
		res, err := Apply(t.Context(), devices, plan, o)
		return res, errors.Join(err, plan.Close())
	}
	// After the question the host is compared with its plan, like a switch. If it has
	// changed, neither device is written to.
	res, err := apply(func() error {
		k.Corrupt(nicPort, func(s *dcb.State) { s.PFC.Enabled = qos.Priorities(5) })
		return nil
	})
	var refused *Error
	if !errors.As(err, &refused) || refused.Kind != KindStale || refused.Hint == "" || refused.Text != "1 device changed since the plan was made; nothing was written" {
		t.Fatalf("%v, %+v", err, refused)
	}
	if res.Outcomes[0].State != Skipped || res.Outcomes[1].State != Refused || !errors.Is(res.Outcomes[1].Error, drivers.ErrStale) || slices.Contains(leaf.Calls, "apply") {
		t.Errorf("%+v, calls %v", res.Outcomes, leaf.Calls)
	}
	if res, err = apply(nil); err != nil || res.Failed() {
		t.Fatal(err, res)
	}
	for i, name := range []string{"leaf1", "gpu1"} {
		if out := res.Outcomes[i]; out.Device != name || out.State != Applied {
			t.Errorf("%+v", out)
		}
	}
	if got := k.State(nicPort).PFC.Enabled; leaf.Mask != qos.Priorities(3) || got != qos.Priorities(3) {
		t.Errorf("the switch has %s, the host %s", leaf.Mask, got)
	}
	u, err := Find(t.Context(), devices, FindOptions{Store: store.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	if res, err = Rollback(t.Context(), devices, u, RollbackOptions{o.RunOptions, qos.ImpactLoss}); err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Outcomes {
		if o.State != Restored {
			t.Errorf("%+v", o)
		}
	}
	if got := k.State(nicPort).PFC.Enabled; len(res.Outcomes) != 2 || leaf.Mask != qos.Priorities(3, 4) || got != qos.Priorities(5) {
		t.Errorf("the switch has %s, the host %s", leaf.Mask, got)
	}
}

// A plan for a device that is not among the devices of the call is refused.
func TestApplyOfAnotherDevice(t *testing.T) {
	b := &enginetest.Box{Mask: qos.Priorities(3, 4)}
	dev := Device{Name: "leaf1", Open: func(context.Context) (drivers.Driver, error) { return b, nil }}
	dev.Desired = func() drivers.Desired { return enginetest.Holding(qos.Priorities(3)) }
	f := &intent.Fabric{Name: "pod1"}
	plan, err := Prepare(t.Context(), []Device{dev}, PlanOptions{Fabric: f})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Apply(t.Context(), nil, plan, ApplyOptions{RunOptions: RunOptions{Fabric: f, Store: store.Dir(t.TempDir())}, Allow: qos.ImpactReload})
	if e := (*Error)(nil); !errors.As(err, &e) || e.Device != "leaf1" || e.Op != OpJudge || slices.Contains(b.Calls, "apply") {
		t.Errorf("%v, calls %v", err, b.Calls)
	}
	if err := plan.Close(); err != nil {
		t.Error(err)
	}
}
