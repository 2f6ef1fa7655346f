package nxos

import (
	"context"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
)

// Counters reads the port counters. NX-OS shows neither drops nor fill by priority group.
func (d *Driver) Counters(ctx context.Context, ports []string) (*drivers.Counters, error) {
	o, err := d.observe(ctx, counterShows)
	if err != nil {
		return nil, err
	}
	return drivers.CountersOf(o, ports, lines.CounterAge), nil
}
