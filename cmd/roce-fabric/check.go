package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

// checkOptions are the flags of check.
type checkOptions struct {
	models   string
	config   []string
	topology string // topology file whose links are compared with the intent
	list     bool
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:  "check",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.list {
				return a.listChecks()
			}
			switch alone, err := a.checksWithoutIntent(cmd, o); {
			case err != nil:
				return err
			case alone:
				return a.checkSaved(cmd.Context(), o.config)
			}
			pattern, err := a.each()
			switch {
			case err != nil:
				return err
			case pattern != "" || !a.changes.None():
				return a.checkIf(cmd.Context(), o, pattern)
			}
			return a.check(cmd.Context(), o)
		},
	}
	a.intentFlags(c, onlySwitches)
	a.changeFlags(c)
	a.reportFlags(c)
	f := c.Flags()
	f.StringVar(&o.models, "yang", "", "folder of .yang files to check rendered configuration against ("+fleet.Systems.Titles(func(s drivers.System) bool { return s.YANG != nil })+")")
	f.StringArrayVar(&o.config, "config", nil, "a saved configuration to judge by itself: FILE, NAME=FILE or NAME:OS=FILE; with an intent SWITCH=FILE, to compare with it; may be repeated")
	f.StringVar(&o.topology, "topology", "", "links to compare the intent's with: a containerlab file, or the output of 'lldpctl -f json' in a file named after its switch, leaf1.json")
	f.BoolVar(&o.list, "list", false, "list all checks")
	a.completeConfig(c)
	_ = c.MarkFlagDirname("yang")
	_ = c.MarkFlagFilename("topology", "yml", "yaml", "json")
	return c
}

// checksWithoutIntent reports whether to check configurations without an intent: -f is not given,
// and either a configuration names no switch or the default intent file does not exist.
func (a *app) checksWithoutIntent(cmd *cobra.Command, o checkOptions) (bool, error) {
	if len(o.config) == 0 || cmd.Flags().Changed("file") {
		return false, nil
	}
	if !slices.ContainsFunc(o.config, func(arg string) bool {
		name, _, named := strings.Cut(arg, "=")
		return !named || strings.Contains(name, ":")
	}) {
		if _, err := os.Stat(a.file); !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	for _, flag := range []string{"only", "set", "topology", "without", "yang"} {
		if cmd.Flags().Changed(flag) {
			return true, usageHint("name the intent with -f", "--%s needs an intent, but these configurations are checked without one", flag)
		}
	}
	return true, nil
}

// checkSaved checks configurations without an intent.
func (a *app) checkSaved(ctx context.Context, args []string) error {
	found, looked, err := fleet.CheckSaved(ctx, args)
	if err != nil {
		return err
	}
	for _, j := range looked {
		if j.Doubt != "" {
			a.Warn("%s", j.Doubt)
		}
	}
	r := report.CheckedWithoutIntent(looked, found)
	if a.Output == "text" {
		defer a.Hint(r.ToImport())
	}
	return a.report(r)
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	f, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	co := fleet.CheckOptions{Topology: o.topology}
	devices := report.DevicesFrom(f.Switches, nil, report.FromIntent, nil)
	for _, arg := range o.config {
		name, file, ok := strings.Cut(arg, "=")
		if !ok {
			return usageHint("write --config leaf1=FILE", "--config %q does not name a switch", arg)
		}
		co.Configs = append(co.Configs, fleet.Saved{Switch: name, File: file})
		report.MarkSaved(devices, name, file)
	}
	if co.Models, err = a.loadModels(o.models); err != nil {
		return err
	}
	found, err := fleet.Check(ctx, f, co)
	if err != nil {
		return err
	}
	return a.report(report.Report{
		Command: "check", Fabric: f.Fabric().Name, Intent: f.Fabric(), Links: len(f.Fabric().Links), Devices: devices, Findings: found,
	})
}

// listChecks writes the list of all checks.
func (a *app) listChecks() error {
	all := validate.Checks()
	if a.Output != "text" && a.Output != "json" || len(a.reports) > 0 {
		return usage("check --list writes text, json or yaml to standard output")
	}
	if a.Output == "json" {
		return report.WriteJSON(a.Out, map[string]any{"format": report.Format, "checks": all})
	}
	t := a.Text()
	t.Checks(all)
	return t.Err()
}

// loadModels reads a folder of YANG models and warns about those that cannot be used; it returns
// nil if dir is "".
func (a *app) loadModels(dir string) (fleet.Models, error) {
	if dir == "" {
		return nil, nil
	}
	m, notes, err := fleet.LoadModels(dir)
	for _, n := range notes {
		a.Warn("--yang: %s", n)
	}
	return m, err
}
