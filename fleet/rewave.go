package fleet

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// rewaver recomputes the waves of a plan from the current state of its devices.
type rewaver struct {
	path string
	// waves computes the waves with the interim run of the plan, plain without it; both are
	// nil for a plan that was just made.
	waves, plain *rollout.Maker
}

// rewaver returns a rewaver for a plan. It already contains the devices that could not be
// planned.
func (r *run) rewaver(plan *PlanFile) (*rewaver, error) {
	w := &rewaver{path: plan.path}
	if plan.fresh() {
		return w, nil
	}
	past, err := r.journal.history()
	if err != nil {
		return nil, err
	}
	o := PlanOptions{Fabric: r.Fabric, History: past, Workers: r.Writers, Gate: r.gateMode()}
	w.waves, w.plain = o.newMaker(), o.newMaker()
	for _, p := range plan.devices {
		if p.err != nil {
			w.add(checkedDevice{made: &DevicePlan{Name: p.name, Error: p.err}})
		}
	}
	return w, nil
}

// add adds the current plan of a device.
func (w *rewaver) add(c checkedDevice) {
	if w.waves == nil || c.made == nil {
		return
	}
	w.waves.Add(c.made.forRollout())
	if c.plain == nil {
		c.plain = c.made
	}
	w.plain.Add(c.plain.forRollout())
}

// replaceRollout replaces the rollout of a plan by the one that its devices need now. It returns an
// error unless both are equal; if devices were left out, only the interim runs must be
// equal, and the remaining devices get new waves.
func (w *rewaver) replaceRollout(plan *PlanFile, judged *Result, allow qos.Impact) error {
	maker := plan.maker
	if !plan.fresh() {
		maker = w.waves
	}
	var out []string
	for i, o := range judged.Outcomes {
		if o.State == LeftOut && plan.devices[i].err == nil {
			out = append(out, o.Device)
		}
	}
	if plan.fresh() && len(out) == 0 {
		return nil
	}
	maker.LeaveOut(out)
	now := maker.Rollout()
	now.Interim = plan.Rollout.Interim
	if !plan.fresh() {
		w.plain.LeaveOut(out)
		w.plain.Rollout()
		now.Interim = w.plain.Interim()
		was := *plan.Rollout
		if len(out) > 0 {
			was = *now
			was.Interim = plan.Rollout.Interim
		}
		if err := compareCourse(&was, now); err != nil {
			return engine.ErrorOf("", OpJudge, KindPlan, fmt.Errorf("%s: %w; nothing was written", w.path, err))
		}
	}
	if worse := now.Impact(); worse > allow {
		return engine.ErrorOf("", OpJudge, KindImpact, fmt.Errorf("during the rollout some links are worse off than before or after it: %s, allowed is %s; nothing was written", worse, allow))
	}
	plan.Rollout = now
	return nil
}
