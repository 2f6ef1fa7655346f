package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
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
	if err := notAtWork(o.state); err != nil {
		return err
	}
	chosen := map[string]bool{}
	for _, sw := range c.Switches {
		chosen[sw.Name] = true
	}
	past, devices, err := fleet.Find(o.state, id, func(name string) bool { return chosen[name] || len(a.only) == 0 })
	if err != nil {
		return err
	}
	for _, d := range devices {
		if f.Switch(d.Name) == nil {
			return fmt.Errorf("device %s of run %s is not in the intent; nothing was written", d.Name, past.ID)
		}
	}
	begin := func(ctx context.Context, name string) (drivers.Driver, error) {
		return open.Switch(ctx, f.Switch(name))
	}
	desired := func(name string) drivers.Desired { return c.Device(f.Switch(name)).Desired }
	return a.takeBack(ctx, f, o.yes, undoing{past: past, devices: devices, state: o.state, noun: "device", open: begin, options: fleet.RunOptions{
		Desired: desired, Policy: func(name string) drivers.Policy { return fleet.Policy(f, f.Switch(name)) },
	}})
}

// undoing is a run that is rolled back, on some of its devices.
type undoing struct {
	past    *fleet.Past
	devices []fleet.PastDevice
	state   string // folder of the journals
	noun    string // what the devices are called
	open    func(ctx context.Context, name string) (drivers.Driver, error)
	options fleet.RunOptions
	// explain says more about it before the question, once the undo records are
	// known to be good; nil says nothing.
	explain func(*fleet.RunOptions) error
}

// takeBack rolls a run back, after a question.
func (a *app) takeBack(ctx context.Context, f *intent.Fabric, yes bool, u undoing) (err error) {
	if err := fleet.CheckUndo(ctx, u.past, u.devices, u.open, u.options.Desired); err != nil {
		return fmt.Errorf("%w; nothing was written", err)
	}
	var names []string
	for _, d := range u.devices {
		names = append(names, d.Name)
	}
	what := words.Count(len(names), u.noun)
	a.talk("run %s of %s by %s: rolling back %s: %s", u.past.ID, u.past.Begun.Local().Format("2006-01-02 15:04:05"), term.CleanLine(u.past.By), what, natural.Fold(names))
	if u.explain != nil {
		if err := u.explain(&u.options); err != nil {
			return err
		}
	}
	if err := a.confirm(ctx, yes, fmt.Sprintf("Roll back %s?", what)); err != nil {
		return err
	}
	id, err := runID()
	if err != nil {
		return err
	}
	j, err := fleet.Begin(u.state, id, fleet.Record{Fabric: f.Name, Intent: f.Hash, Of: u.past.ID})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	u.options.ID, u.options.Journal, u.options.Progress = id, j, a.stepProgress()
	outs, err := fleet.Rollback(ctx, u.past, u.devices, u.open, u.options)
	return a.ended(f.Name, j, outs, err)
}

// listedRun is a run in the JSON of rollback --list.
type listedRun struct {
	Run     string         `json:"run"`
	Begun   time.Time      `json:"begun"`
	By      string         `json:"by,omitempty"` // user@machine
	Ended   bool           `json:"ended"`
	AtWork  bool           `json:"at_work,omitempty"`
	Of      string         `json:"of,omitempty"` // the run that it took back
	Devices []listedDevice `json:"devices"`
}

type listedDevice struct {
	Device string      `json:"device"`
	State  fleet.State `json:"state"` // "" where the run was cut off in its work, or is at it
}

// notAtWork fails where a run is at work in a state folder.
func notAtWork(state string) error {
	_, busy, err := fleet.AtWork(state)
	return errors.Join(busy, err)
}

func (a *app) listRuns(fabric, dir string) error {
	atWork, _, err := fleet.AtWork(dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	runs := []listedRun{}
	for p, err := range fleet.Runs(dir) {
		if err != nil {
			return err
		}
		r := listedRun{Run: p.ID, Begun: p.Begun, By: p.By, Ended: p.Ended, AtWork: p.ID == atWork, Of: p.Of, Devices: []listedDevice{}}
		by := map[fleet.State][]string{}
		var order []fleet.State
		for _, d := range p.Devices {
			r.Devices = append(r.Devices, listedDevice{d.Name, d.State})
			if by[d.State] == nil {
				order = append(order, d.State)
			}
			by[d.State] = append(by[d.State], d.Name)
		}
		if runs = append(runs, r); a.output == "json" {
			continue
		}
		if len(runs) == 1 {
			fmt.Fprintln(w, "RUN\tBEGUN\tBY\tDEVICES")
		}
		what := ""
		for i, s := range order {
			if i > 0 {
				what += "; "
			}
			state := string(s)
			switch {
			case s == "" && r.AtWork:
				state = "at work on"
			case s == "":
				state = "cut off in its work"
			}
			what += state + " " + natural.Fold(by[s])
		}
		if p.Of != "" {
			what += " (took back " + p.Of + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.ID, p.Begun.Local().Format("2006-01-02 15:04:05"), term.CleanLine(p.By), term.CleanLine(what))
	}
	if a.output == "json" {
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "fabric": fabric, "runs": runs})
	}
	if len(runs) == 0 {
		a.talk("no runs in %s", dir)
	}
	return w.Flush()
}

// noteCutOff says of a device whether an earlier run was cut off in its work
// on it, and what of that is in force, or that one is at work on it.
func noteCutOff(d *fleet.DevicePlan, left fleet.Left, c *fleet.Fabric, busy string) {
	if d.Error != "" {
		return
	}
	if left.Busy {
		d.Notes = append(d.Notes, fmt.Sprintf("run %s is at work on this device; plan again when it has ended", busy))
		return
	}
	f := c.Fabric()
	if sw := f.Switch(d.Name); sw != nil {
		for _, port := range natural.Keys(left.Down) {
			if c.Device(sw).Desired.Ports[port] == nil {
				d.Notes = append(d.Notes, fmt.Sprintf("run %s took down %s, which the intent does not have: 'roce-fabric rollback' brings it up", left.Down[port], port))
			}
		}
	}
	past := left.CutOff
	if past == nil {
		return
	}
	was, _ := past.Device(d.Name)
	if past.Of != "" {
		d.Notes = append(d.Notes, fmt.Sprintf("run %s was cut off in its work on this device: part of its rollback of run %s may be in force; 'roce-fabric rollback %s' resumes it", past.ID, past.Of, past.Of))
		return
	}
	fate := "part of it may be in force"
	switch {
	case !was.Touched:
		fate = "before it wrote anything"
	case past.Intent != f.Hash:
		fate = "it applied another intent; what is in force is compared with this one"
	case d.Base == was.Base:
		fate = "nothing of it is in force"
	case len(d.Changes) == 0:
		fate = "all of it is in force"
	}
	note := fmt.Sprintf("run %s was cut off in its work on this device: %s", past.ID, fate)
	if was.Touched && d.Base != was.Base {
		note += "; 'roce-fabric rollback' takes it back"
	}
	d.Notes = append(d.Notes, note)
}
