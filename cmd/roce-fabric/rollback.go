package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type rollbackOptions struct {
	stateFlags
	yes, list, plan bool
	allow           impactFlag
	gate            gateFlag
	// outside writes outside of the maintenance windows, too.
	outside bool
}

func (a *app) rollbackCommand() *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:  "rollback [RUN]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.rollback(cmd.Context(), args, o) },
	}
	a.allFlags(c)
	a.outputFlag(c, "text", "json")
	a.rollbackFlags(c, &o)
	return c
}

// rollbackFlags adds the flags of rollback and nic rollback.
func (a *app) rollbackFlags(c *cobra.Command, o *rollbackOptions) {
	c.Flags().BoolVar(&o.list, "list", false, "show the runs, newest first, and do nothing")
	c.Flags().BoolVar(&o.plan, "plan", false, "show what would be rolled back, and do nothing")
	o.allow = counters
	a.allowFlag(c, &o.allow)
	a.gateFlag(c, &o.gate, fleet.GateQuick)
	yesFlag(c, &o.yes)
	outsideFlag(c, &o.outside)
	a.stateFlag(c, &o.stateFlags)
	a.auditFlag(c, &o.audit)
}

func (a *app) rollback(ctx context.Context, args []string, o rollbackOptions) (err error) {
	id := ""
	if len(args) > 0 {
		id = args[0]
	}
	switch {
	case o.list && id != "":
		return usage("--list shows all runs, and takes no run")
	case o.list && a.nic.on && len(a.only) > 0:
		return usage("--list shows all runs, and takes no --only")
	case o.list:
		return a.listRuns(ctx, o.stateFlags)
	}
	if err := a.mustAsk(o.yes || o.plan, a.command("rollback --plan")); err != nil {
		return err
	}
	if err := o.gate.check(); err != nil {
		return err
	}
	outliveOutput()
	c, at, devices, err := a.devices(ctx)
	if err != nil {
		return err
	}
	f := c.Fabric()
	if err := a.inWindow(f, o.outside); err != nil {
		return err
	}
	s, err := openState(ctx, o.stateFlags, f, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	u, err := fleet.Find(ctx, devices, fleet.FindOptions{Store: s, Run: id, Among: func(name string) bool {
		if len(a.only) == 0 && !a.nic.local && a.nic.host == "" {
			return !a.nic.on || f.Switch(name) == nil
		}
		return slices.ContainsFunc(devices, func(d fleet.Device) bool { return d.Name == name })
	}})
	if err != nil {
		return err
	}
	if err := a.showUndo(f.Name, u, o.plan); err != nil || o.plan {
		return err
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Roll back %s?", words.Count(len(u.Devices), a.noun()))); err != nil {
		return err
	}
	audit := auditOf(o.audit, s.Store)
	defer func() { err = errors.Join(err, audit.Close()) }()
	run := fleet.RunOptions{Fabric: f, Store: s, Audit: audit, OutsideWindow: o.outside, Approver: a.approver(f), Workers: a.parallel, Writers: a.parallel, Progress: a.showProgress(a.showSteps()), Gate: &fleet.Gate{Mode: o.gate.GateMode, Fabric: c, Access: at}}
	res, err := fleet.Rollback(ctx, devices, u, fleet.RollbackOptions{RunOptions: run, Allow: o.allow.Impact})
	return a.ended(f.Name, res, err, "")
}

// showUndo shows what a rollback changes: as the result, or as talk before the question.
func (a *app) showUndo(fabric string, u *fleet.Undo, result bool) error {
	show := *a
	if !result {
		show.stdout, show.output = a.stderr, "text"
		if a.output == "json" {
			show.stdout = io.Discard
		}
	}
	a.talkClean("run %s of %s by %s: rolling back %s", u.ID, u.Begun.Local().Format("2006-01-02 15:04:05"), u.By, words.Count(len(u.Devices), a.noun()))
	_, err := show.showPlan(shown{fabric, "", u.Rollout(), u.Plans()}, planView{})
	return err
}

func (a *app) listRuns(ctx context.Context, state stateFlags) (err error) {
	c, err := a.load(ctx, fleet.TakeAll)
	if err != nil {
		return err
	}
	fabric := c.Fabric().Name
	s, err := openState(ctx, state, c.Fabric(), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	runs := []*fleet.Past{}
	for p, err := range fleet.Runs(s) {
		if p == nil {
			return err
		}
		if err != nil {
			a.warn("%v", err)
		}
		runs = append(runs, p)
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "fabric": fabric, "runs": runs})
	}
	if len(runs) == 0 {
		a.talk("no runs in %s", s)
		return nil
	}
	return report.WriteRuns(a.stdout, runs)
}
