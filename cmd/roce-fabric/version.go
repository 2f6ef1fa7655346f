package main

import (
	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) schemaCommand() *cobra.Command {
	var ofReport, ofSimulation bool
	c := &cobra.Command{
		Use:  "schema",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := intent.Schema()
			switch {
			case ofReport && ofSimulation:
				return usage("--report and --simulation: choose one")
			case ofReport:
				text = report.Schema()
			case ofSimulation:
				text = report.PredictionSchema()
			}
			_, err := a.Out.Write(text)
			return err
		},
	}
	c.Flags().BoolVar(&ofReport, "report", false, "the schema of JSON reports")
	c.Flags().BoolVar(&ofSimulation, "simulation", false, "the schema of the JSON of simulate")
	return c
}

func (a *app) versionCommand() *cobra.Command {
	var models bool
	c := &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, fault := range a.defaults.Faults {
				a.Warn("%v", fault)
			}
			return report.About(a.Out, version, fleet.Systems, report.Config{File: a.defaults.Path, Flags: a.defaults.Flags()}, a.Output == "json", models)
		},
	}
	a.outputFlag(c, "text", "json")
	c.Flags().BoolVar(&models, "models", false, "list the switch models, each with its ASIC; as JSON or YAML also with how it was tested")
	return c
}
