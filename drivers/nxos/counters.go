package nxos

import (
	"context"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// poll is how old a counter may be. How often NX-OS reads the counters of its
// queues from the hardware is not documented; this is far above what its
// counters are seen to lag behind.
const poll = 10 * time.Second

// Counters reads what the ports count. NX-OS shows nothing of priority groups.
func (d *Driver) Counters(ctx context.Context, ports []string) (*drivers.Counters, error) {
	o, err := d.observe(ctx, counterShows)
	if err != nil {
		return nil, err
	}
	return drivers.CountersOf(o, ports, poll), nil
}
