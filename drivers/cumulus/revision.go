package cumulus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/term"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// States of a revision. NVIDIA documents pending, apply, applied, applied_and_saved, invalid and
// ays_fail (NVUE API); the others are used by programs that work with switches.
var (
	stateGood = []string{"applied", "applied_and_saved", "saved"}
	// stateBad lists the states of an apply that ended without effect or was reverted.
	stateBad = []string{"invalid", "ays_fail", "confirm_fail", "apply_fail", "apply_error", "verify_error", "ready_error", "inactive", "detached"}
	// stateIdle lists the states of a revision that does not block the apply of others; the state
	// of "nv config verify" was added in 5.17 (Config Commands).
	stateIdle = slices.Concat(stateGood, stateBad, []string{"pending", "checked", "verified", "dry_run_complete", ""})
)

const (
	stateConfirm = "confirm"
	stateAsks    = "ays"
	stateBroken  = "ignore_fail"
)

// busy reports whether a revision is being applied or awaits an answer.
func (r revision) busy() bool { return !slices.Contains(stateIdle, r.State) }

// messages returns the messages of a revision for users, in one line.
func (r revision) messages() string {
	var parts []string
	for _, k := range natural.Keys(r.Transition.Issue) {
		if m := term.CleanLine(strings.TrimSpace(r.Transition.Issue[k].Message)); m != "" {
			parts = append(parts, term.Clip(m, 300))
		}
	}
	if len(parts) == 0 {
		return cmp.Or(term.CleanLine(r.Transition.Progress), "no reason given")
	}
	return strings.Join(parts, "; ")
}

// revisions returns all revisions of the switch.
func (d *Driver) revisions(ctx context.Context) (map[string]revision, error) {
	var all map[string]revision
	err := d.do(ctx, http.MethodGet, at("revision"), nil, &all)
	return all, err
}

// atWork returns the revision that is being applied or awaits an answer; "" for none.
func (d *Driver) atWork(ctx context.Context) (id string, r revision, err error) {
	all, err := d.revisions(ctx)
	for _, id := range natural.Keys(all) {
		if all[id].busy() {
			return id, all[id], nil
		}
	}
	return "", revision{}, err
}

// describeOwner describes a busy revision and its owner.
func describeOwner(id string, r revision) string {
	whose, does := "of another user", "is being applied ("+r.State+")"
	if run, ok := runOf(r); ok {
		whose = "of run " + run
	}
	switch r.State {
	case stateConfirm:
		does = "is in force and waits for its confirmation"
	case stateAsks, stateBroken:
		does = "waits for an answer (" + r.State + ")"
	}
	return fmt.Sprintf("revision %s %s %s", id, whose, does)
}

// runOf returns the ID of the run of this tool that applied a revision.
func runOf(r revision) (string, bool) {
	name, _, _ := strings.Cut(r.Message, " ")
	return strings.TrimPrefix(name, drivers.Mark), drivers.Ours(name)
}

// work is an edit to be written.
type work struct {
	record
	// timer is the time after which the switch reverts the edit; 0 for never.
	timer time.Duration
	note  func(string)
	// accepts answers warnings of the switch with yes.
	accepts bool
	id      string // of its revision, once it exists
}

// fate is the result of a write according to the switch's responses.
type fate int

// Values of fate.
const (
	unsent     fate = iota // no setting can take effect
	rejected               // the switch refused the edit
	unanswered             // the switch did not respond
	answered               // the switch accepted the edit
	broken                 // the apply failed half way
)

// write creates a revision with the edit and applies it.
func (d *Driver) write(ctx context.Context, w *work) (fate, error) {
	if err := d.stage(ctx, w); err != nil {
		return unsent, err
	}
	if err := ctx.Err(); err != nil {
		return unsent, err
	}
	if err := d.start(ctx, w); err != nil {
		switch {
		case errors.As(err, new(*refusal)):
			return rejected, err
		case errors.Is(err, drivers.ErrAuth), errors.Is(err, drivers.ErrIdentity):
			return unsent, err
		}
		return unanswered, err
	}
	return answered, nil
}

// stage creates a revision that differs from the active configuration only by the edit. Removed
// settings are deleted before any are set: until 5.16 one request must not contain both (NVUE
// API, Supported HTTP Methods).
func (d *Driver) stage(ctx context.Context, w *work) error {
	var made map[string]revision
	if err := d.do(ctx, http.MethodPost, at("revision"), []byte("{}"), &made); err != nil {
		return err
	}
	for w.id = range made {
	}
	if len(made) != 1 || w.id == "" {
		return fmt.Errorf("POST /revision: %d revisions in the answer, want 1", len(made))
	}
	// The revision starts from the current configuration. Check that it still has the settings
	// that the edit replaces.
	now, err := d.config(ctx, "applied")
	if err != nil {
		return err
	}
	if back := w.Edit.Undo(now); !equal(back, w.Undo) {
		return fmt.Errorf("%w: someone else changed %s; nothing was applied", drivers.ErrStale, differing(back, w.Undo))
	}
	for _, p := range deleted(w.Edit, now) {
		err := d.do(ctx, http.MethodDelete, query(at(p...), "rev", w.id), nil, nil)
		if err != nil && !refusedWith(err, http.StatusNotFound) {
			return err
		}
	}
	if body := w.Edit.Body(); body != nil {
		if err := d.do(ctx, http.MethodPatch, query(base+"/", "rev", w.id), bytes.TrimSpace(body.JSON()), nil); err != nil {
			return err
		}
	}
	return d.checkOwnChangesOnly(ctx, w)
}

// deleted returns the paths that an edit removes, including branches that become empty. It is not
// documented whether a switch keeps an empty branch, which may turn something on, such as the
// watchdog.
func deleted(e native.Edit, now *native.Config) (out []native.Path) {
	after := e.Apply(now).Tree
	seen := map[string]bool{}
	for _, p := range e.Within(now).Unsets() {
		for len(p) > 1 && after.At(p[:len(p)-1]...) == nil {
			p = p[:len(p)-1]
		}
		if now.Tree.At(p...) != nil && !seen[p.String()] {
			seen[p.String()] = true
			out = append(out, p)
		}
	}
	return out
}

// checkOwnChangesOnly checks with the switch's own diff that an apply changes only the settings
// of the edit. Otherwise it would undo changes that others applied since the revision was
// created. NVUE adds the type of an interface by itself.
func (d *Driver) checkOwnChangesOnly(ctx context.Context, w *work) error {
	var raw json.RawMessage
	if err := d.do(ctx, http.MethodGet, query(base+"/", "rev", w.id, "diff", "applied", "filled", "false", "expand", "true"), nil, &raw); err != nil {
		return err
	}
	var diff map[string]any
	if err := json.Unmarshal(raw, &diff); err != nil {
		return fmt.Errorf("the difference of revision %s: %w", w.id, err)
	}
	var foreign []string
	leaves(diff, nil, func(path []string) {
		typed := len(path) == 3 && path[0] == "interface" && path[2] == "type"
		if !typed && !slices.ContainsFunc(w.Edit, func(s native.Setting) bool {
			n := min(len(s.Path), len(path))
			return slices.Equal(s.Path[:n], path[:n])
		}) {
			foreign = append(foreign, strings.Join(path, " "))
		}
	})
	if len(foreign) > 0 {
		return fmt.Errorf("%w: someone else changed %s while the revision was made; nothing was applied", drivers.ErrStale, term.Clip(strings.Join(foreign, ", "), 200))
	}
	return nil
}

// leaves calls f with the path of each value and of each empty object.
func leaves(v any, path []string, f func(path []string)) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		if len(path) > 0 {
			f(path)
		}
		return
	}
	for _, k := range natural.Keys(m) {
		leaves(m[k], append(path[:len(path):len(path)], k), f)
	}
}

// apply is the request that starts an apply. It contains no answer to warnings and does not
// ignore failures.
type apply struct {
	State    string    `json:"state"`
	Message  string    `json:"message,omitempty"`
	Controls *controls `json:"state-controls,omitempty"`
}

// controls holds the seconds after which the switch reverts an unconfirmed apply. No NVIDIA guide
// documents it, but NVIDIA's own configuration manager sends it.
type controls struct {
	Confirm int64 `json:"confirm"`
}

// start starts the apply of a revision, with a timer if the switch accepts one: over REST,
// otherwise by command. If the switch refuses undocumented fields, start omits them.
func (d *Driver) start(ctx context.Context, w *work) error {
	a := apply{State: "apply", Message: w.Run}
	if w.timer > 0 {
		a.Controls = &controls{Confirm: int64(w.timer / time.Second)}
	}
	err := d.patch(ctx, w.id, a)
	if refusedWith(err, http.StatusBadRequest) && a.Message != "" {
		a.Message = ""
		err = d.patch(ctx, w.id, a)
	}
	if !refusedWith(err, http.StatusBadRequest) || a.Controls == nil {
		return err
	}
	if d.t.SSH != nil {
		minutes := max(1, int64((w.timer+time.Minute-1)/time.Minute))
		return d.shell(ctx, fmt.Sprintf("nv config apply %s --confirm %d --assume-no", w.id, minutes))
	}
	if w.note != nil {
		w.note("the switch takes no timer over REST, and SSH is not configured: it does not revert the change by itself if it is cut off")
	}
	a.Controls = nil
	return d.patch(ctx, w.id, a)
}

func (d *Driver) patch(ctx context.Context, id string, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return d.do(ctx, http.MethodPatch, at("revision", id), raw, nil)
}

// reply answers the question of a revision.
func (d *Driver) reply(ctx context.Context, id, word string) error {
	err := d.patch(ctx, id, apply{State: word})
	if flag, ok := strings.CutPrefix(word, "confirm_"); ok && refusedWith(err, http.StatusBadRequest) && d.t.SSH != nil {
		return d.shell(ctx, "nv config apply "+id+" --confirm-"+flag)
	}
	return err
}

// shell runs a command on the switch over SSH. The output is ignored, because the state of the
// revision shows the result.
func (d *Driver) shell(ctx context.Context, cmd string) error {
	c, err := ssh.Dial(ctx, *d.t.SSH)
	if err != nil {
		return drivers.TransportError(err)
	}
	defer c.Close()
	_, err = c.Run(ctx, cmd, nil)
	return drivers.TransportError(err)
}

// abandon deletes a revision that is not applied, which is possible since 5.12.
func (d *Driver) abandon(ctx context.Context, id string) {
	if id != "" {
		_ = d.do(ctx, http.MethodDelete, at("revision", id), nil, nil) // a leftover revision changes nothing and takes a few kilobytes
	}
}

// outcome polls a revision until it reaches a final state, for at most limit. Warnings that the
// switch wants confirmed are answered with no, unless w.accepts is set.
func (d *Driver) outcome(ctx context.Context, w *work, limit time.Duration, sent bool) (last revision, f fate, err error) {
	id := w.id
	asked := ""
	failed := ""
	began := time.Now()
	_, err = drivers.Poll(ctx, d.pace.Poll, limit, func() (bool, error) {
		var r revision
		if err := d.do(ctx, http.MethodGet, at("revision", id), nil, &r); err != nil {
			if refusedWith(err, http.StatusNotFound) { // a restart deletes revisions
				last, f = revision{State: "inactive"}, rejected
				return true, nil
			}
			return false, err
		}
		last = r
		switch {
		case r.State == stateConfirm, slices.Contains(stateGood, r.State):
			f = answered
			return true, nil
		case slices.Contains(stateBad, r.State):
			f = rejected
			if failed != "" {
				f = broken
			}
			return true, nil
		case r.State == "pending":
			// The switch did not start the apply within that time and will not.
			f = unsent
			return !sent && time.Since(began) > d.pace.Settled, nil
		case r.State == stateAsks && w.accepts:
			w.note("the switch asks for confirmation, and is answered with yes: " + r.messages())
			return false, d.reply(ctx, id, "ays_yes")
		case r.State == stateAsks && asked == "":
			asked = r.messages()
			return false, d.reply(ctx, id, "ays_no")
		case r.State == stateBroken && failed == "":
			failed = r.messages()
			return false, d.reply(ctx, id, "ignore_fail_no")
		}
		f = unanswered
		return false, nil
	})
	switch {
	case asked != "":
		err = &hinted{fmt.Errorf("the switch asks for confirmation, which this tool does not give by itself: %s", asked),
			"look at the warning; to accept it, plan again and apply with --accept-warnings"}
	case failed != "":
		err = fmt.Errorf("the switch failed half way: %s", failed)
	case f == rejected:
		err = fmt.Errorf("revision %s is %s: %s", id, last.State, last.messages())
	case f == unanswered && err == nil:
		err = fmt.Errorf("revision %s is still %s after %s", id, last.State, drivers.Spell(limit))
	}
	return last, f, err
}

// equal reports whether two edits contain the same settings.
func equal(a, b native.Edit) bool { return differing(a, b) == "" }

// differing returns the first path at which two edits differ.
func differing(a, b native.Edit) string {
	is := func(e native.Edit) map[string]*native.Setting {
		out := map[string]*native.Setting{}
		for i := range e {
			out[e[i].Path.String()] = &e[i]
		}
		return out
	}
	x, y := is(a), is(b)
	for _, in := range []map[string]*native.Setting{x, y} {
		for _, path := range natural.Keys(in) {
			p, q := x[path], y[path]
			if p == nil || q == nil || p.Empty != q.Empty || !p.Set.Equal(q.Set) {
				return path
			}
		}
	}
	return ""
}
