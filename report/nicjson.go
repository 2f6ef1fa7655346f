package report

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// HostPlan is one host in the JSON output of nic plan.
type HostPlan struct {
	Host    string       `json:"host"`
	Changes []nic.Change `json:"changes"`
	Steps   []local.Step `json:"steps"`
	// Resets lists the cards that must be reset before their settings take effect.
	Resets []drivers.Reset `json:"resets"`
	Error  string          `json:"error,omitempty"`
}

// HostPlanOf converts a host's plan to the types of package nic.
func HostPlanOf(d *fleet.DevicePlan) HostPlan {
	out := HostPlan{Host: d.Name, Changes: []nic.Change{}, Steps: []local.Step{}, Resets: list(d.Resets)}
	if h := d.Host; h != nil {
		out.Changes, out.Steps = append(out.Changes, h.Changes...), append(out.Steps, h.Steps...)
	}
	if d.Error != nil {
		out.Error = d.Error.Text
	}
	return out
}
