package engine

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

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
