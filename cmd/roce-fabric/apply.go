package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type applyOptions struct {
	runFlags
	saved string
	// resume continues the newest run, which was interrupted or stopped.
	resume bool
	// skipUnreachable skips devices that cannot be reached.
	skipUnreachable bool
	// accepts confirms warnings for switches that ask before they continue.
	accepts bool
}

func (a *app) applyCommand() *cobra.Command {
	var o applyOptions
	c := &cobra.Command{
		Use:  "apply",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o) },
	}
	a.allFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().StringVar(&o.saved, "plan", "", "carry out exactly this saved plan")
	c.Flags().BoolVar(&o.skipUnreachable, "skip-unreachable", false, "leave out devices that cannot be reached; the result names them (status 4)")
	c.Flags().BoolVar(&o.accepts, "accept-warnings", false, "answer a switch's warnings with yes; they are printed ("+fleet.Systems.Titles(func(s drivers.System) bool { return s.AsksFirst })+")")
	a.completes(c, "plan", completePlan)
	c.Flags().BoolVar(&o.resume, "resume", false, "continue the newest run, if it was cut off or stopped")
	a.runFlags(c, &o.runFlags, fleet.GateFull)
	a.cutOffFlag(c)
	return c
}

func (a *app) apply(ctx context.Context, o applyOptions) (err error) {
	switch {
	case o.saved != "" && len(a.only) > 0:
		return usage("--only and --plan exclude each other: a saved plan is carried out as a whole")
	case o.resume && (o.saved != "" || len(a.only) > 0):
		return usage("--resume takes neither --plan nor --only: it continues with the devices that the run did not reach")
	}
	r, err := a.begin(ctx, o.runFlags, o.yes || o.saved != "", a.command("plan"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, busy, err := fleet.AtWork(r); busy != nil || err != nil {
		return errors.Join(busy, err)
	}
	a.warnShared(ctx, r)
	if o.resume {
		if err := a.resume(r); err != nil {
			return err
		}
	}
	// If a host cannot be planned, continue with the others.
	run := fleet.ApplyOptions{RunOptions: r.options, Allow: o.allow.Impact, SkipFailed: a.nic.on, SkipUnreachable: o.skipUnreachable, AcceptWarnings: o.accepts}
	run.Progress = a.Progress(a.sayInterrupted(ctx, a.Steps()))
	if !o.yes && o.saved == "" {
		run.Gate.Ask = a.askGate
	}
	var plan *fleet.PlanFile
	advice := "fix the cause and plan again, or use --only for the other devices; --skip-unreachable leaves out those that cannot be reached"
	if o.saved != "" {
		plan, err = fleet.OpenPlan(o.saved)
	} else {
		advice = "do what the plan says about them, or leave the devices out with --only; --skip-unreachable leaves out those that cannot be reached"
		plan, err = a.prepare(ctx, r.devices, r.f, r.Store, o.gate.GateMode)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	if o.saved == "" {
		sum, err := a.PlanTalk(report.ShownPlan(plan))
		if err != nil {
			return err
		}
		if !o.yes && sum.Changed > 0 {
			run.Confirm = func() error {
				return a.Confirm(ctx, fmt.Sprintf("Apply to %s?", words.Count(sum.Changed, a.noun())))
			}
		}
	}
	res, err := fleet.Apply(ctx, r.devices, plan, run)
	err = a.reportEnd(r.f.Name, res, err, advice)
	switch i := plan.Rollout.Interim; {
	case err == nil && i != nil:
		_, next := report.Interim(i)
		a.Talk("next: apply again, run %d of %d: %s", i.Run+1, i.Runs, next)
	case res != nil && res.Stopped() && !a.nic.on:
		a.Talk("next: fix the cause, then 'roce-fabric apply --resume' continues; 'roce-fabric rollback' undoes what was applied")
	case err == nil && res.Wrote():
		a.Next(a.nextCommand("validate", a.only))
	}
	return err
}

// askGate asks whether to confirm a wave for which the gate had too few counters.
func (a *app) askGate(ctx context.Context, why string) error {
	a.Talk("the gate has too few counters to pass the wave: %s", why)
	if err := a.Confirm(ctx, "Confirm the wave anyway?"); err != nil {
		return fmt.Errorf("the wave was not confirmed: %s", why)
	}
	return nil
}

// resume keeps only the devices that the newest run was to change but did not.
func (a *app) resume(r *running) error {
	past, left, err := fleet.Unfinished(r, r.f)
	if err != nil {
		return err
	}
	a.sayRun(past, "going on with "+natural.Fold(left))
	r.devices = slices.DeleteFunc(r.devices, func(d fleet.Device) bool { return !slices.Contains(left, d.Name) })
	return nil
}

// warnShared says who else uses the store with another copy of the intent.
func (a *app) warnShared(ctx context.Context, r *running) {
	others, err := fleet.OtherCheckouts(ctx, r, r.f)
	if err != nil && ctx.Err() == nil {
		a.Warn("%v", err)
	}
	for _, o := range others {
		a.Talk("%s is shared with %s on %s, last used by %s at %s", r, o.Intent, o.Host, o.User, o.Since.Local().Format("2006-01-02 15:04"))
	}
}

// sayInterrupted prints, when ctx ends, what happens to the devices being changed.
func (a *app) sayInterrupted(ctx context.Context, next fleet.Progress) fleet.Progress {
	var end func() bool
	return func(e fleet.Event) {
		switch {
		case e.Kind == fleet.PhaseBegins && e.Phase == fleet.Writing:
			end = context.AfterFunc(ctx, func() {
				a.Talk("interrupted: each %s being changed is reverted (a third Ctrl-C leaves it as it is)", a.noun())
			})
		case e.Kind == fleet.PhaseEnds && e.Phase == fleet.Writing:
			end()
		}
		next(e)
	}
}
