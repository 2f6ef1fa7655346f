package planfile

import (
	"context"
	"errors"
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Recheck reads the devices. It refuses the plan as a whole if a device cannot be read or is
// not in the state that was planned for, or if the waves of a plan from a file are not those
// that the intent needs. With SkipUnreachable, a device that cannot be reached is left out
// instead. Recheck replaces the waves of the plan by the computed ones.
func (p *PlanFile) Recheck(ctx context.Context, t Terms, r *engine.Run, judged *engine.Result) (*engine.Result, error) {
	res := &engine.Result{Journal: r.Journal()}
	ctx, cancel := r.Guard(ctx)
	defer cancel()
	devices := slices.DeleteFunc(slices.Clone(p.devices), func(d planSummary) bool {
		return d.err != nil || p.Fresh() && d.isIdle(t.Devices[d.name]) // a saved plan needs idle devices too: their links matter for the waves
	})
	w, err := p.rewaver(t, r)
	if err != nil {
		return nil, err
	}
	end := t.Progress.Phase(engine.Checking, len(devices))
	err = pool.Ordered(ctx, t.Workers, devices, func(ctx context.Context, d planSummary) engine.CheckedDevice {
		t.Progress.Report(engine.Event{Kind: engine.DeviceBegins, Phase: engine.Checking, Device: d.name})
		todo, err := p.taskOf(t, d)
		if err != nil {
			return engine.CheckedDevice{Outcome: engine.Outcome{Device: d.name, State: engine.Failed, Error: engine.NewError(d.name, engine.OpJudge, err)}}
		}
		return r.Check(ctx, todo, !p.Fresh())
	}, func(c engine.CheckedDevice) error {
		out := c.Outcome
		if t.SkipUnreachable && out.State == engine.Failed && out.Error.Kind == engine.KindUnreachable && ctx.Err() == nil {
			out.State = engine.LeftOut
			judged.Outcomes[slices.IndexFunc(judged.Outcomes, func(o engine.Outcome) bool { return o.Device == out.Device })] = out
		}
		w.add(c)
		t.Progress.Report(engine.Event{Kind: engine.DeviceEnds, Phase: engine.Checking, Device: out.Device, Error: out.Error})
		res.Outcomes = append(res.Outcomes, out)
		if out.Error == nil || ctx.Err() != nil {
			return nil
		}
		return r.Record(out)
	})
	end()
	n := res.Count()
	var waves error
	if err == nil && ctx.Err() == nil && n[engine.Failed]+n[engine.Refused]+n[engine.Blocked] == 0 {
		if waves = w.replaceRollout(p, judged, t.Allow); waves == nil {
			return nil, nil
		}
	}
	if err := errors.Join(err, r.GiveUp()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.New("nothing was written")
	}
	if waves != nil {
		return res, waves
	}
	var why []string
	if n[engine.Failed] > 0 {
		why = append(why, words.Count(n[engine.Failed], "device")+" could not be read")
	}
	stale := 0
	for _, out := range res.Outcomes {
		if out.Error != nil && out.Error.Kind == engine.KindStale {
			stale++
		}
	}
	if stale > 0 {
		why = append(why, words.Count(stale, "device")+" changed since the plan was made")
	}
	if other := n[engine.Refused] + n[engine.Blocked] - stale; other > 0 {
		why = append(why, words.Count(other, "device")+" whose plan is refused")
	}
	first := slices.IndexFunc(res.Outcomes, func(o engine.Outcome) bool { return o.Error != nil })
	refused := engine.Refusal(res.Outcomes[first].Error.Kind, why)
	if refused.Hint = engine.KindStale.Hint(); refused.Kind == engine.KindMistaken {
		refused.Hint = engine.KindMistaken.Hint()
	}
	if n[engine.Failed] > 0 && refused.Kind == engine.KindUnreachable {
		refused.Hint = "--skip-unreachable leaves out devices that cannot be reached"
	}
	return res, refused
}

// taskOf returns the task to check a device of a plan.
func (p *PlanFile) taskOf(t Terms, d planSummary) (todo engine.Task, err error) {
	dev := t.Devices[d.name]
	todo = engine.Task{Device: dev, Plan: &engine.DevicePlan{Name: d.name, Base: d.base, Policy: d.policy}, Want: dev.Desired(), Steps: d.steps}
	if !p.Fresh() {
		todo.Plan, err = p.device(d)
		if plain, ok := t.Plain[d.name]; ok {
			todo.Plain = &plain
		}
	}
	return todo, err
}
