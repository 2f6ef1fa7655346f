package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

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
