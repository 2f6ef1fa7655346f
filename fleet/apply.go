package fleet

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/planfile"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// ApplyOptions are the options of [Apply].
type ApplyOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
	// SkipFailed applies the rest of a plan if some devices could not be planned.
	SkipFailed bool
	// SkipUnreachable leaves out devices that cannot be reached before the first write.
	SkipUnreachable bool
	// AcceptWarnings answers yes to devices that ask before they continue. Without it, such a
	// device is not changed and the run stops.
	AcceptWarnings bool
	// Confirm is called once the plan has passed all checks, before the approver is asked. An
	// error ends the run; nil confirms. All devices are read again afterwards, because the
	// answer may take hours.
	Confirm func() error
}

// Apply applies a plan: one that [Prepare] made for these devices, or a saved one, which must
// be a plan that this tool makes from their intent. Apply first judges the plan as a whole: if
// one device cannot be changed as planned, no device is changed.
//
// An [*Error] with the operation OpJudge says why nothing was written; the result, if not
// nil, then tells which devices are the reason. If the error is nil, the result has the
// outcome of each device; it is not an error of Apply if the run stopped at a device. Any
// other error is not about a device but, for example, about the journal.
func Apply(ctx context.Context, devices []Device, plan *PlanFile, o ApplyOptions) (_ *Result, err error) {
	interim := plan.Rollout.Interim
	ofRun := devicesOfRun(interim, devices)
	terms := planfile.Terms{
		Fabric: o.Fabric, Keys: o.Keys, Gate: o.gateMode(), Allow: o.Allow, SkipFailed: o.SkipFailed, SkipUnreachable: o.SkipUnreachable,
		Devices: byName(ofRun), Workers: o.Workers, Writers: o.Writers, Progress: o.Progress,
	}
	if interim != nil {
		terms.Plain = byName(devices)
	}
	judged, err := plan.Decide(ctx, terms)
	if err != nil {
		return judged, err
	}
	r := newRun(ofRun, o.RunOptions, o.Allow)
	r.AcceptWarnings = o.AcceptWarnings
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	if names, idle := plan.Work(terms.Devices); len(names) > 0 {
		if err := r.ask(ctx, o.Confirm, func(r *run) (ApprovalRequest, error) { return applyRequest(r, plan) }); err != nil {
			return nil, err
		}
		first := r.begins()
		first.Plan, first.Allow = plan.Digest, o.Allow.String()
		if err := r.Begin("", names, idle, first); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		// Skip the check for a plan that was made just now, if nobody was asked meanwhile.
		if !plan.Fresh() || o.Confirm != nil || o.Approver != nil {
			if refused, err := plan.Recheck(ctx, terms, r.Run, judged); err != nil {
				return refused, err
			}
		}
	}
	at := map[string]int{}
	for i, out := range judged.Outcomes {
		at[out.Device] = i
	}
	hold := map[string]time.Duration{}
	if g := r.gateWaves(plan.Rollout.Waves); g != nil {
		for _, w := range plan.Rollout.Waves {
			for _, name := range w.Devices {
				hold[name] = g.holdTime(w)
			}
		}
	}
	outs, err := r.Apply(ctx, plan.Waves(), func(device string) Outcome { return judged.Outcomes[at[device]] }, func(device string) (engine.Task, error) {
		t, err := plan.Task(terms.Devices[device])
		t.Hold = hold[device]
		return t, err
	})
	ordered.Sort(outs, func(a, b Outcome) int { return cmp.Compare(at[a.Device], at[b.Device]) })
	return r.End(outs, err)
}

func byName(devices []Device) map[string]Device {
	out := map[string]Device{}
	for _, d := range devices {
		out[d.Name] = d
	}
	return out
}
