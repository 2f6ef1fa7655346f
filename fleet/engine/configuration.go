package engine

import (
	"context"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Configuration is what was read from a switch.
type Configuration struct {
	Facts    drivers.Facts
	Running  *qos.Device
	Identity drivers.Identity
	Unknown  []drivers.Unknown
	Account  func() []render.Line
	// Plan computes the steps to a desired state, without I/O.
	Plan   func(drivers.Desired, drivers.Policy) (*drivers.Steps, error)
	Seen   *drivers.Observation // state of the links; nil if the switch does not show it
	Unseen error                // why seen is nil
}

// ReadConfiguration reads the configuration of a switch, and completes it with what the switch shows
// about its links.
func ReadConfiguration(ctx context.Context, drv drivers.Driver) (c Configuration, err error) {
	if c.Facts, err = drv.Probe(ctx); err != nil {
		return c, err
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return c, err
	}
	model, err := drivers.Model(drv)
	if err != nil {
		return c, err
	}
	c.Running, c.Unknown = model.Decode(snap)
	c.Identity = drivers.IdentityOf(drv, c.Facts, snap)
	c.Account = func() []render.Line { return model.Account(snap) }
	c.Plan = func(desired drivers.Desired, p drivers.Policy) (*drivers.Steps, error) {
		return drv.Plan(c.Facts, snap, desired, p)
	}
	if o, ok := drv.(drivers.Observer); ok {
		if c.Seen, c.Unseen = o.Observe(ctx); c.Unseen != nil {
			c.Seen = nil
		} else {
			c.Seen.Complete(c.Running)
		}
	}
	return c, nil
}
