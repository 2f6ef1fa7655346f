package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// RollbackOptions are the options of [Rollback].
type RollbackOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
}

// Rollback restores the devices of a run to their state before it, last wave first. It
// continues if a device fails, but stops if a wave does not pass its gate. The result has one
// outcome per device, in that order. An error with the operation OpJudge says why nothing was
// written; any other error is about the journal.
func Rollback(ctx context.Context, devices []Device, u *Undo, o RollbackOptions) (_ *Result, err error) {
	r := newRun(devices, o.RunOptions, o.Allow)
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	rollout := u.Rollout(r.gateMode())
	needs := rollout.Impact()
	for _, d := range u.Devices {
		needs = max(needs, u.Impact(d.Name))
	}
	if needs > o.Allow {
		return &Result{Needs: needs}, engine.Refusal(KindImpact, []string{fmt.Sprintf("the rollback disturbs more than is allowed: %s, allowed is %s", needs, o.Allow)})
	}
	if err := r.ask(ctx, nil, func(r *run) (ApprovalRequest, error) { return rollbackRequest(r, u) }); err != nil {
		return nil, err
	}
	if err := r.Begin(u.ID, nil, nil, r.begins()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	r.gateWaves(rollout.Waves)
	outs, err := r.Rollback(ctx, u, append([]Wave{{}}, rollout.Waves...))
	return r.End(outs, err)
}
