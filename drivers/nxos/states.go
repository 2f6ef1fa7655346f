package nxos

import (
	"context"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// States reports a run of this tool that may be in progress elsewhere: its checkpoint shows it. The
// switch shows no timer of a commit that others made.
func (d *Driver) States(ctx context.Context) (out []drivers.State, err error) {
	names, _, err := d.checkpoints(ctx)
	for _, n := range natural.Keys(names) {
		age, ok := d.unknownRun(n)
		if !ok {
			continue
		}
		out = append(out, drivers.State{Reverts: true, What: fmt.Sprintf("%s (checkpoint %s): what it has written may not be confirmed, and is undone then", drivers.AtWork(age), n),
			Fix: fmt.Sprintf("wait until that run has ended, then validate again; if it was cut off, roll it back where it began, or remove its checkpoint on the switch (no checkpoint %s)", n)})
	}
	return out, err
}
