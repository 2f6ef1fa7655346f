package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// verdict is what a plan as a whole is found to be, from the plan alone. Of each
// device it keeps the outcome and the digest, and no steps.
type verdict struct {
	allowed qos.Impact
	outs    []fleet.Outcome
	plans   []planned
	seen    map[string]bool
	impact  qos.Impact // the largest that is refused
	// withoutFailed carries the rest out where a device could not be planned.
	withoutFailed bool
}

// planned is a device, the digest of the state that its plan starts from, and the
// one of its steps.
type planned struct {
	name, base, steps string
	policy            drivers.Policy
}

func (v *verdict) judge(d *fleet.DevicePlan) {
	out := fleet.Judge(d, v.allowed)
	if out.State == fleet.Refused {
		v.impact = max(v.impact, d.Impact())
	}
	v.outs = append(v.outs, out)
	v.plans = append(v.plans, planned{d.Name, d.Base, fleet.StepsDigest(d.Steps), d.Policy})
}

// trust returns an error for a plan from a file, which may hold anything, that is
// not one that this tool makes of the intent.
func (v *verdict) trust(ctx context.Context, f *intent.Fabric, d *fleet.DevicePlan, job func(*fleet.DevicePlan) fleet.Job) error {
	sw := f.Switch(d.Name)
	if sw == nil {
		return fmt.Errorf("device %s is not in the intent", d.Name)
	}
	if v.seen[d.Name] {
		return fmt.Errorf("device %s has two plans", d.Name)
	}
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.seen[d.Name] = true
	return fleet.CheckPlan(ctx, d, job(d), fleet.Policy(f, sw), v.allowed)
}

// whyNot says why the plan is not carried out, "" where it can be.
func (v *verdict) whyNot() string {
	n := count(v.outs)
	var why []string
	if n[fleet.Failed] > 0 && !v.withoutFailed {
		why = append(why, words.Count(n[fleet.Failed], "device")+" could not be planned")
	}
	if n[fleet.Blocked] > 0 {
		why = append(why, words.Count(n[fleet.Blocked], "device")+" with changes that cannot be made")
	}
	if n[fleet.Refused] > 0 {
		why = append(why, fmt.Sprintf("the plan disturbs more than is allowed: %s, allowed is %s", v.impact, v.allowed))
	}
	return strings.Join(why, ", ")
}

// hint helps where the impact is all that stands against the plan.
func (v *verdict) hint() string {
	if n := count(v.outs); n[fleet.Failed] > 0 && !v.withoutFailed || n[fleet.Blocked] > 0 {
		return ""
	}
	return fmt.Sprintf("allow it with --allow %s", v.impact)
}

func count(outs []fleet.Outcome) map[fleet.State]int {
	n := map[fleet.State]int{}
	for _, o := range outs {
		n[o.State]++
	}
	return n
}

// checkAll reads all devices of a plan and refuses it as a whole where one cannot
// be read or is not in the state that was planned for.
func (a *app) checkAll(ctx context.Context, fabric string, j *fleet.Journal, v *verdict, job func(*fleet.DevicePlan) fleet.Job) error {
	var outs []fleet.Outcome
	p := a.progress("check", len(v.plans))
	defer p.Close()
	err := pool.Ordered(ctx, a.parallel, v.plans, func(ctx context.Context, b planned) fleet.Outcome {
		p.Start()
		return fleet.CheckState(ctx, job(&fleet.DevicePlan{Name: b.name, Base: b.base, Policy: b.policy}), b.steps, fleet.RunOptions{Journal: j, MaxImpact: v.allowed})
	}, func(out fleet.Outcome) error {
		p.Finish(out.Device, out.Err)
		outs = append(outs, out)
		if out.Err == nil || ctx.Err() != nil {
			return nil
		}
		return j.Write(fleet.Record{Device: out.Device, Event: string(out.State), Error: out.Error})
	})
	p.Close()
	n := count(outs)
	if err == nil && ctx.Err() == nil && n[fleet.Failed]+n[fleet.Refused]+n[fleet.Blocked] == 0 {
		return nil
	}
	if err := errors.Join(err, j.Write(fleet.Record{Event: "end"})); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("nothing was written")
	}
	var why []string
	if n[fleet.Failed] > 0 {
		why = append(why, words.Count(n[fleet.Failed], "device")+" could not be read")
	}
	stale := 0
	for _, out := range outs {
		if errors.Is(out.Err, drivers.ErrStale) {
			stale++
		}
	}
	if stale > 0 {
		why = append(why, words.Count(stale, "device")+" changed since the plan was made")
	}
	if other := n[fleet.Refused] + n[fleet.Blocked] - stale; other > 0 {
		why = append(why, words.Count(other, "device")+" whose plan is refused")
	}
	return a.nothingWritten(fabric, j, outs, strings.Join(why, ", "), "plan again, and look at what changed")
}

// nothingWritten ends an apply that was refused as a whole. The result says of
// each device why.
func (a *app) nothingWritten(fabric string, j *fleet.Journal, outs []fleet.Outcome, why, hint string) error {
	if err := a.stateAll(fabric, j, outs); err != nil {
		return err
	}
	return &statusError{exitFailed, fmt.Errorf("%s; nothing was written", why), hint}
}
