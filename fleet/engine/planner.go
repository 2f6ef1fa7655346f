package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
)

// ReadTimeout is the timeout for reading one switch.
const ReadTimeout = 2 * time.Minute

// Planner plans devices one at a time.
type Planner struct {
	// History is the history of runs on the devices; may be nil. Intent is the hash of the
	// intent's files, which notes compare with that of a run that was cut off.
	History *History
	Intent  string
	// Native requests the native text of the changes instead of the data that an apply needs.
	Native bool
	// Progress is called while the planner waits for a device; may be nil.
	Progress Progress
}

// Plan reads a device and plans it.
func (o Planner) Plan(ctx context.Context, dev Device) (*DevicePlan, *Error) {
	drv, err := dev.Open(ctx)
	if err != nil {
		return nil, NewError(dev.Name, OpConnect, err)
	}
	d, fault := o.planOn(ctx, drv, dev)
	if err := drv.Close(); err != nil && fault == nil {
		return nil, NewError(dev.Name, OpConnect, err)
	}
	return d, fault
}

func (o Planner) planOn(ctx context.Context, drv drivers.Driver, dev Device) (*DevicePlan, *Error) {
	past := o.History.left(dev.Name)
	var admin drivers.Desired
	if len(past.Down) > 0 {
		admin = dev.Desired()
	}
	past.passTo(drv, admin, nil)
	if past.CutOff != nil {
		// No timeout here: the driver has its own.
		if err := past.settle(ctx, o.Progress, Planning, drv, dev.Name); err != nil {
			return nil, NewError(dev.Name, OpSettle, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(dev.Timeout, ReadTimeout))
	defer cancel()
	facts, err := drv.Probe(ctx)
	if err != nil {
		return nil, NewError(dev.Name, OpRead, err)
	}
	if now := past.onUnit(dev.Name, facts); now.CutOff != past.CutOff {
		past = now
		past.passTo(drv, admin, nil)
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, NewError(dev.Name, OpRead, err)
	}
	desired := dev.Desired()
	steps, err := drv.Plan(facts, snap, desired, dev.Policy)
	if err != nil {
		return nil, NewError(dev.Name, OpPlan, fmt.Errorf("plan: %w", err))
	}
	if o.Native {
		d, fault := diffDevice(drv, dev, snap, steps)
		if fault == nil {
			e := o.History.evidence(dev.Name, drv, facts, snap)
			d.identity, d.Mistaken = e.Identity, dev.mistaken(ctx, drv, e)
		}
		return d, fault
	}
	d := dev.describePlan(ctx, o.History, drv, facts, snap, desired, steps)
	if o.History != nil {
		d.Notes = append(d.Notes, past.notes(d, admin, o.History.busy, o.Intent)...)
	}
	return d, nil
}

// describePlan returns the plan of a device that was just read, without notes from its history.
func (dev Device) describePlan(ctx context.Context, past *History, drv drivers.Driver, facts drivers.Facts, snap *drivers.Snapshot, desired drivers.Desired, steps *drivers.Steps) *DevicePlan {
	if dev.Hooks.Explain != nil {
		dev.Hooks.Explain(desired, steps)
	}
	d := &DevicePlan{
		Name: dev.Name, OS: dev.OS, Facts: facts, Base: steps.Base, Changes: group(steps.Changes),
		Steps: append([]drivers.Step{}, steps.Items...), Notes: steps.Notes, Unknown: steps.Unknown, Policy: steps.Policy,
		Left: steps.Left, Unfit: steps.Unfit, Resets: steps.Resets, Seconds: steps.Takes.Seconds(),
	}
	if st := host.StateOf(snap); st.Running != nil {
		d.Host = &st
	}
	e := past.evidence(dev.Name, drv, facts, snap)
	d.identity, d.Facts.Unit = e.Identity, e.Unit
	if what := dev.mistaken(ctx, drv, e); what != "" {
		d.Mistake(what)
	}
	if dev.Hooks.Lacking != nil {
		d.lacking = dev.Hooks.Lacking(desired)
	}
	if dev.Hooks.Foresee != nil {
		var notes []string
		d.states, notes = dev.Hooks.Foresee(ctx, drv, snap, desired, steps)
		d.Notes = append(d.Notes, notes...)
	}
	return d
}
