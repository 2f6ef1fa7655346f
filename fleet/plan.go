package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
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

// PlanOptions are the options of [Plan] and [Prepare].
type PlanOptions struct {
	// Fabric is the intent of the devices.
	Fabric *intent.Fabric
	// History is the history of runs on these devices. If a run was cut off at a device, the
	// device is read only after it has processed the writes of that run; ports that a run left
	// down are brought up. May be nil.
	History *History
	// Workers is how many devices are read at a time, and how many a run of the plan is
	// expected to change at a time; 0 is one.
	Workers int
	// Gate is the gate that each wave must pass; "" is off.
	Gate GateMode
	// Tool is the version of the program, recorded in a saved plan.
	Tool string
	// Progress is called with each event; may be nil.
	Progress Progress

	// native requests the native text of the changes instead of the data that an apply needs.
	native bool
}

// explainChanges adds the lines of the intent to the changes of a switch, and notes about settings
// that the intent leaves unchanged.
func explainChanges(sw *intent.Switch, desired *qos.Device, steps *drivers.Steps) {
	for i := range steps.Changes {
		if c := &steps.Changes[i]; c.Reason == "" {
			c.Reason = render.Reason(sw, c.Place())
		}
		steps.Changes[i].Class = classOf(desired, steps.Changes[i].Field)
	}
	if desired.Empty() {
		steps.Notes = append([]string{noPort}, steps.Notes...)
	}
	if steps.Running != nil && slices.ContainsFunc(desired.Classes, keepsLossless) {
		steps.Notes = append(steps.Notes, unmarked(steps.Running, desired)...)
	}
}

// leftWrong returns notes about the packet memory faults that remain after a plan, as validate
// would report them. It reads the memory from the switch only if the configuration does not
// give the size of a pool, or if there is a fault. A failed read is not an error, because the
// plan itself does not depend on it.
func leftWrong(ctx context.Context, drv drivers.Driver, d *render.Device, steps *drivers.Steps) (notes []string) {
	running := steps.Running
	left := func() []checks.Finding { return validate.Left(d, running, steps.Changes, time.Now()) }
	computed := slices.ContainsFunc(slices.Collect(maps.Values(running.Pools)), func(p qos.Pool) bool { return p.Size == 0 })
	if !computed && len(left()) == 0 {
		return nil
	}
	var observe func(context.Context) (*drivers.Observation, error)
	switch o := drv.(type) {
	case drivers.MemoryObserver:
		observe = o.ObserveMemory
	case drivers.Observer:
		observe = o.Observe
	}
	if observe != nil {
		if seen, err := observe(ctx); err == nil {
			running = running.Copy()
			seen.Complete(running)
		}
	}
	for _, f := range left() {
		what := f.What
		if len(f.Ports) > 0 {
			what = natural.Fold(f.Ports) + ": " + what
		}
		notes = append(notes, fmt.Sprintf("left as it is: %s; validate says %s %s; %s", what, f.Severity, f.ID, f.Fix))
	}
	return notes
}

// classOf returns the name of the class whose queue or priority group an attribute belongs
// to; "" for none.
func classOf(d *qos.Device, a qos.Attr) string {
	for _, c := range d.Classes {
		switch of := a.Kind.Of(); {
		case a.Index != a.Last:
		case of == qos.OfQueue && c.Queue == int(a.Index), of == qos.OfGroup && c.Lossless && c.Group == int(a.Index):
			return c.Name
		}
	}
	return ""
}

// Down returns the ports that the steps take down, each once.
func (d *DevicePlan) Down() []string {
	var out []string
	for _, s := range d.Steps {
		out = append(out, s.Down...)
	}
	return slices.Compact(natural.Sorted(out))
}

// forRollout returns what a rollout needs to know about the plan.
func (d *DevicePlan) forRollout() rollout.Planned {
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

// Plan plans the devices and emits the plans in their order. It ends at the first error of
// emit, or when ctx ends.
func Plan(ctx context.Context, devices []Device, o PlanOptions, emit func(*DevicePlan) error) error {
	defer o.Progress.Phase(Planning, len(devices))()
	var answered identity.Answered
	return pool.Ordered(ctx, o.Workers, devices, func(ctx context.Context, dev Device) *DevicePlan {
		o.Progress.Report(Event{Kind: DeviceBegins, Phase: Planning, Device: dev.Name})
		d, err := planOne(ctx, dev, o)
		if err != nil {
			return &DevicePlan{Name: dev.Name, OS: dev.OS, Error: err}
		}
		return d
	}, func(d *DevicePlan) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		o.Progress.Report(Event{Kind: DeviceEnds, Phase: Planning, Device: d.Name, Error: d.Error})
		if o.Fabric != nil {
			if what := answered.Add(o.Fabric, d.Name, d.identity); what != "" {
				d.mistake(what)
			}
		}
		return emit(d)
	})
}

func planOne(ctx context.Context, dev Device, o PlanOptions) (*DevicePlan, *Error) {
	drv, err := dev.Open(ctx)
	if err != nil {
		return nil, NewError(dev.Name, OpConnect, err)
	}
	d, fault := planOn(ctx, drv, dev, o)
	if err := drv.Close(); err != nil && fault == nil {
		return nil, NewError(dev.Name, OpConnect, err)
	}
	return d, fault
}

func planOn(ctx context.Context, drv drivers.Driver, dev Device, o PlanOptions) (*DevicePlan, *Error) {
	past := o.History.left(dev.Name)
	var admin drivers.Desired
	if len(past.Down) > 0 {
		admin = dev.Desired()
	}
	past.passTo(drv, admin, nil)
	if past.CutOff != nil {
		// No timeout here: the driver has its own.
		if err := past.settle(ctx, o.Progress, Planning, drv, dev.Name); err != nil {
			return nil, NewError(dev.Name, OpSettle, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(dev.Timeout, readTimeout))
	defer cancel()
	facts, err := drv.Probe(ctx)
	if err != nil {
		return nil, NewError(dev.Name, OpRead, err)
	}
	if now := past.onUnit(dev.Name, facts); now.CutOff != past.CutOff {
		past = now
		past.passTo(drv, admin, nil)
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, NewError(dev.Name, OpRead, err)
	}
	desired := dev.Desired()
	steps, err := drv.Plan(facts, snap, desired, dev.Policy)
	if err != nil {
		return nil, NewError(dev.Name, OpPlan, fmt.Errorf("plan: %w", err))
	}
	if o.native {
		d, fault := diffDevice(drv, dev, snap, steps)
		if fault == nil {
			e := o.History.evidence(dev.Name, drv, facts, snap)
			d.identity, d.Mistaken = e.Identity, dev.mistaken(ctx, drv, e)
		}
		return d, fault
	}
	d := dev.describePlan(ctx, o.History, drv, facts, snap, desired, steps)
	if o.History != nil {
		d.Notes = append(d.Notes, past.notes(d, admin, o.History.busy, o.Fabric.Hash)...)
	}
	return d, nil
}

// describePlan returns the plan of a device that was just read, without notes from its history.
func (dev Device) describePlan(ctx context.Context, past *History, drv drivers.Driver, facts drivers.Facts, snap *drivers.Snapshot, desired drivers.Desired, steps *drivers.Steps) *DevicePlan {
	if dev.explain != nil {
		dev.explain(desired, steps)
	}
	d := &DevicePlan{
		Name: dev.Name, OS: dev.OS, Facts: facts, Base: steps.Base, Changes: group(steps.Changes),
		Steps: append([]drivers.Step{}, steps.Items...), Notes: steps.Notes, Unknown: steps.Unknown, Policy: steps.Policy,
		Left: steps.Left, Unfit: steps.Unfit, Resets: steps.Resets, Seconds: steps.Takes.Seconds(),
	}
	if st := host.StateOf(snap); st.Running != nil {
		d.Host = &st
	}
	e := past.evidence(dev.Name, drv, facts, snap)
	d.identity, d.Facts.Unit = e.Identity, e.Unit
	if what := dev.mistaken(ctx, drv, e); what != "" {
		d.mistake(what)
	}
	if dev.lacking != nil {
		d.lacking = dev.lacking(desired)
	}
	if dev.foresee != nil {
		var notes []string
		d.states, notes = dev.foresee(ctx, drv, snap, desired, steps)
		d.Notes = append(d.Notes, notes...)
	}
	return d
}

// mistake records that the device is not the one that the intent means, and adds a note.
func (d *DevicePlan) mistake(what string) {
	if d.Mistaken == "" {
		d.Mistaken = what
		d.Notes = append([]string{"warning: " + what + "; apply refuses this without --accept-identity " + d.Name}, d.Notes...)
	}
}

// notes returns notes about a run that is changing the device, about ports that earlier runs
// left down, and about a run that was cut off on the device and what of it is in force.
func (l leftover) notes(d *DevicePlan, admin drivers.Desired, busy, hash string) (out []string) {
	if l.Busy {
		return []string{fmt.Sprintf("run %s is changing this device; plan again when it has ended", busy)}
	}
	for _, port := range natural.Keys(l.Down) {
		if !admin.Manages(port) {
			out = append(out, fmt.Sprintf("run %s took down %s, which the intent does not have: 'roce-fabric rollback' brings it up", l.Down[port], port))
		}
	}
	past := l.CutOff
	if past == nil {
		return out
	}
	was, _ := past.device(d.Name)
	if past.Of != "" {
		return append(out, fmt.Sprintf("run %s was cut off while changing this device: part of its rollback of run %s may be in force; 'roce-fabric rollback %s' resumes it", past.ID, past.Of, past.Of))
	}
	fate := "part of it may be in force"
	switch {
	case !was.touched:
		fate = "before it wrote anything"
	case past.Intent != hash:
		fate = "it applied another intent; what is in force is compared with this one"
	case d.Base == was.base:
		fate = "none of it is in force"
	case len(d.Changes) == 0:
		fate = "all of it is in force; apply confirms and saves it"
	}
	note := fmt.Sprintf("run %s was cut off while changing this device: %s", past.ID, fate)
	if was.touched && d.Base != was.base {
		note += "; 'roce-fabric rollback' undoes it"
	}
	return append(out, note)
}

// noPort is the note for a switch of which the intent names no port. An earlier run may have
// configured ports on it, but undo records restore only ports of the intent.
const noPort = "the intent names no port of this switch, so nothing on it is changed; settings of an earlier run stay; a rollback with the intent of that run removes them"

func keepsLossless(c qos.Class) bool { return c.Lossless && c.KeepsECN }

// unmarked returns notes about lossless classes that keep the switch's ECN curve although the
// switch has none for them, which is typical of a new switch.
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
