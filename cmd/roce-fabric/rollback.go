package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type rollbackOptions struct {
	yes, list bool
	state     string
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
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return a.rollback(cmd.Context(), id, o)
		},
	}
	a.intentFlags(c)
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	f := c.Flags()
	f.BoolVar(&o.list, "list", false, "show the runs, newest first, and do nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	a.stateFlag(c, &o.state)
	return c
}

func (a *app) stateFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "state", "", "folder for journal and lock (default ~/.local/state/roce-fabric/FABRIC)")
	_ = c.MarkFlagDirname("state")
}

func stateDir(dir, fabric string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	dir, err := fleet.StateDir(fabric)
	if err != nil {
		return "", usageHint("name a folder with --state", "%w", err)
	}
	return dir, nil
}

func (a *app) rollback(ctx context.Context, id string, o rollbackOptions) (err error) {
	if o.list && id != "" {
		return usage("--list shows all runs, and takes no run")
	}
	if err := a.mustAsk(o.list || o.yes, "rollback --list"); err != nil {
		return err
	}
	c, open, err := a.loadDevices(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	f := c.Fabric()
	if o.state, err = stateDir(o.state, f.Name); err != nil {
		return err
	}
	if o.list {
		return a.listRuns(f.Name, o.state)
	}
	outliveOutput()
	if len(a.only) == 0 {
		c.Switches = f.Switches
	}
	devices := fleet.Switches(c.Compiler, c.Switches, open.Switch)
	u, err := fleet.Find(ctx, devices, fleet.FindOptions{State: o.state, Run: id, Only: len(a.only) > 0})
	if err != nil {
		return err
	}
	what := a.sayRun(u, "device")
	return a.rollBack(ctx, devices, u, o.yes, what, fleet.RunOptions{Fabric: f, State: o.state})
}

// sayRun says which run is rolled back, and returns how many devices it is about.
func (a *app) sayRun(u *fleet.Undo, noun string) (what string) {
	var names []string
	for _, d := range u.Devices {
		names = append(names, d.Name)
	}
	what = words.Count(len(names), noun)
	a.talk("run %s of %s by %s: rolling back %s: %s", u.ID, u.Begun.Local().Format("2006-01-02 15:04:05"), term.CleanLine(u.By), what, natural.Fold(names))
	return what
}

// rollBack rolls a run back, after a question.
func (a *app) rollBack(ctx context.Context, devices []fleet.Device, u *fleet.Undo, yes bool, what string, o fleet.RunOptions) error {
	if err := a.confirm(ctx, yes, fmt.Sprintf("Roll back %s?", what)); err != nil {
		return err
	}
	o.Progress = a.showSteps()
	res, err := fleet.Rollback(ctx, devices, u, o)
	return a.ended(o.Fabric.Name, res, err, "")
}

func (a *app) listRuns(fabric, dir string) error {
	runs := []*fleet.Past{}
	for p, err := range fleet.Runs(dir) {
		if err != nil {
			return err
		}
		runs = append(runs, p)
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "fabric": fabric, "runs": runs})
	}
	if len(runs) == 0 {
		a.talk("no runs in %s", dir)
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tBEGUN\tBY\tDEVICES")
	for _, p := range runs {
		by := map[string][]string{}
		var order []string
		for _, d := range p.Devices {
			state := string(d.State)
			switch {
			case state == "" && p.AtWork:
				state = "changing"
			case state == "":
				state = "cut off on"
			}
			if by[state] == nil {
				order = append(order, state)
			}
			by[state] = append(by[state], d.Name)
		}
		for i, s := range order {
			order[i] = s + " " + natural.Fold(by[s])
		}
		what := strings.Join(order, "; ")
		if p.Of != "" {
			what += " (rolled back " + p.Of + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.ID, p.Begun.Local().Format("2006-01-02 15:04:05"), term.CleanLine(p.By), term.CleanLine(what))
	}
	return w.Flush()
}
