package fleet

import (
	"context"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
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
		d := &DeviceDiff{Device: p.Name, OS: p.OS, Running: p.native[0], Intended: p.native[1], Mistaken: p.Mistaken, Err: p.Error}
		for _, g := range p.Changes {
			if g.Blocked != "" && !g.Open {
				d.Blocked = append(d.Blocked, g)
			}
		}
		return emit(d)
	})
}

// diffDevice returns the plan of a device with only what [Diff] needs.
func diffDevice(drv drivers.Driver, dev Device, snap *drivers.Snapshot, steps *drivers.Steps) (*DevicePlan, *Error) {
	changes := steps.Changes
	if saved, ok := drv.(*drivers.Saved); ok && saved.MayDerive {
		changes = remaining(saved, dev, snap, changes)
	}
	d := &DevicePlan{Name: dev.Name, OS: dev.OS, Changes: group(changes)}
	if dev.OS == host.OS {
		d.native = attributes(d.Changes)
		return d, nil
	}
	native, ok := drv.(drivers.Differ)
	if !ok {
		return nil, NewError(dev.Name, OpPlan, drivers.ErrUnsupported)
	}
	var err error
	if d.native[0], d.native[1], err = native.Differences(snap, steps); err != nil {
		return nil, NewError(dev.Name, OpPlan, err)
	}
	return d, nil
}

// remaining removes the blocked changes that need not be in a saved configuration because
// the switch may derive the values from it.
func remaining(drv *drivers.Saved, dev Device, snap *drivers.Snapshot, changes []qos.Change) []qos.Change {
	desired, err := drivers.Want[*qos.Device](dev.Desired())
	if err != nil {
		return changes
	}
	saved, _ := drv.Decode(snap)
	left := map[qos.Place]bool{}
	for _, c := range qos.DiffSaved(saved, desired) {
		left[c.Place()] = true
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c qos.Change) bool { return c.Blocked != "" && !left[c.Place()] })
}

// attributes returns the changes that can be made as text, old and new: for each port its
// name, and below it one value per line.
func attributes(changes []Group) (text [2]string) {
	lines := map[string]*[2]strings.Builder{}
	for _, g := range changes {
		if g.Blocked != "" || g.Open {
			continue
		}
		ports := g.Ports
		if len(ports) == 0 {
			ports = []string{""}
		}
		for _, port := range ports {
			indent := "  "
			if port == "" {
				indent = ""
			}
			if lines[port] == nil {
				lines[port] = &[2]strings.Builder{}
				if port != "" {
					lines[port][0].WriteString(port + "\n")
					lines[port][1].WriteString(port + "\n")
				}
			}
			for i, value := range []string{g.Old, g.New} {
				lines[port][i].WriteString(indent + g.Field.String() + ": " + value + "\n")
			}
		}
	}
	for _, port := range natural.Keys(lines) {
		for i := range text {
			text[i] += lines[port][i].String()
		}
	}
	return text
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
