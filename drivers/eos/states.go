package eos

import (
	"context"
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// States reports a commit timer that is running: the switch undoes the commit when it ends.
func (d *Driver) States(ctx context.Context) ([]drivers.State, error) {
	open, err := d.sessions(ctx)
	switch {
	case errors.Is(err, errNotShown):
		return nil, fmt.Errorf("%w: %w", drivers.ErrUnsupported, err)
	case err != nil || open.timer == nil:
		return nil, err
	}
	return []drivers.State{{Reverts: true, What: fmt.Sprintf("the commit timer of %s runs for another %s, and then the switch undoes the commit", open.timer, drivers.Spell(open.left)),
		Fix: fmt.Sprintf("confirm it (configure session %s commit) or wait until the switch has undone it, then validate again", open.timer.name)}}, nil
}
