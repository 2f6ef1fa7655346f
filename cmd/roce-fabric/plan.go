package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/plan"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
)

type planOptions struct {
	save     string
	exitCode bool
	steps    bool
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what would change on the devices, and what that disturbs",
		Long: `plan reads the switches and shows, for each, how it differs from the intent,
which line of the intent wants it, and what the change disturbs: none, counters,
port-flap, traffic-loss or reload. Nothing is written to a device.

With --save the plan is kept in a file that 'apply' carries out exactly, as long
as neither the intent nor the devices have changed.
` + exitHelp,
		Example: "  roce-fabric plan -f fabric.yaml\n  roce-fabric plan -f fabric.yaml --only role:leaf --save leaves.plan --exit-code",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), o) },
	}
	a.intentFlags(c)
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().StringVar(&o.save, "save", "", "keep the plan in this file")
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "end with status 3 where something would change")
	c.Flags().BoolVar(&o.steps, "steps", false, "show the native requests as well")
	return c
}

func (a *app) plan(ctx context.Context, o planOptions) (err error) {
	c, switches, err := a.load()
	if err != nil {
		return err
	}
	open, err := a.opener()
	if err != nil {
		return err
	}
	a.loud(switches)
	var file *plan.Writer
	if o.save != "" {
		f := c.Fabric()
		file, err = plan.Create(o.save, plan.Header{Tool: version, Fabric: f.Name, Intent: f.Hash, Created: time.Now().UTC()})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	sum, err := a.makePlan(ctx, c, switches, open, o, func(d *plan.Device) error {
		if file != nil {
			return file.Add(d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if file != nil && ctx.Err() == nil {
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
func (a *app) makePlan(ctx context.Context, c *render.Compiler, switches []*intent.Switch, open *opener, o planOptions, also func(*plan.Device) error) (report.PlanSummary, error) {
	var sum report.PlanSummary
	t := report.Text{W: a.stdout, S: a.styler(a.stdout), Steps: o.steps}
	js := report.NewJSONList(a.stdout, a.output == "json", c.Fabric().Name)
	p := a.progress("plan", len(switches))
	defer p.Close()
	err := plan.Make(ctx, c, switches, open.open, plan.Options{Workers: a.parallel}, func(d *plan.Device) error {
		p.Finish(d.Name, d.Err)
		sum.Add(d)
		if d.Err != nil {
			a.hint(d.Err)
		}
		if a.output == "json" {
			js.Add(d)
		} else {
			t.Plan(d)
		}
		return also(d)
	})
	if a.output == "json" {
		return sum, errors.Join(err, js.Close())
	}
	if err == nil {
		t.Summary(sum)
	}
	return sum, errors.Join(err, t.Err())
}

// hint prints the advice of an error that the result has stated.
func (a *app) hint(err error) {
	var h hinter
	if errors.As(err, &h) && h.Hint() != "" && a.output != "json" {
		a.talk("%s %s", a.styler(a.stderr).Dim("hint: "), term.Clean(h.Hint()))
	}
}

// progress shows how far the work is, on a terminal only.
func (a *app) progress(label string, total int) *term.Progress {
	p := term.NewProgress(a.stderr, term.ProgressOptions{
		Label: label, Total: total,
		// Results on the same terminal would fight with a moving line.
		Animate: term.Animate(a.getenv, a.terminal(a.stderr)) && !a.terminal(a.stdout),
	})
	return p
}
