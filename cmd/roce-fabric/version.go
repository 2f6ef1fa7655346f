package main

import (
	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/report"
)

// schemas are the documents besides the intent that have a schema.
var schemas = []struct {
	flag, does string
	make       func() []byte
}{
	{"report", "the schema of JSON reports", report.Schema},
	{"simulation", "the schema of the JSON of simulate", report.PredictionSchema},
	{"recommendation", "the schema of the JSON of simulate --recommend", report.RecommendationSchema},
	{"prove-plan", "the schema of the JSON of prove plan", report.ProvePlanSchema},
	{"certificate", "the schema of the JSON of prove show, for a certificate", report.CertificateSchema},
}

func (a *app) schemaCommand() *cobra.Command {
	of := map[string]*bool{}
	c := &cobra.Command{
		Use:  "schema",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			write, chosen := intent.Schema, ""
			for _, s := range schemas {
				switch {
				case !*of[s.flag]:
				case chosen != "":
					return usage("--%s and --%s: choose one", chosen, s.flag)
				default:
					write, chosen = s.make, s.flag
				}
			}
			_, err := a.Out.Write(write())
			return err
		},
	}
	for _, s := range schemas {
		of[s.flag] = c.Flags().Bool(s.flag, false, s.does)
	}
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
