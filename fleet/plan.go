package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/planfile"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// PlanOptions are the options of [Plan] and [Prepare].
type PlanOptions struct {
	// Fabric is the intent of the devices.
	Fabric *intent.Fabric
	// History is the history of runs on these devices. If a run was cut off at a device, the
	// device is read only after it has processed the writes of that run; ports that a run left
	// down are brought up. May be nil.
	History *History
	// Workers is how many devices are read at a time, and how many a run of the plan is
	// expected to change at a time; 0 is one.
	Workers int
	// Gate is the gate that each wave must pass; "" is off.
	Gate GateMode
	// Tool is the version of the program, recorded in a saved plan.
	Tool string
	// Progress is called with each event; may be nil.
	Progress Progress

	// native requests the native text of the changes instead of the data that an apply needs.
	native bool
}

// Plan plans the devices and emits the plans in their order. It ends at the first error of
// emit, or when ctx ends.
func Plan(ctx context.Context, devices []Device, o PlanOptions, emit func(*DevicePlan) error) error {
	defer o.Progress.Phase(Planning, len(devices))()
	planner := engine.Planner{History: o.History, Native: o.native, Progress: o.Progress}
	if o.Fabric != nil {
		planner.Intent = o.Fabric.Hash
	}
	var answered identity.Answered
	return pool.Ordered(ctx, o.Workers, devices, func(ctx context.Context, dev Device) *DevicePlan {
		o.Progress.Report(Event{Kind: DeviceBegins, Phase: Planning, Device: dev.Name})
		d, err := planner.Plan(ctx, dev)
		if err != nil {
			return &DevicePlan{Name: dev.Name, OS: dev.OS, Error: err}
		}
		return d
	}, func(d *DevicePlan) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.Progress.Report(Event{Kind: DeviceEnds, Phase: Planning, Device: d.Name, Error: d.Error})
		if o.Fabric != nil {
			if what := answered.Add(o.Fabric, d.Name, d.Shown()); what != "" {
				d.Mistake(what)
			}
		}
		return emit(d)
	})
}

// Prepare plans the devices and divides those that change into waves. It keeps the plans in a
// temporary file that disappears with the process, for [Apply] and [PlanFile.Save]. The
// caller must close the plan.
//
// If every order has a worse intermediate state because RDMA traffic moves to other code
// points, Prepare may plan the first of several runs instead; see [Interim].
func Prepare(ctx context.Context, devices []Device, o PlanOptions) (*PlanFile, error) {
	p, rollout, err := prepare(ctx, devices, o, nil)
	if err != nil {
		return nil, err
	}
	if i := rollout.Interim(); i != nil {
		if err := p.Close(); err != nil {
			return nil, err
		}
		p, _, err = prepare(ctx, devices, o, i)
	}
	return p, err
}

func prepare(ctx context.Context, devices []Device, o PlanOptions, i *Interim) (*PlanFile, *rollout.Maker, error) {
	rollout := planfile.NewMaker(o.Fabric, o.History, o.Gate, o.Workers)
	b, err := planfile.New(PlanHeader{Tool: o.Tool, Fabric: o.Fabric.Name, Intent: o.Fabric.Hash, Created: time.Now().UTC()})
	if err != nil {
		return nil, nil, err
	}
	err = Plan(ctx, devicesOfRun(i, devices), o, func(d *DevicePlan) error {
		rollout.Add(d.ForRollout())
		return b.Add(d)
	})
	var p *PlanFile
	if err == nil {
		r := rollout.Rollout()
		r.Interim = i
		p, err = b.End(r, rollout)
	}
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	return p, rollout, nil
}
