package fleet

import (
	"context"

	"github.com/roce-fabric/roce-fabric/fleet/importer"
)

// ImportOptions are the options of [Import].
type ImportOptions struct {
	ReadOptions
	// AllPorts includes ports that have QoS settings but no known neighbour, even if other
	// ports have one.
	AllPorts bool
}

// Import reads switches or their saved configurations, and derives the intent that describes
// them. If a switch cannot be read, Import derives no intent and returns an error with the
// number of such switches.
func Import(ctx context.Context, s *Sources, a *Access, o ImportOptions) (*Imported, error) {
	r := &Reader{Access: a, History: o.History, Progress: o.Progress}
	return importer.Import(ctx, s, importer.Options{
		AllPorts: o.AllPorts, Located: a.At != nil, Workers: o.Workers, Progress: o.Progress,
		Read: r.withSwitch,
	})
}

// FindSources determines the sources of an import. It returns an [*OptionError] for an invalid
// source.
func FindSources(ctx context.Context, o SourceOptions) (*Sources, error) {
	return importer.FindSources(ctx, o)
}

// ParseSource parses NAME=FILE or NAME:OS=FILE, which names a saved configuration. It returns
// an [*OptionError] if arg is invalid.
func ParseSource(arg string) (Source, error) { return importer.ParseSource(arg) }

// ParseLive parses NAME=OS://HOST[:PORT], which names a switch to read. It returns an
// [*OptionError] if arg is invalid; the error repeats no part of arg that may be a password.
func ParseLive(arg string) (Source, error) { return importer.ParseLive(arg) }

// ParseSources parses configs with [ParseSource] and devices with [ParseLive].
func ParseSources(configs, devices []string) ([]Source, error) {
	return importer.ParseSources(configs, devices)
}

// ReadSwitches reads the saved configurations of --config arguments, in the order of the
// first argument of each switch. Several files of one switch are combined. It returns an
// [*OptionError] for a wrong argument.
func ReadSwitches(args []string) ([]SavedSwitch, error) { return importer.ReadSwitches(args) }
