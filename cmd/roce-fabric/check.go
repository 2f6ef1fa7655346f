package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

// checkOptions are the flags of check.
type checkOptions struct {
	models string
	config []string
	// topology is a file of links to compare those of the intent with.
	topology string
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
			return a.check(cmd.Context(), o)
		},
	}
	a.intentFlags(c, onlySwitches)
	a.reportFlags(c)
	f := c.Flags()
	f.StringVar(&o.models, "yang", "", "folder of .yang files to check rendered SONiC configuration against")
	f.StringArrayVar(&o.config, "config", nil, "SWITCH=FILE: a saved configuration to compare with the intent; may be repeated")
	f.StringVar(&o.topology, "topology", "", "links to compare the intent's with: a containerlab file, or the output of 'lldpctl -f json' in a file named after its switch, leaf1.json")
	f.BoolVar(&o.list, "list", false, "list all checks")
	_ = c.MarkFlagDirname("yang")
	_ = c.MarkFlagFilename("topology", "yml", "yaml", "json")
	return c
}

func (a *app) check(ctx context.Context, o checkOptions) error {
	f, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	co := fleet.CheckOptions{Topology: o.topology}
	devices := report.Looked(f.Switches, nil, report.FromIntent, nil)
	for _, arg := range o.config {
		name, file, ok := strings.Cut(arg, "=")
		if !ok {
			return usageHint("write --config leaf1=config_db.json", "--config %q names no switch", arg)
		}
		co.Configs = append(co.Configs, fleet.Saved{Switch: name, File: file})
		for i := range devices {
			if devices[i].Name == name {
				devices[i].Source, devices[i].File = report.FromSaved, file
			}
		}
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

// listChecks writes what the program can check.
func (a *app) listChecks() error {
	all := validate.Checks()
	if a.Output != "text" && a.Output != "json" || len(a.reports) > 0 {
		return usage("check --list writes text or json to standard output")
	}
	if a.Output == "json" {
		return report.WriteJSON(a.Out, map[string]any{"format": report.Format, "checks": all})
	}
	t := a.Text()
	t.Checks(all)
	return t.Err()
}

// loadModels reads a folder of YANG models, and says what of it cannot be
// used; nil where no folder is named.
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
