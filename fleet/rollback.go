package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/pool"
)

// ErrNothing says that there is no run to roll back.
var ErrNothing = errors.New("no run to roll back")

// Find returns the run with that id, or the newest one whose writes stand, and
// its devices on which they do, in the order in which they were worked on. Only
// devices that want says yes to are looked at; nil is all. A run that another
// came after on the same device is refused, because what it remembers is older
// than what is there.
func Find(dir, id string, want func(device string) bool) (*Past, []PastDevice, error) {
	restored := map[string]map[string]bool{} // by run and device
	later := map[string]string{}             // device -> a later run that stands
	for p, err := range Runs(dir) {
		if err != nil {
			return nil, nil, err
		}
		var left []PastDevice
		for _, d := range p.Devices {
			switch {
			case want != nil && !want(d.Name):
			case p.Of != "" && d.State == Restored:
				if restored[p.Of] == nil {
					restored[p.Of] = map[string]bool{}
				}
				restored[p.Of][d.Name] = true
			case p.Of == "" && d.standing() && !restored[p.ID][d.Name]:
				left = append(left, d)
			}
		}
		switch {
		case id != "" && p.ID != id:
			for _, d := range left {
				later[d.Name] = p.ID
			}
			continue
		case id == "" && len(left) == 0:
			continue
		case p.Of != "":
			return nil, nil, fmt.Errorf("run %s already rolled back run %s; run apply to reapply", p.ID, p.Of)
		case len(left) == 0:
			return nil, nil, fmt.Errorf("%w: run %s wrote nothing, or was rolled back", ErrNothing, p.ID)
		}
		for _, d := range left {
			if by := later[d.Name]; by != "" {
				return nil, nil, fmt.Errorf("run %s came after it on %s; take that one back first", by, d.Name)
			}
		}
		return p, left, nil
	}
	if id != "" {
		return nil, nil, fmt.Errorf("%w: %s has no run %s", ErrNothing, dir, id)
	}
	return nil, nil, fmt.Errorf("%w in %s", ErrNothing, dir)
}

// Rollback rolls devices of a run back to where they were before it, the last
// one first, and goes on where one fails. It returns one outcome a device, in that
// order.
func Rollback(ctx context.Context, p *Past, devices []PastDevice, open func(ctx context.Context, device string) (drivers.Driver, error), o RunOptions) ([]Outcome, error) {
	o = o.withDefaults()
	var outs []Outcome
	var end stopper
	last := slices.Clone(devices)
	slices.Reverse(last)
	end.stop(pool.Ordered(ctx, o.Workers, last, func(ctx context.Context, d PastDevice) Outcome {
		if ctx.Err() != nil || end.stopped() != nil {
			return Outcome{Device: d.Name, State: Skipped}
		}
		start := time.Now()
		state, err := takeBack(ctx, p, d, open, o)
		out := outcome(d.Name, state, err)
		out.Took = time.Since(start)
		end.stop(o.Journal.Write(Record{Device: d.Name, Event: string(state), Error: out.Error}))
		return out
	}, func(out Outcome) error {
		outs = append(outs, out)
		return nil
	}))
	return outs, end.stopped()
}

func takeBack(ctx context.Context, p *Past, d PastDevice, open func(context.Context, string) (drivers.Driver, error), o RunOptions) (State, error) {
	token, err := p.Token(d)
	if err != nil {
		return Failed, err
	}
	drv, err := open(ctx, d.Name)
	if err != nil {
		return Failed, err
	}
	defer func() { _ = drv.Close() }()
	if err := checkUndo(drv, p, d, token, o.Desired); err != nil {
		return Failed, err
	}
	if _, err := drv.Probe(ctx); err != nil {
		return Failed, err
	}
	left, err := o.Journal.left(d.Name)
	if err != nil {
		return Failed, err
	}
	left.Tell(drv, nil, o.Journal.ports(d.Name))
	if b, ok := drv.(drivers.Bounded); ok && o.Policy != nil {
		b.Bound(o.Policy(d.Name))
	}
	if err := o.Journal.Write(Record{Device: d.Name, Event: "start"}); err != nil {
		return Failed, err
	}
	if o.Progress != nil {
		o.Progress(d.Name, 0, 1, drivers.Step{What: "back to where it was before run " + p.ID})
	}
	// Once begun it goes to its end, so that Ctrl-C leaves a known state.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.RevertTimeout)
	defer cancel()
	if err := drv.Revert(rctx, token); err != nil {
		return Partial, err
	}
	return Restored, nil
}
