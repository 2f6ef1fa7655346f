package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/prove"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) proveCommand() *cobra.Command {
	c := &cobra.Command{Use: "prove"}
	groupOnly(c)
	c.AddCommand(a.provePlanCommand(), a.proveShowCommand())
	return c
}

type provePlanFlags struct {
	state    fleet.StoreOptions
	total    time.Duration
	each     time.Duration
	out      string
	commands bool
}

func (a *app) provePlanCommand() *cobra.Command {
	var o provePlanFlags
	c := &cobra.Command{
		Use:  "plan",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.provePlan(cmd.Context(), o) },
	}
	a.fileFlag(c)
	a.outputFlag(c, "text", "json")
	f := c.Flags()
	f.DurationVar(&o.total, "for", 30*time.Minute, "the most time that the rounds may take")
	f.DurationVar(&o.each, "each", 10*time.Second, "how long bandwidth is measured in each round, 4s to 10m")
	f.StringVar(&o.out, "out", "", "write the plan to this file, signed")
	_ = c.MarkFlagFilename("out", "json")
	f.BoolVar(&o.commands, "commands", false, "also show the commands of the first flow of each stage")
	a.stateFlags(c, &o.state)
	return c
}

func (a *app) provePlan(ctx context.Context, o provePlanFlags) (err error) {
	if o.total <= 0 || o.total > prove.MostFor {
		return usage("--for %s: use a time above 0 and at most %s", o.total, prove.Span(int(prove.MostFor.Seconds())))
	}
	if o.each < prove.LeastEach || o.each > prove.MostEach || o.each%time.Second != 0 {
		return usage("--each %s: use whole seconds, %s to %s", o.each, prove.LeastEach, prove.MostEach)
	}
	if o.out != "" {
		if _, err := atomicfile.CheckOutput(o.out); err != nil {
			return err
		}
	}
	f, err := a.load(ctx, fleet.TakeAll)
	if err != nil {
		return err
	}
	p, err := prove.NewPlan(f.Fabric(), prove.Options{For: o.total, Each: o.each, Tool: version, Now: time.Now()})
	if err != nil {
		return usage("%w", err)
	}
	if o.out != "" {
		s, err := fleet.OpenStore(ctx, f.Fabric(), o.state)
		if err != nil {
			return err
		}
		digest, err := p.Save(o.out, s.Keys)
		if err := errors.Join(err, s.Close()); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				a.Talk("saved the plan to %s, digest %s", o.out, digest)
			}
		}()
	}
	return a.showProvePlan(p, o.commands)
}

func (a *app) showProvePlan(p *prove.Plan, commands bool) error {
	if a.Output == "json" {
		return report.WriteDocument(a.Out, p)
	}
	t := a.Text()
	t.ProvePlan(p, commands)
	return t.Err()
}

func (a *app) proveShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:  "show FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.proveShow(args[0]) },
	}
	a.outputFlag(c, "text", "json")
	return c
}

func (a *app) proveShow(file string) error {
	p, err := prove.OpenPlan(file)
	if err != nil {
		return err
	}
	if err := a.showProvePlan(p.Plan, false); err != nil || a.Output != "text" {
		return err
	}
	by := "not signed"
	if p.SignedBy != "" {
		by = "signed with " + p.SignedBy
	}
	_, err = fmt.Fprintf(a.Out, "plan of %s, made %s, %s, digest %s\n", term.CleanLine(p.Fabric), p.Created.Local().Format(time.DateTime), by, p.Digest)
	return err
}
