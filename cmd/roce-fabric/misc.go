package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) schemaCommand() *cobra.Command {
	var ofReport bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the intent, for editors, or of reports",
		Long: `schema writes the JSON Schema (draft 2020-12) of the intent. An editor with a
YAML language server takes it from the first line of a file:

  # yaml-language-server: $schema=./fabric.schema.json

With --report it writes that of the JSON reports of check, validate and nic
validate.`,
		Example: "  roce-fabric schema > fabric.schema.json\n  roce-fabric schema --report > report.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := intent.Schema()
			if ofReport {
				text = report.Schema()
			}
			_, err := a.stdout.Write(text)
			return err
		},
	}
	c.Flags().BoolVar(&ofReport, "report", false, "the schema of JSON reports")
	return c
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and what it knows",
		Long:    "version shows the version, and the SONiC releases whose rules it knows.",
		Example: "  roce-fabric version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "roce-fabric %s %s %s/%s\nsonic releases: %s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(sonic.Releases(), " "))
			return err
		},
	}
}
