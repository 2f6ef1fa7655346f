package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// stateDir creates a folder for the lock and the journals of an example.
func stateDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "fleet-state-")
	must(err)
	return dir, func() { must(os.RemoveAll(dir)) }
}

// Plan reads the devices and writes nothing. Each plan is emitted as soon as it is ready.
func ExamplePlan() {
	f, at, end := example("quickstart", fleet.LoadOptions{})
	defer end()
	devices, _ := f.Devices(at)
	err := fleet.Plan(context.Background(), devices, fleet.PlanOptions{Fabric: f.Fabric(), Workers: 4}, func(d *fleet.DevicePlan) error {
		if d.Error != nil {
			return d.Error
		}
		fmt.Printf("%s: changes %v, impact %s\n", d.Name, len(d.Changes) > 0, d.Impact())
		return nil
	})
	fmt.Println(err)
	// Output:
	// leaf1: changes true, impact traffic-loss
	// leaf2: changes true, impact traffic-loss
	// spine1: changes true, impact traffic-loss
	// spine2: changes true, impact traffic-loss
	// <nil>
}

// Apply applies a plan made by Prepare or read by OpenPlan. If the plan is refused as a
// whole, the error has a kind and nothing was written.
func ExampleApply() {
	f, at, end := example("quickstart", fleet.LoadOptions{})
	defer end()
	state, remove := stateDir()
	defer remove()
	ctx := context.Background()
	devices, _ := f.Devices(at)
	plan, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: f.Fabric(), Workers: 4})
	must(err)
	defer func() { must(plan.Close()) }()

	o := fleet.ApplyOptions{RunOptions: fleet.RunOptions{Fabric: f.Fabric(), Store: store.Dir(state)}, Allow: qos.ImpactCounters}
	result, err := fleet.Apply(ctx, devices, plan, o)
	if refused := (*fleet.Error)(nil); errors.As(err, &refused) && refused.Kind == fleet.KindImpact {
		fmt.Println(refused)
		o.Allow = result.Needs
		result, err = fleet.Apply(ctx, devices, plan, o)
	}
	must(err)
	for _, out := range result.Outcomes {
		fmt.Println(out.Device, out.State)
	}
	// Output:
	// the plan disturbs more than is allowed: traffic-loss, allowed is counters; nothing was written
	// leaf1 applied
	// leaf2 applied
	// spine1 applied
	// spine2 applied
}

// Rollback restores the devices of a run, here of the newest one, to their state before it.
func ExampleRollback() {
	f, at, end := example("quickstart", fleet.LoadOptions{Only: []string{"leaf1"}})
	defer end()
	state, remove := stateDir()
	defer remove()
	ctx := context.Background()
	devices, _ := f.Devices(at)
	plan, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: f.Fabric()})
	must(err)
	defer func() { must(plan.Close()) }()
	o := fleet.RunOptions{Fabric: f.Fabric(), Store: store.Dir(state)}
	_, err = fleet.Apply(ctx, devices, plan, fleet.ApplyOptions{RunOptions: o, Allow: qos.ImpactLoss})
	must(err)

	run, err := fleet.Find(ctx, devices, fleet.FindOptions{Store: store.Dir(state)})
	must(err)
	result, err := fleet.Rollback(ctx, devices, run, fleet.RollbackOptions{RunOptions: o, Allow: qos.ImpactLoss})
	must(err)
	for _, out := range result.Outcomes {
		fmt.Println(out.Device, out.State)
	}
	// Output:
	// leaf1 restored
}
