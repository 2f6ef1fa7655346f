package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Hook takes a device out of service, or puts it back. Package hook implements the hooks of an
// intent.
type Hook interface {
	// Call returns when the device is out of service, or back in service. It calls say with
	// each line that the hook prints.
	Call(ctx context.Context, r HookRequest, say func(line string)) error
	String() string
}

// HookRequest is the request that a hook gets.
type HookRequest struct {
	Event  string   `json:"event"` // "drain", "undrain"
	Fabric string   `json:"fabric"`
	Device string   `json:"device"`
	Resets []string `json:"resets"` // the commands that reset the device
	Impact string   `json:"impact"`
	User   string   `json:"user"`
	Host   string   `json:"host"` // the machine that this program runs on
}

// ResetPlan lists the parts of a device that need a reset, and how to reset them.
type ResetPlan struct {
	Device string          `json:"device"`
	Resets []drivers.Reset `json:"resets"`
	// Blocked is why the device cannot be reset; "" if it can.
	Blocked string `json:"blocked,omitempty"`
	// Error is why the needed resets could not be determined.
	*Error
}

// Waits reports whether the device needs a reset.
func (p *ResetPlan) Waits() bool { return p.Error == nil && len(p.Resets) > 0 }

// Impact returns the largest impact of the resets.
func (p *ResetPlan) Impact() qos.Impact {
	most := qos.ImpactNone
	for _, r := range p.Resets {
		most = max(most, r.Impact)
	}
	return most
}

// PlanReset reads a device and returns the resets that it needs.
func PlanReset(ctx context.Context, dev Device) (p ResetPlan, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(dev.Timeout, ReadTimeout))
	defer cancel()
	drv, err := dev.Open(ctx)
	if err != nil {
		return p, NewError("", OpConnect, err)
	}
	defer func() { _ = drv.Close() }() // a session that does not close cleanly changes nothing about the state
	p, _, err = planResetOn(ctx, drv, dev)
	return p, err
}

// planResetOn returns the resets that a device needs, and the steps to its desired state.
func planResetOn(ctx context.Context, drv drivers.Driver, dev Device) (p ResetPlan, steps *drivers.Steps, err error) {
	p.Resets = []drivers.Reset{} // an empty list, not null, in JSON
	facts, err := drv.Probe(ctx)
	if err != nil {
		return p, nil, err
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return p, nil, err
	}
	if steps, err = drv.Plan(facts, snap, dev.Desired(), dev.Policy); err != nil || len(steps.Resets) == 0 {
		return p, steps, err
	}
	var none *History // resets have no journal
	if what := dev.mistaken(ctx, drv, none.evidence(dev.Name, drv, facts, snap)); what != "" && !dev.Accepted {
		p.Resets, p.Blocked = steps.Resets, what
		return p, steps, nil
	}
	resetter, ok := drv.(drivers.Resetter)
	if !ok {
		p.Resets, p.Blocked = steps.Resets, "this tool does not reset such a device"
		return p, steps, nil
	}
	if p.Resets, err = resetter.Ways(ctx, steps.Resets); err != nil {
		return p, nil, err
	}
	// A reset would lose settings made by hand, and afterwards nobody could tell what the
	// reset changed and what differed before.
	if open := steps.Differences(); len(open) > 0 {
		p.Blocked = fmt.Sprintf("%s differs from the intent: apply it first", open[0].Path())
	}
	for _, r := range p.Resets {
		p.Blocked = cmp.Or(p.Blocked, r.Blocked)
	}
	return p, steps, nil
}

// Draining says how devices are taken out of service for a reset.
type Draining struct {
	// Drain is called before a device is reset, Undrain once it is back; either may be nil.
	Drain, Undrain Hook
	// Back is how long to wait for a device after each reset.
	Back time.Duration
}

// Reset resets the devices whose state in res is Skipped, and stores their outcomes there. It
// stops at the first device that fails. begun is false if the lock could not be taken or the
// audit log not be begun; first is its first record.
func (r *Run) Reset(ctx context.Context, plans []ResetPlan, res *Result, o Draining, first AuditRecord) (begun bool, err error) {
	if r.id, err = NewID(); err != nil {
		return false, err
	}
	me := store.Self(r.id, r.Fabric.Path)
	lock, err := r.Store.Lock(context.WithoutCancel(ctx), me)
	if err != nil {
		return false, NewError("", OpJudge, err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := r.beginAudit(me, first); err != nil {
		return false, err
	}
	defer r.Progress.Phase(Writing, res.Count()[Skipped])()
	ctx, cancel := lock.Guard(ctx)
	defer cancel()
	for i := range res.Outcomes {
		out := &res.Outcomes[i]
		if out.State != Skipped {
			continue
		}
		if err := cmp.Or(ctx.Err(), r.windowClosed()); err != nil {
			out.Error = NewError(out.Device, OpJudge, err)
			break
		}
		r.Progress.Report(Event{Kind: DeviceBegins, Phase: Writing, Device: out.Device})
		start := time.Now()
		resetErr := r.resetDevice(context.WithoutCancel(ctx), &plans[i], o, out)
		out.Took, out.Error = time.Since(start), NewError(out.Device, OpApply, resetErr)
		r.Progress.Report(Event{Kind: DeviceEnds, Phase: Writing, Device: out.Device, Error: out.Error, State: out.State})
		if err := r.audit.device(*out); err != nil {
			return true, err
		}
		if resetErr != nil {
			break
		}
	}
	return true, r.audit.write(AuditRecord{Event: "end"})
}

// resetDevice drains a device, resets it, and undrains it. It has no timeout of its own: the
// hooks, the wait and the reads have theirs.
func (r *Run) resetDevice(ctx context.Context, p *ResetPlan, o Draining, out *Outcome) error {
	dev := r.devices[p.Device]
	out.State = Failed
	drv, err := dev.Open(ctx)
	if err != nil {
		return NewError("", OpConnect, err)
	}
	defer func() { _ = drv.Close() }() // a session that does not close cleanly changes nothing about the state
	now, _, err := r.readReset(ctx, drv, dev)
	switch {
	case err != nil:
		return NewError("", OpRead, err)
	case !sameResets(p, &now):
		out.State = Refused
		return drivers.ErrStale
	}
	if err := r.call(ctx, "drain", o.Drain, p); err != nil {
		return fmt.Errorf("%w; nothing was reset, and undrain was not called", err)
	}
	steps := 0
	left, err := r.resetParts(ctx, drv, dev, p, o.Back, &steps)
	out.Steps, out.Resets = steps, left
	if err == nil {
		if out.State = Partial; o.Undrain != nil {
			err = r.call(ctx, "undrain", o.Undrain, p)
		}
		if err == nil {
			out.State = WasReset
		}
		return err
	}
	if steps > 0 {
		out.State = Partial
	}
	if o.Drain != nil {
		err = fmt.Errorf("%w; it stays drained", err)
	}
	return err
}

// readReset calls planResetOn with the timeout of a plan.
func (r *Run) readReset(ctx context.Context, drv drivers.Driver, dev Device) (ResetPlan, *drivers.Steps, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(dev.Timeout, ReadTimeout))
	defer cancel()
	return planResetOn(ctx, drv, dev)
}

// sameResets reports whether two plans have the same resets and block them for the same
// reason.
func sameResets(a, b *ResetPlan) bool {
	key := func(p *ResetPlan) string {
		text, err := json.Marshal([]any{p.Resets, p.Blocked})
		if err != nil {
			panic(err) // cannot happen: there are only strings and lists
		}
		return string(text)
	}
	return key(a) == key(b)
}

// resetParts resets the parts of a device one after the other, and sets lost settings again
// after each. steps counts the resets that were begun; left lists the resets still needed.
func (r *Run) resetParts(ctx context.Context, drv drivers.Driver, dev Device, p *ResetPlan, back time.Duration, steps *int) (left []drivers.Reset, err error) {
	left = p.Resets
	for range p.Resets { // a reboot may reset several parts at once
		if len(left) == 0 {
			break
		}
		part := left[0]
		step := drivers.Step{Via: "agent", What: part.Does}
		r.noteStep(dev.Name, step, *steps, *steps+len(left))
		*steps++
		end := r.Progress.ReportLongWork(Writing, drv, dev.Name, "waiting for it to come back", "")
		err := drv.(drivers.Resetter).Reset(ctx, part, drivers.ResetOptions{ID: r.id, Within: back})
		if end(); err != nil {
			return left, err
		}
		now, plan, err := r.readReset(ctx, drv, dev)
		if err != nil {
			return left, fmt.Errorf("the device is back, but cannot be read: %w", err)
		}
		left = now.Resets
		if slices.ContainsFunc(left, func(l drivers.Reset) bool { return l.Part == part.Part }) {
			return left, fmt.Errorf("%s was reset, and its settings are still not in force: %s", part.Part, part.How)
		}
		if err := r.restore(ctx, drv, dev, plan); err != nil {
			return left, err
		}
	}
	if len(left) > 0 {
		return left, fmt.Errorf("%s still waits for a reset", left[0].Part)
	}
	return nil, nil
}

// restore sets again what a reset has lost, unless the device itself has restored it.
func (r *Run) restore(ctx context.Context, drv drivers.Driver, dev Device, plan *drivers.Steps) error {
	if n := len(plan.Items); n > 0 {
		r.reportText(dev.Name, fmt.Sprintf("restoring the settings that the reset lost, %s", words.Count(n, "request")))
		snap, err := drv.Read(ctx)
		if err == nil {
			_, err = drv.Apply(ctx, snap, plan, drivers.ApplyOptions{ID: r.id})
		}
		if err == nil {
			err = drv.Confirm(ctx, nil)
		}
		if err != nil {
			return fmt.Errorf("the device is back, but its settings could not be restored: %w", err)
		}
		if _, plan, err = r.readReset(ctx, drv, dev); err != nil {
			return fmt.Errorf("the device is back, but cannot be read: %w", err)
		}
	}
	if open := plan.Differences(); len(open) > 0 {
		return fmt.Errorf("the device is back, but %s is %s, not %s", open[0].Path(), open[0].Old, open[0].New)
	}
	if plan.Unfit != "" {
		return fmt.Errorf("the device is back, but %s", plan.Unfit)
	}
	return nil
}

// call calls a hook for a device; it does nothing if h is nil.
func (r *Run) call(ctx context.Context, event string, h Hook, p *ResetPlan) error {
	if h == nil {
		return nil
	}
	me := store.Self("", "")
	q := HookRequest{Event: event, Fabric: r.Fabric.Name, Device: p.Device, Impact: p.Impact().String(), User: me.User, Host: me.Host}
	for _, part := range p.Resets {
		q.Resets = append(q.Resets, part.Does)
	}
	r.reportText(p.Device, event+": "+h.String())
	return h.Call(ctx, q, func(line string) { r.reportText(p.Device, event+": "+line) })
}

func (r *Run) reportText(device, text string) {
	r.Progress.Report(Event{Kind: DeviceSays, Phase: Writing, Device: device, Text: text})
}

// ResetDigest returns a digest of what is reset and how.
func ResetDigest(plans []ResetPlan) (string, error) {
	sum := sha256.New()
	for _, p := range plans {
		if !p.Waits() {
			continue
		}
		if err := json.NewEncoder(sum).Encode([]any{p.Device, p.Resets, p.Blocked}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
