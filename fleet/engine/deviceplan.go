package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// DevicePlan is the plan for one device.
type DevicePlan struct {
	Name  string        `json:"device"`
	OS    string        `json:"os"`
	Facts drivers.Facts `json:"facts"`
	// Base is the digest of the state that the steps start from.
	Base    string            `json:"base"`
	Changes []Group           `json:"changes"`
	Steps   []drivers.Step    `json:"steps"`
	Notes   []string          `json:"notes,omitempty"`
	Unknown []drivers.Unknown `json:"unknown,omitempty"`
	Policy  drivers.Policy    `json:"policy"`
	// Seconds is how long the steps usually take; 0 if unknown.
	Seconds float64 `json:"seconds,omitempty"`
	// Left, Unfit and Resets are copied from [drivers.Steps].
	Left   []string        `json:"left,omitempty"`
	Unfit  string          `json:"unfit,omitempty"`
	Resets []drivers.Reset `json:"resets,omitempty"`
	// Mistaken explains why the device is not the one that the intent means; "" if nothing
	// indicates that.
	Mistaken string `json:"mistaken,omitempty"`
	// Error is why the device could not be planned; the plan is then empty.
	*Error
	// Host is the state that the plan of a host was made from, in types of package nic; nil
	// for a switch.
	Host *host.State `json:"host,omitempty"`

	// states holds the settings that neighbours depend on, before and after; nil if unknown.
	states []order.State
	// lacking holds findings about what no check can judge on the device.
	lacking []checks.Finding
	// identity is the identity that the device shows.
	identity drivers.Identity
	// native is the native text of the changes, before and after, if it was requested.
	native [2]string
}

// kind describes what switches have in common that make the same changes in the same way:
// model, system, release and transport. It returns "" for a host and for an empty plan.
func (d *DevicePlan) kind() string {
	if d.OS == host.OS || len(d.Steps) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s %s, over %s", d.Facts.Model, d.OS, cmp.Or(d.Facts.Release, d.Facts.Version), d.Steps[0].Via)
}

// Group is a change that several ports share.
type Group struct {
	Ports []string `json:"ports,omitempty"` // empty for the whole device
	qos.Change
}

// Blocked reports whether the plan needs a change that cannot be made.
func (d *DevicePlan) Blocked() bool {
	return slices.ContainsFunc(d.Changes, func(g Group) bool { return g.Blocked != "" && !g.Open })
}

// Impact returns the largest impact of the changes that will be made and of the steps.
func (d *DevicePlan) Impact() qos.Impact {
	i := drivers.ImpactOf(d.Steps)
	for _, g := range d.Changes {
		if g.Blocked == "" && !g.Open {
			i = max(i, g.Impact)
		}
	}
	return i
}

// group combines changes that differ only in the port. The groups are in the order of their
// first port.
func group(cs []qos.Change) []Group {
	out := []Group{} // an empty list, not null, in JSON
	at := map[qos.Change]int{}
	for _, c := range cs {
		port := c.Port
		c.Port, c.Requests = "", 0
		i, ok := at[c]
		if !ok {
			i = len(out)
			at[c] = i
			out = append(out, Group{Change: c})
		}
		if port != "" {
			out[i].Ports = append(out[i].Ports, port)
		}
	}
	return out
}

// Down returns the ports that the steps take down, each once.
func (d *DevicePlan) Down() []string {
	var out []string
	for _, s := range d.Steps {
		out = append(out, s.Down...)
	}
	return slices.Compact(natural.Sorted(out))
}

// ForRollout returns what a rollout needs to know about the plan.
func (d *DevicePlan) ForRollout() rollout.Planned {
	p := rollout.Planned{
		Device: d.Name, OS: d.OS, Host: d.OS == host.OS, Failed: d.Error != nil, Lacking: d.lacking, States: d.states,
		Unclear: slices.ContainsFunc(d.Unknown, func(u drivers.Unknown) bool { return u.Open }),
		Changes: len(d.Steps) > 0, Kind: d.kind(), Seconds: d.Seconds, Down: d.Down(), Impact: d.Impact(), Thresholds: changesThresholds(d),
	}
	for _, g := range d.Changes {
		if g.Class != "" && !g.Open {
			p.Classes = append(p.Classes, g.Class)
		}
	}
	return p
}

// changesThresholds reports whether a plan changes settings whose effect shows only under load: ECN,
// alpha, headroom, or such settings of a NIC.
func changesThresholds(d *DevicePlan) bool {
	return slices.ContainsFunc(d.Changes, func(g Group) bool {
		return !g.Open && (g.Field.Kind.Has(qos.UnderLoad) || g.Field.Kind == qos.KindNIC && nic.ShowsUnderLoad(g.Field.String()))
	})
}

// Shown returns the identity that the device shows.
func (d *DevicePlan) Shown() drivers.Identity { return d.identity }

// Native returns the native text of the changes, before and after, if it was requested.
func (d *DevicePlan) Native() (running, intended string) { return d.native[0], d.native[1] }

// Mistake records that the device is not the one that the intent means, and adds a note.
func (d *DevicePlan) Mistake(what string) {
	if d.Mistaken == "" {
		d.Mistaken = what
		d.Notes = append([]string{"warning: " + what + "; apply refuses this without --accept-identity " + d.Name}, d.Notes...)
	}
}
