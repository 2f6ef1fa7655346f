package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type planFlags struct {
	stateFlags
	save     string
	exitCode bool
	planView
}

// planView is what of a plan is shown beyond its changes.
type planView struct{ steps, proof bool }

func (a *app) planCommand() *cobra.Command {
	var o planFlags
	c := &cobra.Command{
		Use:  "plan",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), o) },
	}
	a.allFlags(c)
	a.outputFlag(c, planForms...)
	a.cutOffFlag(c)
	c.Flags().StringVar(&o.save, "save", "", "write the plan to this file")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 where something would change")
	o.planView.flags(c)
	a.stateFlag(c, &o.stateFlags)
	c.AddCommand(a.planShowCommand())
	return c
}

func (v *planView) flags(c *cobra.Command) {
	c.Flags().BoolVar(&v.steps, "steps", false, "also show what each device is sent")
	c.Flags().BoolVar(&v.proof, "proof", false, "also show, for each wave, what each check saw of the states in between")
}

func (a *app) planShowCommand() *cobra.Command {
	var view planView
	c := &cobra.Command{
		Use:  "show FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.planShow(args[0], view) },
	}
	a.outputFlag(c, planForms...)
	view.flags(c)
	return c
}

// planForms are the forms of a plan.
var planForms = []string{"text", "json", "markdown"}

func (a *app) planShow(file string, view planView) (err error) {
	plan, err := fleet.OpenPlan(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	_, err = a.showPlan(shownPlan(plan), view, report.Field{Name: "digest", Value: plan.Digest}, report.Field{Name: "intent", Value: plan.Intent},
		report.Field{Name: "created", Value: plan.Created}, report.Field{Name: "tool", Value: plan.Tool})
	if err != nil || a.output != "text" {
		return err
	}
	by := "not signed"
	if plan.SignedBy != "" {
		by = "signed with " + plan.SignedBy
	}
	fmt.Fprintf(a.stdout, "plan of %s, made %s, %s, digest %s\n", term.CleanLine(plan.Fabric), plan.Created.Local().Format("2006-01-02 15:04:05"), by, plan.Digest)
	return nil
}

func (a *app) plan(ctx context.Context, o planFlags) (err error) {
	if o.save != "" {
		if _, err := atomicfile.CheckOutput(o.save); err != nil {
			return err
		}
	}
	c, _, devices, err := a.devices(ctx)
	if err != nil {
		return err
	}
	f := c.Fabric()
	s, err := openState(ctx, o.stateFlags, f, o.save != "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	plan, err := a.prepare(ctx, devices, f, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	sum, err := a.showPlan(shownPlan(plan), o.planView)
	if err != nil {
		return err
	}
	if o.save != "" {
		if err := plan.Save(o.save, s.ring); err != nil {
			return err
		}
		a.talk("saved the plan to %s, digest %s", o.save, plan.Digest)
	}
	if sum.Changed > 0 {
		a.sayWindow(f)
		if by := a.approver(f); by != nil {
			a.talkClean("approval: apply asks %s", by)
		}
	}
	a.sayNext(sum, o.save)
	switch {
	case sum.Failed > 0:
		return &statusError{status: exitFailed}
	case o.exitCode && (sum.Changed > 0 || a.nic.on && sum.Open > 0):
		return &statusError{status: exitDiffers}
	}
	return nil
}

// prepare plans the devices, and warns of runs that could not be considered.
func (a *app) prepare(ctx context.Context, devices []fleet.Device, f *intent.Fabric, s store.Store) (*fleet.PlanFile, error) {
	past := a.history(s)
	plan, err := fleet.Prepare(ctx, devices, fleet.PlanOptions{Fabric: f, History: past, Workers: a.parallel, Tool: version, Progress: a.showProgress(nil)})
	if bad := past.Unread(); len(bad) > 0 {
		a.warn("%s cannot be read, so what was left on devices is not known: %v", words.Count(len(bad), "journal"), bad[0])
	}
	return plan, err
}

// sayNext says which command comes after a plan.
func (a *app) sayNext(s report.PlanSummary, saved string) {
	if s.Changed == 0 || s.Failed > 0 || s.BlockedDevices > 0 {
		return
	}
	next := "roce-fabric " + a.command("apply") + " -f " + a.file
	if saved != "" {
		next += " --plan " + saved
	} else if len(a.only) > 0 {
		next += " --only " + shellWord(strings.Join(a.only, ","))
	}
	if a.nic.local {
		next += " --local"
	}
	if a.nic.host != "" {
		next += " --host " + a.nic.host
	}
	if s.Impact > qos.ImpactCounters {
		next += " --allow " + s.Impact.String()
	}
	a.talk("next: %s", next)
}

// shellWord quotes a word for a shell where it needs that.
func shellWord(s string) string {
	if strings.ContainsAny(s, " !*?[]'\"$&|;<>(){}\\`~#") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// shown is a plan, or what a rollback does.
type shown struct {
	fabric, digest string
	rollout        *fleet.Rollout
	devices        iter.Seq2[*fleet.DevicePlan, error]
}

func shownPlan(p *fleet.PlanFile) shown { return shown{p.Fabric, p.Digest, p.Rollout, p.Devices()} }

// showPlan writes a plan: what happens in all, then each device.
func (a *app) showPlan(plan shown, view planView, head ...report.Field) (sum report.PlanSummary, err error) {
	text := report.Text{W: a.stdout, S: a.styler(a.stdout), Steps: view.steps, Proof: view.proof, Width: a.width(a.stdout)}
	list, markdown := "devices", report.NewPlanMarkdown()
	if a.nic.on {
		list = "hosts"
	}
	var doc *report.JSONList
	switch a.output {
	case "json":
		doc = report.NewJSONList(a.stdout, list, append([]report.Field{{Name: "fabric", Value: plan.fabric}}, head...)...)
	case "text":
		text.Rollout(plan.rollout)
	}
	var hints []string
	for d, err := range plan.devices {
		if err != nil {
			return sum, err
		}
		sum.Add(d)
		switch {
		case a.output == "markdown":
			markdown.Add(d)
		case doc == nil:
			text.Plan(d)
		case a.nic.on:
			doc.Add(report.HostPlanOf(d))
		default:
			d.Host = nil // its changes and steps stand in the common form
			doc.Add(d)
		}
		if err := text.Err(); err != nil {
			return sum, err
		}
		if d.Error != nil {
			hints = append(hints, d.Error.Hint)
		}
	}
	sum.Impact = max(sum.Impact, plan.rollout.Impact())
	switch {
	case a.output == "markdown":
		return sum, markdown.Write(a.stdout, plan.fabric, plan.digest, sum, plan.rollout)
	case doc != nil:
		return sum, doc.Close(report.Field{Name: "rollout", Value: plan.rollout})
	}
	text.Summary(sum)
	for _, h := range hints {
		a.printHint(h)
	}
	return sum, text.Err()
}

// history opens the history of a store, and says so where a run is at work in it. Who
// may only read devices need not be able to read it.
func (a *app) history(s store.Store) *fleet.History {
	past, busy, err := fleet.OpenHistory(s)
	if err != nil {
		a.warn("the runs in %s cannot be read, so what they left on devices is not known: %v", s, err)
		return &fleet.History{}
	}
	if busy != nil {
		a.talk("%v: its devices may be read in the middle of a change", busy)
	}
	return past
}

// progress shows how far the work is, on a terminal only, and never among JSON.
func (a *app) progress(label string, total int) *term.Progress {
	return term.NewProgress(a.stderr, term.ProgressOptions{
		Label: label, Total: total,
		Animate: a.output != "json" && term.Animate(a.getenv, a.terminal(a.stderr)),
		Width:   func() int { return term.Width(term.File(a.stderr)) },
	})
}
