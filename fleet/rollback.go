package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// errNothing says that there is no run to roll back.
var errNothing = errors.New("no run to roll back")

// Undo is a run that can be rolled back, and its devices on which its writes stand,
// in the order in which they were worked on.
type Undo struct {
	*Past
	Devices []PastDevice

	of map[string]Device
}

// Plans yields what a rollback changes, in the order in which it works.
func (u *Undo) Plans() iter.Seq2[*DevicePlan, error] {
	return func(yield func(*DevicePlan, error) bool) {
		for _, d := range slices.Backward(u.Devices) {
			if !yield(u.plan(d)) {
				return
			}
		}
	}
}

// plan says what a rollback of a device changes: the reverse of what the journal says
// that the run changed.
func (u *Undo) plan(d PastDevice) (*DevicePlan, error) {
	start, err := u.record(d.start, d.Name, "start")
	if err != nil {
		return nil, NewError(d.Name, OpJournal, err)
	}
	out := &DevicePlan{Name: d.Name, OS: u.of[d.Name].OS, Changes: []Group{}}
	for _, g := range start.Changes {
		if g.Blocked == "" && !g.Open {
			out.Changes = append(out.Changes, u.reversed(g))
		}
	}
	// What a host is to be written says more of that than the record of the run.
	if out.OS == host.OS && out.Impact() < qos.ImpactLoss {
		token, err := u.Token(d)
		if err != nil {
			return nil, NewError(d.Name, OpJournal, err)
		}
		var rec host.Record
		if err := token.Read(d.Name, &rec); err != nil {
			return nil, NewError(d.Name, OpJournal, err)
		}
		for i := range out.Changes {
			if rec.Undo.Disturbs() {
				out.Changes[i].Impact = qos.ImpactLoss
			}
		}
	}
	out.Steps = []drivers.Step{{Via: "undo", What: "back to where it was before run " + u.ID, Down: start.Ports}}
	return out, nil
}

// reversed is a change back. What costs no packets one way may cost some the other way:
// a smaller MTU, a priority or a curve that goes.
func (u *Undo) reversed(g Group) Group {
	g.Old, g.New, g.Reason = g.New, g.Old, "run "+u.ID
	switch g.Field.Kind {
	case qos.KindMTU, qos.KindPFC, qos.KindECN:
		g.Impact = max(g.Impact, qos.ImpactLoss)
	}
	return g
}

// Rollout returns the waves of the run in reverse, as far as devices are left of them.
// The states in between are those of the run.
func (u *Undo) Rollout() *Rollout {
	left := map[string]bool{}
	for _, d := range u.Devices {
		left[d.Name] = true
	}
	out := &Rollout{}
	for _, w := range slices.Backward(u.waves) {
		w.Devices = slices.DeleteFunc(slices.Clone(w.Devices), func(name string) bool { return !left[name] })
		for _, name := range w.Devices {
			delete(left, name)
		}
		w.Canary = false
		if len(w.Devices) > 0 {
			slices.Reverse(w.Devices)
			out.Waves = append(out.Waves, w)
		}
	}
	for _, d := range slices.Backward(u.Devices) {
		if left[d.Name] { // of a run that has no waves
			out.Waves = append(out.Waves, Wave{Devices: []string{d.Name}, Kind: "device", Impact: qos.ImpactLoss})
		}
	}
	return out
}

// FindOptions say which run to roll back.
type FindOptions struct {
	Store store.Store // that has the journals
	Run   string      // its ID; "" is the newest one whose writes stand
	// Among reports whether a device counts; nil counts all. One that does must be
	// among the devices of the call.
	Among func(device string) bool
}

// Find finds the run to roll back. It reads the undo records and refuses one that
// is not what the driver of its device makes, and asks no device.
func Find(ctx context.Context, devices []Device, o FindOptions) (*Undo, error) {
	r := newRun(devices, RunOptions{})
	if _, busy, err := AtWork(o.Store); busy != nil || err != nil {
		return nil, errors.Join(busy, err)
	}
	past, list, err := find(o.Store, o.Run, o.Among)
	if err != nil {
		return nil, NewError("", OpJudge, err)
	}
	for _, d := range list {
		if _, ok := r.devices[d.Name]; !ok {
			return nil, errorAs(d.Name, OpJudge, KindNoDevice, fmt.Errorf("a device of run %s cannot be reached with this intent; nothing was written", past.ID))
		}
	}
	for _, d := range list {
		drv, _, err := r.undo(ctx, past, d)
		if err == nil {
			err = drv.Close()
		}
		if err != nil {
			return nil, NewError(d.Name, OpJudge, fmt.Errorf("%w; nothing was written", err))
		}
	}
	return &Undo{past, list, r.devices}, nil
}

// find returns the run with that id, or the newest one whose writes stand, and
// its devices on which they do, in the order in which they were worked on. Only
// devices that want says yes to are looked at; nil is all. A run that another
// came after on the same device is refused, because what it remembers is older
// than what is there.
func find(s store.Store, id string, want func(device string) bool) (*Past, []PastDevice, error) {
	restored := map[string]map[string]bool{} // by run and device
	later := map[string]string{}             // device -> a later run that stands
	for p, err := range Runs(s) {
		// A damaged journal of another run than the named one tells what it can.
		if err != nil && (p == nil || id == "" || p.ID == id) {
			return nil, nil, err
		}
		var left []PastDevice
		for _, d := range p.Devices {
			switch {
			case want != nil && !want(d.Name):
			case p.Of != "" && d.State == Restored:
				if restored[p.Of] == nil {
					restored[p.Of] = map[string]bool{}
				}
				restored[p.Of][d.Name] = true
			case p.Of == "" && d.standing() && !restored[p.ID][d.Name]:
				left = append(left, d)
			}
		}
		switch {
		case id != "" && p.ID != id:
			for _, d := range left {
				later[d.Name] = p.ID
			}
			continue
		case id == "" && len(left) == 0:
			continue
		case p.Of != "":
			return nil, nil, fmt.Errorf("run %s already rolled back run %s; run apply to reapply", p.ID, p.Of)
		case len(left) == 0:
			return nil, nil, fmt.Errorf("%w: run %s wrote nothing, or was rolled back", errNothing, p.ID)
		}
		for _, d := range left {
			if by := later[d.Name]; by != "" {
				return nil, nil, fmt.Errorf("run %s came after it on %s; roll that one back first", by, d.Name)
			}
		}
		return p, left, nil
	}
	if id != "" {
		return nil, nil, fmt.Errorf("%w: %s has no run %s", errNothing, s, id)
	}
	return nil, nil, fmt.Errorf("%w in %s", errNothing, s)
}

// RollbackOptions tune a rollback.
type RollbackOptions struct {
	RunOptions
	// Allow is the largest impact that the operator allows.
	Allow qos.Impact
}

// Rollback rolls the devices of a run back to where they were before it, the last wave
// first, and goes on where a device fails. Where a wave does not pass its gate, no
// further one is begun. The result has one outcome a device, in that order. An error
// with the operation OpJudge says why nothing was written; any other is the journal's.
func Rollback(ctx context.Context, devices []Device, u *Undo, o RollbackOptions) (_ *Result, err error) {
	r := newRun(devices, o.RunOptions)
	if err := r.inWindow(); err != nil {
		return nil, err
	}
	rollout := u.Rollout()
	needs := rollout.Impact()
	of := map[string]PastDevice{}
	for _, d := range u.Devices {
		of[d.Name] = d
		p, err := u.plan(d)
		if err != nil {
			return nil, err
		}
		needs = max(needs, p.Impact())
	}
	if needs > o.Allow {
		return &Result{Needs: needs}, refusal(KindImpact, []string{fmt.Sprintf("the rollback disturbs more than is allowed: %s, allowed is %s", needs, o.Allow)})
	}
	if err := r.ask(ctx, nil, u.request); err != nil {
		return nil, err
	}
	if err := r.begin(u.ID, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.journal.Close()) }()
	outs, err := r.each(ctx, append([]Wave{{}}, rollout.Waves...), func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		state, err := r.rollback(ctx, u.Past, of[device])
		out.State, out.Error = state, NewError(out.Device, OpRollback, err)
		return nil, nil
	})
	return r.ended(outs, err)
}

func (r *run) rollback(ctx context.Context, p *Past, d PastDevice) (State, error) {
	drv, token, err := r.undo(ctx, p, d)
	if err != nil {
		return Failed, err
	}
	defer func() { _ = drv.Close() }()
	if err := r.inherit(drv); err != nil {
		return Failed, err
	}
	if _, err := drv.Probe(ctx); err != nil {
		return Failed, NewError("", OpRead, err)
	}
	left, err := r.journal.left(d.Name)
	if err != nil {
		return Failed, err
	}
	left.tell(drv, nil, r.journal.ports(d.Name))
	if b, ok := drv.(drivers.Bounded); ok {
		b.Bound(r.devices[d.Name].Policy)
	}
	if err := r.journal.Write(entry{Device: d.Name, Event: "start"}); err != nil {
		return Failed, err
	}
	r.step(d.Name, drivers.Step{What: "back to where it was before run " + p.ID}, 0, 1)
	// Once begun it goes to its end, so that Ctrl-C leaves a known state.
	rctx, cancel := r.devices[d.Name].revertTime(ctx)
	defer cancel()
	defer r.Progress.long(Writing, drv, d.Name, "rolling back")()
	switch err := drv.Revert(rctx, token); {
	case errors.Is(err, drivers.ErrBusy) && !errors.Is(err, drivers.ErrPartial):
		return Failed, err
	case err != nil:
		return Partial, err
	}
	return Restored, nil
}

// undo makes the driver of a device, and reads and checks its undo record.
func (r *run) undo(ctx context.Context, p *Past, d PastDevice) (drivers.Driver, *drivers.Token, error) {
	token, err := p.Token(d)
	if err != nil {
		return nil, nil, NewError("", OpJournal, err)
	}
	dev := r.devices[d.Name]
	drv, err := dev.Open(ctx)
	if err != nil {
		return nil, nil, NewError("", OpConnect, err)
	}
	if err := checkUndo(drv, p, d, token, dev.Desired()); err != nil {
		return nil, nil, errors.Join(err, drv.Close())
	}
	return drv, token, nil
}
