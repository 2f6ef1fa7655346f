package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/report"
)

type diffOptions struct {
	state             fleet.StoreOptions
	configs           []string
	unified, exitCode bool
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:  "diff",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.diff(cmd.Context(), o) },
	}
	a.allFlags(c)
	a.outputFlag(c, report.DiffForms...)
	f := c.Flags()
	f.BoolVar(&o.unified, "unified", false, "write a unified diff, for pagers")
	f.BoolVar(&o.exitCode, "exit-code", false, "end with status 3 if anything differs")
	f.StringArrayVar(&o.configs, "config", nil, "SWITCH=FILE: compare a saved configuration instead of the device; may be repeated")
	a.completeConfig(c)
	a.stateFlags(c, &o.state)
	return c
}

func (a *app) diff(ctx context.Context, o diffOptions) (err error) {
	if o.unified && a.Output == "json" {
		return usage("--unified is a form of text; leave out --output json")
	}
	f, devices, err := a.compared(ctx, o.configs)
	if err != nil {
		return err
	}
	opts := fleet.PlanOptions{Fabric: f.Fabric(), Workers: a.parallel, Progress: a.Progress(a.Steps())}
	if len(o.configs) == 0 {
		past, end := a.historyOf(ctx, f.Fabric(), o.state)
		defer func() { err = errors.Join(err, end()) }()
		opts.History = past
	}
	sum, err := a.Diff(f.Fabric().Name, o.unified, func(emit func(*fleet.DeviceDiff) error) error {
		return fleet.Diff(ctx, devices, opts, func(d *fleet.DeviceDiff) error {
			if d.Mistaken != "" {
				a.Warn("%s", d.Mistaken)
			}
			return emit(d)
		})
	})
	if err != nil {
		return err
	}
	a.Talk("%s: %s", f.Fabric().Name, sum)
	if sum.Differing > 0 && len(o.configs) == 0 {
		a.Next(a.nextCommand("plan", a.only))
	}
	switch {
	case sum.Failed > 0:
		return &statusError{status: exitFailed}
	case o.exitCode && sum.Differing > 0:
		return &statusError{status: exitDiffers}
	}
	return nil
}

// compared returns the devices to compare: those of the intent, or the switches named by
// --config.
func (a *app) compared(ctx context.Context, configs []string) (*fleet.Fabric, []fleet.Device, error) {
	if len(configs) == 0 {
		f, _, devices, err := a.devices(ctx)
		return f, devices, err
	}
	if len(a.only) > 0 {
		return nil, nil, usage("--only and --config exclude each other: --config names the switches")
	}
	f, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return nil, nil, err
	}
	var files []fleet.Saved
	for _, arg := range configs {
		name, file, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, nil, usageHint("write --config leaf1=FILE", "--config %q does not name a switch", arg)
		}
		files = append(files, fleet.Saved{Switch: name, File: file})
	}
	devices, err := f.SavedDevices(files)
	return f, devices, err
}
