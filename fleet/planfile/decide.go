package planfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Terms are the conditions of a run under which its plan is decided.
type Terms struct {
	// Fabric is the intent of the devices.
	Fabric *intent.Fabric
	// Keys are the keys whose plans are trusted; nil trusts every file.
	Keys *keys.Ring
	// Gate is the gate that each wave must pass.
	Gate rollout.GateMode
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
	// SkipFailed applies the rest of a plan if some devices could not be planned;
	// SkipUnreachable leaves out devices that cannot be reached.
	SkipFailed, SkipUnreachable bool
	// Devices are the devices of the run, and Plain the same devices without the interim run
	// of the plan; nil if it has none.
	Devices, Plain map[string]engine.Device
	// Workers is how many devices are read at a time, Writers how many are changed at a time.
	Workers, Writers int
	// Progress is called with each event; may be nil.
	Progress engine.Progress
}

// Decide decides from the plan alone whether a run may carry it out: the plan is for this
// fabric and this version of its intent, it is signed by a trusted key, this tool would make
// it from the intent, and it has no device that cannot be changed as planned. The result, if
// not nil, has one outcome per device of the plan.
func (p *PlanFile) Decide(ctx context.Context, t Terms) (*engine.Result, error) {
	if err := p.isOf(t.Fabric); err != nil {
		return nil, err
	}
	if err := p.verify(t.Keys); err != nil {
		return nil, err
	}
	if err := p.trust(ctx, t); err != nil {
		return nil, err
	}
	return p.checkAllowed(t)
}

// isOf returns an error unless the plan was made for this fabric and this version of its
// intent.
func (p *PlanFile) isOf(f *intent.Fabric) error {
	switch {
	case p.Fabric != f.Name:
		return engine.NewError("", engine.OpJudge, fmt.Errorf("%s is a plan for fabric %s, the intent is for %s; nothing was written", p.path, p.Fabric, f.Name))
	case p.Intent != f.Hash:
		from := "the intent"
		switch len(f.Files) {
		case 0:
		case 1:
			from = f.Files[0]
		default:
			from = filepath.Dir(f.Files[0])
		}
		return engine.ErrorOf("", engine.OpJudge, engine.KindStale, fmt.Errorf("%s was made from a different version of %s; nothing was written", p.path, from))
	}
	return nil
}

// verify returns an error unless the file is signed with a trusted key of ring. A plan that
// this process made needs no signature, and a nil ring trusts every file.
func (p *PlanFile) verify(ring *keys.Ring) error {
	if p.Fresh() || ring == nil {
		return nil
	}
	if err := ring.Verify(signedPlan, []byte(p.sum), p.sig); err != nil {
		return engine.ErrorOf("", engine.OpJudge, engine.KindUntrusted, fmt.Errorf("%s is not trusted: %w; nothing was written", p.path, err))
	}
	return nil
}

// trust returns an error, with the position in the file, unless all devices of a plan belong
// to the run. A plan that was read from a file may contain anything, so it must also be one
// that this tool could have made from the intent.
func (p *PlanFile) trust(ctx context.Context, t Terms) error {
	if !p.Rollout.Interim.Lossless(t.Fabric) {
		return engine.NewError("", engine.OpJudge, fmt.Errorf("%s keeps code points in a class that is not lossless in the intent; nothing was written", p.path))
	}
	if p.Rollout.Gate != t.Gate {
		e := engine.ErrorOf("", engine.OpJudge, engine.KindPlan, fmt.Errorf("%s is for --gate %s, and this run has --gate %s; nothing was written", p.path, p.Rollout.Gate, t.Gate))
		e.Hint = "plan and apply with the same --gate"
		return e
	}
	if !slices.Equal(p.Rollout.Windows, rollout.Windows(t.Fabric)) {
		return engine.ErrorOf("", engine.OpJudge, engine.KindPlan, fmt.Errorf("%s and the intent have different maintenance windows; nothing was written", p.path))
	}
	seen := map[string]bool{}
	for i, d := range p.devices {
		dev, ok := t.Devices[d.name]
		var err error
		switch {
		case !ok:
			err = fmt.Errorf("device %s is not in the intent", d.name)
		case seen[d.name]:
			err = fmt.Errorf("device %s has two plans", d.name)
		case !d.empty && !p.Fresh():
			err = p.checkPlan(ctx, t, d, dev)
		}
		if err != nil {
			return engine.NewError(d.name, engine.OpJudge, fmt.Errorf("%s:%d: %w; nothing was written", p.path, i+2, err))
		}
		seen[d.name] = true
	}
	return nil
}

// checkPlan returns an error for a plan that cannot come from the intent: it has steps that
// this tool never makes, changes ports that are not managed, has a different policy than the
// intent, or hides an impact above the allowed one. It does not connect to the device.
func (p *PlanFile) checkPlan(ctx context.Context, t Terms, of planSummary, dev engine.Device) (err error) {
	if of.policy.PortGroup != dev.Policy.PortGroup || !slices.Equal(of.policy.Uplinks, dev.Policy.Uplinks) {
		return errors.New("the plan and the intent have different port groups or uplinks")
	}
	d, err := p.device(of)
	if err != nil {
		return err
	}
	drv, err := dev.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drv.Close()) }()
	c, ok := drv.(drivers.Checker)
	if !ok {
		return nil
	}
	least, err := c.CheckSteps(d.Steps, dev.Desired().Manages)
	if err != nil {
		return err
	}
	// An impact that the plan states is judged elsewhere; this detects one that it hides.
	if least > t.Allow && least > of.impact && of.blocked == "" {
		return engine.TooMuch("", least, t.Allow)
	}
	return nil
}

// planSummary holds what is needed to judge the plan of a device, and the plan's position in the
// file.
type planSummary struct {
	name        string
	base, steps string // digests of the state planned for and of the steps
	empty       bool   // the plan has no steps
	policy      drivers.Policy
	impact      qos.Impact
	blocked     string        // the changes that cannot be made; "" for none
	err         *engine.Error // why there is no plan
	mistaken    string        // see [DevicePlan.Mistaken]

	at   int64
	size int
}

func summaryOf(d *engine.DevicePlan, at int64, size int) planSummary {
	return planSummary{
		name: d.Name, base: d.Base, steps: engine.StepsDigest(d.Steps), empty: len(d.Steps) == 0, policy: d.Policy,
		impact: d.Impact(), blocked: whyBlocked(d), err: d.Error, mistaken: d.Mistaken, at: at, size: size,
	}
}

// outcome decides from the plan alone whether a device can be changed as planned. It cannot if
// planning failed, if the device is not the one that the intent means, or if the plan has
// changes that cannot be made or more impact than allowed. The state of a device that can be
// changed is Skipped, because nothing was done yet.
func (p planSummary) outcome(allowed qos.Impact, isRight bool) engine.Outcome {
	out := engine.Outcome{Device: p.name, State: engine.Skipped}
	switch {
	case p.err != nil && p.err.Unwrap() == nil: // from a file
		out.State, out.Error = engine.Failed, engine.ErrorOf(p.name, engine.OpPlan, p.err.Kind, fmt.Errorf("no plan: %s", p.err.Text))
	case p.err != nil:
		out.State, out.Error = engine.Failed, p.err
	case p.mistaken != "" && !isRight:
		out.State, out.Error = engine.Refused, engine.RefuseMistaken(p.name, p.mistaken)
	case p.blocked != "":
		out.State, out.Error = engine.Blocked, engine.ErrorOf(p.name, engine.OpJudge, engine.KindBlocked, fmt.Errorf("%s: %s", engine.CannotBeMade, p.blocked))
	case p.impact > allowed:
		out.State, out.Error = engine.Refused, engine.TooMuch(p.name, p.impact, allowed)
	}
	return out
}

// whyBlocked describes the first change that cannot be made, and counts the others.
func whyBlocked(p *engine.DevicePlan) string {
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
func (p *PlanFile) checkAllowed(t Terms) (*engine.Result, error) {
	r, mistaken := &engine.Result{}, 0
	for _, d := range p.devices {
		out := d.outcome(t.Allow, t.Devices[d.name].Accepted)
		if out.State == engine.Failed && t.SkipUnreachable && d.err.Kind == engine.KindUnreachable {
			out.State = engine.LeftOut
		}
		switch {
		case out.State != engine.Refused:
		case out.Error.Kind == engine.KindMistaken:
			mistaken++
		default:
			r.Needs = max(r.Needs, d.impact)
		}
		r.Outcomes = append(r.Outcomes, out)
	}
	worse := p.Rollout.Impact()
	n := r.Count()
	if t.SkipFailed {
		n[engine.Failed] = 0
	}
	var why []string
	kind := engine.KindImpact
	if n[engine.Failed] > 0 {
		why = append(why, words.Count(n[engine.Failed], "device")+" could not be planned")
		kind = engine.KindNotPlanned
	}
	if n[engine.Blocked] > 0 {
		why = append(why, words.Count(n[engine.Blocked], "device")+" with changes that cannot be made")
		kind = engine.KindBlocked
	}
	n[engine.Refused] -= mistaken
	if mistaken > 0 {
		why = append(why, words.Plural(mistaken, "device is not the one", "devices are not the ones")+" that the intent means")
		kind = engine.KindMistaken
	}
	if n[engine.Refused] > 0 {
		why = append(why, fmt.Sprintf("the plan disturbs more than is allowed: %s, allowed is %s", r.Needs, t.Allow))
	}
	if worse > t.Allow && n[engine.Refused] == 0 {
		r.Needs = worse
		why = append(why, fmt.Sprintf("during the rollout some links are worse off than before or after it: %s, allowed is %s", worse, t.Allow))
	}
	if len(why) > 0 {
		return r, engine.Refusal(kind, why)
	}
	return r, nil
}
