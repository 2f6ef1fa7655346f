package fleet

import (
	"context"
	"errors"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
)

// Units has do work on the boot unit of each host of a call, so many at a time, and emits what became of it with the files that do returned: those
// that it wrote or removed. A host that fails does not hold up the others.
func (f *Fabric) Units(ctx context.Context, a *Access, workers int, do func(context.Context, agent.Machine, *nic.Host) ([]string, error), emit func(Outcome, []string)) error {
	type result struct {
		Outcome
		files []string
	}
	return pool.Ordered(ctx, workers, f.Hosts, func(ctx context.Context, h *intent.Host) (r result) {
		r.Device, r.State = h.Name, Skipped
		if ctx.Err() != nil {
			return r
		}
		var err error
		r.files, err = f.unit(ctx, a, h, do)
		switch {
		case err != nil && len(r.files) > 0:
			r.State = Partial
		case err != nil:
			r.State = Failed
		case len(r.files) > 0:
			r.State = Applied
		default:
			r.State = Unchanged
		}
		r.Error = NewError(h.Name, OpApply, err)
		return r
	}, func(r result) error {
		emit(r.Outcome, r.files)
		return nil
	})
}

func (f *Fabric) unit(ctx context.Context, a *Access, h *intent.Host, do func(context.Context, agent.Machine, *nic.Host) ([]string, error)) (files []string, err error) {
	desired, _ := nic.Desired(f.Fabric(), h)
	drv := a.host(f.Fabric(), h, desired)
	defer func() { err = errors.Join(err, drv.Close()) }()
	m, err := drv.Machine(ctx)
	if err != nil {
		return nil, err
	}
	return do(ctx, m, desired)
}
