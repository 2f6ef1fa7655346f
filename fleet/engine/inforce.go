package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// checkReady returns an error, before the first write to a device, unless the device has put its
// current configuration in force. stops decides which values must be in force; sure tells it
// that the device's daemons are known to run. blind reports that the device does not show
// what is in force.
func (r *Run) checkReady(ctx context.Context, drv drivers.Driver, snap *drivers.Snapshot, t *Task, stops func(m drivers.Mismatch, sure bool) bool) (blind bool, err error) {
	sure := true
	if d, ok := drv.(drivers.Readier); ok {
		if sure, err = d.Ready(ctx); err != nil {
			return false, err
		}
	}
	want := t.Want
	running, _, err := drivers.Decode(drv, snap)
	if err == nil {
		want = running
	} else { // a host: the state that was read is the one in force
		stops = func(drivers.Mismatch, bool) bool { return false }
	}
	err = r.poll(ctx, func() error {
		unseen, err := compareInForce(ctx, drv, want, true, func(m drivers.Mismatch) bool { return stops(m, sure) })
		blind = errors.Is(unseen, drivers.ErrNoState)
		return err
	})
	if errors.Is(err, errNotInForce) {
		err = fmt.Errorf("%w: before the first step, %w", drivers.ErrNotReady, err)
	}
	return blind, err
}

// mustBeInForce reports whether a value that is configured but not in force must stop a run before
// its first step. On a port that the run does not change it must, because the run would fail
// at the end. On other ports the run may fix the value; there it stops the run only if the
// daemons are not known to run and the value is not a binding of a queue or priority group.
func (t *Task) mustBeInForce(m drivers.Mismatch, sure bool) bool {
	if touched, _ := t.changes(m); touched {
		of := m.Field.Kind.Of()
		return !sure && t.isResponsibleFor(m) && of != qos.OfQueue && of != qos.OfGroup
	}
	want, ok := t.Want.(*qos.Device)
	return ok && want.Holds(m.Port, m.Field)
}

// isResponsibleFor reports whether a run is responsible for a value: on the ports that it
// changes, the values that it changes and those that the intent manages.
func (t *Task) isResponsibleFor(m drivers.Mismatch) bool {
	touched, changed := t.changes(m)
	want, ok := t.Want.(*qos.Device)
	return touched && (changed || ok && want.Holds(m.Port, m.Field))
}

// changes reports whether the plan changes the port of a value, and whether it changes the
// value itself.
func (t *Task) changes(m drivers.Mismatch) (port, value bool) {
	for _, g := range t.Plan.Changes {
		if g.Blocked == "" && !g.Open && (slices.Contains(g.Ports, m.Port) || m.Port == "" && len(g.Ports) == 0) {
			port = true
			value = value || g.Field.Covers(m.Field) || m.Field.Covers(g.Field)
		}
	}
	return port, value
}

// verifyAfterSave reads a device once more after it has saved. It returns an error unless the
// configuration of the run (if undone: the one from before the run) is running, saved and in
// force. Between the last read and the save the device may have restarted, or someone may
// have loaded another configuration. Every run ends with this check, on every system.
func (r *Run) verifyAfterSave(ctx context.Context, p *pending, undone bool) error {
	saved, err := p.readStartup(ctx)
	if err != nil {
		return err
	}
	if !undone {
		if _, _, err := r.verify(ctx, p.drv, p.facts, p.Task, p.blind); err != nil {
			return err
		}
		return p.checkStartup(ctx, saved)
	}
	snap, err := p.drv.Read(ctx)
	if err != nil {
		return fmt.Errorf("%w: read back: %w", drivers.ErrPartial, err)
	}
	for name, s := range map[string]*drivers.Snapshot{"running": snap, "saved": saved} {
		if ok, err := p.isUndone(s); err != nil {
			return err
		} else if !ok {
			return fmt.Errorf("%w: the %s configuration is not the one from before the run: the device restarted before it saved, or another user loaded a configuration", drivers.ErrPartial, name)
		}
	}
	running, _, err := drivers.Decode(p.drv, snap)
	if err != nil {
		return nil // a host: the state that was read is the one in force
	}
	return r.poll(ctx, func() error {
		if _, err := compareInForce(ctx, p.drv, running, p.blind, p.isResponsibleFor); err != nil {
			return fmt.Errorf("%w: the configuration is the one from before the run, and %w", drivers.ErrPartial, err)
		}
		return nil
	})
}

// readStartup reads the saved configuration of a device; nil if the device does not show one.
func (p *pending) readStartup(ctx context.Context) (*drivers.Snapshot, error) {
	s, ok := p.drv.(drivers.Starter)
	if !ok {
		return nil, nil
	}
	snap, err := s.Startup(ctx)
	switch {
	case errors.Is(err, drivers.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: read back what was saved: %w", drivers.ErrPartial, err)
	}
	return snap, nil
}

// isUndone reports whether a configuration contains nothing of what the run wrote. It returns
// true for a nil snapshot.
func (p *pending) isUndone(snap *drivers.Snapshot) (bool, error) {
	s, ok := p.drv.(drivers.Starter)
	if !ok || snap == nil {
		return true, nil
	}
	return s.Undone(snap, p.token)
}

// checkStartup returns an error if the saved configuration differs from the intent in a value in
// which the running configuration does not.
func (p *pending) checkStartup(ctx context.Context, saved *drivers.Snapshot) error {
	want, ok := p.Want.(*qos.Device)
	if saved == nil || !ok {
		return nil
	}
	snap, err := p.drv.Read(ctx)
	if err != nil {
		return fmt.Errorf("%w: read back: %w", drivers.ErrPartial, err)
	}
	var devs [2]*qos.Device
	for i, s := range []*drivers.Snapshot{snap, saved} {
		if devs[i], _, err = drivers.Decode(p.drv, s); err != nil {
			return err
		}
	}
	runs := map[qos.Place]bool{}
	for _, c := range qos.Diff(devs[0], want) {
		runs[c.Place()] = true
	}
	left := slices.DeleteFunc(qos.DiffSaved(devs[1], want), func(c qos.Change) bool { return runs[c.Place()] })
	if len(left) > 0 {
		return fmt.Errorf("%w: %d values of the saved configuration differ from the intent, first %s: %s, not %s", drivers.ErrUnsaved, len(left), left[0].Path(), left[0].Old, left[0].New)
	}
	return nil
}

// verify reads the device back until a plan for it is empty and its daemons have applied the
// configuration, for at most AppliedTimeout: the daemons work asynchronously, and some of the
// values read back come from them. It returns that plan. unseen is why the device does not
// show what its daemons have applied, or nil. blind tells that the device did not show it
// before the change either.
func (r *Run) verify(ctx context.Context, drv drivers.Driver, f drivers.Facts, t Task, blind bool) (now *drivers.Steps, unseen, err error) {
	err = r.poll(ctx, func() (err error) {
		now, unseen, err = checkInForce(ctx, drv, f, t, blind)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return now, unseen, nil
}

// poll calls good with [drivers.Poll] until it returns nil, for at most AppliedTimeout.
func (r *Run) poll(ctx context.Context, good func() error) error {
	_, err := drivers.Poll(ctx, 500*time.Millisecond, r.AppliedTimeout, func() (bool, error) {
		err := good()
		return err == nil, err
	})
	return err
}

// asRunning returns desired in the form in which the device shows its running state.
func asRunning(drv drivers.Driver, snap *drivers.Snapshot, desired drivers.Desired) drivers.Desired {
	want, ok := desired.(*qos.Device)
	if !ok {
		return desired
	}
	running, _, err := drivers.Decode(drv, snap)
	if err != nil {
		return desired
	}
	return want.AsRun(running)
}

func checkInForce(ctx context.Context, drv drivers.Driver, f drivers.Facts, t Task, blind bool) (now *drivers.Steps, unseen, err error) {
	snap, err := drv.Read(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read back: %w", drivers.ErrPartial, err)
	}
	if now, err = drv.Plan(f, snap, t.Want, t.Plan.Policy); err != nil {
		return nil, nil, fmt.Errorf("%w: plan again: %w", drivers.ErrPartial, err)
	}
	if left := now.Differences(); len(left) > 0 {
		return nil, nil, fmt.Errorf("%w: read back, %d values differ from the intent, first %s: %s, not %s", drivers.ErrPartial, len(left), left[0].Path(), left[0].Old, left[0].New)
	}
	if n := len(now.Items); n > 0 {
		return nil, nil, fmt.Errorf("%w: read back, %d steps are left, first: %s", drivers.ErrPartial, n, now.Items[0].What)
	}
	if unseen, err = compareInForce(ctx, drv, asRunning(drv, snap, t.Want), blind, nil); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", drivers.ErrPartial, err)
	}
	return now, unseen, nil
}

// errNotInForce means that the daemons have not applied a configured value.
var errNotInForce = errors.New("configured and not in force")

// compareInForce returns an error if a value in force on a device differs from want. counts selects
// the values to compare; nil compares all. unseen is why the device does not show what is in
// force; with blind, it is also set, instead of an error, if the device has no state to show.
func compareInForce(ctx context.Context, drv drivers.Driver, want drivers.Desired, blind bool, counts func(drivers.Mismatch) bool) (unseen, err error) {
	bad, err := drv.Applied(ctx, want)
	switch {
	case errors.Is(err, drivers.ErrUnsupported), blind && errors.Is(err, drivers.ErrNoState):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("read what is in force: %w", err)
	}
	bad = slices.DeleteFunc(bad, func(m drivers.Mismatch) bool { return m.Unsure || m.Slow || counts != nil && !counts(m) })
	if len(bad) > 0 {
		m := bad[0]
		return nil, fmt.Errorf("%w: %s (%d more)", errNotInForce, strings.TrimSpace(m.Port+" "+m.What())+": "+m.Have+", not "+m.Want, len(bad)-1)
	}
	return nil, nil
}
