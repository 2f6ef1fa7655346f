package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/approval"
	"github.com/roce-fabric/roce-fabric/intent"
)

// outsideFlag adds --outside-window.
func outsideFlag(c *cobra.Command, outside *bool) {
	c.Flags().BoolVar(outside, "outside-window", false, "write outside of the maintenance windows of the intent, too")
}

// inWindow refuses a run that could not write now before anything is read for it, and
// says how long the window is open.
func (a *app) inWindow(f *intent.Fabric, outside bool) error {
	if !outside {
		if err := fleet.InWindow(f, time.Now()); err != nil {
			return err
		}
	}
	a.sayWindow(f)
	return nil
}

// sayWindow says whether the maintenance window is open.
func (a *app) sayWindow(f *intent.Fabric) {
	if now := fleet.WindowNow(f, time.Now()); now != "" {
		a.talk("maintenance window: %s", now)
	}
}

// approver is the one of the intent; nil for none.
func (a *app) approver(f *intent.Fabric) fleet.Approver {
	by := approval.Of(f.Rollout.Approval, "roce-fabric/"+version)
	if by == nil {
		return nil
	}
	return toldApprover{by, a}
}

// toldApprover says who is being waited for.
type toldApprover struct {
	fleet.Approver
	a *app
}

func (t toldApprover) Approve(ctx context.Context, r fleet.ApprovalRequest) error {
	t.a.talkClean("waiting for the approval of %s, digest %s", t, r.Digest)
	return t.Approver.Approve(ctx, r)
}
