package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/rollout"
)

// nicRevertTimeout bounds taking one host back, also after Ctrl-C: each port may
// wait a minute for its link, and firmware takes minutes to write.
const nicRevertTimeout = 30 * time.Minute

// nicWork is a host with what is to do there.
type nicWork struct {
	nicTarget
	changes []nic.Change
	steps   []local.Step
	err     error // why it could not be planned
	refused error // why nothing is written to any host
}

// disturbs says whether steps take links down for a moment, or lose traffic.
func disturbs(steps []local.Step) bool {
	return slices.ContainsFunc(steps, func(s local.Step) bool { return s.Impact >= qos.ImpactPortFlap })
}

// nicApplying is one run of nic apply.
type nicApplying struct {
	*app
	nicOptions
	journal *rollout.Journal
	stopped atomic.Bool // a host has failed: no further one is begun
}

func (a *app) nicApply(ctx context.Context, o nicOptions) (err error) {
	if !o.yes && !a.canAsk() {
		return usageHint("look at 'roce-fabric nic plan' first, then use --yes", "nobody to ask on standard input")
	}
	outliveOutput()
	f, targets, err := a.nicTargets(o)
	if err != nil {
		return err
	}
	run := &nicApplying{app: a, nicOptions: o}
	work, err := run.planAll(ctx, targets)
	if err != nil {
		return err
	}
	if err := run.judged(f.Name, nil, work); err != nil {
		return err
	}
	todo, values, disturb := 0, 0, false
	var last string
	for _, w := range work {
		if len(w.steps) > 0 {
			todo++
			values += len(w.steps)
			last = w.name
			disturb = disturb || disturbs(w.steps)
		}
	}
	if todo > 0 {
		where := last
		if todo > 1 {
			where = words.Count(todo, "host")
		}
		if err := a.confirm(ctx, o.yes, fmt.Sprintf("Set %s on %s?", words.Count(values, "value"), where)); err != nil {
			return err
		}
		if run.journal, err = nicJournal(o.state, f.Name, rollout.Record{Fabric: f.Name, Intent: f.Hash}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, run.journal.Close()) }()
		if !o.yes {
			// The question may have stood for hours.
			if err := run.checkAll(ctx, f.Name, work); err != nil {
				return err
			}
		}
	}
	told := context.AfterFunc(ctx, func() {
		a.talk("interrupted: the host being changed is reverted (a third Ctrl-C leaves it as it is)")
	})
	defer told()
	var outs []rollout.Outcome
	err = pool.Ordered(ctx, a.nicWorkers(o, disturb), work, run.host, func(out rollout.Outcome) error {
		outs = append(outs, out)
		return nil
	})
	return a.nicEnd(f.Name, run.journal, outs, err)
}

// nicWorkers is how many hosts are worked on at a time. Where traffic is
// disturbed it is one, unless the operator has said how many.
func (a *app) nicWorkers(o nicOptions, disturb bool) int {
	if disturb && !o.parallelSet {
		return 1
	}
	return a.parallel
}

// nicJournal begins the journal of a run over hosts. It has a folder of its own:
// a host may have the name of a switch.
func nicJournal(state, fabric string, first rollout.Record) (*rollout.Journal, error) {
	dir, err := nicStateDir(state, fabric)
	if err != nil {
		return nil, err
	}
	id, err := runID()
	if err != nil {
		return nil, err
	}
	return rollout.Begin(dir, id, first)
}

func nicStateDir(state, fabric string) (string, error) {
	dir, err := stateDir(state, fabric)
	return filepath.Join(dir, "hosts"), err
}

// nicEnd says in which state each host is.
func (a *app) nicEnd(fabric string, j *rollout.Journal, outs []rollout.Outcome, err error) error {
	if err := errors.Join(err, j.Write(rollout.Record{Event: "end"})); err != nil {
		return &statusError{exitPartial, errors.Join(err, a.outcomes(fabric, j, outs)), ""}
	}
	if err := a.outcomes(fabric, j, outs); err != nil {
		return err
	}
	for _, o := range outs {
		a.printHint(adviceOf(o.Err))
	}
	if j != nil {
		a.talk("journal: %s", j.Path())
	}
	return applyStatus(outs)
}

// planAll reads and plans the hosts and shows what would be done. A host that
// cannot be planned does not hold up the others; one with a step that is not
// allowed does.
func (r *nicApplying) planAll(ctx context.Context, targets []nicTarget) ([]*nicWork, error) {
	var out []*nicWork
	t := nicText{Text: report.Text{W: r.stderr, S: r.styler(r.stderr)}}
	err := pool.Ordered(ctx, r.parallel, targets, func(ctx context.Context, target nicTarget) *nicWork {
		w := &nicWork{nicTarget: target}
		w.err = target.read(ctx, func(h *nicHost) (err error) {
			w.changes = nic.Diff(h.running, h.desired)
			w.steps, err = r.plan(ctx, h)
			return err
		})
		if w.err != nil {
			w.steps = nil
		}
		return w
	}, func(w *nicWork) error {
		out = append(out, w)
		if r.output != "json" && !r.quiet && w.err == nil {
			t.add(w.name, w.changes, w.steps)
		}
		if i := slices.IndexFunc(w.steps, func(s local.Step) bool { return s.Blocked != "" }); i >= 0 {
			w.refused = fmt.Errorf("%s: %s: %s", w.name, w.steps[i].What, w.steps[i].Blocked)
		}
		return t.Err()
	})
	t.flush()
	return out, errors.Join(err, t.Err())
}

// judged ends the run before the first write where a host is refused, and says of
// each host why.
func (r *nicApplying) judged(fabric string, j *rollout.Journal, work []*nicWork) error {
	var outs []rollout.Outcome
	refused := 0
	var why string
	for _, w := range work {
		out := rollout.Outcome{Device: w.name, State: rollout.Skipped}
		switch {
		case w.err != nil:
			out.State, out.Err = rollout.Failed, w.err
		case w.refused != nil:
			refused++
			out.State, out.Err, why = rollout.Refused, w.refused, w.refused.Error()
		}
		if out.Err != nil {
			out.Error = out.Err.Error()
		}
		outs = append(outs, out)
	}
	if refused == 0 {
		return nil
	}
	if refused > 1 {
		why = words.Count(refused, "host") + " with steps that are not allowed"
		if j != nil {
			why = words.Count(refused, "host") + " not as planned"
		}
	}
	return r.nothingWritten(fabric, j, outs, why, "")
}

// checkAll reads the hosts with steps again, before the first write to any.
func (r *nicApplying) checkAll(ctx context.Context, fabric string, work []*nicWork) error {
	err := pool.Ordered(ctx, r.parallel, work, func(ctx context.Context, w *nicWork) *nicWork {
		if len(w.steps) > 0 {
			w.refused = w.read(ctx, func(h *nicHost) error { return r.asPlanned(ctx, h, w) })
		}
		return w
	}, func(w *nicWork) error {
		if w.refused == nil || ctx.Err() != nil {
			return nil
		}
		return r.journal.Write(rollout.Record{Device: w.name, Event: string(rollout.Refused), Error: w.refused.Error()})
	})
	if err == nil && ctx.Err() != nil {
		err = errors.New("nothing was written")
	}
	if err == nil {
		err = r.judged(fabric, r.journal, work)
	}
	if err != nil {
		err = errors.Join(err, r.journal.Write(rollout.Record{Event: "end"}))
	}
	return err
}

// asPlanned says whether what is to do on a host is still what was planned.
func (r *nicApplying) asPlanned(ctx context.Context, h *nicHost, w *nicWork) error {
	now, err := r.plan(ctx, h)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(now, w.steps) {
		return fmt.Errorf("%s: %w", w.name, drivers.ErrStale)
	}
	return nil
}

func (r *nicApplying) plan(ctx context.Context, h *nicHost) ([]local.Step, error) {
	o := local.Options{Bounce: r.allow.Impact >= qos.ImpactPortFlap, CutOff: r.cutOff, Peer: r.peer(r.nicOptions)}
	steps, err := h.Plan(ctx, h.running, h.desired, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.host.Name, err)
	}
	for i := range steps {
		if s := &steps[i]; s.Blocked == "" && s.Impact > r.allow.Impact {
			s.Blocked = fmt.Sprintf("its impact is %s, which is not allowed (--allow %s)", s.Impact, s.Impact)
		}
	}
	return steps, nil
}

// host sets one host and records what became of it.
func (r *nicApplying) host(ctx context.Context, w *nicWork) rollout.Outcome {
	out := rollout.Outcome{Device: w.name, State: rollout.Unchanged}
	switch {
	case w.err != nil:
		out.State, out.Err = rollout.Failed, w.err
	case len(w.steps) == 0:
		if out.Left, out.Err = w.left(w.changes); out.Err != nil {
			out.State = rollout.Blocked
		}
	case r.stopped.Load() || ctx.Err() != nil:
		out.State = rollout.Skipped
	default:
		start := time.Now()
		out.State, out.Steps, out.Err = r.set(ctx, w)
		out.Took = time.Since(start)
		if out.Err != nil {
			r.stopped.Store(true)
		}
		if out.State == rollout.Applied {
			if out.Left, out.Err = w.left(w.changes); out.Err != nil {
				out.State = rollout.Partial
			}
		}
	}
	if out.Err != nil {
		out.Error = out.Err.Error()
	}
	if err := r.journal.Write(rollout.Record{Device: w.name, Event: string(out.State), Error: out.Error}); err != nil {
		r.stopped.Store(true)
		out.Err = errors.Join(out.Err, err)
		out.Error = out.Err.Error()
	}
	return out
}

// nicRecord is a host in the journal: what was set, each with its old and new
// value, and the way back.
type nicRecord struct {
	Steps []local.Step `json:"steps"`
	Undo  local.Undo   `json:"undo"`
}

// set writes to one host what was planned for it. What differs after it is in
// changes.
func (r *nicApplying) set(ctx context.Context, w *nicWork) (state rollout.State, steps int, err error) {
	state = rollout.Failed
	err = w.read(ctx, func(h *nicHost) error {
		if err := r.asPlanned(ctx, h, w); err != nil {
			if errors.Is(err, drivers.ErrStale) {
				state = rollout.Refused
			}
			return err
		}
		if err := r.journal.Write(rollout.Record{Device: w.name, Event: "start", Steps: len(w.steps)}); err != nil {
			return err
		}
		// On disk before the first write: whoever finds this run cut off can take
		// it back.
		before, err := h.Before(ctx, w.steps)
		if err != nil {
			return err
		}
		if err := before.Check(w.manages); err != nil {
			return fmt.Errorf("%s: nothing was written, as this tool could not undo it: %w", w.name, err)
		}
		native, err := json.Marshal(nicRecord{w.steps, before})
		if err != nil {
			return err
		}
		if err := r.journal.Write(rollout.Record{Device: w.name, Event: "undo", Undo: &drivers.Token{Device: w.name, Native: native}}); err != nil {
			return err
		}
		done, err := h.Apply(ctx, w.steps, func(i, n int, s local.Step) {
			steps = i + 1
			r.nicProgress(w.name, i, n, s.What)
		})
		noCM := ""
		if errors.Is(err, local.ErrNoCM) {
			noCM, err = reasonOf(err), nil // the rest is carried out
		}
		if err == nil {
			if w.changes, err = h.proven(ctx, noCM); err == nil {
				state = rollout.Applied
				return nil
			}
		}
		if len(done.Steps) == 0 && !r.lost(err) {
			return err
		}
		state, err = r.takeBack(ctx, w.nicTarget, h, before, err)
		return err
	})
	if state == rollout.Applied {
		err = nil // a session that does not close cleanly changes nothing
	}
	return state, steps, err
}

// lost reports whether an error leaves open what the host has done: it is not
// the host's own word.
func (r *nicApplying) lost(err error) bool {
	return !r.local && !errors.Is(err, agent.ErrStart) && !errors.As(err, new(*agent.Error))
}

// takeBack takes a host back after a failure. Ctrl-C, too, leaves it as it was
// or as intended.
func (r *nicApplying) takeBack(ctx context.Context, t nicTarget, h *nicHost, before local.Undo, why error) (rollout.State, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nicRevertTimeout)
	defer cancel()
	err := h.Revert(ctx, before)
	if err != nil && !r.local && !errors.As(err, new(*agent.Error)) {
		// The connection may have gone with the link that it ran over, and no
		// further agent starts on it.
		err = t.with(ctx, func(h *nicHost) error { return h.Revert(ctx, before) })
	}
	if err != nil {
		return rollout.Partial, fmt.Errorf("%w; and it could not be taken back: %w", why, err)
	}
	return rollout.Reverted, why
}

// nicProgress tells a step on standard error, in one write: hosts are worked on
// side by side.
func (a *app) nicProgress(host string, i, n int, what string) {
	if a.output != "json" && !a.quiet {
		fmt.Fprintf(a.stderr, "%s %s\n", a.styler(a.stderr).Dim(fmt.Sprintf("%s %d/%d", host, i+1, n)), term.CleanLine(what))
	}
}

// reasonOf is an error without the name of the host that it comes from.
func reasonOf(err error) string {
	var e *agent.Error
	if errors.As(err, &e) {
		return e.Text
	}
	return err.Error()
}

// proven reads back: nothing that could be written is left to write. It returns
// what differs all the same. noCM says why the defaults of RDMA-CM could not be,
// "" for that they could.
func (h *nicHost) proven(ctx context.Context, noCM string) ([]nic.Change, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	changes := nic.Diff(h.running, h.desired)
	for i := range changes {
		c := &changes[i]
		if noCM != "" && (c.Field == nic.FieldMode || c.Field == nic.FieldToS) {
			c.Blocked = cmp.Or(c.Blocked, noCM)
		}
		if c.Writable() {
			return nil, fmt.Errorf("read back, %s is %s, not %s", c.Path(), c.Old, c.New)
		}
	}
	return changes, nil
}
