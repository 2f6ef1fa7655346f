package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/daemon"
)

// maxWindow is the longest counter window: to observe counters for longer, use watch.
const maxWindow = 24 * time.Hour

type validateOptions struct {
	state fleet.StoreOptions
	fleet.ValidateOptions
	past string // history file of a watch
}

func (a *app) validateCommand() *cobra.Command {
	var o validateOptions
	c := &cobra.Command{
		Use:  "validate",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("window") && (o.Window <= 0 || o.Window > maxWindow) {
				return usageHint("take --window 2m", "--window %s: use more than 0 and at most %s", o.Window, drivers.Spell(maxWindow))
			}
			return a.validate(cmd.Context(), o)
		},
	}
	a.allFlags(c)
	c.Flags().DurationVar(&o.Window, "window", 0, "read the counters at the start and at the end of this time, and judge the difference: 120s")
	c.Flags().StringVar(&o.Baseline, "baseline", "", "with --window: compare rates with the window in FILE, a JSON report of validate --window")
	c.Flags().StringVar(&o.past, "history", "", "show the rounds in FILE, the history of a watch, as a timeline in html")
	_ = c.MarkFlagFilename("history", "jsonl")
	a.stateFlags(c, &o.state)
	a.reportFlags(c)
	return c
}

// validate checks the fabric, and its counters over the window.
func (a *app) validate(ctx context.Context, o validateOptions) (err error) {
	var rounds []watch.Record
	if o.past != "" {
		if rounds, err = watch.ReadHistory(o.past); err != nil {
			return &statusError{status: exitUsage, err: fmt.Errorf("--%w", err)}
		}
	}
	f, at, err := a.loadDevices(ctx)
	if err != nil {
		return err
	}
	reached := a.reachable(f.Hosts, at)
	steps := a.Steps()
	progress := a.Progress(func(e fleet.Event) {
		if e.Kind == fleet.PhaseBegins && e.Phase == fleet.Waiting {
			a.Talk("window: the counters of %s are read again in %s", words.Count(e.Devices, "device"), drivers.Spell(o.Window))
		}
		steps(e)
	})
	past, end := a.historyOf(ctx, f.Fabric(), o.state)
	defer func() { err = errors.Join(err, end()) }()
	o.ReadOptions = fleet.ReadOptions{Workers: a.parallel, History: past, Progress: progress}
	v, err := fleet.Validate(ctx, f, at, o.ValidateOptions)
	if err != nil {
		return err
	}
	a.warnOpen(v.Open)
	f.Hosts = reached
	r := report.Validated(f, v.Findings, v.Counted, v.Pauses)
	r.Watermarks = v.Watermarks
	if r.History = daemon.TimeLine(r.Fabric, rounds); o.past != "" && len(r.History) == 0 {
		a.Warn("--history: %s has no round of %s", o.past, r.Fabric)
	}
	if a.nic.on {
		r.Command, r.Links, r.Ports = "nic validate", 0, v.Ports
	}
	if err = a.report(r); err != nil || o.Window == 0 {
		return err
	}
	if f := validate.Inconclusive(v.Findings); f != nil {
		return &statusError{status: exitFailed, err: fmt.Errorf("inconclusive: not enough counters to call it a pass: %s", f.Told()), hint: f.Fix}
	}
	return nil
}

// reportFlags adds --output with all forms of a report, and --report.
func (a *app) reportFlags(c *cobra.Command) {
	a.outputFlag(c, report.FormNames()...)
	c.Long = helpText("reports")
	c.Flags().BoolVar(&a.strict, "strict", false, "end with status 3 also if something could not be checked")
	c.Flags().StringArrayVar(&a.reports, "report", nil, "FORM=FILE: also write the result to a file; may be repeated")
	a.completes(c, "report", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return strings.Fields(strings.Join(report.FormNames(), "= ") + "="), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	check := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return err
		}
		files, err := report.ParseFiles(a.reports)
		a.files = files
		return err
	}
}

// report writes the result of a run in every requested form, and returns an error with the exit
// status if there are error findings.
func (a *app) report(r report.Report) error {
	r.Version, r.Time = version, time.Now()
	if err := a.Report(r, a.files); err != nil {
		return err
	}
	a.sayNextOf(r)
	switch {
	case len(r.Failed()) > 0:
		return &statusError{status: exitFailed}
	case checks.Worst(r.Findings), a.strict && r.Status() == report.Inconclusive:
		return &statusError{status: exitDiffers, hint: r.Accepting()}
	}
	return nil
}
