package fleet

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
	// Left and Unfit are those of [drivers.Steps].
	Left  []string `json:"left,omitempty"`
	Unfit string   `json:"unfit,omitempty"`
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

// Blocked reports whether some change cannot be made, and the plan not without it.
func (d *DevicePlan) Blocked() bool {
	return slices.ContainsFunc(d.Changes, func(g Group) bool { return g.Blocked != "" && !g.Open })
}

// Impact is the largest impact of the changes that will be made.
func (d *DevicePlan) Impact() qos.Impact {
	i := qos.ImpactNone
	for _, g := range d.Changes {
		if g.Blocked == "" && !g.Open {
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

// PlanOptions bound a plan.
type PlanOptions struct {
	Workers int
	// Timeout bounds the work on one device; 0 is two minutes.
	Timeout time.Duration
	// Ready is called before a device is read; it may wait longer than Timeout,
	// and bounds that itself. nil is none.
	Ready func(ctx context.Context, device string, drv drivers.Driver) error
}

// Target is a device to plan for.
type Target struct {
	Name, OS string
	Policy   drivers.Policy
	Open     func(context.Context) (drivers.Driver, error)
	// Desired works out what the device should hold.
	Desired func() drivers.Desired
	// Explain adds to the steps what the device does not know: lines of the
	// intent, notes. nil adds nothing.
	Explain func(drivers.Driver, *drivers.Snapshot, drivers.Desired, *drivers.Steps)
}

// Switches returns the switches as targets. open makes a driver for a switch.
func Switches(c *render.Compiler, switches []*intent.Switch, open func(context.Context, *intent.Switch) (drivers.Driver, error)) []Target {
	var out []Target
	for _, sw := range switches {
		out = append(out, Target{
			Name: sw.Name, OS: sw.OS, Policy: Policy(c.Fabric(), sw),
			Open:    func(ctx context.Context) (drivers.Driver, error) { return open(ctx, sw) },
			Desired: func() drivers.Desired { return c.Device(sw).Desired },
			Explain: func(drv drivers.Driver, snap *drivers.Snapshot, desired drivers.Desired, steps *drivers.Steps) {
				explain(sw, drv, snap, desired.(*qos.Device), steps)
			},
		})
	}
	return out
}

// explain gives the changes of a switch their lines of the intent, and notes what
// the intent leaves as it is.
func explain(sw *intent.Switch, drv drivers.Driver, snap *drivers.Snapshot, desired *qos.Device, steps *drivers.Steps) {
	for i := range steps.Changes {
		if c := &steps.Changes[i]; c.Reason == "" {
			c.Reason = render.Reason(sw, c.Place())
		}
	}
	if desired.Empty() {
		steps.Notes = append([]string{noPort}, steps.Notes...)
	}
	if d, ok := drv.(drivers.Decoder); ok && slices.ContainsFunc(desired.Classes, keepsLossless) {
		running, _ := d.Decode(snap)
		steps.Notes = append(steps.Notes, unmarked(running, desired)...)
	}
}

// Make plans the devices and emits each plan in their order. The first error of
// emit ends it.
func Make(ctx context.Context, targets []Target, o PlanOptions, emit func(*DevicePlan) error) error {
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	return pool.Ordered(ctx, o.Workers, targets, func(ctx context.Context, t Target) *DevicePlan {
		d, err := one(ctx, t, o)
		if err != nil {
			return &DevicePlan{Name: t.Name, OS: t.OS, Err: err, Error: err.Error()}
		}
		return d
	}, emit)
}

func one(ctx context.Context, t Target, o PlanOptions) (_ *DevicePlan, err error) {
	drv, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drv.Close()) }()
	if o.Ready != nil {
		if err := o.Ready(ctx, t.Name, drv); err != nil {
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
	desired := t.Desired()
	steps, err := drv.Plan(facts, snap, desired, t.Policy)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if t.Explain != nil {
		t.Explain(drv, snap, desired, steps)
	}
	return &DevicePlan{
		Name: t.Name, OS: t.OS, Facts: facts, Base: steps.Base, Changes: group(steps.Changes),
		Steps: append([]drivers.Step{}, steps.Items...), Notes: steps.Notes, Unknown: steps.Unknown, Policy: steps.Policy,
		Left: steps.Left, Unfit: steps.Unfit,
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
