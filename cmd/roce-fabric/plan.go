package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/report"
)

type planOptions struct {
	save     string
	exitCode bool
	steps    bool
	state    string
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what would change on the devices, and what that disturbs",
		Long: `plan reads the switches and shows how each differs from the intent, which line of
the intent causes the change, and what the change disturbs: none, counters,
port-flap, traffic-loss or reload. Nothing is written to a device.

If the journal in --state says that a run was cut off on a switch, plan waits
until the switch has finished what it was sent. Ports that the run took down and
left down are brought up as part of the plan.

--save writes the plan to a file. 'apply --plan' carries out exactly that plan, as
long as neither the intent nor the devices have changed.`,
		Example: "  roce-fabric plan -f fabric.yaml\n  roce-fabric plan -f fabric.yaml --only role:leaf --save leaves.plan --exit-code",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), o) },
	}
	a.intentFlags(c)
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().StringVarP(&o.save, "save", "o", "", "write the plan to this file")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 where something would change")
	c.Flags().BoolVar(&o.steps, "steps", false, "also show the native requests")
	a.stateFlag(c, &o.state)
	return c
}

func (a *app) plan(ctx context.Context, o planOptions) (err error) {
	c, open, err := a.loadDevices(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	if o.state, err = stateDir(o.state, c.Fabric().Name); err != nil {
		return err
	}
	var file *fleet.PlanWriter
	if o.save != "" {
		f := c.Fabric()
		file, err = fleet.CreatePlan(o.save, fleet.PlanHeader{Tool: version, Fabric: f.Name, Intent: f.Hash, Created: time.Now().UTC()})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	sum, err := a.makePlan(ctx, c, open, o, func(d *fleet.DevicePlan) error {
		if file != nil {
			return file.Add(d)
		}
		return nil
	})
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
	case sum.Failed > 0:
		return &statusError{status: exitFailed}
	case o.exitCode && sum.Changed > 0:
		return &statusError{status: exitDiffers}
	}
	return nil
}

// makePlan plans the switches, writes each plan as it is ready and hands it
// on.
func (a *app) makePlan(ctx context.Context, c *fleet.Fabric, open *fleet.Access, o planOptions, also func(*fleet.DevicePlan) error) (report.PlanSummary, error) {
	var sum report.PlanSummary
	var hints []string
	t := report.Text{W: a.stdout, S: a.styler(a.stdout), Steps: o.steps}
	js := report.NewJSONList(a.stdout, a.output == "json", c.Fabric().Name)
	past := a.history(o.state)
	p := a.progress("plan", len(c.Switches))
	defer p.Close()
	begin := func(ctx context.Context, sw *intent.Switch) (drivers.Driver, error) {
		p.Start()
		return open.Switch(ctx, sw)
	}
	err := fleet.Make(ctx, fleet.Switches(c.Compiler, c.Switches, begin), fleet.PlanOptions{Workers: a.parallel, Ready: func(ctx context.Context, name string, drv drivers.Driver) error {
		sw, left := c.Fabric().Switch(name), past.Left(name)
		var desired drivers.Desired
		if len(left.Down) > 0 {
			desired = c.Device(sw).Desired
		}
		left.Tell(drv, desired, nil)
		return settled(ctx, past, sw, drv)
	}}, func(d *fleet.DevicePlan) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Finish(d.Name, d.Err)
		if a.terminal(a.stdout) {
			// Results on the same terminal would fight with a moving line.
			p.Close()
		}
		noteCutOff(d, past.Left(d.Name), c, past.Busy)
		sum.Add(d)
		if a.output == "json" {
			js.Add(d)
		} else {
			t.Plan(d)
		}
		if hint := adviceOf(d.Err); hint != "" {
			hints = append(hints, hint)
		}
		return also(d)
	})
	p.Close()
	if err != nil {
		// A document without its end cannot be taken for the whole.
		return sum, err
	}
	if a.output == "json" {
		return sum, js.Close()
	}
	t.Summary(sum)
	for _, h := range hints {
		a.printHint(h)
	}
	return sum, t.Err()
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
		a.talk("%v: what is read from its devices may be on the way from one state to another", busy)
	}
	return past
}

// settled waits until a switch has done what a run that was cut off sent it.
func settled(ctx context.Context, past *fleet.History, sw *intent.Switch, drv drivers.Driver) error {
	if past.Left(sw.Name).CutOff == nil {
		return nil
	}
	return fleet.Settle(ctx, drv)
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
