package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type planFlags struct {
	state    fleet.StoreOptions
	gate     gateFlag
	save     string
	exitCode bool
	view     report.PlanView
}

func (a *app) planCommand() *cobra.Command {
	var o planFlags
	c := &cobra.Command{
		Use:  "plan",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.noEach(cmd); err != nil {
				return err
			}
			if o.save != "" && !a.changes.None() {
				return usageHint("write the change into the intent, and plan that", "a plan with --set or --without is only shown: --save is for plans that apply may carry out")
			}
			return a.plan(cmd.Context(), o)
		},
	}
	a.allFlags(c)
	a.changeFlags(c)
	a.outputFlag(c, report.PlanForms...)
	a.cutOffFlag(c)
	a.gateFlag(c, &o.gate, fleet.GateFull)
	c.Flags().StringVar(&o.save, "save", "", "write the plan to this file")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 if anything would change")
	c.Flags().BoolVar(&a.strict, "strict", false, "end with status 3 if something could not be checked")
	viewFlags(c, &o.view)
	a.stateFlags(c, &o.state)
	c.AddCommand(a.planShowCommand())
	return c
}

func viewFlags(c *cobra.Command, v *report.PlanView) {
	c.Flags().BoolVar(&v.Steps, "steps", false, "also show what each device is sent")
	c.Flags().BoolVar(&v.Proof, "proof", false, "also show, for each wave, what each check found in the intermediate states")
}

func (a *app) planShowCommand() *cobra.Command {
	var view report.PlanView
	c := &cobra.Command{
		Use:  "show FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.planShow(args[0], view) },

		ValidArgsFunction: completePlan,
	}
	a.outputFlag(c, report.PlanForms...)
	viewFlags(c, &view)
	return c
}

func (a *app) planShow(file string, view report.PlanView) (err error) {
	plan, err := fleet.OpenPlan(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	_, err = a.Plan(report.ShownPlan(plan), view, report.Field{Name: "digest", Value: plan.Digest}, report.Field{Name: "intent", Value: plan.Intent},
		report.Field{Name: "created", Value: plan.Created}, report.Field{Name: "tool", Value: plan.Tool})
	if err != nil || a.Output != "text" {
		return err
	}
	by := "not signed"
	if plan.SignedBy != "" {
		by = "signed with " + plan.SignedBy
	}
	fmt.Fprintf(a.Out, "plan of %s, made %s, %s, digest %s\n", term.CleanLine(plan.Fabric), plan.Created.Local().Format(time.DateTime), by, plan.Digest)
	return nil
}

func (a *app) plan(ctx context.Context, o planFlags) (err error) {
	if err := o.gate.valid(); err != nil {
		return err
	}
	if o.save != "" {
		if _, err := atomicfile.CheckOutput(o.save); err != nil {
			return err
		}
	}
	c, at, devices, err := a.devices(ctx)
	if err != nil {
		return err
	}
	f := c.Fabric()
	o.state.ReadOnly = o.save == ""
	s, err := fleet.OpenStore(ctx, f, o.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	plan, err := a.prepare(ctx, devices, f, s, o.gate.GateMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	o.view.Hosts = a.nic.on
	shown, head := report.ShownPlan(plan), []report.Field(nil)
	if !a.changes.None() {
		shown.Fabric += " " + a.changes.String()
		head = []report.Field{{Name: "if", Value: a.changes}}
	}
	sum, err := a.Plan(shown, o.view, head...)
	if err != nil {
		return err
	}
	if o.save != "" {
		if err := plan.Save(o.save, s.Keys); err != nil {
			return err
		}
		a.Talk("saved the plan to %s, digest %s", o.save, plan.Digest)
	}
	if !a.changes.None() {
		a.onlyShown(f.Name)
	}
	if sum.Changed > 0 && a.changes.None() {
		a.sayWindow(f)
		if by := a.approver(f, at); by != nil {
			a.TalkClean("approval: apply asks %s", by)
		}
		if err := permitCallouts(at, f.Rollout.Approval); err != nil {
			a.Warn("apply will refuse the approval: %v", err)
			a.Hint(report.Advice(err))
		}
	}
	if a.changes.None() {
		a.sayNext(sum, o.save)
	}
	switch {
	case sum.Failed > 0:
		return &statusError{status: exitFailed}
	case o.exitCode && (sum.Changed > 0 || a.nic.on && sum.Open > 0), a.strict && sum.Inconclusive:
		return &statusError{status: exitDiffers}
	}
	return nil
}

// prepare plans the devices, and warns about earlier runs whose journal cannot be read.
func (a *app) prepare(ctx context.Context, devices []fleet.Device, f *intent.Fabric, s *fleet.Store, gate fleet.GateMode) (*fleet.PlanFile, error) {
	past := a.history(s)
	plan, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: f, History: past, Workers: a.parallel, Gate: gate, Tool: version, Progress: a.Progress(a.Steps())})
	if bad := past.Unread(); len(bad) > 0 {
		a.Warn("cannot read %s, so it is unknown what earlier runs left on devices: %v", words.Count(len(bad), "journal"), bad[0])
	}
	return plan, err
}

// sayNext suggests the command that follows a plan.
func (a *app) sayNext(s report.PlanSummary, saved string) {
	if s.Changed == 0 || s.Failed > 0 || s.BlockedDevices > 0 {
		return
	}
	only := a.only
	if saved != "" {
		only = nil // the plan file already contains the selected devices
	}
	next := a.nextCommand("apply", only)
	if next == "" {
		return
	}
	if saved != "" {
		next += " --plan " + words.Shell(saved)
	}
	if s.Impact > qos.ImpactCounters {
		next += " --allow " + s.Impact.String()
	}
	a.Talk("next: %s", next)
}
