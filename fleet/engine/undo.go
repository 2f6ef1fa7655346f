package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/validate"
)

// Runs returns the IDs of the runs that are rolled back, newest first.
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

// Impact returns the impact of the rollback of a device.
func (u *Undo) Impact(device string) qos.Impact { return u.costs[device].impact }

// Digest returns a digest of the undo records.
func (u *Undo) Digest() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, u.ID)
	for _, d := range u.Devices {
		tokens, err := d.tokens()
		if err != nil {
			return "", err
		}
		for _, token := range tokens {
			if err := json.NewEncoder(sum).Encode(token); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Plans yields the plans of a rollback, in the order in which it changes the devices.
func (u *Undo) Plans() iter.Seq2[*DevicePlan, error] {
	return func(yield func(*DevicePlan, error) bool) {
		for _, d := range slices.Backward(u.Devices) {
			if !yield(u.planDevice(d)) {
				return
			}
		}
	}
}

// planDevice returns what a rollback of a device changes: the reverse of the changes in the journals
// of the runs. Its impact is the larger of two: the impact of the values, and the impact of
// the runs' steps, because a rollback takes down the same ports and changes the same tables.
func (u *Undo) planDevice(d PastDevice) (*DevicePlan, error) {
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
		if start.Impact == nil { // journals of older versions do not tell
			start.Impact = new(qos.ImpactLoss)
		}
		impact = max(impact, *start.Impact)
	}
	if len(d.before) > 0 { // one run may have set a value, and another one reset it
		changes = slices.DeleteFunc(changes, func(c qos.Change) bool { return c.Old == c.New })
	}
	out.Changes = group(changes)
	out.Steps = []drivers.Step{{Via: "undo", What: "back to where it was before run " + d.first().ID, Impact: impact, Down: down}}
	return out, nil
}

// undoable returns the changes of a plan, each with the impact of undoing it: the larger of
// the impact of the reverse difference and the impact of the requests.
func undoable(todo *drivers.Steps, desired drivers.Desired) []qos.Change {
	out := slices.Clone(todo.Changes)
	want, ok := desired.(*qos.Device)
	if !ok || todo.Running == nil { // a host: a setting has the same impact in both directions
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

// withReverse adds the reverse of a change to the reversed changes of later runs.
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

// Rollout returns the waves of the run in reverse order, with the devices that are left to
// roll back, each with a gate. The intermediate states are the same as in the run.
func (u *Undo) Rollout(mode rollout.GateMode) *rollout.Rollout {
	var left []string
	for _, d := range u.Devices {
		left = append(left, d.Name)
	}
	return rollout.Reverse(u.waves, left, mode, func(device string) (qos.Impact, int) {
		return u.costs[device].impact, u.costs[device].down
	})
}

// FindOptions say which run to roll back.
type FindOptions struct {
	Store store.Store // the store with the journals
	Run   string      // ID of the run; "" is the newest run whose writes still stand
	// Among reports whether to roll back a device; nil rolls back all. Such a device must be
	// among the devices passed to [Find].
	Among func(device string) bool
}

// Find finds the run to roll back. It reads the undo records, and returns an error for a
// record that the driver of its device would not have made. It does not connect to devices.
func Find(ctx context.Context, devices []Device, o FindOptions) (*Undo, error) {
	r := NewRun(devices, Options{})
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
			return nil, ErrorOf(d.Name, OpJudge, KindNoDevice, fmt.Errorf("a device of run %s cannot be reached with this intent; nothing was written", d.of.ID))
		}
	}
	u.of, u.costs = r.devices, map[string]cost{}
	for _, d := range u.Devices {
		drv, _, least, err := r.openUndo(ctx, d)
		if err == nil {
			err = drv.Close()
		}
		if err != nil {
			return nil, NewError(d.Name, OpJudge, fmt.Errorf("%w; nothing was written", err))
		}
		u.costs[d.Name] = cost{least: least}
		p, err := u.planDevice(d)
		if err != nil {
			return nil, err
		}
		u.costs[d.Name] = cost{least, p.Impact(), len(p.Down())}
	}
	return u, nil
}

// notForeign returns an error if a run with that ID belongs to another fabric.
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

// openUndo returns a driver for a device, and reads and checks its undo records. least is the
// minimum impact of the records.
func (r *Run) openUndo(ctx context.Context, d PastDevice) (_ drivers.Driver, _ []*drivers.Token, least qos.Impact, _ error) {
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

// checkUndo returns the minimum impact of an undo record. It returns an error, with the
// position in the journal, unless the driver of the device could have made the record, for
// managed ports only. It does not connect to the device.
func checkUndo(drv drivers.Driver, d PastDevice, token *drivers.Token, managed func(port string) bool) (least qos.Impact, _ error) {
	c, ok := drv.(drivers.Checker)
	if !ok {
		return least, nil
	}
	least, err := c.CheckUndo(token, managed)
	if err != nil {
		return least, ErrorOf("", OpJudge, KindUndo, fmt.Errorf("%s: %w", d.of.place(d), err))
	}
	return least, nil
}

// place returns where a journal holds the undo record of a device, as PATH:LINE.
func (p *Past) place(d PastDevice) string { return fmt.Sprintf("%s:%d", p.store.Place(p.id), d.line) }
