package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
)

type applyOptions struct {
	stateFlags
	saved string
	yes   bool
	// resume ends the newest run, which was cut off or stopped.
	resume bool
	// outside writes outside of the maintenance windows, too.
	outside bool
	// skipUnreachable leaves devices out that cannot be reached.
	skipUnreachable bool
	allow           impactFlag
	gate            gateFlag
}

// impactFlag is --allow.
type impactFlag struct{ qos.Impact }

// gateFlag is --gate.
type gateFlag struct{ fleet.GateMode }

func (f *gateFlag) String() string { return string(f.GateMode) }
func (f *gateFlag) Type() string   { return "mode" }
func (f *gateFlag) Set(s string) error {
	if !slices.Contains(gateModes, s) {
		return errors.New("must be off, quick or full")
	}
	f.GateMode = fleet.GateMode(s)
	return nil
}

// check is an error for a mode of the environment that there is not.
func (f *gateFlag) check() error {
	if !slices.Contains(gateModes, f.String()) {
		return usage("ROCE_FABRIC_GATE must be off, quick or full, not %q", f.GateMode)
	}
	return nil
}

var gateModes = []string{"off", "quick", "full"}

// counters is the default of --allow.
var counters = impactFlag{qos.ImpactCounters}

func (f *impactFlag) Set(s string) error { return f.UnmarshalText([]byte(s)) }
func (f *impactFlag) Type() string       { return "impact" }

func (a *app) applyCommand() *cobra.Command {
	o := applyOptions{allow: counters}
	c := &cobra.Command{
		Use:  "apply",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.apply(cmd.Context(), o) },
	}
	a.allFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().StringVar(&o.saved, "plan", "", "carry out exactly this saved plan")
	c.Flags().BoolVar(&o.skipUnreachable, "skip-unreachable", false, "leave out devices that cannot be reached; the result names them (status 4)")
	_ = c.MarkFlagFilename("plan")
	c.Flags().BoolVar(&o.resume, "resume", false, "go on with the newest run, which was cut off or stopped")
	a.applyFlags(c, &o)
	return c
}

func yesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// applyFlags adds the flags of apply and nic apply.
func (a *app) applyFlags(c *cobra.Command, o *applyOptions) {
	a.stateFlag(c, &o.stateFlags)
	a.auditFlag(c, &o.audit)
	a.cutOffFlag(c)
	yesFlag(c, &o.yes)
	a.gateFlag(c, &o.gate, fleet.GateFull)
	a.allowFlag(c, &o.allow)
	outsideFlag(c, &o.outside)
}

func (a *app) allowFlag(c *cobra.Command, allow *impactFlag) {
	c.Flags().Var(allow, "allow", "the largest impact: none|counters|port-flap|traffic-loss|reload")
	_ = c.RegisterFlagCompletionFunc("allow", cobra.FixedCompletions([]string{"none", "counters", "port-flap", "traffic-loss", "reload"}, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) gateFlag(c *cobra.Command, gate *gateFlag, usual fleet.GateMode) {
	gate.GateMode = cmp.Or(fleet.GateMode(a.getenv("ROCE_FABRIC_GATE")), usual)
	c.Flags().Var(gate, "gate", "how each wave is proven before the next: off|quick|full (or ROCE_FABRIC_GATE)")
	_ = c.RegisterFlagCompletionFunc("gate", cobra.FixedCompletions(gateModes, cobra.ShellCompDirectiveNoFileComp))
}

func (a *app) apply(ctx context.Context, o applyOptions) (err error) {
	switch {
	case o.saved != "" && len(a.only) > 0:
		return usage("--only and --plan exclude each other: a saved plan is carried out as a whole")
	case o.resume && (o.saved != "" || len(a.only) > 0):
		return usage("--resume takes neither --plan nor --only: it goes on with the devices that the run did not come to")
	}
	if err := o.gate.check(); err != nil {
		return err
	}
	if err := a.mustAsk(o.yes || o.saved != "", a.command("plan")); err != nil {
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
	if _, busy, err := fleet.AtWork(s); busy != nil || err != nil {
		return errors.Join(busy, err)
	}
	a.warnShared(ctx, s, f)
	if o.resume {
		if devices, err = a.resume(s, f, devices); err != nil {
			return err
		}
	}
	// A host that cannot be planned does not hold up the other hosts.
	run := fleet.ApplyOptions{RunOptions: a.runOptions(ctx, f, s), Allow: o.allow.Impact, SkipFailed: a.nic.on, SkipUnreachable: o.skipUnreachable}
	run.Writers, run.Gate = a.parallel, &fleet.Gate{Mode: o.gate.GateMode, Fabric: c, Access: at}
	if !o.yes && o.saved == "" {
		run.Gate.Ask = func(ctx context.Context, why string) error {
			a.talk("the gate has not enough counters to call the wave a pass: %s", why)
			if err := a.confirm(ctx, false, "Confirm the wave all the same?"); err != nil {
				return fmt.Errorf("the wave was not confirmed: %s", why)
			}
			return nil
		}
	}
	audit := auditOf(o.audit, s.Store)
	defer func() { err = errors.Join(err, audit.Close()) }()
	run.Audit, run.Keys, run.OutsideWindow, run.Approver = audit, s.ring, o.outside, a.approver(f)
	var plan *fleet.PlanFile
	advice := "plan again once that is mended, or with --only for the other devices; --skip-unreachable leaves out those that cannot be reached"
	if o.saved != "" {
		plan, err = fleet.OpenPlan(o.saved)
	} else {
		advice = "do what the plan says about them, or leave the devices out with --only; --skip-unreachable leaves out those that cannot be reached"
		plan, err = a.prepare(ctx, devices, f, s)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	if o.saved == "" {
		sum, err := a.showTalk(plan)
		if err != nil {
			return err
		}
		if !o.yes && sum.Changed > 0 {
			run.Confirm = func() error {
				return a.confirm(ctx, false, fmt.Sprintf("Apply to %s?", words.Count(sum.Changed, a.noun())))
			}
		}
	}
	res, err := fleet.Apply(ctx, devices, plan, run)
	err = a.ended(f.Name, res, err, advice)
	switch i := plan.Rollout.Interim; {
	case err == nil && i != nil:
		_, next := report.Interim(i)
		a.talk("next: apply again, run %d of %d: %s", i.Run+1, i.Runs, next)
	case res != nil && res.Stopped() && !a.nic.on:
		a.talk("next: once that is mended 'roce-fabric apply --resume' goes on; 'roce-fabric rollback' undoes what was applied")
	}
	return err
}

// resume returns the devices that the newest run was to change and did not.
func (a *app) resume(s store.Store, f *intent.Fabric, devices []fleet.Device) ([]fleet.Device, error) {
	past, left, err := fleet.Unfinished(s, f)
	if err != nil {
		return nil, err
	}
	a.talkClean("run %s of %s by %s: going on with %s", past.ID, past.Begun.Local().Format("2006-01-02 15:04:05"), past.By, natural.Fold(left))
	return slices.DeleteFunc(devices, func(d fleet.Device) bool { return !slices.Contains(left, d.Name) }), nil
}

// showTalk shows a plan as talk: the result of apply is what became of the devices. A hint
// that the plan gives is not given again.
func (a *app) showTalk(plan *fleet.PlanFile) (report.PlanSummary, error) {
	a.hinted = map[string]bool{}
	show := *a
	show.stdout, show.output = a.stderr, "text"
	if a.output == "json" {
		show.stdout, show.stderr = io.Discard, io.Discard
	}
	return show.showPlan(shownPlan(plan), planView{})
}

// command returns the name of a command in the same group as the one that runs.
func (a *app) command(name string) string {
	if a.nic.on {
		return "nic " + name
	}
	return name
}

// noun is what the devices of a command are called.
func (a *app) noun() string {
	if a.nic.on {
		return "host"
	}
	return "device"
}

// runOptions are those of every run.
func (a *app) runOptions(ctx context.Context, f *intent.Fabric, s store.Store) fleet.RunOptions {
	var end func() bool
	steps := a.showSteps()
	return fleet.RunOptions{Fabric: f, Store: s, Workers: a.parallel, Progress: a.showProgress(func(e fleet.Event) {
		switch {
		case e.Kind == fleet.PhaseBegins && e.Phase == fleet.Writing:
			end = context.AfterFunc(ctx, func() {
				a.talk("interrupted: each %s being changed is reverted (a third Ctrl-C leaves it as it is)", a.noun())
			})
		case e.Kind == fleet.PhaseEnds && e.Phase == fleet.Writing:
			end()
		}
		steps(e)
	})}
}

// showSteps writes each step to standard error, as JSON each event from the first write
// on: devices may be worked on side by side.
func (a *app) showSteps() fleet.Progress {
	st := a.styler(a.stderr)
	var mu sync.Mutex
	return func(e fleet.Event) {
		mu.Lock()
		defer mu.Unlock()
		if a.output == "json" {
			if e.Phase == fleet.Writing {
				a.jsonLine("event", e)
			}
			return
		}
		switch e.Kind {
		case fleet.WaveBegins:
			fmt.Fprintln(a.stderr, st.Bold(fmt.Sprintf("wave %d of %d: %s", e.I+1, e.N, e.Text)))
		case fleet.GateSays:
			fmt.Fprintf(a.stderr, "gate: %s\n", term.CleanLine(e.Text))
		case fleet.DeviceSays:
			fmt.Fprintf(a.stderr, "%s: %s\n", e.Device, term.CleanLine(e.Text))
		case fleet.StepBegins:
			fmt.Fprintf(a.stderr, "%s %s\n", st.Dim(fmt.Sprintf("%s %d/%d", e.Device, e.I+1, e.N)), term.CleanLine(e.Step.What))
		}
	}
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

// ended ends a run: it says in which state each device is, what to do about it, and
// where the journal is, and turns that into the exit status. advice is for a plan
// that stands in its own way.
func (a *app) ended(fabric string, r *fleet.Result, err error, advice string) error {
	if r == nil {
		return err
	}
	var refused *fleet.Error
	if err != nil && !errors.As(err, &refused) {
		status := exitFailed
		if r.Wrote() {
			status = exitPartial
		}
		return &statusError{status, errors.Join(err, a.outcomes(fabric, r)), ""}
	}
	if err := a.outcomes(fabric, r); err != nil {
		return err
	}
	for _, o := range r.Outcomes {
		if o.Error != nil {
			a.printHint(o.Error.Hint)
		}
	}
	if r.Journal != "" {
		a.talk("journal: %s", r.Journal)
	}
	switch {
	case refused != nil && refused.Hint == "" && refused.Kind == fleet.KindImpact:
		return &statusError{exitFailed, err, fmt.Sprintf("allow it with --allow %s", r.Needs)}
	case refused != nil && refused.Hint == "":
		return &statusError{exitFailed, err, advice}
	case refused != nil:
		return err
	case r.InPart():
		return &statusError{status: exitPartial}
	case r.Failed():
		return &statusError{status: exitFailed}
	}
	return nil
}

func (a *app) outcomes(fabric string, r *fleet.Result) error {
	if a.output == "json" {
		return report.WriteJSON(a.stdout, map[string]any{"format": report.Format, "fabric": fabric, "journal": r.Journal, "devices": append([]fleet.Outcome{}, r.Outcomes...)})
	}
	t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
	t.Outcomes(r.Outcomes)
	return t.Err()
}
