package report

import (
	"io"
	"iter"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// PlanForms are the forms of a plan.
var PlanForms = []string{"text", "json", "markdown"}

// PlanView is what of a plan is shown beyond its changes.
type PlanView struct {
	Steps bool // what each device is sent
	Proof bool // what each check saw of the states between waves
	Hosts bool // the plan is of hosts alone, which have a form of their own in JSON
}

// Shown is a plan, or what a rollback does.
type Shown struct {
	Fabric, Digest string
	Rollout        *fleet.Rollout
	Devices        iter.Seq2[*fleet.DevicePlan, error]
}

// ShownPlan is what is shown of a plan.
func ShownPlan(p *fleet.PlanFile) Shown { return Shown{p.Fabric, p.Digest, p.Rollout, p.Devices()} }

// Plan writes a plan: what happens in all, then each device. head stands before it in
// JSON.
func (c *Console) Plan(plan Shown, view PlanView, head ...Field) (sum PlanSummary, err error) {
	text := c.Text()
	text.Steps, text.Proof = view.Steps, view.Proof
	if terminal(c.Out) {
		text.Width = term.Width(term.File(c.Out))
	}
	list, markdown := "devices", NewPlanMarkdown()
	if view.Hosts {
		list = "hosts"
	}
	var doc *JSONList
	switch c.Output {
	case "json":
		doc = NewJSONList(c.Out, list, append([]Field{{Name: "fabric", Value: plan.Fabric}}, head...)...)
	case "text":
		text.Rollout(plan.Rollout)
	}
	var hints []string
	for d, err := range plan.Devices {
		if err != nil {
			return sum, err
		}
		sum.Add(d)
		switch {
		case c.Output == "markdown":
			markdown.Add(d)
		case doc == nil:
			text.Plan(d)
		case view.Hosts:
			doc.Add(HostPlanOf(d))
		default:
			d.Host = nil // its changes and steps stand in the common form
			doc.Add(d)
		}
		if err := text.Err(); err != nil {
			return sum, err
		}
		if d.Error != nil {
			hints = append(hints, d.Error.Hint)
		}
	}
	sum.Impact, sum.Inconclusive = max(sum.Impact, plan.Rollout.Impact()), plan.Rollout.Open()
	switch {
	case c.Output == "markdown":
		return sum, markdown.Write(c.Out, plan.Fabric, plan.Digest, sum, plan.Rollout)
	case doc != nil:
		return sum, doc.Close(Field{Name: "rollout", Value: plan.Rollout})
	}
	text.Summary(sum)
	for _, h := range hints {
		c.Hint(h)
	}
	return sum, text.Err()
}

// PlanTalk writes a plan as talk, in text: the result of the command is another one. A
// hint that the plan gives is not given again.
func (c *Console) PlanTalk(plan Shown) (PlanSummary, error) {
	if c.hinted == nil {
		c.hinted = map[string]bool{}
	}
	show := *c
	show.Out, show.Output = c.Err, "text"
	if c.Output == "json" {
		show.Out, show.Err = io.Discard, io.Discard
	}
	return show.Plan(plan, PlanView{})
}

// Outcomes writes what became of the devices of a run.
func (c *Console) Outcomes(fabric string, r *fleet.Result) error {
	if c.Output == "json" {
		doc := map[string]any{"format": Format, "fabric": fabric, "journal": r.Journal, "devices": list(r.Outcomes)}
		if r.Continues != "" {
			doc["continues"] = r.Continues
		}
		return WriteJSON(c.Out, doc)
	}
	t := c.Text()
	t.Outcomes(r.Outcomes)
	return t.Err()
}
