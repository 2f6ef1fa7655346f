package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type rollbackOptions struct {
	yes, list    bool
	state, audit string
	// parallelSet says that the operator has given --parallel.
	parallelSet bool
}

func (a *app) rollbackCommand() *cobra.Command {
	var o rollbackOptions
	c := &cobra.Command{
		Use:   "rollback [RUN]",
		Short: "Undo a finished or cut-off apply",
		Long: `rollback returns the devices of a run of apply to their state before it, in
reverse order: the newest run that can be rolled back, or the named one. With
--only it rolls back those devices alone. The undo records are in the journal of
the run. What other users have changed since, outside of what the run wrote,
stays. A cut-off run is rolled back in the same way.

It shows the devices and asks; without a terminal it needs --yes. --list shows the
runs.`,
		Example: "  roce-fabric rollback -f fabric.yaml\n  roce-fabric rollback -f fabric.yaml --list\n  roce-fabric rollback -f fabric.yaml 20261121-150405123-a1b2 --yes",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.rollback(cmd.Context(), args, o) },
	}
	a.allFlags(c)
	a.outputFlag(c, "text", "json")
	a.rollbackFlags(c, &o)
	return c
}

// rollbackFlags adds the flags of rollback and nic rollback.
func (a *app) rollbackFlags(c *cobra.Command, o *rollbackOptions) {
	c.Flags().BoolVar(&o.list, "list", false, "show the runs, newest first, and do nothing")
	yesFlag(c, &o.yes)
	a.stateFlag(c, &o.state)
	a.auditFlag(c, &o.audit)
}

func (a *app) stateFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "state", a.getenv("ROCE_FABRIC_STATE"), "folder for journal and lock, or etcd://HOST:2379 (or ROCE_FABRIC_STATE; default ~/.local/state/roce-fabric/FABRIC)")
	_ = c.MarkFlagDirname("state")
}

// openStore opens the store of --state. Close must be called on it.
func openStore(ctx context.Context, where, fabric string) (store.Store, error) {
	if where == "" {
		dir, err := fleet.StateDir(fabric)
		if err != nil {
			return nil, usageHint("name a folder with --state", "%w", err)
		}
		where = dir
	}
	s, err := store.Open(ctx, where, fabric)
	if err != nil {
		return nil, usage("--state: %w", err)
	}
	return s, nil
}

// warnShared says who else uses a store with another copy of the intent.
func (a *app) warnShared(ctx context.Context, s store.Store, f *intent.Fabric) {
	others, err := fleet.OtherCheckouts(ctx, s, f)
	if err != nil {
		a.warn("%v", err)
	}
	for _, o := range others {
		a.talk("%s is shared with %s on %s, last used by %s at %s", s, o.Intent, o.Host, o.User, o.Since.Local().Format("2006-01-02 15:04"))
	}
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
		return a.listRuns(ctx, o.state)
	}
	if err := a.mustAsk(o.yes, a.command("rollback --list")); err != nil {
		return err
	}
	outliveOutput()
	c, _, devices, err := a.devices(ctx)
	if err != nil {
		return err
	}
	f := c.Fabric()
	s, err := openStore(ctx, o.state, f.Name)
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
	disturbs, err := a.sayUndo(u)
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, o.yes, fmt.Sprintf("Roll back %s?", words.Count(len(u.Devices), a.noun()))); err != nil {
		return err
	}
	audit := auditOf(o.audit, s)
	defer func() { err = errors.Join(err, audit.Close()) }()
	res, err := fleet.Rollback(ctx, devices, u, fleet.RunOptions{Fabric: f, Store: s, Audit: audit, Writers: a.runWorkers(disturbs, o.parallelSet), Progress: a.showSteps()})
	return a.ended(f.Name, res, err, "")
}

// sayUndo says which run is rolled back, what a rollback writes on hosts, and returns
// whether that disturbs traffic there.
func (a *app) sayUndo(u *fleet.Undo) (disturbs bool, err error) {
	var names []string
	for _, d := range u.Devices {
		names = append(names, d.Name)
	}
	a.talkClean("run %s of %s by %s: rolling back %s: %s", u.ID, u.Begun.Local().Format("2006-01-02 15:04:05"), u.By, words.Count(len(names), a.noun()), natural.Fold(names))
	for _, d := range u.Devices {
		lines, one, err := u.Values(d)
		if err != nil {
			return false, err
		}
		disturbs = disturbs || one
		for _, l := range lines {
			a.talkClean("  %s", l)
		}
	}
	if disturbs {
		a.talk("links of hosts may go down or lose traffic for a moment")
	}
	return disturbs, nil
}

func (a *app) listRuns(ctx context.Context, state string) (err error) {
	c, err := a.load(ctx, fleet.TakeAll)
	if err != nil {
		return err
	}
	fabric := c.Fabric().Name
	s, err := openStore(ctx, state, fabric)
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
