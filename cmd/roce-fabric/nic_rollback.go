package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

func (a *app) nicRollbackCommand() *cobra.Command {
	var o nicOptions
	var list bool
	c := &cobra.Command{
		Use:   "rollback [RUN]",
		Short: "Undo a run of nic apply",
		Long: `rollback restores what the NICs held before a run of nic apply: the newest run
that can be rolled back, or the named one. --host, --only and --local limit it to
those hosts. The journal of the run has the old value of each setting, also of a
run that was cut off. A setting that holds its old value is not written; the boot
unit stays as it is. --list shows the runs.`,
		Example: "  roce-fabric nic rollback --host gpu1 -f fabric.yaml\n  sudo roce-fabric nic rollback --local --yes -f fabric.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				switch {
				case len(args) > 0:
					return usage("--list shows all runs, and takes no run")
				case len(a.only) > 0:
					return usage("--list shows all runs, and takes no --only")
				}
				return a.nicRuns(cmd.Context(), o)
			}
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			o.parallelSet = cmd.Flags().Changed("parallel")
			return a.nicRollback(cmd.Context(), id, o)
		},
	}
	a.nicFlags(c, &o)
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&list, "list", false, "show the runs, newest first, and do nothing")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	a.stateFlag(c, &o.state)
	return c
}

func (a *app) nicRuns(ctx context.Context, o nicOptions) error {
	c, err := a.load(ctx, fleet.TakeHosts)
	if err != nil {
		return err
	}
	dir, err := nicStateDir(o.state, c.Fabric().Name)
	if err != nil {
		return err
	}
	return a.listRuns(c.Fabric().Name, dir)
}

func (a *app) nicRollback(ctx context.Context, id string, o nicOptions) (err error) {
	if err := a.mustAsk(o.yes, "nic rollback --list"); err != nil {
		return err
	}
	outliveOutput()
	f, targets, err := a.nicTargets(ctx, o)
	if err != nil {
		return err
	}
	dir, err := nicStateDir(o.state, f.Name)
	if err != nil {
		return err
	}
	devices, _ := nicDevices(targets)
	only := o.local || o.host != "" || len(a.only) > 0
	u, err := fleet.Find(ctx, devices, fleet.FindOptions{State: dir, Run: id, Only: only})
	if e := (*fleet.Error)(nil); errors.As(err, &e) && e.Kind == fleet.KindNoDevice {
		return &statusError{exitFailed, err, "a host needs an address in the intent, or --local"}
	}
	if err != nil {
		return err
	}
	what := a.sayRun(u, "host")
	disturb, err := a.sayUndo(u)
	if err != nil {
		return err
	}
	return a.rollBack(ctx, devices, u, o.yes, what, fleet.RunOptions{Fabric: f, State: dir, Writers: a.nicWorkers(o, disturb), RevertTimeout: nicRevertTimeout})
}

// sayUndo says what a rollback of hosts writes, and whether that disturbs traffic.
func (a *app) sayUndo(u *fleet.Undo) (disturb bool, err error) {
	for _, d := range u.Devices {
		token, err := u.Token(d)
		if err != nil {
			return false, err
		}
		var rec host.Record
		if err := token.Read(d.Name, &rec); err != nil {
			return false, err
		}
		disturb = disturb || rec.Undo.Disturbs()
		for _, s := range rec.Steps {
			for _, c := range s.Changes {
				a.talk("  %s", term.CleanLine(fmt.Sprintf("%s %s: %s, was %s", d.Name, c.Path(), c.New, c.Old)))
			}
		}
	}
	if disturb {
		a.talk("links may go down or lose traffic for a moment")
	}
	return disturb, nil
}
