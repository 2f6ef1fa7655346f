package cumulus

import (
	"context"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// States reports a revision that is being applied, and one that the switch undoes unless it is
// confirmed.
func (d *Driver) States(ctx context.Context) ([]drivers.State, error) {
	id, r, err := d.atWork(ctx)
	if err != nil || id == "" {
		return nil, err
	}
	s := drivers.State{What: describeOwner(id, r), Fix: "wait until it has ended, then validate again"}
	if r.State == stateConfirm {
		s.Reverts, s.What = true, s.What+", or the switch undoes it"
		s.Fix = "confirm it (nv config apply " + id + " --confirm-yes) or wait until the switch has undone it, then validate again"
	} else {
		s.Settling = true
	}
	return []drivers.State{s}, nil
}
