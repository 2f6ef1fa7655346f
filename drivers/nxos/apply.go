package nxos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// batch is the native part of a step.
type batch struct {
	Edit native.Edit `json:"edit"`
}

// wayBack is the native part of a token.
type wayBack struct {
	// Checkpoint is the name of the one that holds what stood there before. It
	// need not be there: a switch has room for a few.
	Checkpoint string `json:"checkpoint"`
	// Edit is what was applied, Undo what stood there before.
	Edit native.Edit `json:"edit"`
	Undo native.Edit `json:"undo"`
	// Before identifies the whole configuration before the apply.
	Before string            `json:"before"`
	Model  native.ClassModel `json:"model"`
	// Begun is when the apply began; zero in tokens that do not tell.
	Begun time.Time `json:"begun,omitzero"`
}

// Apply puts the change in force with one dual-stage commit, which the switch
// takes back by itself unless it is confirmed in time. Where the switch does
// not know that mode, or not one of the lines in it, they are typed one by one,
// and what came before a refused one is taken back; that takes a checkpoint.
func (d *Driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	edit, err := decodeStep(st.Items, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	snap := of(before)
	lines := edit.Commands(snap.cfg)
	if len(lines) == 0 {
		return nil, nil
	}
	taken, _, err := d.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.otherRun(taken, ""); err != nil {
		return nil, err
	}
	back := wayBack{Checkpoint: checkpointName(o.ID, taken), Edit: edit, Undo: edit.Undo(snap.cfg), Before: drivers.Fingerprint(snap.cfg.String()), Model: snap.m, Begun: time.Now().UTC()}
	if err := back.check(nil); err != nil {
		return nil, fmt.Errorf("%s: nothing was written, as this tool could not undo it: %w", d.t.Name, err)
	}
	token, err := drivers.NewToken(d.t.Name, back)
	if err != nil {
		return nil, err
	}
	if err := o.Announce(token, 1, st.Items[0]); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return token, fmt.Errorf("%s: stopped before the first line: %w", d.t.Name, err)
	}
	return token, d.put(ctx, back, lines)
}

// maxName is how long the name of a checkpoint is at most here; NX-OS takes 80.
const maxName = 60

// checkpointName makes a name of the run's ID that no checkpoint has.
func checkpointName(id string, taken map[string]bool) string {
	base := drivers.RunName(id, maxName)
	name := base
	for n := 2; taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// decodeStep reads the one step of a plan, which may come from a file.
func decodeStep(items []drivers.Step, managed func(port string) bool) (native.Edit, error) {
	if len(items) != 1 {
		return nil, fmt.Errorf("the plan has %s, and a batch is one", words.Count(len(items), "step"))
	}
	if via := items[0].Via; via != "ssh" {
		return nil, fmt.Errorf("step 1 of the plan: no way in is called %q", via)
	}
	var b batch
	if err := json.Unmarshal(items[0].Native, &b); err != nil {
		return nil, fmt.Errorf("step 1 of the plan: %w", err)
	}
	if err := native.Lines.Check(b.Edit, managed); err != nil {
		return nil, fmt.Errorf("step 1 of the plan: %w", err)
	}
	return b.Edit, nil
}

// done reports whether a configuration holds what was to be applied.
func (b wayBack) done(now *native.Config) bool {
	return b.holds(b.Edit, now) && (len(b.Undo.Commands(now)) > 0 || len(b.Edit.Commands(now)) == 0)
}

// undone reports whether nothing of what was applied is in a configuration.
func (b wayBack) undone(now *native.Config) bool { return len(b.Undo.Commands(now)) == 0 }

// own reports whether every change since the apply is the apply's own: without
// it a configuration is what it was before, and at its places nothing stands but
// what it wrote, or what stood there before.
func (b wayBack) own(now *native.Config) bool {
	return native.Made(b.Edit, b.Undo, now) && drivers.Fingerprint(b.Undo.Apply(now).String()) == b.Before
}

// holds reports whether an edit changes nothing of what a configuration means.
// A switch need not print a line that equals the default.
func (b wayBack) holds(e native.Edit, now *native.Config) bool {
	if len(e.Commands(now)) == 0 {
		return true
	}
	is, _ := native.Decode(now, b.Model)
	would, _ := native.Decode(e.Apply(now), b.Model)
	return len(qos.Diff(is, would))+len(qos.Diff(would, is)) == 0
}

// put carries a batch out and finds out what became of it. Its error wraps
// ErrPartial where the switch holds neither the old nor the new, or where that
// cannot be known.
func (d *Driver) put(ctx context.Context, b wayBack, lines []string) error {
	kept := d.sh.Do(ctx, "checkpoint "+b.Checkpoint)
	if kept != nil && !drivers.RefusedLine(kept) {
		return fmt.Errorf("nothing was written: %w", d.wrap(kept))
	}
	if kept != nil {
		// The timer of a dual-stage commit does without.
		kept = fmt.Errorf("the switch keeps no checkpoint to go back to (show checkpoint summary lists what it has; this tool removes its own alone): %w", kept)
	}
	if err := d.alone(ctx, b, kept); err != nil {
		return err
	}
	staged, f, cause := d.send(ctx, lines, d.pace.timer, kept)
	switch {
	case !staged:
		d.typed = b.Checkpoint
	case f != unsent:
		d.started = b.Checkpoint
	}
	// The caller may be gone; the switch is not, and has to be left in a state
	// that is known.
	ctx = context.WithoutCancel(ctx)
	if f == unsent {
		d.idle = b.Checkpoint
		if drivers.RefusedLine(cause) {
			d.forget(ctx, b.Checkpoint)
			return fmt.Errorf("%s: %w: nothing was written: %w", d.t.Name, drivers.ErrRejected, cause)
		}
		return fmt.Errorf("nothing was written: %w", d.wrap(cause))
	}
	return d.judge(ctx, b, lines, staged, f, cause)
}

// judge reads what became of a batch.
func (d *Driver) judge(ctx context.Context, b wayBack, lines []string, staged bool, f fate, cause error) error {
	limit := d.pace.settled
	if f == unanswered && staged {
		limit = d.pace.work
	}
	rctx, cancel := context.WithTimeout(ctx, limit+d.pace.read)
	defer cancel()
	in := false
	now, err := d.watch(rctx, limit, func(now *native.Config) bool {
		in = b.done(now)
		return in || f == rejected
	})
	switch {
	case now == nil:
		return fmt.Errorf("%s: %w: what the switch holds cannot be read: %w", d.t.Name, drivers.ErrPartial, cmp.Or(cause, err))
	case in && !(staged && f == rejected && awaited(cause)):
		return nil
	case staged && f == rejected && !b.undone(now):
		// A commit comes in force as a whole or not at all: what differs now is
		// what another run, or someone at a terminal, has made of the switch.
		d.idle, d.started = b.Checkpoint, ""
		d.forget(ctx, b.Checkpoint)
		return fmt.Errorf("%s: %w: nothing of it is in force: %w", d.t.Name, drivers.ErrRejected, cause)
	case f == rejected && !b.undone(now):
		return d.takeBack(ctx, b, now, cause)
	case !b.undone(now):
		left := b.Edit.Commands(now)
		return fmt.Errorf("%s: %w: the switch holds neither the old nor the new: %s of %d left to set: %w", d.t.Name, drivers.ErrPartial, words.Count(len(left), "line"), len(lines), cmp.Or(cause, errOthers))
	case f == unanswered:
		return fmt.Errorf("%s: %w: nothing was written: %w", d.t.Name, drivers.ErrUnreachable, cause)
	}
	d.idle = b.Checkpoint
	d.forget(ctx, b.Checkpoint)
	if f == answered {
		return fmt.Errorf("%s: %w: the switch took %s and changed nothing: %q has no effect", d.t.Name, drivers.ErrRejected, words.Count(len(lines), "line"), telling(b.Edit.Commands(now)))
	}
	return fmt.Errorf("%s: %w: nothing is in force: %w", d.t.Name, drivers.ErrRejected, cause)
}

// otherRun returns an error where one of the checkpoints is that of a run that may
// be at work on another machine; own is none.
func (d *Driver) otherRun(names map[string]bool, own string) error {
	for _, n := range natural.Keys(names) {
		if age, ok := d.stranger(n); ok && n != own {
			return fmt.Errorf("%s: %w: nothing was written: checkpoint %s: %s: wait until it confirms, or remove what is left of it on the switch (no checkpoint %s)", d.t.Name, drivers.ErrRejected, n, drivers.AtWork(age), n)
		}
	}
	return nil
}

// alone makes sure that of two runs that begin at the same time on two machines
// at most one writes: each has made its checkpoint (but for an error kept), and
// looks for that of the other.
func (d *Driver) alone(ctx context.Context, b wayBack, kept error) error {
	if kept != nil {
		return nil
	}
	names, _, err := d.checkpoints(ctx)
	if err == nil {
		if err = d.otherRun(names, b.Checkpoint); err == nil {
			return nil
		}
	}
	d.idle = b.Checkpoint
	d.forget(context.WithoutCancel(ctx), b.Checkpoint)
	return err
}

// telling returns the last of some lines that is more than the end of a mode.
func telling(lines []string) string {
	for _, l := range slices.Backward(lines) {
		if l != "exit" {
			return l
		}
	}
	return ""
}

// takeBack undoes what came before a refused line.
func (d *Driver) takeBack(ctx context.Context, b wayBack, now *native.Config, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*(d.pace.work+d.pace.read))
	defer cancel()
	if err := d.restore(ctx, b, now); err != nil {
		return fmt.Errorf("%w; it was refused: %w", err, cause)
	}
	d.forget(ctx, b.Checkpoint)
	return fmt.Errorf("%s: %w: what came before it was taken back: %w", d.t.Name, drivers.ErrRejected, cause)
}

// watch reads the running configuration until enough says so, for at most
// limit. It returns the last one, nil where the last read failed.
func (d *Driver) watch(ctx context.Context, limit time.Duration, enough func(*native.Config) bool) (now *native.Config, err error) {
	_, err = drivers.Poll(ctx, d.pace.poll, limit, func() (bool, error) {
		var err error
		if now, err = d.config(ctx, running); err != nil {
			d.sh.HangUp()
			return false, err
		}
		return enough(now), nil
	})
	return now, err
}
