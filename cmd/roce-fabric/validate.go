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
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

func (a *app) validateCommand() *cobra.Command {
	var o validateOptions
	c := &cobra.Command{
		Use:  "validate",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("window") && (o.window <= 0 || o.window > maxWindow) {
				return usageHint("take --window 2m", "--window %s: use more than 0 and at most %s", o.window, drivers.Spell(maxWindow))
			}
			return a.validate(cmd.Context(), o)
		},
	}
	a.allFlags(c)
	c.Flags().DurationVar(&o.window, "window", 0, "read the counters at the start and at the end of this time, and judge the difference: 120s")
	a.stateFlag(c, &o.stateFlags)
	a.reportFlags(c)
	return c
}

// maxWindow bounds a look at counters: what is to be watched for longer is not
// for a command that someone waits for.
const maxWindow = 24 * time.Hour

// validateOptions are the flags of validate.
type validateOptions struct {
	stateFlags
	window time.Duration // 0 is for none
}

// validate looks at the fabric, and at its counters over the window.
func (a *app) validate(ctx context.Context, o validateOptions) (err error) {
	f, at, err := a.loadDevices(ctx)
	if err != nil {
		return err
	}
	reached := a.reachable(f.Hosts, at)
	progress := a.showProgress(func(e fleet.Event) {
		if e.Kind == fleet.PhaseBegins && e.Phase == fleet.Waiting {
			a.talk("window: the counters of %s are read again in %s", words.Count(e.Devices, "device"), drivers.Spell(o.window))
		}
	})
	past, end := a.historyOf(ctx, f.Fabric(), o.stateFlags)
	defer func() { err = errors.Join(err, end()) }()
	read := fleet.ReadOptions{Workers: a.parallel, History: past, Progress: progress}
	v, err := fleet.Validate(ctx, f, at, fleet.ValidateOptions{ReadOptions: read, Window: o.window})
	if err != nil {
		return err
	}
	a.warnOpen(v.Open)
	f.Hosts = reached
	r := validated(f, v.Findings, v.Counted)
	if a.nic.on {
		r.Command, r.Links, r.Ports = "nic validate", 0, v.Ports
	}
	err = a.report(r)
	if err != nil || o.window == 0 {
		return err
	}
	if f := validate.Inconclusive(v.Findings); f != nil {
		return &statusError{status: exitFailed, err: fmt.Errorf("inconclusive: not enough counters to call it a pass: %s", f.Told()), hint: f.Fix}
	}
	return nil
}

// validated is the report of a validation of the devices of f.
func validated(f *fleet.Fabric, found []validate.Finding, counted []gate.PortWindow) report.Report {
	return report.Report{
		Command: "validate", Fabric: f.Fabric().Name, Intent: f.Fabric(), Links: len(f.Fabric().Links),
		Devices: report.Looked(f.Switches, f.Hosts, report.FromRunning, found), Findings: found, Counted: counted,
	}
}

// historyOf is the history of the runs over a fabric; none where no store is known:
// there is nothing to wait for then. end closes the store.
func (a *app) historyOf(ctx context.Context, f *intent.Fabric, o stateFlags) (_ *fleet.History, end func() error) {
	s, err := openState(ctx, o, f, false)
	if err != nil {
		return nil, func() error { return nil }
	}
	return a.history(s), s.Close
}

// reachable returns the hosts that can be read, and says which cannot.
func (a *app) reachable(hosts []*intent.Host, at *fleet.Access) (out []*intent.Host) {
	var without ordered.Groups[string, string]
	for _, h := range hosts {
		if lacks := at.Lacks(h); lacks != "" {
			without.Add(lacks, h.Name)
		} else {
			out = append(out, h)
		}
	}
	for lacks, names := range without.All() {
		if len(names) == 1 {
			a.talk("1 host has no %s and was not read: %s", lacks, names[0])
		} else {
			a.talk("%d hosts have no %s and were not read: %s", len(names), lacks, natural.Fold(names))
		}
	}
	return out
}

// showProgress shows how far the work on devices is, on a terminal, and hands each
// event on; nil hands on to nobody.
func (a *app) showProgress(also func(fleet.Event)) fleet.Progress {
	var p *term.Progress
	return func(e fleet.Event) {
		switch {
		case e.Phase == fleet.Waiting:
		case e.Kind == fleet.PhaseBegins:
			p = a.progress(string(e.Phase), e.Devices)
		case e.Kind == fleet.DeviceBegins:
			p.Start()
		case e.Kind == fleet.DeviceEnds:
			endDevice(p, e)
		case e.Kind == fleet.PhaseEnds:
			p.Close()
		}
		if also != nil {
			also(e)
		}
	}
}

// endDevice counts a device that has ended. One that a run skipped was not begun.
func endDevice(p *term.Progress, e fleet.Event) {
	state := strings.ReplaceAll(string(e.State), "-", " ")
	switch {
	case e.State == fleet.Skipped:
		p.Skip(state)
	case e.Error != nil:
		p.Finish(e.Device, state, e.Error)
	default:
		p.Finish(e.Device, state, nil)
	}
}
