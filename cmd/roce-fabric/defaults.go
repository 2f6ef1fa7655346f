package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/defaults"
)

// takeDefaults gives flags the defaults of the user's file. A fault in it ends commands
// that it bears on: not those that say what the program is and does, and not what runs for
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
			a.Output = "text" // is of flags alone
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
