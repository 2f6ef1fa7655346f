package sonic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Apply carries out the steps. If it writes over gNMI and SSH is configured, it leaves a checkpoint
// as a second, manual way to revert. If SSH does not answer and thus no checkpoint can be taken,
// only steps that need SSH are stopped.
func (d *driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	steps, err := d.steps(st.Items, nil)
	if err != nil {
		return nil, err
	}
	cfg := config(before)
	if err := d.rel.CheckSteps(cfg, steps); err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	left := cfg.Down(d.leftDown())
	for _, p := range left {
		if !slices.ContainsFunc(steps, func(s native.Step) bool { return s.Sets(native.TPort, p, "admin_status") }) {
			return nil, fmt.Errorf("%w: %s was left down by run %s, and the plan does not bring it up", drivers.ErrStale, p, d.left.Down[p])
		}
	}
	var runs []native.Undo
	for _, t := range o.Continues {
		run, err := d.undo(t, nil)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	u := native.Remember(cfg.Raised(d.leftDown()), steps, native.Policy(st.Policy), runs...)
	if d.t.SSH != nil {
		if err := d.wakeSSH(ctx); err == nil {
			note, err := d.hold(ctx, o.ID, o.Hold)
			if err != nil {
				return nil, err
			}
			o.Tell(note)
			if u.Run = o.ID; !d.direct {
				u.Checkpoint = leftoverLead + o.ID
			}
		} else if u.SSH || !errors.Is(err, drivers.ErrUnreachable) {
			return nil, err
		}
	}
	begun := false
	defer func() {
		if !begun {
			d.release(ctx)
		}
	}()
	if err := u.Check(nil); err != nil {
		return nil, fmt.Errorf("nothing was written, as this tool could not undo it: %w", err)
	}
	token, err := drivers.NewToken(d.t.Name, u)
	if err != nil {
		return nil, err
	}
	if o.Token != nil {
		if err := o.Token(token); err != nil {
			return nil, err
		}
	}
	if u.Checkpoint != "" {
		if err := d.command(ctx, "sudo config checkpoint "+quote(u.Checkpoint)); err != nil {
			return nil, fmt.Errorf("take a checkpoint: %w", err)
		}
	}
	begun = true
	r := runner{d: d, cfg: cfg.Clone()}
	if o.Progress != nil {
		r.progress = func(i int) { o.Progress(i, len(steps), st.Items[i]) }
	}
	err = r.run(ctx, steps)
	if errors.Is(err, drivers.ErrRejected) && !errors.Is(err, drivers.ErrPartial) && st.Items[0].Via == "gnmi" && len(left)+len(runs) == 0 {
		d.idle = string(token.Native)
	}
	return token, err
}

// Confirm saves what was written over SSH (a Set saves by itself), and removes the checkpoint and
// what earlier runs left. It may be called again.
func (d *driver) Confirm(ctx context.Context, t *drivers.Token) error {
	u, err := d.undo(t, nil)
	if err != nil {
		return err
	}
	if err := d.finish(ctx, u, u.SSH); err != nil {
		return err
	}
	d.release(ctx)
	return nil
}

// Startup reads the startup file.
func (d *driver) Startup(ctx context.Context) (*drivers.Snapshot, error) {
	cfg, err := d.saved(ctx)
	if err != nil {
		return nil, err
	}
	return &drivers.Snapshot{Native: cfg}, nil
}

// Undone reports whether a configuration contains nothing of an apply. That is always so for an
// apply that had no effect: differences then come from others.
func (d *driver) Undone(s *drivers.Snapshot, t *drivers.Token) (bool, error) {
	u, err := d.undo(t, nil)
	if err != nil || t == nil || d.idle == string(t.Native) {
		return err == nil, err
	}
	if d.left != nil {
		u = u.Restored(d.left.Down)
	}
	return u.Stands == native.NoTrace || u.Undone(config(s)), nil
}

func (d *driver) finish(ctx context.Context, u native.Undo, save bool) error {
	if save {
		if err := d.wakeSSH(ctx); err != nil {
			return fmt.Errorf("save: %w", err)
		}
		if err := d.saveFile(ctx); err != nil {
			return fmt.Errorf("save: %w", err)
		}
	}
	if u.Checkpoint != "" && d.t.SSH != nil {
		// A file that stays behind, or is already gone, does no harm.
		_ = d.command(ctx, "sudo config delete-checkpoint "+quote(u.Checkpoint))
	}
	d.sweep(ctx)
	return nil
}

// save makes the switch write its startup file: over SSH if possible, else with a Set of an
// existing value, which changes nothing and is saved like any other.
func (d *driver) save(ctx context.Context, cfg native.Config) error {
	if d.t.SSH != nil && d.wakeSSH(ctx) == nil {
		return d.saveFile(ctx)
	}
	model := cfg.Row(native.TMetadata, "localhost")["hwsku"]
	if model == "" {
		return fmt.Errorf("no value that a request without effect could repeat")
	}
	c, err := d.client(ctx)
	if err != nil {
		return err
	}
	err = c.Set(ctx, gnmi.SetRequest{Origin: origin, Updates: []gnmi.Update{{
		Path: path(native.TMetadata, "localhost", "hwsku"), JSON: native.JSONString(model),
	}}})
	if errors.Is(err, gnmi.ErrTimeout) {
		// The switch continues by itself, and saves at the end.
		return d.settle(ctx)
	}
	return drivers.TransportError(err)
}

// Narrate sets the function that is called with each step of a revert.
func (d *driver) Narrate(say func(what string)) { d.say = say }

// Bound limits what Revert may disturb at once.
func (d *driver) Bound(p drivers.Policy) { d.bound = &p }

// Revert writes the state in the token back, byte for byte, in the order and groups of an apply. An
// apply whose first request was rejected is not reverted, because all differences come from others.
// Revert may be called again, also after a failure.
func (d *driver) Revert(ctx context.Context, t *drivers.Token) error {
	u, err := d.undo(t, nil)
	if err != nil || t == nil {
		return err
	}
	defer d.release(ctx)
	if d.idle == string(t.Native) {
		return d.finish(ctx, u, false)
	}
	if _, err := d.Probe(ctx); err != nil {
		return err
	}
	// A revert works without SSH, too.
	if d.t.SSH != nil && d.sshDown == nil && d.wakeSSH(ctx) == nil {
		if _, err := d.hold(ctx, cmp.Or(u.Run, strings.TrimPrefix(u.Checkpoint, leftoverLead)), 0); err != nil {
			return err
		}
	}
	// The apply may still be in progress, and a Get would show the state before it.
	if err := d.Settle(ctx); err != nil {
		return fmt.Errorf("%w: %w", drivers.ErrPartial, err)
	}
	if d.left != nil {
		u = u.Restored(d.left.Down)
	}
	if d.bound != nil {
		u.Policy = native.Policy(*d.bound)
	}
	var lost []string
	overSSH, wrote := u.SSH, false
	// The first round restores what was written; the switch then derives the rest. The second round
	// writes what it did not derive, and the third removes leftovers.
	for _, round := range []func(native.Config) []native.Op{u.Written, u.Derived, u.Leftover} {
		ops, err := d.outstanding(ctx, round)
		if err != nil {
			return err
		}
		refused, ssh, err := d.carryOut(ctx, ops, u.Policy)
		if err != nil {
			return err
		}
		lost = append(lost, refused...)
		overSSH, wrote = overSSH || ssh, wrote || len(ops) > 0
	}
	if err := d.finish(ctx, u, overSSH); err != nil {
		return err
	}
	if !overSSH && !wrote {
		// An earlier attempt may have ended before its save.
		now, err := d.read(ctx)
		if err != nil {
			return err
		}
		if _, err := d.keep(ctx, now, true); err != nil {
			return err
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%w: the config updater refuses to restore %s; configure ssh and revert again", drivers.ErrPartial, strings.Join(lost, ", "))
	}
	return nil
}

// outstanding returns the ops of one round of a revert. It waits for a while, because daemons may
// be about to make the same changes.
func (d *driver) outstanding(ctx context.Context, round func(native.Config) []native.Op) (ops []native.Op, err error) {
	_, err = d.poll(ctx, settled, func() (bool, error) {
		now, err := d.read(ctx)
		if err != nil {
			return false, err
		}
		ops = round(now)
		// Rows that a run wrote are not restored by daemons, so do not wait.
		return len(ops) == 0 || slices.ContainsFunc(ops, func(o native.Op) bool { return !o.Derives() }), nil
	})
	return ops, err
}

// carryOut sends ops that are not part of a plan. It returns the ops that no transport accepts, and
// whether SSH was needed.
func (d *driver) carryOut(ctx context.Context, ops []native.Op, policy native.Policy) (refused []string, ssh bool, err error) {
	now, err := d.read(ctx)
	if err != nil {
		return nil, false, err
	}
	steps, refused, ssh := native.Site{Release: d.rel, Chip: d.chip, Maker: d.maker, SSH: d.t.SSH != nil, Direct: d.direct, Policy: policy}.Carry(now, ops)
	for i, s := range steps {
		if err := s.Check(nil); err != nil {
			return nil, false, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := d.rel.CheckSteps(now, steps); err != nil {
		return nil, false, err
	}
	r := runner{d: d, cfg: now, reverts: true}
	if d.say != nil {
		r.progress = func(i int) { d.say(steps[i].What) }
	}
	return refused, ssh, r.run(ctx, steps)
}
