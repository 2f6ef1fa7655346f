package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// Boot sets the ports of one device of this machine from the host file of the boot unit, and
// reports each step and each setting that is still missing. It returns an error if a setting
// failed, even if all others were set.
func Boot(ctx context.Context, m *local.Machine, device string, say func(format string, a ...any)) error {
	// Firmware settings are persistent.
	m.NoFirmware = true
	s, err := unit.Load(m.Roots)
	if err != nil {
		return err
	}
	selectors := s.Host.Selectors()
	m.Select(selectors)
	name, chosen := m.Chosen(device)
	if !chosen {
		name = device
	}
	desired := unit.PartOf(s.Host, name)
	if chosen && selectors[name].Rail > 0 {
		rails(desired, s.Host)
	}
	switch {
	case desired == nil && selectors != nil:
		// The udev rules start the unit for more devices than the selectors choose.
		say("%s is not a device in the host file", device)
		return nil
	case desired == nil:
		return fmt.Errorf("the host file has no device %s", device)
	}
	// Load rdma_cm first: its failure must not keep the other settings from being set.
	noCM := m.LoadCM(ctx)
	names := natural.Keys(desired.Ports)
	running, err := m.Read(ctx, names)
	if err != nil {
		return err
	}
	steps := m.Plan(running, desired, local.Options{CutOff: true})
	var failed error
	for name, want := range desired.Ports {
		have := running.Ports[name]
		if noCM != nil && have != nil && have.RDMA != "" && (want.Mode.Set || want.ToS.Set) {
			failed = fmt.Errorf("%s: %w", device, noCM)
		}
	}
	if _, err := m.Apply(ctx, steps, func(i, n int, s local.Step) { say("%d/%d %s", i+1, n, s.What) }); err != nil && !errors.Is(err, local.ErrNoCM) {
		return err
	}
	if running, err = m.Read(ctx, names); err != nil {
		say("left: not read: %s", err)
		return failed
	}
	left := slices.DeleteFunc(nic.Diff(running, desired), func(c nic.Change) bool { return c.Layer == nic.LayerFirmware })
	// Missing settings are not an error: Boot runs again once the RDMA device exists.
	lines, _ := Left(left, nil)
	for _, l := range lines {
		say("left: %s", l)
	}
	return failed
}

// rails adds all rails of a host, and the interfaces above them. Rails can be counted only once
// the last device has appeared, whichever that is, so the earlier devices could not set them.
func rails(desired, h *nic.Host) {
	for name, p := range h.Ports {
		if p.Select.V.Rail > 0 {
			desired.Ports[name] = p
			for _, u := range h.Above(name) {
				if desired.Uppers == nil {
					desired.Uppers = map[string]*nic.Upper{}
				}
				desired.Uppers[u.Name] = u
			}
		}
	}
}
