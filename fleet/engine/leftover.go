package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// leftover is what earlier runs left on a device.
type leftover struct {
	// CutOff is the newest run that was cut off on the device and that no later run has
	// settled; nil for none.
	CutOff *Past
	// Down maps the ports that unsettled runs took down for a step and did not bring up again
	// to the ID of the run.
	Down map[string]string
	// Busy is set if a run is changing the device now.
	Busy bool
}

// left returns what earlier runs left on a device. A nil History returns nothing.
func (h *History) left(device string) leftover {
	left := leftover{Down: map[string]string{}}
	if h == nil {
		return left
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var since []*Past // newest first
	for n := 0; ; n++ {
		p := h.run(n)
		if p == nil {
			break
		}
		d, ok := p.device(device)
		if ok && d.settled() {
			break
		}
		if ok {
			since = append(since, p)
		}
	}
	for _, p := range slices.Backward(since) {
		d, _ := p.device(device)
		if d.State == "" && p.ID == h.busy {
			return leftover{Busy: true}
		}
		for _, port := range d.raised {
			delete(left.Down, port)
		}
		for _, port := range d.down {
			if left.Down[port] == "" {
				left.Down[port] = p.ID
			}
		}
		if d.State == "" {
			left.CutOff = p
		}
	}
	return left
}

// onUnit returns what is left on the device that answers: nothing if the run that was cut off
// worked on a different unit.
func (l leftover) onUnit(device string, f drivers.Facts) leftover {
	if l.CutOff != nil {
		if d, _ := l.CutOff.device(device); d.checkUnit(f.Unit) != nil {
			return leftover{Down: map[string]string{}}
		}
	}
	return l
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

// passTo passes what earlier runs left on a device to its driver: the run that was cut off, and
// the ports that are down and that desired raises, or all of them if desired is nil. The
// driver calls record with the ports that go down and come up.
func (l leftover) passTo(drv drivers.Driver, desired drivers.Desired, record func(down, up []string) error) {
	r, ok := drv.(drivers.Resumer)
	if !ok {
		return
	}
	out := drivers.Leftover{Down: map[string]string{}, Record: record}
	if l.CutOff != nil {
		out.Run = l.CutOff.ID
	}
	for name, run := range l.Down {
		if desired == nil || desired.Raises(name) {
			out.Down[name] = run
		}
	}
	r.Resume(out)
}

// settle waits until a device has processed the writes of a run that was cut off, if it does
// so without the sender.
func (l leftover) settle(ctx context.Context, p Progress, ph Phase, drv drivers.Driver, device string) error {
	s, ok := drv.(drivers.Settler)
	if !ok {
		return nil
	}
	defer p.ReportLongWork(ph, drv, device, fmt.Sprintf("waiting for the device to finish the writes of run %s, which was cut off", l.CutOff.ID), "")()
	return s.Settle(ctx)
}

// Down maps the ports of a device that earlier runs took down for a step and did not bring up
// again to the ID of the run. A nil History returns none.
func (h *History) Down(device string) map[string]string { return h.left(device).Down }

// Settle waits until a device has processed the writes of a run that was cut off, if there is
// one. A nil History knows of none.
func (h *History) Settle(ctx context.Context, p Progress, ph Phase, drv drivers.Driver, device string) error {
	left := h.left(device)
	if left.CutOff == nil {
		return nil
	}
	return left.settle(ctx, p, ph, drv, device)
}
