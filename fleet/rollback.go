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

// Undo is a run that can be rolled back, and the devices on which its writes stand, or
// those of the runs that it continued, in the order in which they were worked on.
type Undo struct {
	*Past
	Devices []PastDevice

	waves []Wave // of all these runs
	of    map[string]Device

	// next is the next older run of them, and by the one that continues it; half are the
	// devices that a rollback was cut off in. [find] uses them.
	next string
	by   *Past
	half map[string]bool
}

// Runs are the IDs of the runs that are rolled back, the newest first.
func (u *Undo) Runs() []string {
	var ids []string
	for _, d := range u.Devices {
		for _, run := range d.runs() {
			if !slices.Contains(ids, run.of.ID) {
				ids = append(ids, run.of.ID)
			}
		}
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
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

// plan says what a rollback of a device changes: the reverse of what the journals say
// that the runs changed.
func (u *Undo) plan(d PastDevice) (*DevicePlan, error) {
	out := &DevicePlan{Name: d.Name, OS: u.of[d.Name].OS, Changes: []Group{}}
	var changes []qos.Change
	var down []string
	for _, run := range d.runs() {
		start, err := run.of.record(run.start, d.Name, "start")
		if err != nil {
			return nil, NewError(d.Name, OpJournal, err)
		}
		for _, g := range start.Changes {
			if g.Blocked == "" && !g.Open {
				changes = withReverse(changes, g, u.ID)
			}
		}
		down = append(down, without(start.Ports, down)...)
	}
	if len(d.before) > 0 { // one run may have set a value, and another set it back
		changes = slices.DeleteFunc(changes, func(c qos.Change) bool { return c.Old == c.New })
	}
	out.Changes = group(changes)
	// What a host is to be written says more of that than the record of the run.
	if out.OS == host.OS && out.Impact() < qos.ImpactLoss {
		disturbs, err := disturbsHost(d)
		if err != nil {
			return nil, err
		}
		for i := range out.Changes {
			if disturbs {
				out.Changes[i].Impact = qos.ImpactLoss
			}
		}
	}
	out.Steps = []drivers.Step{{Via: "undo", What: "back to where it was before run " + d.first().ID, Down: down}}
	return out, nil
}

// disturbsHost reports whether the undo records of a host disturb its traffic.
func disturbsHost(d PastDevice) (bool, error) {
	tokens, err := d.tokens()
	for _, t := range tokens {
		var rec host.Record
		if err := t.Read(d.Name, &rec); err != nil {
			return false, NewError(d.Name, OpJournal, err)
		}
		if rec.Undo.Disturbs() {
			return true, nil
		}
	}
	return false, err
}

// withReverse adds the reverse of a change to those of later runs. What costs no packets
// one way may cost some the other way: a smaller MTU, a priority or a curve that goes.
func withReverse(later []qos.Change, g Group, run string) []qos.Change {
	ports := g.Ports
	if len(ports) == 0 {
		ports = []string{g.Port}
	}
	for _, port := range ports {
		c := g.Change
		c.Port, c.Old, c.New, c.Reason = port, g.New, g.Old, "run "+run
		switch c.Field.Kind {
		case qos.KindMTU, qos.KindPFC, qos.KindECN:
			c.Impact = max(c.Impact, qos.ImpactLoss)
		}
		i := slices.IndexFunc(later, func(l qos.Change) bool { return l.Port == c.Port && l.Field == c.Field })
		if i < 0 {
			later = append(later, c)
			continue
		}
		later[i].New, later[i].Impact = c.New, max(later[i].Impact, c.Impact)
	}
	return later
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
	if err := notForeign(o.Store, o.Run); err != nil {
		return nil, NewError("", OpJudge, err)
	}
	u, err := find(o.Store, o.Run, o.Among)
	if err != nil {
		return nil, NewError("", OpJudge, err)
	}
	for _, d := range u.Devices {
		if _, ok := r.devices[d.Name]; !ok {
			return nil, errorAs(d.Name, OpJudge, KindNoDevice, fmt.Errorf("a device of run %s cannot be reached with this intent; nothing was written", d.of.ID))
		}
	}
	for _, d := range u.Devices {
		drv, _, err := r.undo(ctx, d)
		if err == nil {
			err = drv.Close()
		}
		if err != nil {
			return nil, NewError(d.Name, OpJudge, fmt.Errorf("%w; nothing was written", err))
		}
	}
	u.of = r.devices
	return u, nil
}

// notForeign returns an error where a run of that id is of another fabric.
func notForeign(s store.Store, run string) error {
	ids, err := newestFirst(s)
	for _, id := range ids {
		if id.Run == run {
			if err := isForeign(s, id); errors.Is(err, errForeign) {
				return err
			}
		}
	}
	return err
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
		state, err := r.rollback(ctx, of[device])
		out.State, out.Error = state, NewError(out.Device, OpRollback, err)
		return nil, nil
	})
	return r.ended(outs, err)
}

func (r *run) rollback(ctx context.Context, d PastDevice) (State, error) {
	drv, tokens, err := r.undo(ctx, d)
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
	r.step(d.Name, drivers.Step{What: "back to where it was before run " + d.first().ID}, 0, 1)
	// Once begun it goes to its end, so that Ctrl-C leaves a known state.
	rctx, cancel := r.devices[d.Name].revertTime(ctx)
	defer cancel()
	defer r.Progress.long(Writing, drv, d.Name, "rolling back")()
	for i, token := range tokens {
		switch err := drv.Revert(rctx, token); {
		case i == 0 && errors.Is(err, drivers.ErrBusy) && !errors.Is(err, drivers.ErrPartial):
			return Failed, err
		case err != nil:
			return Partial, err
		}
	}
	return Restored, nil
}

// undo makes the driver of a device, and reads and checks its undo records.
func (r *run) undo(ctx context.Context, d PastDevice) (drivers.Driver, []*drivers.Token, error) {
	tokens, err := d.tokens()
	if err != nil {
		return nil, nil, err
	}
	dev := r.devices[d.Name]
	drv, err := dev.Open(ctx)
	if err != nil {
		return nil, nil, NewError("", OpConnect, err)
	}
	for _, token := range tokens {
		if err := checkUndo(drv, d, token, dev.Desired().Manages); err != nil {
			return nil, nil, errors.Join(err, drv.Close())
		}
	}
	return drv, tokens, nil
}
