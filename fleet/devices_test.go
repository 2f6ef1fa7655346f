package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

const nicPort = "ens1f0np0"

type machine struct{ agent.Machine }

func (machine) Close() error { return nil }

// A switch and a host are applied in one run, and rolled back from its journal.
func TestSwitchAndHostInOneRun(t *testing.T) {
	k := localtest.New(t.TempDir())
	k.Add(localtest.Port{Name: nicPort, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	k.Routes("eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0")
	want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{nicPort: {Name: nicPort, PFC: qos.Of(qos.Priorities(3)), MTU: qos.Of(9000)}}}
	leaf := &box{mask: qos.Priorities(3, 4)}
	open := func(_ context.Context, name string) (drivers.Driver, error) {
		if name == "leaf1" {
			return leaf, nil
		}
		return host.New(host.Config{Name: "gpu1", Desired: want, Connect: func(context.Context) (host.Conn, error) {
			return machine{agent.Local(k.Machine())}, nil
		}}), nil
	}
	jobs := []Job{job("leaf1", leaf)}
	err := Make(t.Context(), []Target{{
		Name: "gpu1", OS: host.OS, Desired: func() drivers.Desired { return want },
		Open: func(ctx context.Context) (drivers.Driver, error) { return open(ctx, "gpu1") },
	}}, PlanOptions{Workers: 1}, func(d *DevicePlan) error {
		jobs = append(jobs, Job{Plan: d, Desired: want, Open: func(ctx context.Context) (drivers.Driver, error) { return open(ctx, d.Name) }})
		return d.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Before the first write the host is compared with its plan, like a switch.
	for _, c := range []struct {
		mask  qos.PrioritySet
		state State
	}{{qos.Priorities(5), Refused}, {0, Skipped}} {
		k.Corrupt(nicPort, func(s *dcb.State) { s.PFC.Enabled = c.mask })
		out := CheckState(t.Context(), jobs[1], StepsDigest(jobs[1].Plan.Steps), RunOptions{MaxImpact: qos.ImpactLoss})
		if out.State != c.state || (c.state == Refused) != errors.Is(out.Err, drivers.ErrStale) {
			t.Errorf("with PFC %s: %+v, want %s", c.mask, out, c.state)
		}
	}
	dir := t.TempDir()
	begin := func(id string, first Record) *Journal {
		j, err := Begin(dir, id, first)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := begin("run1", Record{})
	outs, err := Run(t.Context(), [][]Job{jobs}, RunOptions{ID: "run1", MaxImpact: qos.ImpactLoss, Journal: j, Workers: 2})
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"leaf1", "gpu1"} {
		if outs[i].Device != name || outs[i].State != Applied {
			t.Errorf("%+v", outs[i])
		}
	}
	if got := k.State(nicPort).PFC.Enabled; leaf.mask != qos.Priorities(3) || got != qos.Priorities(3) {
		t.Errorf("the switch has %s, the host %s", leaf.mask, got)
	}
	past, devices, err := Find(dir, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	j = begin("run2", Record{Of: past.ID})
	outs, err = Rollback(t.Context(), past, devices, open, RunOptions{ID: "run2", Journal: j, Workers: 2})
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	for _, o := range outs {
		if o.State != Restored {
			t.Errorf("%+v", o)
		}
	}
	if got := k.State(nicPort).PFC.Enabled; len(outs) != 2 || leaf.mask != qos.Priorities(3, 4) || got != 0 {
		t.Errorf("the switch has %s, the host %s", leaf.mask, got)
	}
}

// Devices of a wave are worked on side by side, and their outcomes come in order.
// One that fails lets those at work end, and no further one begins.
func TestWorkers(t *testing.T) {
	const workers = 3
	names := []string{"leaf1", "leaf2", "leaf3", "leaf4", "leaf5"}
	for _, fails := range []bool{false, true} {
		var together sync.WaitGroup // the first workers devices are in Apply at once
		together.Add(workers)
		var jobs []Job
		var boxes []*box
		for i, name := range names {
			b := &box{mask: qos.Priorities(3, 4)}
			if i < workers {
				b.during = func() { together.Done(); together.Wait() }
			}
			if fails && i < workers {
				b.applyErr = errors.New("boom")
			}
			boxes, jobs = append(boxes, b), append(jobs, job(name, b))
		}
		outs, err := Run(t.Context(), [][]Job{jobs}, RunOptions{MaxImpact: qos.ImpactReload, Workers: workers})
		if fails != errors.Is(err, ErrStopped) {
			t.Errorf("fails %v: %v", fails, err)
		}
		var got []string
		for i, o := range outs {
			got = append(got, o.Device)
			want := Applied
			switch {
			case fails && i < workers:
				want = Reverted
			case fails:
				want = Skipped
			}
			if o.State != want || want == Skipped && boxes[i].calls != nil {
				t.Errorf("fails %v: %s is %s after %v, want %s", fails, o.Device, o.State, boxes[i].calls, want)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("order %v", got)
		}
	}
}

// A device that is not as intended for reasons that are no work for a run says so,
// and the run goes on.
func TestUnfit(t *testing.T) {
	j := job("leaf1", &box{mask: qos.Priorities(3, 4)})
	j.Plan.Steps, j.Plan.Changes = nil, nil
	j.Plan.Left, j.Plan.Unfit = []string{"port of ens1"}, "not as intended: port of ens1"
	outs, err := Run(t.Context(), [][]Job{{j, job("leaf2", &box{mask: qos.Priorities(3, 4)})}}, RunOptions{MaxImpact: qos.ImpactReload})
	if err != nil || outs[0].State != Blocked || outs[0].Error != "leaf1: not as intended: port of ens1" || len(outs[0].Left) != 1 || outs[1].State != Applied {
		t.Errorf("%v %+v", err, outs)
	}
}
