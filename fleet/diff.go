package fleet

import (
	"context"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
)

// DeviceDiff is the difference between the running and the desired configuration of a
// device, in native form.
type DeviceDiff struct {
	Device, OS string
	// Running and Intended are the differing parts of the configuration: lines of EOS and
	// NX-OS, rows of SONiC, attributes of a host. Nested parts are indented below their
	// parent.
	Running, Intended string
	// Blocked lists differences that this tool cannot remove; Running and Intended do not
	// contain them.
	Blocked []Group
	// Mistaken is the same as in [DevicePlan].
	Mistaken string
	// Err is why the device could not be compared; if it is set, ignore all other fields.
	Err *Error
}

// Differs reports whether there is any difference.
func (d *DeviceDiff) Differs() bool { return d.Running != d.Intended || len(d.Blocked) > 0 }

// Diff compares the devices with the intent and emits the differences of each, in the order
// of the devices, as [Plan] does.
func Diff(ctx context.Context, devices []Device, o PlanOptions, emit func(*DeviceDiff) error) error {
	o.native = true
	return Plan(ctx, devices, o, func(p *DevicePlan) error {
		d := &DeviceDiff{Device: p.Name, OS: p.OS, Mistaken: p.Mistaken, Err: p.Error}
		d.Running, d.Intended = p.Native()
		for _, g := range p.Changes {
			if g.Blocked != "" && !g.Open {
				d.Blocked = append(d.Blocked, g)
			}
		}
		return emit(d)
	})
}

// SavedDevices returns devices for switches of the intent whose configurations are read from
// files instead of the switches.
func (f *Fabric) SavedDevices(files []Saved) ([]Device, error) {
	var switches []*intent.Switch
	text := map[string][]byte{}
	for _, s := range files {
		sw := f.Fabric().Switch(s.Switch)
		switch {
		case sw == nil:
			return nil, Wrong("config "+s.Switch+"="+s.File, "", "the intent has no switch %q", s.Switch)
		case text[s.Switch] != nil:
			return nil, Wrong("config", "", "%s is named twice", s.Switch)
		}
		data, err := input.Config(s.File)
		if err != nil {
			return nil, &OptionError{Option: "config", Err: err}
		}
		switches, text[s.Switch] = append(switches, sw), data
	}
	for _, s := range files {
		sw := f.Fabric().Switch(s.Switch)
		if _, err := systems.Saved(sw, text[s.Switch]); err != nil {
			return nil, &OptionError{Option: "config " + s.File, Err: err}
		}
	}
	return Switches(f.Compiler, switches, func(_ context.Context, sw *intent.Switch) (drivers.Driver, error) {
		return systems.Saved(sw, text[sw.Name])
	}), nil
}
