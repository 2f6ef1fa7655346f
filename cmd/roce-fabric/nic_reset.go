package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/hook"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type resetOptions struct {
	runFlags
	plan           bool
	drain, undrain string
	back           time.Duration
}

func (a *app) nicResetCommand() *cobra.Command {
	var o resetOptions
	c := &cobra.Command{
		Use:  "reset",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.nicReset(cmd.Context(), o) },
	}
	a.nicFlags(c)
	a.outputFlag(c, "text", "json")
	a.writeFlags(c, &o.runFlags)
	a.cutOffFlag(c)
	f := c.Flags()
	f.BoolVar(&o.plan, "plan", false, "only show what would be reset, and how")
	f.StringVar(&o.drain, "drain", "", "command for sh, or https:// address, that takes a host out of service (default: rollout.reset.drain of the intent)")
	f.StringVar(&o.undrain, "undrain", "", "likewise, that puts it back into service (default: rollout.reset.undrain of the intent)")
	f.DurationVar(&o.back, "back", 0, "how long a host may take to come back after each reset (default: rollout.reset.back of the intent, 20m)")
	addPreCheck(c, func(cmd *cobra.Command) error {
		if cmd.Flags().Changed("back") && (o.back < intent.MinBack || o.back > intent.MaxBack) {
			return usage("--back %s: use %s to %s", o.back, intent.MinBack, intent.MaxBack)
		}
		return nil
	})
	return c
}

// nicReset resets the hosts that wait for a reset.
func (a *app) nicReset(ctx context.Context, o resetOptions) (err error) {
	r, err := a.begin(ctx, o.runFlags, o.yes || o.plan, "nic reset --plan")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	run := fleet.ResetOptions{RunOptions: r.options, Allow: o.allow.Impact, Back: r.f.Rollout.Reset.Back.V}
	if o.back > 0 {
		run.Back = o.back
	}
	if run.Drain, err = hookOf("drain", o.drain, r.f.Rollout.Reset.Drain, r.at); err != nil {
		return err
	}
	if run.Undrain, err = hookOf("undrain", o.undrain, r.f.Rollout.Reset.Undrain, r.at); err != nil {
		return err
	}
	run.Progress = a.Progress(a.Steps())
	plans, err := fleet.PlanResets(ctx, r.devices, fleet.PlanOptions{Fabric: r.f, Workers: a.parallel, Progress: run.Progress})
	if err != nil {
		return err
	}
	if o.plan {
		return a.showResets(r.f.Name, plans)
	}
	for typed, of := range map[*string]*intent.Hook{&o.drain: r.f.Rollout.Reset.Drain, &o.undrain: r.f.Rollout.Reset.Undrain} {
		if *typed == "" {
			if err := permitCallouts(r.at, (*intent.Approval)(of)); err != nil {
				return err
			}
		}
	}
	waits := 0
	for _, p := range plans {
		if p.Waits() && p.Blocked == "" {
			waits++
		}
	}
	if a.Output != "json" {
		a.Resets(a.Err, plans)
	}
	if !o.yes && waits > 0 {
		run.Confirm = func() error {
			return a.Confirm(ctx, fmt.Sprintf("Reset %s, one after the other?", words.Count(waits, "host")))
		}
	}
	defer context.AfterFunc(ctx, func() {
		a.Talk("interrupted: the reset in progress is completed first (a third Ctrl-C abandons it)")
	})()
	res, err := fleet.Reset(ctx, r.devices, plans, run)
	return a.reportEnd(r.f.Name, res, err, "")
}

// hookOf returns the hook given on the command line, or else the one in the intent; nil if there
// is neither.
func hookOf(flag, typed string, of *intent.Hook, at *fleet.Access) (fleet.Hook, error) {
	agent := "roce-fabric/" + version
	if typed == "" {
		return hook.Of(of, at.Policy, agent), nil
	}
	h, err := hook.Typed(typed, agent)
	if err != nil {
		return nil, usage("--%s: %w", flag, err)
	}
	return h, nil
}

func (a *app) showResets(fabric string, plans []fleet.ResetPlan) error {
	failed := false
	for _, p := range plans {
		failed = failed || p.Error != nil
	}
	if a.Output == "json" {
		if err := report.WriteJSON(a.Out, map[string]any{"format": report.Format, "fabric": fabric, "hosts": plans}); err != nil {
			return err
		}
	} else {
		a.Resets(a.Out, plans)
	}
	if failed {
		return &statusError{status: exitFailed}
	}
	return nil
}
