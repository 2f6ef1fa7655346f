// Package plan makes, saves and reads plans: for each switch what differs from
// the intent, what carrying it out disturbs, and the native steps.
//
// A plan is made device by device and handed on as each is ready, so that a
// plan of a thousand switches needs no more memory than its workers. A saved
// plan is bound to the intent (by hash) and to each device's state (by
// digest); apply refuses what has moved on. A plan holds no secret.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/render"
)

// Device is the plan for one switch.
type Device struct {
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
	// Error is set where the device could not be planned; the rest is then
	// empty.
	Error string `json:"error,omitempty"`

	// Err is the error itself; a plan that was read from a file has only its
	// text.
	Err error `json:"-"`
}

// Group is one change that several ports share.
type Group struct {
	Ports []string `json:"ports,omitempty"` // none for the whole device
	qos.Change
}

// Blocked reports whether some change cannot be made.
func (d *Device) Blocked() bool {
	return slices.ContainsFunc(d.Changes, func(g Group) bool { return g.Blocked != "" })
}

// Impact is the largest impact of the changes that will be made.
func (d *Device) Impact() qos.Impact {
	i := qos.ImpactNone
	for _, g := range d.Changes {
		if g.Blocked == "" {
			i = max(i, g.Impact)
		}
	}
	return i
}

// group folds changes that differ in nothing but the port, in the order of
// their first port.
func group(cs []qos.Change) []Group {
	out := []Group{} // an empty list, not null, in JSON
	at := map[qos.Change]int{}
	for _, c := range cs {
		port := c.Port
		c.Port = ""
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

// Options bound a plan.
type Options struct {
	Workers int
	// Timeout bounds the work on one device; 0 is two minutes.
	Timeout time.Duration
	// Ready is called before a device is read; it may wait longer than Timeout,
	// and bounds that itself. nil is none.
	Ready func(context.Context, *intent.Switch, drivers.Driver) error
}

// Make plans the switches and emits each plan in their order. Open makes a
// driver for a switch. The first error of emit ends it.
func Make(ctx context.Context, c *render.Compiler, switches []*intent.Switch, open func(context.Context, *intent.Switch) (drivers.Driver, error), o Options, emit func(*Device) error) error {
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	return pool.Ordered(ctx, o.Workers, switches, func(ctx context.Context, sw *intent.Switch) *Device {
		d, err := one(ctx, c, sw, open, o)
		if err != nil {
			return &Device{Name: sw.Name, OS: sw.OS, Err: err, Error: err.Error()}
		}
		return d
	}, emit)
}

func one(ctx context.Context, c *render.Compiler, sw *intent.Switch, open func(context.Context, *intent.Switch) (drivers.Driver, error), o Options) (_ *Device, err error) {
	drv, err := open(ctx, sw)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drv.Close()) }()
	if o.Ready != nil {
		if err := o.Ready(ctx, sw, drv); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	facts, err := drv.Probe(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, err
	}
	desired := c.Device(sw).Desired
	steps, err := drv.Plan(facts, snap, desired, Policy(c.Fabric(), sw))
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	for i := range steps.Changes {
		if c := &steps.Changes[i]; c.Reason == "" {
			c.Reason = render.Reason(sw, c.Place())
		}
	}
	if len(desired.Ports) == 0 {
		steps.Notes = append([]string{noPort}, steps.Notes...)
	}
	if slices.ContainsFunc(desired.Classes, keepsLossless) {
		running, _ := drv.Decode(snap)
		steps.Notes = append(steps.Notes, unmarked(running, desired)...)
	}
	return &Device{
		Name: sw.Name, OS: sw.OS, Facts: facts, Base: steps.Base, Changes: group(steps.Changes),
		Steps: append([]drivers.Step{}, steps.Items...), Notes: steps.Notes, Unknown: steps.Unknown, Policy: steps.Policy,
	}, nil
}

// noPort is the note of a switch that the intent names no port of, be it that
// an earlier run configured some: undo records restore ports of the intent alone.
const noPort = "the intent names no port of this switch, so nothing on it is changed; settings of an earlier run stay; a rollback with the intent of that run removes them"

func keepsLossless(c qos.Class) bool { return c.Lossless && c.KeepsECN }

// unmarked notes the lossless classes that keep the curve of a switch which has
// none for them, as a new switch has.
func unmarked(running, desired *qos.Device) []string {
	var out []string
	for _, c := range desired.Classes {
		var ports []string
		for name, want := range desired.Ports {
			have := running.Ports[name]
			if keepsLossless(c) && have != nil && want.PFC.Or(0).Has(c.Priority) && !want.Queues[c.Queue].ECN.Set && !have.Queues[c.Queue].ECN.V.Enabled {
				ports = append(ports, name)
			}
		}
		if len(ports) > 0 {
			out = append(out, fmt.Sprintf("lossless class %s has no ECN on %s, and ecn: keep leaves it without", c.Name, natural.Fold(ports)))
		}
	}
	return out
}

// Policy returns the bounds for one switch: the intent's, with the ports
// towards other switches as uplinks.
func Policy(f *intent.Fabric, sw *intent.Switch) drivers.Policy {
	p := drivers.Policy{PortGroup: f.Rollout.PortGroup.V}
	for _, port := range sw.Ports {
		if port.Uplink() {
			p.Uplinks = append(p.Uplinks, port.Name)
		}
	}
	return p
}
