package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/plan"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/rollout"
)

type applyOptions struct {
	saved  string
	yes    bool
	allow  impactFlag
	state  string
	silent bool // the plan has been shown already
}

// impactFlag is --allow.
type impactFlag struct{ qos.Impact }

func (f *impactFlag) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f *impactFlag) Type() string       { return "none|counters|port-flap|traffic-loss|reload" }

func (a *app) applyCommand() *cobra.Command {
	o := applyOptions{allow: impactFlag{qos.ImpactCounters}}
	c := &cobra.Command{
		Use:   "apply",
		Short: "Bring the devices to what the intent says",
		Long: `apply carries out a plan: the one saved with 'plan --save' if --plan names it,
and exactly that one; otherwise a fresh one, which it shows first and asks about
on a terminal.

It works device by device. On each it reads again and refuses if the device is
not in the state that was planned for, writes, reads back, compares with the
intent and with what the daemons of the device made of it, and saves. A device
on which any of this fails is taken back to where it was, and the rest is left
alone. Ctrl-C does the same with the device in work.

What disturbs more than counters needs your word: --allow port-flap.
` + exitHelp,
		Example: "  roce-fabric apply -f fabric.yaml --allow port-flap\n  roce-fabric apply -f fabric.yaml --plan leaves.plan --allow port-flap --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o) },
	}
	a.intentFlags(c)
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	f := c.Flags()
	f.StringVar(&o.saved, "plan", "", "carry out exactly this saved plan")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.Var(&o.allow, "allow", "the largest impact that is allowed")
	f.StringVar(&o.state, "state", "", "folder for journal and lock (default ~/.local/state/roce-fabric/FABRIC)")
	_ = c.MarkFlagFilename("plan")
	_ = c.MarkFlagDirname("state")
	return c
}

func (a *app) apply(ctx context.Context, o applyOptions) (err error) {
	c, switches, err := a.load()
	if err != nil {
		return err
	}
	if o.saved != "" && len(a.only) > 0 {
		return usage("--only and --plan exclude each other: a saved plan is carried out as a whole")
	}
	open, err := a.opener()
	if err != nil {
		return err
	}
	a.loud(switches)
	if o.state == "" {
		if o.state, err = rollout.StateDir(c.Fabric().Name); err != nil {
			return err
		}
	}
	path := o.saved
	if path == "" {
		dir, err := os.MkdirTemp("", "roce-fabric-")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		path = filepath.Join(dir, "plan")
		done, err := a.freshPlan(ctx, c, switches, open, path, o)
		if done || err != nil {
			return err
		}
	}
	return a.carryOut(ctx, c, open, path, o)
}

// freshPlan makes a plan, shows it, and asks. done says that there is nothing
// to carry out.
func (a *app) freshPlan(ctx context.Context, c *render.Compiler, switches []*intent.Switch, open *opener, path string, o applyOptions) (done bool, err error) {
	f := c.Fabric()
	w, err := plan.Create(path, plan.Header{Tool: version, Fabric: f.Name, Intent: f.Hash, Created: time.Now().UTC()})
	if err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	// The plan is talk here: the result of apply is what became of the devices.
	show := *a
	show.stdout, show.output = a.stderr, "text"
	if a.output == "json" {
		show.stdout, show.stderr = io.Discard, io.Discard
	}
	sum, err := show.makePlan(ctx, c, switches, open, planOptions{}, w.Add)
	if err != nil {
		return true, err
	}
	if err := w.Commit(); err != nil {
		return true, err
	}
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case sum.Failed > 0:
		return true, fmt.Errorf("%d devices could not be planned; nothing was written", sum.Failed)
	case sum.BlockedDevices > 0:
		return true, fmt.Errorf("%d devices have changes that cannot be made; nothing was written (leave them out with --only, or do what the plan says)", sum.BlockedDevices)
	case sum.Changed == 0:
		return false, nil
	case sum.Impact > o.allow.Impact:
		return true, &statusError{exitFailed, fmt.Errorf("the plan disturbs more than is allowed: %s; nothing was written (allow it with --allow %s)", sum.Impact, sum.Impact)}
	}
	return false, a.ask(o, sum)
}

func (a *app) ask(o applyOptions, sum report.PlanSummary) error {
	if o.yes {
		return nil
	}
	in, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(in) || a.file == "-" {
		return usage("nobody to ask on standard input: use --yes")
	}
	fmt.Fprintf(a.stderr, "Apply to %d devices? Only 'yes' goes on: ", sum.Changed)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "yes" {
		return errors.New("not confirmed; nothing was written")
	}
	return nil
}

// carryOut runs the plan in a file, device by device.
func (a *app) carryOut(ctx context.Context, c *render.Compiler, open *opener, path string, o applyOptions) (err error) {
	f := c.Fabric()
	id, err := runID()
	if err != nil {
		return err
	}
	check := func(h plan.Header) error {
		switch {
		case h.Fabric != f.Name:
			return fmt.Errorf("%s is a plan for fabric %s, the intent is for %s", path, h.Fabric, f.Name)
		case h.Intent != f.Hash:
			return fmt.Errorf("%s was made from another intent than %s holds now: plan again", path, a.file)
		}
		return nil
	}
	// Nothing is locked or written before the whole file is known to be good.
	if err := plan.Read(path, check, func(*plan.Device) error { return nil }); err != nil {
		return err
	}
	j, err := rollout.Begin(o.state, id, rollout.Record{Fabric: f.Name, Intent: f.Hash})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	var outs []rollout.Outcome
	var stop error
	err = plan.Read(path, check, func(d *plan.Device) error {
		if stop != nil {
			outs = append(outs, rollout.Outcome{Device: d.Name, State: rollout.Skipped})
			return nil
		}
		sw := f.Switch(d.Name)
		if sw == nil {
			return fmt.Errorf("%s: device %s is not in the intent", path, d.Name)
		}
		job := rollout.Job{
			Plan: d, Desired: c.Device(sw).Desired,
			Open: func(ctx context.Context) (drivers.Driver, error) { return open.open(ctx, sw) },
		}
		var got []rollout.Outcome
		got, stop = rollout.Run(ctx, [][]rollout.Job{{job}}, rollout.Options{
			ID: id, MaxImpact: o.allow.Impact, Journal: j, Progress: a.stepProgress(),
		})
		outs = append(outs, got...)
		for _, o := range got {
			if o.Err != nil {
				a.hint(o.Err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := j.Write(rollout.Record{Event: "end"}); err != nil {
		return err
	}
	if err := a.outcomes(f.Name, j, outs); err != nil {
		return err
	}
	return applyStatus(outs)
}

// stepProgress tells each step on standard error.
func (a *app) stepProgress() func(string, int, int, drivers.Step) {
	if a.output == "json" {
		return nil
	}
	st := a.styler(a.stderr)
	return func(device string, i, n int, s drivers.Step) {
		fmt.Fprintf(a.stderr, "%s %s\n", st.Dim(fmt.Sprintf("%s %d/%d", device, i+1, n)), s.What)
	}
}

func (a *app) outcomes(fabric string, j *rollout.Journal, outs []rollout.Outcome) error {
	if a.output == "json" {
		if outs == nil {
			outs = []rollout.Outcome{}
		}
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "fabric": fabric, "journal": j.Path(), "devices": outs})
	}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	t.Outcomes(outs)
	return t.Err()
}

// applyStatus turns what became of the devices into the exit status: 4 where
// some are as intended and others are not, or one is in between.
func applyStatus(outs []rollout.Outcome) error {
	var good, changed, bad, partial int
	for _, o := range outs {
		switch o.State {
		case rollout.Applied:
			changed++
		case rollout.Unchanged:
			good++
		case rollout.Partial:
			partial++
		default:
			bad++
		}
	}
	switch {
	case partial > 0 || bad > 0 && changed > 0:
		return &statusError{status: exitPartial}
	case bad > 0:
		return &statusError{status: exitFailed}
	}
	return nil
}

// runID names a run: the time, and enough chance that two never share one.
func runID() (string, error) {
	var b [3]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	return time.Now().UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:]), nil
}
