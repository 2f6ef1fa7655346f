package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
)

// UnitOptions are the options of [Fabric.Units].
type UnitOptions struct {
	// Workers is the number of hosts worked on at a time.
	Workers int
	// OutsideWindow allows writes outside the maintenance windows of the intent.
	OutsideWindow bool
	// Now is the clock for the maintenance windows; nil is [time.Now].
	Now func() time.Time
}

// Units calls do to change the boot unit of each host, and emits the outcome with the files
// that do wrote or removed. A host that fails does not stop the others. Outside the
// maintenance windows Units starts no host.
func (f *Fabric) Units(ctx context.Context, a *Access, o UnitOptions, do func(context.Context, agent.Machine, *nic.Host) ([]string, error), emit func(Outcome, []string)) error {
	type result struct {
		Outcome
		files []string
	}
	run := RunOptions{Fabric: f.Fabric(), OutsideWindow: o.OutsideWindow, Now: o.Now}
	if err := run.inWindow(); err != nil {
		return err
	}
	return pool.Ordered(ctx, o.Workers, f.Hosts, func(ctx context.Context, h *intent.Host) (r result) {
		r.Device, r.State = h.Name, Skipped
		if ctx.Err() != nil {
			return r
		}
		if err := run.stillInWindow(); err != nil {
			r.Error = NewError(h.Name, OpJudge, err)
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
