package validate

import (
	"context"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/deadlock"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// Intent runs all checks that need no device: of each switch, each link and the whole fabric.
// rendered returns the findings for the rendered configuration of a switch, and is called
// concurrently; it may be nil. more are findings made elsewhere. Intent returns all findings
// sorted, or ctx's error if ctx ended.
func Intent(ctx context.Context, c *render.Compiler, now time.Time, rendered func(*render.Device) []checks.Finding, more ...checks.Finding) ([]checks.Finding, error) {
	run := NewRun(c.Fabric())
	run.Note(more...)
	err := intendedOf(ctx, c, rendered, func(r *Result) error {
		run.Add(r)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	if err := run.checkFabric(ctx); err != nil {
		return nil, err
	}
	return run.Findings(now), nil
}

// Concerns returns the findings about one of the devices, at either end, and those about no
// device.
func Concerns(fs []checks.Finding, device func(string) bool) []checks.Finding {
	return slices.DeleteFunc(fs, func(f checks.Finding) bool {
		if f.Device == "" || device(f.Device) {
			return false
		}
		return !slices.ContainsFunc(f.Peers, func(p string) bool { return device(checks.PeerDevice(p)) })
	})
}

func (r *Run) checkFabric(ctx context.Context) error {
	a, p, err := r.search(ctx, topology.New(r.fabric))
	if err != nil {
		return err
	}
	if p.Islands, err = a.Islands(ctx); err != nil {
		return err
	}
	for _, c := range registry {
		if c.Fabric != nil {
			c.Fabric(&checks.Fabric{Check: c, Intent: r.fabric, Paths: p, Added: r.isAdded, Outcomes: r.outcomes, Note: r.Note})
		}
	}
	return nil
}

func (r *Run) search(ctx context.Context, g *topology.Graph) (*deadlock.Analysis, *checks.Paths, error) {
	a, err := deadlock.Of(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	p := &checks.Paths{Graph: a.Graph}
	if p.Search, err = a.Run(ctx); err != nil {
		return nil, nil, err
	}
	p.Treated = a.Paths()
	return a, p, nil
}

// Deadlocks runs the checks of the whole fabric that depend on pauses, with the priorities that
// the ports pause in operation. Links, routing, and the ports of switches that were not added
// are taken from the intent. A finding always involves a switch that was added.
func (r *Run) Deadlocks(ctx context.Context) error {
	found, err := r.Cycles(ctx)
	r.Note(found...)
	return err
}

// Cycles returns the findings of [Run.Deadlocks] without adding them.
func (r *Run) Cycles(ctx context.Context) (found []checks.Finding, err error) {
	if !slices.ContainsFunc(r.fabric.Switches, func(s *intent.Switch) bool { return r.isAdded(s.Name) }) || len(r.fabric.Links) == 0 {
		return nil, nil
	}
	var named qos.PrioritySet
	for _, k := range r.fabric.Settings.Classes {
		named |= qos.Priorities(k.Priority.V)
	}
	_, p, err := r.search(ctx, topology.Running(r.fabric, func(p *intent.Port) qos.PrioritySet {
		if e := r.End(intent.Endpoint{Device: p.Switch.Name, Port: p.Name}); e.PFCRead {
			return e.PFC & named
		}
		return p.Settings.Lossless()
	}))
	if err != nil {
		return nil, err
	}
	for _, c := range registry {
		if c.Runs {
			c.Fabric(&checks.Fabric{Check: c, Intent: r.fabric, Paths: p, Added: r.isAdded, Outcomes: r.outcomes, Note: func(fs ...checks.Finding) { found = append(found, fs...) }})
		}
	}
	return found, nil
}
