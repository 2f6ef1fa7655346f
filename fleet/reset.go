package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/pool"
)

// PlanResets reads devices and returns, in their order, the resets that each needs.
func PlanResets(ctx context.Context, devices []Device, o PlanOptions) ([]ResetPlan, error) {
	defer o.Progress.Phase(Planning, len(devices))()
	var out []ResetPlan
	err := pool.Ordered(ctx, o.Workers, devices, func(ctx context.Context, dev Device) ResetPlan {
		o.Progress.Report(Event{Kind: DeviceBegins, Phase: Planning, Device: dev.Name})
		p, err := engine.PlanReset(ctx, dev)
		p.Device, p.Error = dev.Name, NewError(dev.Name, OpRead, err)
		return p
	}, func(p ResetPlan) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.Progress.Report(Event{Kind: DeviceEnds, Phase: Planning, Device: p.Device, Error: p.Error})
		out = append(out, p)
		return nil
	})
	return out, err
}

// ResetOptions are the options of [Reset].
type ResetOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
	// Confirm is called before the approver is asked; an error ends the run. nil confirms.
	Confirm func() error
	// Drain is called before a device is reset, Undrain once it is back; either may be nil.
	Drain, Undrain Hook
	// Back is how long to wait for a device after each reset.
	Back time.Duration
}

// Reset resets the devices that need it, one after the other. It drains each device, resets
// it part by part, waits until it is back, reads it, sets lost settings again, and undrains
// it. Reset stops at the first device where one of these fails; that device stays drained. It
// leaves out devices that are blocked or could not be read.
//
// An [*Error] with the operation OpJudge says why nothing was reset. When ctx ends, Reset
// finishes the current device, because a reset cannot be undone, and starts no further one.
func Reset(ctx context.Context, devices []Device, plans []ResetPlan, o ResetOptions) (_ *Result, err error) {
	r := newRun(devices, o.RunOptions, o.Allow)
	res, todo := &Result{}, 0
	for _, p := range plans {
		out := Outcome{Device: p.Device, State: Unchanged, Resets: p.Resets}
		switch {
		case p.Error != nil:
			out.State, out.Error = Failed, p.Error
		case !p.Waits():
		case p.Blocked != "":
			out.State, out.Error = Blocked, engine.ErrorOf(p.Device, OpJudge, KindBlocked, errors.New(p.Blocked))
		case p.Impact() > o.Allow:
			out.State, out.Error = Refused, engine.TooMuch(p.Device, p.Impact(), o.Allow)
			res.Needs = max(res.Needs, p.Impact())
		default:
			out.State = Skipped
			todo++
		}
		res.Outcomes = append(res.Outcomes, out)
	}
	if res.Needs > 0 {
		return res, engine.ErrorOf("", OpJudge, KindImpact, fmt.Errorf("a reset disturbs more than is allowed: %s, allowed is %s; nothing was reset", res.Needs, o.Allow))
	}
	if todo == 0 {
		return res, nil
	}
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	if err := r.ask(ctx, o.Confirm, func(r *run) (ApprovalRequest, error) { return resetRequest(r, plans) }); err != nil {
		return nil, err
	}
	first := r.begins()
	first.Allow = o.Allow.String()
	if first.Plan, err = engine.ResetDigest(plans); err != nil {
		return nil, err
	}
	begun, err := r.Reset(ctx, plans, res, engine.Draining{Drain: o.Drain, Undrain: o.Undrain, Back: o.Back}, first)
	if !begun {
		return nil, err
	}
	return res, err
}

// resetRequest returns the approval request for the devices that are reset.
func resetRequest(r *run, plans []ResetPlan) (ApprovalRequest, error) {
	digest, err := engine.ResetDigest(plans)
	q, most := r.approvalRequest("", digest), qos.ImpactNone
	for _, p := range plans {
		if p.Waits() && p.Blocked == "" {
			q.add(ApprovalChange{p.Device, p.Impact().String()})
			most = max(most, p.Impact())
		}
	}
	q.Impact = most.String()
	return q, err
}
