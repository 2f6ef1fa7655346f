package cumulus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// errNotSaved is returned if the startup configuration lacks the changes after a save.
var errNotSaved = errors.New("the switch reported success and saved nothing")

// revisionOf returns the active or waiting revision of an apply: the one that this driver
// applied, one with the message of the run, or an unnamed one that awaits confirmation on a
// switch with the settings of the run. other is an error that describes a revision that is none
// of these.
func (d *Driver) revisionOf(ctx context.Context, t *drivers.Token, b record) (id string, r revision, other error, err error) {
	id, r, err = d.atWork(ctx)
	if err != nil || id == "" {
		return "", revision{}, nil, err
	}
	if id == d.applied[string(t.Native)] || r.Message == b.Run {
		return id, r, nil, nil
	}
	if _, named := runOf(r); !named && r.State == stateConfirm {
		now, err := d.config(ctx, "applied")
		if err != nil {
			return "", revision{}, nil, err
		}
		if b.done(now) {
			return id, r, nil, nil
		}
	}
	return "", revision{}, fmt.Errorf("%w: %s", drivers.ErrBusy, describeOwner(id, r)), nil
}

// confirm answers a revision that awaits confirmation, and waits until the switch has finished
// it.
func (d *Driver) confirm(ctx context.Context, id, word string) error {
	if err := d.reply(ctx, id, word); err != nil && !errors.Is(err, drivers.ErrUnreachable) && !errors.Is(err, errFailed) {
		// It may have ended in the meantime.
		if !errors.As(err, new(*refusal)) {
			return err
		}
	}
	done, err := drivers.Poll(ctx, d.pace.Poll, d.pace.Work, func() (bool, error) {
		busy, r, err := d.atWork(ctx)
		if err == nil && busy == id && r.State == stateConfirm {
			err = fmt.Errorf("revision %s still waits for its confirmation", id)
		}
		return err == nil && busy != id, err
	})
	if !done {
		return drivers.TransportError(cmp.Or(err, fmt.Errorf("revision %s did not settle", id)))
	}
	return nil
}

// rest waits until the revision of an apply awaits confirmation or has ended.
func (d *Driver) rest(ctx context.Context, t *drivers.Token, b record) (id string, other error, err error) {
	var r revision
	done, err := drivers.Poll(ctx, d.pace.Poll, d.pace.Work, func() (bool, error) {
		var err error
		if id, r, other, err = d.revisionOf(ctx, t, b); err != nil {
			return false, err
		}
		switch {
		case id == "" || r.State == stateConfirm:
			return true, nil
		case r.State == stateAsks:
			return false, d.reply(ctx, id, "ays_no")
		case r.State == stateBroken:
			return false, d.reply(ctx, id, "ignore_fail_no")
		}
		return false, nil
	})
	if !done {
		return id, other, drivers.TransportError(cmp.Or(err, fmt.Errorf("the switch is at work: %s", describeOwner(id, r))))
	}
	return id, other, nil
}

// Confirm stops the timer and saves. If the timer has already expired, the error wraps
// ErrRejected: the switch has reverted the apply.
func (d *Driver) Confirm(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := d.read(t, nil)
	if err != nil {
		return err
	}
	id, _, err := d.rest(ctx, t, b)
	if err != nil {
		return fmt.Errorf("confirm the apply: %w", err)
	}
	if id != "" {
		if err := d.confirm(ctx, id, "confirm_yes"); err != nil {
			return fmt.Errorf("confirm the apply: %w", err)
		}
	}
	now, err := d.config(ctx, "applied")
	switch {
	case err != nil:
		return err
	case holds(b.Edit, now):
		lasts := d.lasts(now)
		return d.save(ctx, func(c *native.Config) bool { return holds(b.Edit, c) && lasts(c) })
	case b.undone(now):
		return fmt.Errorf("%w: it was not confirmed in time, and the switch reverted it", drivers.ErrRejected)
	}
	return fmt.Errorf("%w: the configuration was changed since the apply: %q is gone", drivers.ErrPartial, b.Edit.Within(now)[0])
}

// Revert undoes an apply, unless none of it took effect. It may be called repeatedly. While the
// timer is running, the switch reverts by itself, byte for byte. If others changed something
// since the apply, or the timer has expired, the changed settings are patched back.
func (d *Driver) Revert(ctx context.Context, t *drivers.Token) error {
	if t == nil {
		return nil
	}
	b, err := d.read(t, nil)
	if err != nil || d.idle == string(t.Native) {
		return err // the differences were made by other users, and stay
	}
	id, other, err := d.rest(ctx, t, b)
	if err != nil {
		return d.bySwitch(cmp.Or(id, d.applied[string(t.Native)]), err) // a silent switch does not list its revisions
	}
	now, err := d.config(ctx, "applied")
	if err != nil {
		return d.bySwitch(id, err)
	}
	if id != "" {
		word := "confirm_no"
		if fingerprint(b.Undo.Apply(now)) != b.Before {
			word = "confirm_yes" // the timer would also undo the changes of others
		}
		if err := d.confirm(ctx, id, word); err != nil {
			return d.bySwitch(id, fmt.Errorf("revert: %w", err))
		}
		if now, err = d.config(ctx, "applied"); err != nil {
			return err
		}
	}
	if !b.undone(now) {
		if other != nil {
			return other
		}
		if err := d.patchBack(ctx, b, now); err != nil {
			return err
		}
	}
	return d.save(ctx, func(c *native.Config) bool { return holds(b.Undo, c) })
}

// bySwitch adds to an unreachable error that the switch may revert by itself.
func (d *Driver) bySwitch(id string, err error) error {
	if id == "" || !errors.Is(err, drivers.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w; unless it was confirmed, the switch reverts it by itself within %s of the apply; run plan then", err, drivers.Spell(d.pace.Timer))
}

// patchBack patches the settings from before an apply.
func (d *Driver) patchBack(ctx context.Context, b record, now *native.Config) error {
	e := b.Undo.Within(now)
	w := &work{record: record{Run: drivers.RunName("undo-"+b.Run[len(drivers.Mark):], 80), Edit: e, Undo: e.Undo(now), Before: fingerprint(now)}}
	if _, err := d.put(ctx, w); err != nil {
		return &hinted{fmt.Errorf("revert: %w", err), "to restore the whole configuration from before the apply, and undo later changes of others with it: find the revision with nv config revision, then run nv config apply REVISION"}
	}
	return nil
}

// save saves the configuration unless good already accepts the startup configuration, so that
// unsaved changes of others stay unsaved. Since 5.9 each apply saves, unless that is turned off.
// After a failed save it does not try again, because the switch may lack space.
func (d *Driver) save(ctx context.Context, good func(*native.Config) bool) error {
	cfg, err := d.config(ctx, "startup")
	switch {
	case err == nil && good(cfg):
		return nil
	case drivers.Silent(err):
		return fmt.Errorf("%w: the startup configuration cannot be read: %w", drivers.ErrUnsaved, err)
	case d.saveFailed != nil:
		return fmt.Errorf("%w: not saved again: %w", drivers.ErrUnsaved, d.saveFailed)
	}
	err = d.patch(ctx, "applied", apply{State: "save"})
	limit := d.pace.Settled
	if err != nil {
		if limit = d.pace.Work; !errors.Is(err, drivers.ErrUnreachable) && !errors.Is(err, errFailed) {
			limit = 0
		}
	}
	saved, rerr := drivers.Poll(ctx, d.pace.Poll, limit, func() (bool, error) {
		cfg, err := d.config(ctx, "startup")
		return err == nil && good(cfg), err
	})
	if saved {
		return nil
	}
	if !drivers.Silent(rerr) {
		if now, err := d.config(ctx, "applied"); err == nil && !good(now) {
			return fmt.Errorf("%w: the switch lost what was applied before it was saved: it restarted, or another user applied something", drivers.ErrPartial)
		}
	}
	failed := fmt.Errorf("the startup configuration does not have it: %w", cmp.Or(err, rerr, errNotSaved))
	if err != nil && !errors.Is(err, drivers.ErrUnreachable) {
		d.saveFailed = failed
	}
	return fmt.Errorf("%w: %w", drivers.ErrUnsaved, failed)
}

// Keep confirms a change that an earlier run left unconfirmed, which the switch would revert. If
// that run may still be in progress, the error wraps ErrRejected. Keep saves the configuration if
// managed ports have unsaved settings, whoever made them.
func (d *Driver) Keep(ctx context.Context) (bool, error) {
	id, r, err := d.atWork(ctx)
	if err != nil {
		return false, err
	}
	kept := false
	if id != "" {
		run, named := runOf(r)
		began, dated := drivers.RunTime(drivers.Mark + run)
		switch {
		case !named:
			return false, nil // another user's change on trial must not be saved
		case r.State == stateConfirm && slices.Contains(d.ended, run), r.State == stateConfirm && dated && time.Since(began) > 2*d.pace.Timer:
			if err := d.confirm(ctx, id, "confirm_yes"); err != nil {
				return false, err
			}
			kept = true
		default:
			return false, fmt.Errorf("%w: %s", drivers.ErrBusy, describeOwner(id, r))
		}
	}
	now, err := d.config(ctx, "applied")
	if err != nil {
		return false, err
	}
	lasts := d.lasts(now)
	saved, err := d.config(ctx, "startup")
	switch {
	case err != nil && refusedWith(err, http.StatusForbidden, http.StatusNotFound):
		return kept, nil
	case err != nil:
		return kept, err
	case lasts(saved):
		return kept, nil
	}
	return true, d.save(ctx, lasts)
}

// lasts returns a function that reports whether a saved configuration keeps the managed ports as
// they are now.
func (d *Driver) lasts(now *native.Config) func(saved *native.Config) bool {
	running, _ := native.Decode(now)
	return func(c *native.Config) bool {
		saved, _ := native.Decode(c)
		return d.desired == nil || drivers.SurvivesRestart(running, saved, d.desired.Manages)
	}
}

// Startup reads the startup configuration.
func (d *Driver) Startup(ctx context.Context) (*drivers.Snapshot, error) {
	cfg, err := d.config(ctx, "startup")
	if refusedWith(err, http.StatusForbidden, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: %w", drivers.ErrUnsupported, err)
	}
	if err == nil {
		cfg.Ports, err = d.ports(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &drivers.Snapshot{Native: cfg}, nil
}

// Undone reports whether a configuration contains nothing of an apply. This is always true for an
// apply that had no effect: any differences were made by others.
func (d *Driver) Undone(s *drivers.Snapshot, t *drivers.Token) (bool, error) {
	if t == nil || d.idle == string(t.Native) {
		return true, nil
	}
	b, err := d.read(t, nil)
	return err == nil && holds(b.Undo, held(s)), err
}

// Unsaved names the applied settings that would change in a restart.
func (d *Driver) Unsaved(ctx context.Context) ([]string, error) {
	var cfg [2]*native.Config
	for i, rev := range []string{"applied", "startup"} {
		var err error
		if cfg[i], err = d.config(ctx, rev); refusedWith(err, http.StatusNotFound) {
			return nil, fmt.Errorf("%w: %w", drivers.ErrUnsupported, err)
		} else if err != nil {
			return nil, err
		}
	}
	var out []string
	a, b := cfg[0].Tree, cfg[1].Tree
	for _, top := range both(a, b) {
		for _, name := range both(a.At(top), b.At(top)) {
			if !a.At(top, name).Equal(b.At(top, name)) {
				out = append(out, top+" "+name)
			}
		}
	}
	return out, nil
}

// both returns the keys of two branches in natural order.
func both(a, b *native.Node) []string {
	all := &native.Node{Sub: map[string]*native.Node{}}
	for _, n := range []*native.Node{a, b} {
		if n != nil {
			for k, v := range n.Sub {
				all.Sub[k] = v
			}
		}
	}
	return all.Keys()
}
