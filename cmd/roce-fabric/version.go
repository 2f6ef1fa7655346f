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
		Use:  "schema",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text := intent.Schema()
			if ofReport {
				text = report.Schema()
			}
			_, err := a.Out.Write(text)
			return err
		},
	}
	c.Flags().BoolVar(&ofReport, "report", false, "the schema of JSON reports")
	return c
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.Out, "roce-fabric %s %s %s/%s\nsonic releases: %s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(sonic.Releases(), " "))
			return err
		},
	}
}
