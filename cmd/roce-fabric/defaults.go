package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/defaults"
)

// takeDefaults applies the flag defaults of the user's file. A fault in the file stops the
// commands that it affects, but not those that only describe the program or run on behalf of
// another process.
func (a *app) takeDefaults(root *cobra.Command) {
	a.defaults = &defaults.File{}
	if a.bare {
		return
	}
	a.defaults = defaults.Read(a.Getenv)
	a.defaults.Apply(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Lookup("output") == nil {
			a.Output = "text" // ignore a default from the file
		}
		top := cmd
		for top.HasParent() && top.Parent().HasParent() {
			top = top.Parent()
		}
		if cmd.Hidden || slices.Contains([]string{"help", "version", "completion", "man", "schema"}, top.Name()) {
			return nil
		}
		if own := a.defaults.Of(cmd); a.verbose && len(own) > 0 {
			a.Talk("defaults from %s: %s", a.defaults.Path, strings.Join(own, ", "))
		}
		if len(a.defaults.Faults) > 0 {
			return a.defaults.Faults
		}
		return nil
	}
}
