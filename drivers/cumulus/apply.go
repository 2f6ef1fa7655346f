package cumulus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// record is the native part of an undo record.
type record struct {
	// Run names the run in the message of its revision.
	Run string `json:"run"`
	// Edit holds the applied settings, Undo the previous ones.
	Edit native.Edit `json:"edit"`
	Undo native.Edit `json:"undo"`
	// Earlier holds the settings that earlier, interrupted runs applied; Undo reverts these as
	// well.
	Earlier native.Edit `json:"earlier,omitempty"`
	// Before is the fingerprint of the whole configuration before the apply.
	Before string `json:"before"`
}

var runForm = lazyre.New(`^rf-[\w-]{0,80}$`)

// check returns an error, with its position, for an undo record that Apply would never create.
func (b record) check(managed func(port string) bool) error {
	if !runForm.MatchString(b.Run) {
		return fmt.Errorf("undo record: invalid run name %q", b.Run)
	}
	if err := b.Edit.Check(managed); err != nil {
		return fmt.Errorf("undo record: applied settings: %w", err)
	}
	if err := b.Earlier.Check(managed); err != nil {
		return fmt.Errorf("undo record: settings of earlier runs: %w", err)
	}
	err := b.Undo.Check(managed)
	if err == nil {
		err = slices.Concat(b.Edit, b.Earlier).CheckUndo(b.Undo)
	}
	if err != nil {
		return fmt.Errorf("undo record: previous settings: %w", err)
	}
	return nil
}

// CheckUndo returns an error, with its position, for a record that Apply never creates.
func (d *Driver) CheckUndo(t *drivers.Token, managed func(port string) bool) (qos.Impact, error) {
	b, err := d.read(t, managed)
	return b.Undo.Impact(), err
}

func (d *Driver) read(t *drivers.Token, managed func(port string) bool) (b record, err error) {
	if err = t.Read(d.t.Name, &b); err != nil {
		return b, err
	}
	return b, b.check(managed)
}

// continued extends the record of an apply to cfg so that it also undoes earlier runs, whose
// records are given newest first.
func (d *Driver) continued(b record, cfg *native.Config, runs []*drivers.Token) (record, error) {
	if len(runs) == 0 {
		return b, nil
	}
	for _, t := range runs {
		run, err := d.read(t, nil)
		if err != nil {
			return b, err
		}
		cfg = run.Undo.Apply(cfg)
		b.Earlier = slices.Concat(b.Earlier, run.Edit, run.Earlier)
	}
	b.Undo = slices.Concat(b.Edit, b.Earlier).Undo(cfg)
	b.Before = fingerprint(cfg)
	return b, nil
}

// undone reports whether a configuration contains nothing of the applied settings.
func (b record) undone(now *native.Config) bool { return len(b.Undo.Within(now)) == 0 }

// holds reports whether applying an edit would not change the meaning of a configuration. The
// settings may still differ, because NVUE may drop a value that equals the default and round a
// threshold to cells.
func holds(e native.Edit, now *native.Config) bool {
	if len(e.Within(now)) == 0 {
		return true
	}
	is, _ := native.Decode(now)
	would, _ := native.Decode(e.Apply(now))
	would = native.Rounded(is, would)
	return len(qos.Diff(is, would))+len(qos.Diff(would, is)) == 0
}

// done reports whether a configuration contains the edit of a record and no longer the previous
// settings.
func (b record) done(now *native.Config) bool {
	return holds(b.Edit, now) && (!b.undone(now) || len(b.Edit.Within(now)) == 0)
}

// Apply applies a change. The switch reverts it unless Confirm is called in time.
func (d *Driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	e, err := edit(st.Items, nil)
	if err != nil {
		return nil, err
	}
	cfg := held(before)
	if len(e.Within(cfg)) == 0 {
		return nil, nil
	}
	const longest = 80
	w := &work{record: record{Run: drivers.RunName(o.ID, longest), Edit: e, Undo: e.Undo(cfg), Before: fingerprint(cfg)}, note: o.Tell, accepts: o.AcceptWarnings}
	if d.pace.Timer > 0 {
		w.timer = max(d.pace.Timer, o.Hold)
	}
	switch id, r, err := d.atWork(ctx); {
	case err != nil:
		return nil, err
	case id != "":
		return nil, fmt.Errorf("%w: %s", drivers.ErrBusy, describeOwner(id, r))
	}
	kept, err := d.continued(w.record, cfg, o.Continues)
	if err != nil {
		return nil, err
	}
	if err := kept.check(nil); err != nil {
		return nil, fmt.Errorf("nothing was written, as this tool could not undo it: %w", err)
	}
	token, err := drivers.NewToken(d.t.Name, kept)
	if err != nil {
		return nil, err
	}
	if err := o.Announce(token, 1, st.Items[0]); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return token, fmt.Errorf("stopped before the first write: %w", err)
	}
	d.idle = ""
	nothing, err := d.put(ctx, w)
	if nothing && len(o.Continues) == 0 {
		d.idle = string(token.Native)
	}
	d.applied[string(token.Native)] = w.id
	return token, err
}

// put writes the settings and reads back the result. Its error wraps ErrPartial if the switch has
// neither the old nor the new settings, or if that is not known. nothing reports that none of the
// settings is active: any differences were made by others.
func (d *Driver) put(ctx context.Context, w *work) (nothing bool, err error) {
	f, cause := d.write(ctx, w)
	// The caller may be gone, but the switch must be left in a known state.
	if f == unsent || f == rejected {
		if !drivers.Silent(cause) {
			ctx, cancel := fence.Outlive(ctx, d.pace.Read)
			defer cancel()
			d.abandon(ctx, w.id)
		}
		err := drivers.TransportError(cause)
		switch {
		case errors.Is(err, drivers.ErrStale):
		case errors.As(err, new(*refusal)):
			err = fmt.Errorf("%w: nothing was applied: %w", drivers.ErrRejected, err)
		default:
			err = fmt.Errorf("nothing was applied: %w", err)
		}
		return true, err
	}
	return d.judge(ctx, w, f, cause)
}

// judge determines the result of an apply that was started.
func (d *Driver) judge(ctx context.Context, w *work, f fate, cause error) (nothing bool, err error) {
	rctx, cancel := fence.Outlive(ctx, d.pace.Work+d.pace.Read)
	defer cancel()
	last, now, why := d.outcome(rctx, w, d.pace.Work, f == answered)
	if drivers.Silent(why) {
		return false, fmt.Errorf("%w: the configuration of the switch cannot be read: %w", drivers.ErrPartial, lines.JoinErrors(cause, why))
	}
	cfg, rerr := d.config(rctx, "applied")
	if rerr != nil {
		return false, fmt.Errorf("%w: the configuration of the switch cannot be read: %w", drivers.ErrPartial, lines.JoinErrors(cmp.Or(why, cause), rerr))
	}
	in := w.done(cfg)
	cause = cmp.Or(why, cause, lines.ErrOthers)
	switch {
	case in && now == answered:
		return false, nil
	case in && last.State == "inactive":
		return false, nil // the switch had saved the change, and restarted
	case in || now == unanswered:
		return false, fmt.Errorf("%w: %w", drivers.ErrPartial, cause)
	case now == broken:
		return false, fmt.Errorf("%w: the applied configuration is the previous one, but the state of the services is unknown: %w", drivers.ErrPartial, cause)
	case now == unsent:
		d.abandon(rctx, w.id)
		return true, fmt.Errorf("%w: nothing was applied: %w", drivers.ErrUnreachable, cause)
	case now == rejected && w.undone(cfg):
		return true, fmt.Errorf("%w: no change is active: %w", drivers.ErrRejected, cause)
	case now == rejected:
		return true, fmt.Errorf("%w: none of it is in force, and someone else has changed the same settings in the meantime: %w", drivers.ErrRejected, cause)
	case w.undone(cfg):
		left := w.Edit.Within(cfg)
		return true, fmt.Errorf("%w: the switch says %s, but nothing changed: %q has no effect", drivers.ErrRejected, last.State, left[0])
	}
	left := w.Edit.Within(cfg)
	return false, fmt.Errorf("%w: the switch has neither its old settings nor all new ones: %s of %d left to set: %w", drivers.ErrPartial, words.Count(len(left), "setting"), len(w.Edit), cause)
}

// Settle waits until the switch has finished all revisions. It does not wait for a revision that
// awaits an answer.
func (d *Driver) Settle(ctx context.Context) error {
	for {
		id, r, err := d.atWork(ctx)
		if err != nil || id == "" || waits(r) {
			return err
		}
		select {
		case <-time.After(d.pace.Poll):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", describeOwner(id, r), ctx.Err())
		}
	}
}

// waits reports whether a revision awaits an answer.
func waits(r revision) bool {
	return slices.Contains([]string{stateConfirm, stateAsks, stateBroken}, r.State)
}
