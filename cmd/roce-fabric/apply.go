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
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type applyOptions struct {
	saved string
	yes   bool
	allow impactFlag
	state string
}

// impactFlag is --allow.
type impactFlag struct{ qos.Impact }

func (f *impactFlag) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f *impactFlag) Type() string       { return "impact" }

func (a *app) applyCommand() *cobra.Command {
	o := applyOptions{allow: impactFlag{qos.ImpactCounters}}
	c := &cobra.Command{
		Use:   "apply",
		Short: "Change the devices to match the intent",
		Long: `apply carries out a plan. With --plan it carries out exactly that saved plan,
without asking. Otherwise it makes a fresh plan, shows it on standard error and
asks; without a terminal it needs --yes.

The whole plan is judged before the first write. Nothing is written to any device
if one of them was not planned, has a change that cannot be made, is disturbed
more than --allow permits, cannot be read any more, or is not in the state that
was planned for.

Then it changes one device after another. It reads the device again and refuses
if its state is not the planned one, writes, reads back, compares the result with
the intent and with what the daemons of the device made of it, and saves. A save
is of the whole configuration, including what other users have left unsaved. A
device that already matches, but would lose that in a restart, is saved as well.
One that cannot be saved is reported as unsaved (status 4), and the run goes on.
If anything else fails, the device is reverted, and the remaining ones are not
changed.

Ctrl-C reverts the device being changed, which takes as long as the device needs
to finish and undo what it was sent; a third Ctrl-C ends at once. SIGTERM and a
closed terminal (SIGHUP) act like Ctrl-C; under nohup the run goes on. The result
and the journal give the state of each device.

Changes that do more than reset counters must be allowed explicitly: --allow
port-flap, or --allow traffic-loss where packets may be lost, e.g. where code
points move into or out of a lossless class. The first apply to a switch usually
needs the latter.`,
		Example: "  roce-fabric apply -f fabric.yaml --allow traffic-loss\n  roce-fabric apply -f fabric.yaml --plan leaves.plan --allow port-flap --yes",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o) },
	}
	a.intentFlags(c)
	a.deviceFlags(c)
	a.outputFlag(c, "text", "json")
	f := c.Flags()
	f.StringVar(&o.saved, "plan", "", "carry out exactly this saved plan")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.Var(&o.allow, "allow", "the largest impact: none|counters|port-flap|traffic-loss|reload")
	a.stateFlag(c, &o.state)
	_ = c.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions([]string{"none", "counters", "port-flap", "traffic-loss", "reload"}, cobra.ShellCompDirectiveNoFileComp))
	_ = c.MarkFlagFilename("plan")
	return c
}

func (a *app) apply(ctx context.Context, o applyOptions) (err error) {
	if o.saved != "" && len(a.only) > 0 {
		return usage("--only and --plan exclude each other: a saved plan is carried out as a whole")
	}
	if err := a.mustAsk(o.yes || o.saved != "", "plan"); err != nil {
		return err
	}
	outliveOutput()
	c, open, err := a.loadDevices(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	if o.state, err = stateDir(o.state, c.Fabric().Name); err != nil {
		return err
	}
	if err := notAtWork(o.state); err != nil {
		return err
	}
	path := o.saved
	if path == "" {
		var dir string
		if dir, err = os.MkdirTemp("", "roce-fabric-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		path = filepath.Join(dir, "plan")
		done, err := a.freshPlan(ctx, c, open, path, o)
		if done || err != nil {
			return err
		}
	}
	return a.carryOut(ctx, c, open, path, o)
}

// freshPlan makes a plan, shows it, and asks. done says that there is nothing
// to carry out.
func (a *app) freshPlan(ctx context.Context, c *fleet.Fabric, open *fleet.Access, path string, o applyOptions) (done bool, err error) {
	f := c.Fabric()
	w, err := fleet.CreatePlan(path, fleet.PlanHeader{Tool: version, Fabric: f.Name, Intent: f.Hash, Created: time.Now().UTC()})
	if err != nil {
		return true, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	// The plan is talk here: the result of apply is what became of the devices.
	show := *a
	show.hinted = nil
	show.stdout, show.output = a.stderr, "text"
	if a.output == "json" {
		show.stdout, show.stderr = io.Discard, io.Discard
	}
	v := verdict{allowed: o.allow.Impact}
	sum, err := show.makePlan(ctx, c, open, planOptions{state: o.state}, func(d *fleet.DevicePlan) error {
		v.judge(d)
		return w.Add(d)
	})
	if err != nil {
		return true, err
	}
	if err := w.Commit(); err != nil {
		return true, err
	}
	switch why := v.whyNot(); {
	case why != "":
		a.hinted = show.hinted // by the plan, in the same place
		hint := v.hint()
		if hint == "" {
			hint = "do what the plan says about them, or leave the devices out with --only"
		}
		return true, a.nothingWritten(f.Name, nil, v.outs, why, hint)
	case sum.Changed == 0:
		return false, nil
	}
	return false, a.confirm(ctx, o.yes, fmt.Sprintf("Apply to %s?", words.Count(sum.Changed, "device")))
}

// mustAsk is an error unless yes answers what the command will ask, or a person
// can. first is the command to look at before that.
func (a *app) mustAsk(yes bool, first string) error {
	in, ok := a.stdin.(*os.File)
	if yes || ok && term.IsTerminal(in) && a.file != "-" {
		return nil
	}
	return usageHint(fmt.Sprintf("look at 'roce-fabric %s' first, then use --yes", first), "stdin is not a terminal; cannot ask for confirmation")
}

// confirm asks a question, unless yes answers it already.
func (a *app) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	fmt.Fprintf(a.stderr, "\n%s Type 'yes' to continue: ", a.styler(a.stderr).Bold(question))
	answer := make(chan string, 1)
	// A read of a terminal cannot be ended; Ctrl-C ends the process under it.
	go func() {
		line, _ := bufio.NewReader(a.stdin).ReadString('\n') // an end without a line is a no
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return errors.New("nothing was written")
	case s := <-answer:
		if s != "yes" {
			return errors.New("not confirmed; nothing was written")
		}
		return nil
	}
}

// carryOut runs the plan in a file, device by device.
func (a *app) carryOut(ctx context.Context, c *fleet.Fabric, open *fleet.Access, path string, o applyOptions) (err error) {
	f := c.Fabric()
	id, err := runID()
	if err != nil {
		return err
	}
	// Nothing is locked or written before the whole file is known to be good.
	saved, err := fleet.OpenPlan(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saved.Close()) }()
	switch {
	case saved.Fabric != f.Name:
		return fmt.Errorf("%s is a plan for fabric %s, the intent is for %s; nothing was written", path, saved.Fabric, f.Name)
	case saved.Intent != f.Hash:
		return &statusError{exitFailed, fmt.Errorf("%s was made from a different version of %s; nothing was written", path, a.file), "plan again, and look at what changed"}
	}
	job := func(d *fleet.DevicePlan) fleet.Job {
		sw := f.Switch(d.Name)
		return fleet.Job{
			Plan: d, Desired: c.Device(sw).Desired,
			Open: func(ctx context.Context) (drivers.Driver, error) { return open.Switch(ctx, sw) },
		}
	}
	v := verdict{allowed: o.allow.Impact}
	line := 1
	err = saved.Each(func(d *fleet.DevicePlan) error {
		line++
		v.judge(d)
		if o.saved == "" {
			return nil
		}
		if err := v.trust(ctx, f, d, job); err != nil {
			return fmt.Errorf("%s:%d: %w; nothing was written", path, line, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if why := v.whyNot(); why != "" {
		hint := v.hint()
		if hint == "" {
			hint = "plan again once that is mended, or with --only for the other devices"
		}
		return a.nothingWritten(f.Name, nil, v.outs, why, hint)
	}
	j, err := fleet.Begin(o.state, id, fleet.Record{Fabric: f.Name, Intent: f.Hash})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	// A plan that was made just now, without a question, needs no second look.
	if o.saved != "" || !o.yes {
		if err := a.checkAll(ctx, f.Name, j, &v, job); err != nil {
			return err
		}
	}
	told := context.AfterFunc(ctx, func() {
		a.talk("interrupted: the device being changed is reverted (a third Ctrl-C leaves it as it is)")
	})
	defer told()
	var outs []fleet.Outcome
	var stop error
	err = saved.Each(func(d *fleet.DevicePlan) error {
		if stop != nil {
			outs = append(outs, fleet.Outcome{Device: d.Name, State: fleet.Skipped})
			return nil
		}
		var got []fleet.Outcome
		got, stop = fleet.Run(ctx, [][]fleet.Job{{job(d)}}, fleet.RunOptions{
			ID: id, MaxImpact: o.allow.Impact, Journal: j, Progress: a.stepProgress(),
		})
		outs = append(outs, got...)
		return nil
	})
	// What was done by then is said, whatever ended it.
	if err != nil && len(outs) == 0 {
		return err
	}
	return a.ended(f.Name, j, outs, err)
}

// ended ends a run and says in which state each device is. err is what kept it from
// a regular end. A nil journal is of a run that had nothing to write.
func (a *app) ended(fabric string, j *fleet.Journal, outs []fleet.Outcome, err error) error {
	if err := errors.Join(err, j.Write(fleet.Record{Event: "end"})); err != nil {
		return &statusError{exitPartial, errors.Join(err, a.outcomes(fabric, j, outs)), ""}
	}
	if err := a.stateAll(fabric, j, outs); err != nil {
		return err
	}
	return applyStatus(outs)
}

// stateAll says in which state each device is, what to do about it, and where the
// journal is.
func (a *app) stateAll(fabric string, j *fleet.Journal, outs []fleet.Outcome) error {
	if err := a.outcomes(fabric, j, outs); err != nil {
		return err
	}
	for _, o := range outs {
		a.printHint(adviceOf(o.Err))
	}
	if j != nil {
		a.talk("journal: %s", j.Path())
	}
	return nil
}

// stepProgress writes each step to standard error, in one write: devices may be
// worked on side by side.
func (a *app) stepProgress() func(string, int, int, drivers.Step) {
	if a.output == "json" {
		return nil
	}
	st := a.styler(a.stderr)
	return func(device string, i, n int, s drivers.Step) {
		fmt.Fprintf(a.stderr, "%s %s\n", st.Dim(fmt.Sprintf("%s %d/%d", device, i+1, n)), term.CleanLine(s.What))
	}
}

func (a *app) outcomes(fabric string, j *fleet.Journal, outs []fleet.Outcome) error {
	if a.output == "json" {
		if outs == nil {
			outs = []fleet.Outcome{}
		}
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "fabric": fabric, "journal": j.Path(), "devices": outs})
	}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	t.Outcomes(outs)
	return t.Err()
}

// applyStatus turns what became of the devices into the exit status: 4 where
// some are as intended and others are not, or one is in between.
func applyStatus(outs []fleet.Outcome) error {
	var good, changed, bad, partial int
	for _, o := range outs {
		switch o.State {
		case fleet.Applied, fleet.Restored:
			changed++
		case fleet.Unchanged:
			good++
		case fleet.Partial, fleet.Unsaved:
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

// runID names a run: the time to the millisecond, so that names sort as the runs
// came, and enough chance that two never share one.
func runID() (string, error) {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	now := time.Now().UTC()
	return fmt.Sprintf("%s%03d-%s", now.Format("20060102-150405"), now.Nanosecond()/1e6, hex.EncodeToString(b[:])), nil
}
