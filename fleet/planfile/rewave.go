package planfile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
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
func (p *PlanFile) rewaver(t Terms, r *engine.Run) (*rewaver, error) {
	w := &rewaver{path: p.path}
	if p.Fresh() {
		return w, nil
	}
	past, err := r.History()
	if err != nil {
		return nil, err
	}
	w.waves, w.plain = NewMaker(t.Fabric, past, t.Gate, t.Writers), NewMaker(t.Fabric, past, t.Gate, t.Writers)
	for _, d := range p.devices {
		if d.err != nil {
			w.add(engine.CheckedDevice{Made: &engine.DevicePlan{Name: d.name, Error: d.err}})
		}
	}
	return w, nil
}

// add adds the current plan of a device.
func (w *rewaver) add(c engine.CheckedDevice) {
	if w.waves == nil || c.Made == nil {
		return
	}
	w.waves.Add(c.Made.ForRollout())
	if c.Plain == nil {
		c.Plain = c.Made
	}
	w.plain.Add(c.Plain.ForRollout())
}

// replaceRollout replaces the rollout of a plan by the one that its devices need now. It returns an
// error unless both are equal; if devices were left out, only the interim runs must be
// equal, and the remaining devices get new waves.
func (w *rewaver) replaceRollout(plan *PlanFile, judged *engine.Result, allow qos.Impact) error {
	maker := plan.maker
	if !plan.Fresh() {
		maker = w.waves
	}
	var out []string
	for i, o := range judged.Outcomes {
		if o.State == engine.LeftOut && plan.devices[i].err == nil {
			out = append(out, o.Device)
		}
	}
	if plan.Fresh() && len(out) == 0 {
		return nil
	}
	maker.LeaveOut(out)
	now := maker.Rollout()
	now.Interim = plan.Rollout.Interim
	if !plan.Fresh() {
		w.plain.LeaveOut(out)
		w.plain.Rollout()
		now.Interim = w.plain.Interim()
		was := *plan.Rollout
		if len(out) > 0 {
			was = *now
			was.Interim = plan.Rollout.Interim
		}
		if err := compareCourse(&was, now); err != nil {
			return engine.ErrorOf("", engine.OpJudge, engine.KindPlan, fmt.Errorf("%s: %w; nothing was written", w.path, err))
		}
	}
	if worse := now.Impact(); worse > allow {
		return engine.ErrorOf("", engine.OpJudge, engine.KindImpact, fmt.Errorf("during the rollout some links are worse off than before or after it: %s, allowed is %s; nothing was written", worse, allow))
	}
	plan.Rollout = now
	return nil
}

// compareCourse returns an error that describes how the course of a saved rollout differs from that
// of now, a rollout that was just computed; nil if they are equal.
func compareCourse(saved, now *rollout.Rollout) error {
	have, want := saved.Course(), now.Course()
	if !engine.EqualJSON(have.Interim, want.Interim) {
		return errors.New("it is a different step of a change in several runs than the devices need now")
	}
	for i := range min(len(have.Waves), len(want.Waves)) {
		switch is, must := have.Waves[i], want.Waves[i]; {
		case !slices.Equal(is.Devices, must.Devices):
			return fmt.Errorf("its wave %d changes %s; by the intent it changes %s", i+1, natural.Fold(is.Devices), natural.Fold(must.Devices))
		case !engine.EqualJSON(is, must):
			return fmt.Errorf("its description of wave %d does not match the devices", i+1)
		}
	}
	if len(have.Waves) != len(want.Waves) {
		return fmt.Errorf("it has %s, but the devices need %d", words.Count(len(have.Waves), "wave"), len(want.Waves))
	}
	if !engine.EqualJSON(have, want) {
		return errors.New("what it lists as not proven or not checked does not match the devices")
	}
	return nil
}
