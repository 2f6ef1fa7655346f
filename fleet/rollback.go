package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/order"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate"
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
	costs map[string]cost

	// next is the next older run of them, and by the one that continues it; half are the
	// devices that a rollback was cut off in. [find] uses them.
	next string
	by   *Past
	half map[string]bool
}

// cost is what the rollback of a device disturbs: least by its undo records alone, impact in
// all. down is how many ports go down.
type cost struct {
	least, impact qos.Impact
	down          int
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
// that the runs changed. Its impact is the larger of what the values mean and what is done
// for them, which is what the runs did: the same ports go down, the same tables change.
func (u *Undo) plan(d PastDevice) (*DevicePlan, error) {
	out := &DevicePlan{Name: d.Name, OS: u.of[d.Name].OS, Changes: []Group{}}
	var changes []qos.Change
	var down []string
	impact := u.costs[d.Name].least
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
		if start.Impact == nil { // a journal that does not tell
			start.Impact = new(qos.ImpactLoss)
		}
		impact = max(impact, *start.Impact)
	}
	if len(d.before) > 0 { // one run may have set a value, and another set it back
		changes = slices.DeleteFunc(changes, func(c qos.Change) bool { return c.Old == c.New })
	}
	out.Changes = group(changes)
	out.Steps = []drivers.Step{{Via: "undo", What: "back to where it was before run " + d.first().ID, Impact: impact, Down: down}}
	return out, nil
}

// undoable returns the changes of a plan, each with the impact of undoing it: the larger of
// what the difference means the other way round and what the requests do.
func undoable(todo *drivers.Steps, desired drivers.Desired) []qos.Change {
	out := slices.Clone(todo.Changes)
	want, ok := desired.(*qos.Device)
	if !ok || todo.Running == nil { // a host, on which a setting disturbs the same both ways
		for i := range out {
			out[i].Undo = out[i].Impact
		}
		return out
	}
	back := map[qos.Place]qos.Impact{}
	for _, c := range qos.Diff(validate.After(todo.Running, want, todo.Changes), todo.Running) {
		back[c.Place()] = c.Impact
	}
	for i := range out {
		c := &out[i]
		c.Undo = max(back[c.Place()], c.Requests)
	}
	return out
}

// withReverse adds the reverse of a change to those of later runs.
func withReverse(later []qos.Change, g Group, run string) []qos.Change {
	ports := g.Ports
	if len(ports) == 0 {
		ports = []string{g.Port}
	}
	for _, port := range ports {
		c := g.Change
		c.Port, c.Old, c.New, c.Reason = port, g.New, g.Old, "run "+run
		c.Impact, c.Undo = g.Undo, qos.ImpactNone
		i := slices.IndexFunc(later, func(l qos.Change) bool { return l.Port == c.Port && l.Field == c.Field })
		if i < 0 {
			later = append(later, c)
			continue
		}
		later[i].New, later[i].Impact = c.New, max(later[i].Impact, c.Impact)
	}
	return later
}

// Rollout returns the waves of the run in reverse, as far as devices are left of them, each
// with a gate. The states in between are those of the run.
func (u *Undo) Rollout(mode GateMode) *Rollout {
	left := map[string]bool{}
	for _, d := range u.Devices {
		left[d.Name] = true
	}
	out := &Rollout{Gate: mode}
	at := make([]int, len(u.waves)) // the new number of each wave from 1; 0 for one that is gone
	for i, w := range slices.Backward(u.waves) {
		w.Devices = slices.DeleteFunc(slices.Clone(w.Devices), func(name string) bool { return !left[name] })
		for _, name := range w.Devices {
			delete(left, name)
		}
		if len(w.Devices) > 0 {
			slices.Reverse(w.Devices)
			out.Waves = append(out.Waves, u.undone(w))
			at[i] = len(out.Waves)
		}
	}
	for _, d := range slices.Backward(u.Devices) {
		if left[d.Name] { // of a run that has no waves
			out.Waves = append(out.Waves, u.undone(Wave{Devices: []string{d.Name}, Kind: "device"}))
		}
	}
	out.turn(u.waves, at)
	return out
}

// undone is a wave of a run as the rollback of its devices has it.
func (u *Undo) undone(w Wave) Wave {
	w.Canary, w.Impact, w.Down = false, qos.ImpactNone, 0
	for _, name := range w.Devices {
		w.Impact, w.Down = max(w.Impact, u.costs[name].impact), w.Down+u.costs[name].down
	}
	return w
}

// turn gives waves that reverse those of a run the faults of that run, each from where it ended
// to where it began.
func (r *Rollout) turn(was []Wave, at []int) {
	for i := range r.Waves {
		r.Waves[i].Worse, r.Waves[i].Gate = nil, r.Waves[i].GateTime(r.Gate).Seconds()
	}
	for i, w := range was {
		for _, f := range w.Worse {
			// Journals of older versions have a fault in each wave that has it.
			kept := slices.DeleteFunc(slices.Clone(at[i:min(max(i+1, f.Until), len(at))]), func(n int) bool { return n == 0 })
			if len(kept) == 0 {
				continue
			}
			from := slices.Min(kept)
			f.Until, f.Seconds = slices.Max(kept), r.lasts(from, slices.Max(kept))
			r.Waves[from-1].Worse = append(r.Waves[from-1].Worse, f)
		}
	}
	r.WorseSeconds = r.Worse(r.Gate).Seconds()
}

// followed are the waves of a run and those of the run that continued it, numbered through.
func followed(older, newer []Wave) []Wave {
	out := slices.Concat(older, newer)
	for i := len(older); i < len(out); i++ {
		out[i].Worse = slices.Clone(out[i].Worse)
		for j := range out[i].Worse {
			out[i].Worse[j].Until += len(older)
		}
	}
	return out
}

// lasts is how long a state lasts, in seconds, that begins in one wave and ends in another.
func (r *Rollout) lasts(from, until int) float64 {
	var stages []order.Stage
	for _, w := range r.Waves[from-1 : until] {
		stages = append(stages, order.Stage{Writes: w.Seconds, Gate: w.Gate})
	}
	return order.Lasts(stages)
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
	u.of, u.costs = r.devices, map[string]cost{}
	for _, d := range u.Devices {
		drv, _, least, err := r.undo(ctx, d)
		if err == nil {
			err = drv.Close()
		}
		if err != nil {
			return nil, NewError(d.Name, OpJudge, fmt.Errorf("%w; nothing was written", err))
		}
		u.costs[d.Name] = cost{least: least}
		p, err := u.plan(d)
		if err != nil {
			return nil, err
		}
		u.costs[d.Name] = cost{least, p.Impact(), len(p.Down())}
	}
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
	rollout := u.Rollout(r.gateMode())
	needs := rollout.Impact()
	of := map[string]PastDevice{}
	for _, d := range u.Devices {
		of[d.Name] = d
		needs = max(needs, u.costs[d.Name].impact)
	}
	if needs > o.Allow {
		return &Result{Needs: needs}, refusal(KindImpact, []string{fmt.Sprintf("the rollback disturbs more than is allowed: %s, allowed is %s", needs, o.Allow)})
	}
	if err := r.ask(ctx, nil, u.request); err != nil {
		return nil, err
	}
	if err := r.begin(u.ID, nil, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.journal.Close()) }()
	outs, err := r.each(ctx, append([]Wave{{}}, rollout.Waves...), func(ctx context.Context, device string, out *Outcome) (*pending, error) {
		state, err := r.rollback(ctx, u, of[device])
		out.State, out.Error = state, NewError(out.Device, OpRollback, err)
		return nil, nil
	})
	return r.ended(outs, err)
}

func (r *run) rollback(ctx context.Context, u *Undo, d PastDevice) (State, error) {
	plan, err := u.plan(d)
	if err != nil {
		return Failed, err
	}
	drv, tokens, _, err := r.undo(ctx, d)
	if err != nil {
		return Failed, err
	}
	defer func() { _ = drv.Close() }()
	if err := r.inherit(drv); err != nil {
		return Failed, err
	}
	facts, err := drv.Probe(ctx)
	if err != nil {
		return Failed, NewError("", OpRead, err)
	}
	if facts.Unit, err = r.identifyPast(ctx, drv, facts, d); err != nil {
		return unwritten(err), err
	}
	left, err := r.journal.left(d.Name)
	if err != nil {
		return Failed, err
	}
	left.tell(drv, nil, r.journal.ports(d.Name))
	if b, ok := drv.(drivers.Bounded); ok {
		b.Bound(r.devices[d.Name].Policy)
	}
	dev := r.devices[d.Name]
	out := &pending{task: task{Device: dev, plan: plan, desired: dev.Desired()}, drv: drv, facts: facts}
	if out.blind, err = r.readyToRevert(ctx, out, left); err != nil {
		return unwritten(err), err
	}
	if err := r.journal.Write(entry{Device: d.Name, Event: "start", Unit: facts.Unit}); err != nil {
		return Failed, err
	}
	r.step(d.Name, plan.Steps[0], 0, 1)
	// Once begun it goes to its end, so that Ctrl-C leaves a known state.
	rctx, cancel := dev.revertTime(ctx)
	defer cancel()
	defer r.Progress.long(Writing, drv, d.Name, "rolling back", "")()
	for i, token := range tokens {
		switch err := drv.Revert(rctx, token); {
		case i == 0 && errors.Is(err, drivers.ErrBusy) && !errors.Is(err, drivers.ErrPartial):
			return Failed, err
		case err != nil:
			return Partial, err
		}
	}
	// The last one goes back to the state before all of them.
	out.token = tokens[len(tokens)-1]
	if err := r.lasts(rctx, out, true); err != nil {
		return Partial, err
	}
	return Restored, nil
}

// identifyPast is [run.identify] for a device whose undo records are carried out: they are of the
// device that answers, unless the operator accepts another one.
func (r *run) identifyPast(ctx context.Context, drv drivers.Driver, f drivers.Facts, d PastDevice) (unit drivers.Unit, err error) {
	dev := r.devices[d.Name]
	unit = f.Unit
	// A device that cannot be read shows no more of itself; Revert says what it lacks.
	if snap, err := drv.Read(ctx); err == nil {
		if unit, err = r.identify(ctx, drv, f, snap, dev); err != nil {
			return unit, err
		}
	}
	for _, run := range d.runs() {
		err := run.isOther(unit)
		switch {
		case err != nil && !dev.isRight:
			return unit, err
		case err != nil:
			return unit, r.audit.accept(d.Name, oneLine(err), unit)
		}
	}
	return unit, nil
}

// readyToRevert is ready for a device that a rollback is about to write to, once it has
// done what a run that was cut off sent it.
func (r *run) readyToRevert(ctx context.Context, p *pending, left leftover) (blind bool, err error) {
	if left.CutOff != nil {
		if err := r.Progress.settle(ctx, Writing, p.drv, p.Name, left); err != nil {
			return false, NewError("", OpSettle, err)
		}
	}
	snap, err := p.drv.Read(ctx)
	if err != nil {
		return false, NewError("", OpRead, err)
	}
	// Of ports that the run left alone nothing is written.
	return r.ready(ctx, p.drv, snap, &p.task, func(m drivers.Mismatch, sure bool) bool { return p.concerns(m) && p.waits(m, sure) })
}

// undo makes the driver of a device, and reads and checks its undo records. least is their
// least impact.
func (r *run) undo(ctx context.Context, d PastDevice) (_ drivers.Driver, _ []*drivers.Token, least qos.Impact, _ error) {
	tokens, err := d.tokens()
	if err != nil {
		return nil, nil, least, err
	}
	dev := r.devices[d.Name]
	drv, err := dev.Open(ctx)
	if err != nil {
		return nil, nil, least, NewError("", OpConnect, err)
	}
	for _, token := range tokens {
		one, err := checkUndo(drv, d, token, dev.Desired().Manages)
		if err != nil {
			return nil, nil, least, errors.Join(err, drv.Close())
		}
		least = max(least, one)
	}
	return drv, tokens, least, nil
}
