package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/defaults"
)

// All keys that the file of defaults allows or forbids are flags of a command.
func TestDefaultsAreFlags(t *testing.T) {
	var known func(c *cobra.Command, name string) bool
	known = func(c *cobra.Command, name string) bool {
		return c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil ||
			slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return known(sub, name) })
	}
	root := newPlainApp().root()
	for _, name := range append(defaults.Names(), defaults.Careless...) {
		if !known(root, name) {
			t.Errorf("no command has --%s", name)
		}
		if slices.Contains(defaults.Names(), name) && slices.Contains(defaults.Careless, name) {
			t.Errorf("--%s may and must not have a default", name)
		}
	}
}
