package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of the intent, for editors",
		Long: `schema writes the JSON Schema (draft 2020-12) of the intent. An editor with a
YAML language server takes it from the first line of a file:

  # yaml-language-server: $schema=./fabric.schema.json`,
		Example: "  roce-fabric schema > fabric.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(intent.Schema())
			return err
		},
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version and what it knows",
		Long:    "version shows the version, and the SONiC releases whose rules it knows.",
		Example: "  roce-fabric version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "roce-fabric %s %s %s/%s\nsonic releases: %s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(sonic.Releases(), " "))
			return err
		},
	}
}
