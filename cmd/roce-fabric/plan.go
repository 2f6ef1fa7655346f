package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/report"
)

type planFlags struct {
	save     string
	exitCode bool
	steps    bool
	state    string
}

func (a *app) planCommand() *cobra.Command {
	var o planFlags
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what would change on the devices, and what that disturbs",
		Long: `plan reads the switches, and over SSH the hosts that have an address. It shows how
each differs from the intent, which line of the intent causes the change, and what
the change disturbs: none, counters, port-flap, traffic-loss or reload. Nothing is
written to a device, except that this program is copied to each host once
(~/.cache/roce-fabric).

If the journal in --state says that a run was cut off on a switch, plan waits
until the switch has finished what it was sent. Ports that the run took down and
left down are brought up as part of the plan.

--save writes the plan to a file. 'apply --plan' carries out exactly that plan, as
long as neither the intent nor the devices have changed.`,
		Example: "  roce-fabric plan -f fabric.yaml\n  roce-fabric plan -f fabric.yaml --only role:leaf --save leaves.plan --exit-code",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), o) },
	}
	a.allFlags(c)
	a.outputFlag(c, "text", "json")
	a.cutOffFlag(c)
	c.Flags().StringVar(&o.save, "save", "", "write the plan to this file")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 where something would change")
	c.Flags().BoolVar(&o.steps, "steps", false, "also show the native requests")
	a.stateFlag(c, &o.state)
	return c
}

func (a *app) plan(ctx context.Context, o planFlags) (err error) {
	c, _, devices, err := a.devices(ctx)
	if err != nil {
		return err
	}
	f := c.Fabric()
	if o.state, err = stateDir(o.state, f.Name); err != nil {
		return err
	}
	var file *fleet.PlanWriter
	if o.save != "" {
		file, err = fleet.CreatePlan(o.save, fleet.PlanHeader{Tool: version, Fabric: f.Name, Intent: f.Hash, Created: time.Now().UTC()})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	v := a.viewPlan(f.Name, o.steps)
	err = fleet.Plan(ctx, devices, a.planOptions(f, o.state), func(d *fleet.DevicePlan) error {
		if err := v.add(d); err != nil || file == nil {
			return err
		}
		return file.Add(d)
	})
	if err == nil {
		err = v.end()
	}
	if err != nil {
		return err
	}
	if file != nil {
		if err := file.Commit(); err != nil {
			return err
		}
		a.talk("saved the plan to %s", o.save)
	}
	switch {
	case v.sum.Failed > 0:
		return &statusError{status: exitFailed}
	case o.exitCode && (v.sum.Changed > 0 || a.nic.on && v.sum.Open > 0):
		return &statusError{status: exitDiffers}
	}
	return nil
}

// planOptions are those of every plan.
func (a *app) planOptions(f *intent.Fabric, state string) fleet.PlanOptions {
	return fleet.PlanOptions{Fabric: f, History: a.history(state), Workers: a.parallel, Progress: a.showProgress(nil)}
}

// planView writes plans as they are ready.
type planView struct {
	a     *app
	sum   report.PlanSummary
	text  report.Text
	json  *report.JSONList
	hints []string
}

func (a *app) viewPlan(fabric string, steps bool) *planView {
	list := "devices"
	if a.nic.on {
		list = "hosts"
	}
	return &planView{
		a: a, text: report.Text{W: a.stdout, S: a.styler(a.stdout), Steps: steps},
		json: report.NewJSONList(a.stdout, a.output == "json", fabric, list),
	}
}

func (v *planView) add(d *fleet.DevicePlan) error {
	v.sum.Add(d)
	switch {
	case v.a.output != "json":
		v.text.Plan(d)
	case v.a.nic.on:
		v.json.Add(report.HostPlanOf(d))
	default:
		v.json.Add(d)
	}
	if d.Error != nil {
		v.hints = append(v.hints, d.Error.Hint)
	}
	return nil
}

// end ends a plan that is whole: a document without its end cannot be taken for
// that.
func (v *planView) end() error {
	if v.a.output == "json" {
		return v.json.Close()
	}
	v.text.Summary(v.sum)
	for _, h := range v.hints {
		v.a.printHint(h)
	}
	return v.text.Err()
}

// history opens the history of a state folder, and says so where a run is at work
// in it. Who may only read devices need not be able to read it.
func (a *app) history(state string) *fleet.History {
	past, busy, err := fleet.OpenHistory(state)
	if err != nil {
		a.warn("the runs in %s cannot be read, so what they left on devices is not known: %v", state, err)
		return &fleet.History{}
	}
	if busy != nil {
		a.talk("%v: its devices may be read in the middle of a change", busy)
	}
	return past
}

// progress shows how far the work is, on a terminal only.
func (a *app) progress(label string, total int) *term.Progress {
	return term.NewProgress(a.stderr, term.ProgressOptions{
		Label: label, Total: total,
		Animate: term.Animate(a.getenv, a.terminal(a.stderr)),
		Width: func() int {
			f, _ := a.stderr.(*os.File)
			return term.Width(f)
		},
	})
}
