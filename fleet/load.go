package fleet

import (
	"context"
	"io"

	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// Fabric is a loaded and compiled intent, with the devices selected for a call.
type Fabric struct {
	*render.Compiler
	Switches []*intent.Switch
	Hosts    []*intent.Host

	part bool // Only selects some of the devices
}

// LoadOptions say how to read an intent and which of its devices to select.
type LoadOptions struct {
	// Stdin is read if the path is "-". Name is the file name in positions of that intent;
	// "" is "<stdin>".
	Stdin io.Reader
	Name  string
	// Below is passed to [intent.Options].
	Below string
	// Only selects devices of the type Take, by name, ranges, glob, role:NAME or os:NAME;
	// empty selects all of them.
	Only []string
	Take Take
	// Changes are applied to the intent, as Set and Without of [intent.Options].
	whatif.Changes
}

// Take is the type of devices to select from an intent.
type Take int

// The types of devices.
const (
	TakeSwitches Take = iota
	TakeHosts
	TakeAll
)

// Load reads an intent, a file or a folder, and compiles it. It returns [intent.Errors] for
// errors in the text, and an [*OptionError] for a path that cannot be read or an Only that
// selects nothing.
func Load(ctx context.Context, path string, o LoadOptions) (*Fabric, error) {
	f, err := input.Intent(ctx, path, intent.Options{Stdin: o.Stdin, Name: o.Name, Below: o.Below, Set: o.Set, Without: o.Without})
	if err != nil {
		return nil, err
	}
	c, err := render.New(f, systems.All.Fits())
	if err != nil {
		return nil, err
	}
	out := &Fabric{Compiler: c, part: len(o.Only) > 0}
	switch o.Take {
	case TakeSwitches:
		out.Switches, err = f.Select(o.Only)
	case TakeHosts:
		out.Hosts, err = f.SelectHosts(o.Only)
	default:
		out.Switches, out.Hosts, err = f.SelectDevices(o.Only)
	}
	if err != nil {
		return nil, input.NotSelected(err)
	}
	return out, nil
}
