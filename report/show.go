package report

import (
	"io"
	"iter"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// PlanForms are the output formats of a plan.
var PlanForms = []string{"text", "json", "markdown"}

// PlanView selects what is shown of a plan besides its changes.
type PlanView struct {
	Steps bool // native steps sent to each device
	Proof bool // what each check found in the states between waves
	Hosts bool // the plan contains only hosts, which have their own JSON form
}

// Shown is a plan, or the plan of a rollback, to be printed.
type Shown struct {
	Fabric, Digest string
	Rollout        *fleet.Rollout
	Devices        iter.Seq2[*fleet.DevicePlan, error]
}

// ShownPlan returns the printable view of a plan.
func ShownPlan(p *fleet.PlanFile) Shown { return Shown{p.Fabric, p.Digest, p.Rollout, p.Devices()} }

// planSummary returns the summary of a plan. The loop that prints the devices reports one that
// cannot be read.
func planSummary(plan Shown) (sum PlanSummary) {
	for d, err := range plan.Devices {
		if err != nil {
			break
		}
		sum.Add(d)
	}
	sum.Impact = max(sum.Impact, plan.Rollout.Impact())
	return sum
}

// Plan writes a plan: the waves, then each device, then the summary. head comes first in JSON.
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
		text.Rollout(plan.Rollout, planSummary(plan))
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
			d.Host = nil // changes and steps are in the common fields
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
	text.Between(plan.Rollout)
	text.Summary(sum)
	for _, h := range hints {
		c.Hint(h)
	}
	return sum, text.Err()
}

// PlanTalk writes a plan as text to standard error, for a command with another result. Hints
// printed with the plan are not printed again.
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

// Outcomes writes the result of a run for each device.
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
