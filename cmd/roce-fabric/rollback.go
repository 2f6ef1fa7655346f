package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type rollbackOptions struct {
	runFlags
	list, plan bool
}

// rollbackCommand returns the command rollback or, with the flags of nic, nic rollback.
func (a *app) rollbackCommand(flags func(*cobra.Command)) *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:  "rollback [RUN]",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rollback(cmd.Context(), append(args, "")[0], o)
		},

		ValidArgsFunction: a.completeRun(&o.state),
	}
	flags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&o.list, "list", false, "only show the runs, newest first")
	c.Flags().BoolVar(&o.plan, "plan", false, "only show what would be rolled back")
	a.runFlags(c, &o.runFlags, fleet.GateQuick)
	return c
}

// rollback rolls back a run; "" means the newest run that can be rolled back.
func (a *app) rollback(ctx context.Context, id string, o rollbackOptions) (err error) {
	switch {
	case o.list && id != "":
		return usage("--list shows all runs; leave out RUN")
	case o.list && a.nic.on && len(a.only) > 0:
		return usage("--list shows all runs; leave out --only")
	case o.list:
		return a.listRuns(ctx, o.state)
	}
	r, err := a.begin(ctx, o.runFlags, o.yes || o.plan, a.command("rollback --plan"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	u, err := fleet.Find(ctx, r.devices, fleet.FindOptions{Store: r, Run: id, Among: func(name string) bool {
		if len(a.only) == 0 && !a.nic.local && a.nic.host == "" {
			return !a.nic.on || r.f.Switch(name) == nil
		}
		return slices.ContainsFunc(r.devices, func(d fleet.Device) bool { return d.Name == name })
	}})
	if err != nil {
		return err
	}
	devices := words.Count(len(u.Devices), a.noun())
	a.sayRun(u.Past, "rolling back "+devices)
	if cut := u.CutOff(); cut != "" {
		a.Warn("the journal of run %s is %s", u.ID, cut)
	}
	if runs := u.Runs(); len(runs) > 1 {
		a.TalkClean("it resumed an interrupted run; these runs are rolled back together: %s", strings.Join(runs, ", "))
	}
	undo := report.Shown{Fabric: r.f.Name, Rollout: u.Rollout(o.gate.GateMode), Devices: u.Plans()}
	if o.plan {
		_, err := a.Plan(undo, report.PlanView{Hosts: a.nic.on})
		return err
	}
	if _, err := a.PlanTalk(undo); err != nil {
		return err
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Roll back %s?", devices)); err != nil {
		return err
	}
	r.options.Progress = a.Progress(a.Steps())
	res, err := fleet.Rollback(ctx, r.devices, u, fleet.RollbackOptions{RunOptions: r.options, Allow: o.allow.Impact})
	return a.reportEnd(r.f.Name, res, err, "")
}

func (a *app) listRuns(ctx context.Context, o fleet.StoreOptions) (err error) {
	c, err := a.load(ctx, fleet.TakeAll)
	if err != nil {
		return err
	}
	o.ReadOnly = true
	s, err := fleet.OpenStore(ctx, c.Fabric(), o)
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
			a.Warn("%v", err)
		}
		runs = append(runs, p)
	}
	if a.Output == "json" {
		return report.WriteJSON(a.Out, map[string]any{"format": report.Format, "fabric": c.Fabric().Name, "runs": runs})
	}
	if len(runs) == 0 {
		a.Talk("no runs in %s", s)
		return nil
	}
	return report.WriteRuns(a.Out, runs)
}
