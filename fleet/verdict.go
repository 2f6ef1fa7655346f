package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// checkTimeout is the timeout for checking one device before the first write. A device that
// is still processing the writes of a run that was cut off gets ten minutes of it.
const checkTimeout = 15 * time.Minute

// planSummary holds what is needed to judge the plan of a device, and the plan's position in the
// file.
type planSummary struct {
	name        string
	base, steps string // digests of the state planned for and of the steps
	empty       bool   // the plan has no steps
	policy      drivers.Policy
	impact      qos.Impact
	blocked     string // the changes that cannot be made; "" for none
	err         *Error // why there is no plan
	mistaken    string // see [DevicePlan.Mistaken]

	at   int64
	size int
}

func (d *DevicePlan) summary(at int64, size int) planSummary {
	return planSummary{
		name: d.Name, base: d.Base, steps: stepsDigest(d.Steps), empty: len(d.Steps) == 0, policy: d.Policy,
		impact: d.Impact(), blocked: whyBlocked(d), err: d.Error, mistaken: d.Mistaken, at: at, size: size,
	}
}

// outcome decides from the plan alone whether a device can be changed as planned. It cannot if
// planning failed, if the device is not the one that the intent means, or if the plan has
// changes that cannot be made or more impact than allowed. The state of a device that can be
// changed is Skipped, because nothing was done yet.
func (p planSummary) outcome(allowed qos.Impact, isRight bool) Outcome {
	out := Outcome{Device: p.name, State: Skipped}
	switch {
	case p.err != nil && p.err.Unwrap() == nil: // from a file
		out.State, out.Error = Failed, engine.ErrorOf(p.name, OpPlan, p.err.Kind, fmt.Errorf("no plan: %s", p.err.Text))
	case p.err != nil:
		out.State, out.Error = Failed, p.err
	case p.mistaken != "" && !isRight:
		out.State, out.Error = Refused, refuseMistaken(p.name, p.mistaken)
	case p.blocked != "":
		out.State, out.Error = Blocked, engine.ErrorOf(p.name, OpJudge, KindBlocked, fmt.Errorf("%s: %s", cannotBeMade, p.blocked))
	case p.impact > allowed:
		out.State, out.Error = Refused, tooMuch(p.name, p.impact, allowed)
	}
	return out
}

const cannotBeMade = "the plan has changes that cannot be made"

// whyBlocked describes the first change that cannot be made, and counts the others.
func whyBlocked(p *DevicePlan) string {
	first, more := "", 0
	for _, g := range p.Changes {
		switch {
		case g.Blocked == "" || g.Open:
		case first == "":
			first = g.Title() + ": " + g.Blocked
			if len(g.Ports) > 0 {
				first = g.Title() + " of " + natural.Fold(g.Ports) + ": " + g.Blocked
			}
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (%d more)", more)
	}
	return first
}

// checkAllowed judges the plan as a whole. It returns an error if the plan must not be applied.
func (p *PlanFile) checkAllowed(o ApplyOptions, devices map[string]Device) (*Result, error) {
	r, mistaken := &Result{}, 0
	for _, d := range p.devices {
		out := d.outcome(o.Allow, devices[d.name].isRight)
		if out.State == Failed && o.SkipUnreachable && d.err.Kind == KindUnreachable {
			out.State = LeftOut
		}
		switch {
		case out.State != Refused:
		case out.Error.Kind == KindMistaken:
			mistaken++
		default:
			r.Needs = max(r.Needs, d.impact)
		}
		r.Outcomes = append(r.Outcomes, out)
	}
	worse := p.Rollout.Impact()
	n := r.Count()
	if o.SkipFailed {
		n[Failed] = 0
	}
	var why []string
	kind := KindImpact
	if n[Failed] > 0 {
		why = append(why, words.Count(n[Failed], "device")+" could not be planned")
		kind = KindNotPlanned
	}
	if n[Blocked] > 0 {
		why = append(why, words.Count(n[Blocked], "device")+" with changes that cannot be made")
		kind = KindBlocked
	}
	n[Refused] -= mistaken
	if mistaken > 0 {
		why = append(why, words.Plural(mistaken, "device is not the one", "devices are not the ones")+" that the intent means")
		kind = KindMistaken
	}
	if n[Refused] > 0 {
		why = append(why, fmt.Sprintf("the plan disturbs more than is allowed: %s, allowed is %s", r.Needs, o.Allow))
	}
	if worse > o.Allow && n[Refused] == 0 {
		r.Needs = worse
		why = append(why, fmt.Sprintf("during the rollout some links are worse off than before or after it: %s, allowed is %s", worse, o.Allow))
	}
	if len(why) > 0 {
		return r, refusal(kind, why)
	}
	return r, nil
}

// refusal returns the error for a run that is refused as a whole.
func refusal(kind Kind, why []string) *Error {
	return engine.ErrorOf("", OpJudge, kind, fmt.Errorf("%s; nothing was written", strings.Join(why, ", ")))
}

// checkedDevice is the outcome of the check of a device, with its new plans; nil if the device was
// not planned again.
type checkedDevice struct {
	Outcome
	made, plain *DevicePlan
}

// checkAll reads the devices. It refuses the plan as a whole if a device cannot be read or is
// not in the state that was planned for, or if the waves of a plan from a file are not those
// that the intent needs. With SkipUnreachable, a device that cannot be reached is left out
// instead. checkAll replaces the waves of the plan by the computed ones.
func (r *run) checkAll(ctx context.Context, plan *PlanFile, judged *Result, o ApplyOptions) (*Result, error) {
	res := &Result{Journal: r.journal.Path()}
	ctx, cancel := r.journal.guard(ctx)
	defer cancel()
	devices := slices.DeleteFunc(slices.Clone(plan.devices), func(p planSummary) bool {
		return p.err != nil || plan.fresh() && r.isIdle(p) // a saved plan needs idle devices too: their links matter for the waves
	})
	w, err := r.rewaver(plan)
	if err != nil {
		return nil, err
	}
	end := r.Progress.Phase(Checking, len(devices))
	err = pool.Ordered(ctx, r.Workers, devices, func(ctx context.Context, p planSummary) checkedDevice {
		r.Progress.Report(Event{Kind: DeviceBegins, Phase: Checking, Device: p.name})
		t, err := r.taskOf(plan, p)
		if err != nil {
			return checkedDevice{Outcome: Outcome{Device: p.name, State: Failed, Error: NewError(p.name, OpJudge, err)}}
		}
		return r.checkDevice(ctx, t, !plan.fresh())
	}, func(c checkedDevice) error {
		out := c.Outcome
		if o.SkipUnreachable && out.State == Failed && out.Error.Kind == KindUnreachable && ctx.Err() == nil {
			out.State = LeftOut
			judged.Outcomes[slices.IndexFunc(judged.Outcomes, func(o Outcome) bool { return o.Device == out.Device })] = out
		}
		w.add(c)
		r.Progress.Report(Event{Kind: DeviceEnds, Phase: Checking, Device: out.Device, Error: out.Error})
		res.Outcomes = append(res.Outcomes, out)
		if out.Error == nil || ctx.Err() != nil {
			return nil
		}
		return r.journal.record(out)
	})
	end()
	n := res.Count()
	var waves error
	if err == nil && ctx.Err() == nil && n[Failed]+n[Refused]+n[Blocked] == 0 {
		if waves = w.replaceRollout(plan, judged, o.Allow); waves == nil {
			return nil, nil
		}
	}
	if err := errors.Join(err, r.journal.Write(entry{Event: "end"})); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.New("nothing was written")
	}
	if waves != nil {
		return res, waves
	}
	var why []string
	if n[Failed] > 0 {
		why = append(why, words.Count(n[Failed], "device")+" could not be read")
	}
	stale := 0
	for _, out := range res.Outcomes {
		if out.Error != nil && out.Error.Kind == KindStale {
			stale++
		}
	}
	if stale > 0 {
		why = append(why, words.Count(stale, "device")+" changed since the plan was made")
	}
	if other := n[Refused] + n[Blocked] - stale; other > 0 {
		why = append(why, words.Count(other, "device")+" whose plan is refused")
	}
	first := slices.IndexFunc(res.Outcomes, func(o Outcome) bool { return o.Error != nil })
	refused := refusal(res.Outcomes[first].Error.Kind, why)
	if refused.Hint = KindStale.Hint(); refused.Kind == KindMistaken {
		refused.Hint = KindMistaken.Hint()
	}
	if n[Failed] > 0 && refused.Kind == KindUnreachable {
		refused.Hint = "--skip-unreachable leaves out devices that cannot be reached"
	}
	return res, refused
}

// taskOf returns the task to check a device of a plan.
func (r *run) taskOf(plan *PlanFile, p planSummary) (t task, err error) {
	dev := r.devices[p.name]
	t = task{Device: dev, plan: &DevicePlan{Name: p.name, Base: p.base, Policy: p.policy}, desired: dev.Desired(), steps: p.steps}
	if !plan.fresh() {
		t.plan, err = plan.device(p)
		if plain, ok := r.plain[p.name]; ok {
			t.plain = &plain
		}
	}
	return t, err
}

// checkDevice reads a device and compares it with the state that was planned for, without writing.
// The state is Failed if the device cannot be read, Refused if it has changed or if a new plan
// has other steps, and otherwise Skipped. A saved plan must also be equal to the new plan; for
// other plans the task needs no steps.
func (r *run) checkDevice(ctx context.Context, t task, saved bool) (out checkedDevice) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var err error
	out.Device = t.Name
	out.State, err = r.checkDeviceOn(ctx, t, saved, &out)
	out.Error = NewError(t.Name, OpJudge, err)
	return out
}

func (r *run) checkDeviceOn(ctx context.Context, t task, saved bool, out *checkedDevice) (State, error) {
	drv, err := t.Open(ctx)
	if err != nil {
		return Failed, NewError("", OpConnect, err)
	}
	// A session that does not close cleanly changes nothing about the state.
	defer func() { _ = drv.Close() }()
	facts, snap, _, err := r.readAsPlanned(ctx, drv, t)
	if err != nil {
		return unwritten(err), err
	}
	steps, state, err := r.replan(drv, facts, snap, t)
	if err != nil || !saved {
		return cmp.Or(state, Skipped), err
	}
	if out.made, out.plain, err = r.replanSaved(ctx, drv, facts, snap, t, steps); err != nil {
		return Refused, err
	}
	return Skipped, nil
}
