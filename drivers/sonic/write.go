package sonic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Times of the switch. The server gives up on a Set after 600 s, and the
// config updater goes on by itself (sonic-gnmi:sonic_service_client).
const (
	maxSet = 620 * time.Second
	minSet = 60 * time.Second
	// linkUp bounds the wait for ports that were taken down.
	linkUp = 90 * time.Second
	// settled bounds the reads after a plain refusal: the answer may be wrong.
	settled = 3 * time.Second
)

// setTimeout is the time that a Set may take: the config updater needs about
// 4 s for a row on a port that is up and about 1 s for any other change, and
// ten for itself; three times that leaves room for a slow switch.
func setTimeout(ops []op, down []string) time.Duration {
	t := 10*time.Second + 250*time.Millisecond*time.Duration(len(ops))
	for _, o := range ops {
		if p := o.portOf(); p != "" && slices.Contains(down, p) {
			t += 4 * time.Second
		}
	}
	return min(max(3*t, minSet), maxSet)
}

// undo is the native part of a token: what stood where something was written.
type undo struct {
	// Rows are the rows that the steps touch, as they were; nil for a row
	// that was not there.
	Rows map[string]map[string]native.Row `json:"rows"`
	// Ports are the ports whose bindings are restored as a whole: daemons
	// write rows of their own there.
	Ports      []string `json:"ports,omitempty"`
	Checkpoint string   `json:"checkpoint,omitempty"`
	SSH        bool     `json:"ssh,omitempty"`
}

// Apply carries the steps out.
func (d *Driver) Apply(ctx context.Context, before *drivers.Snapshot, st *drivers.Steps, o drivers.ApplyOptions) (*drivers.Token, error) {
	if len(st.Items) == 0 {
		return nil, nil
	}
	steps, err := decodeSteps(st.Items)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	cfg := config(before)
	u := remember(cfg, steps, st.Items)
	if d.t.SSH != nil {
		u.Checkpoint = "roce-fabric-" + o.ID
		if err := d.command(ctx, "sudo config checkpoint "+quote(u.Checkpoint)); err != nil {
			return nil, fmt.Errorf("take a checkpoint: %w", err)
		}
	}
	raw, err := json.Marshal(u)
	if err != nil {
		return nil, fmt.Errorf("%s: encode the way back: %w", d.t.Name, err)
	}
	token := &drivers.Token{Device: d.t.Name, Native: raw}
	if o.Token != nil {
		if err := o.Token(token); err != nil {
			return nil, err
		}
	}
	r := runner{d: d, cfg: cfg.Clone(), progress: o.Progress}
	return token, r.run(ctx, st.Items, steps)
}

func decodeSteps(items []drivers.Step) ([][]op, error) {
	out := make([][]op, len(items))
	for i, s := range items {
		var b batch
		if err := json.Unmarshal(s.Native, &b); err != nil {
			return nil, fmt.Errorf("step %d of the plan: %w", i+1, err)
		}
		for _, o := range b.Ops {
			// A plan is a file, and these become paths and shell words.
			if !slices.Contains(native.Tables(), o.Table) || strings.ContainsAny(o.Key+o.Field, "\x00\n\r'") {
				return nil, fmt.Errorf("step %d of the plan: unusable row %q|%q", i+1, o.Table, o.Key)
			}
		}
		out[i] = b.Ops
	}
	return out, nil
}

func remember(cfg native.Config, steps [][]op, items []drivers.Step) undo {
	u := undo{Rows: map[string]map[string]native.Row{}}
	note := func(table, key string) {
		if u.Rows[table] == nil {
			u.Rows[table] = map[string]native.Row{}
		}
		u.Rows[table][key] = maps.Clone(cfg.Row(table, key))
	}
	ports := map[string]bool{}
	for i, ops := range steps {
		u.SSH = u.SSH || items[i].Via == "ssh"
		for _, o := range ops {
			note(o.Table, o.Key)
			if p := o.portOf(); p != "" {
				ports[p] = true
			}
		}
	}
	for _, tn := range ranged {
		for key := range cfg[tn] {
			if port, _, _ := strings.Cut(key, "|"); ports[port] {
				note(tn, key)
			}
		}
	}
	u.Ports = natural.Keys(ports)
	return u
}

// Confirm saves what went in over SSH (a Set saves by itself) and removes the
// checkpoint.
func (d *Driver) Confirm(ctx context.Context, t *drivers.Token) error {
	u, err := d.undo(t)
	if err != nil {
		return err
	}
	if u.SSH {
		if err := d.command(ctx, "sudo config save -y"); err != nil {
			return fmt.Errorf("save: %w", err)
		}
	}
	if u.Checkpoint != "" {
		if err := d.command(ctx, "sudo config delete-checkpoint "+quote(u.Checkpoint)); err != nil {
			return fmt.Errorf("remove the checkpoint: %w", err)
		}
	}
	return nil
}

func (d *Driver) undo(t *drivers.Token) (undo, error) {
	var u undo
	if t == nil {
		return u, nil
	}
	if err := json.Unmarshal(t.Native, &u); err != nil {
		return u, fmt.Errorf("%s: read the way back: %w", d.t.Name, err)
	}
	return u, nil
}

// Revert writes the remembered rows back, byte for byte, in the order and
// groups of an apply. It may be called again after it failed.
func (d *Driver) Revert(ctx context.Context, t *drivers.Token) error {
	u, err := d.undo(t)
	if err != nil || t == nil {
		return err
	}
	if _, err := d.Probe(ctx); err != nil {
		return err
	}
	now, err := d.Read(ctx)
	if err != nil {
		return err
	}
	cfg := config(now)
	b := builder{site: site{rel: d.rel, chip: d.chip, ssh: d.t.SSH != nil, policy: drivers.Policy{PortGroup: 1}}, running: cfg}
	var lost []string
	for _, o := range u.ops(cfg) {
		_, ok := refuse(o, cfg, d.rel, d.chip)
		if !ok && d.t.SSH == nil {
			lost = append(lost, o.String())
			continue
		}
		b.add(o, !ok)
	}
	items := b.steps()
	steps, err := decodeSteps(items)
	if err != nil {
		return fmt.Errorf("%s: %w", d.t.Name, err)
	}
	r := runner{d: d, cfg: cfg.Clone()}
	if err := r.run(ctx, items, steps); err != nil {
		return err
	}
	if len(lost) > 0 {
		return fmt.Errorf("%s: %w: the config updater refuses to restore %s; configure ssh", d.t.Name, drivers.ErrPartial, strings.Join(lost, ", "))
	}
	return d.Confirm(ctx, t)
}

// ops returns what restores the remembered rows from cfg.
func (u undo) ops(cfg native.Config) []op {
	want := map[string]map[string]native.Row{}
	for tn, rows := range u.Rows {
		want[tn] = maps.Clone(rows)
	}
	for _, tn := range ranged {
		for key := range cfg[tn] {
			port, _, _ := strings.Cut(key, "|")
			if _, known := want[tn][key]; !known && slices.Contains(u.Ports, port) {
				if want[tn] == nil {
					want[tn] = map[string]native.Row{}
				}
				want[tn][key] = nil
			}
		}
	}
	var out []op
	for _, tn := range slices.Sorted(maps.Keys(want)) {
		for _, key := range natural.Keys(want[tn]) {
			have, was := cfg.Row(tn, key), want[tn][key]
			switch {
			case was == nil && have == nil, was != nil && have != nil && maps.Equal(have, was):
			case was == nil:
				out = append(out, op{Table: tn, Key: key, Del: true})
			case have != nil && byField(tn, key):
				for _, f := range natural.Keys(was) {
					if have[f] != was[f] {
						out = append(out, op{Table: tn, Key: key, Field: f, Value: was[f]})
					}
				}
				for _, f := range natural.Keys(have) {
					if _, ok := was[f]; !ok {
						out = append(out, op{Table: tn, Key: key, Field: f, Del: true})
					}
				}
			default:
				out = append(out, op{Table: tn, Key: key, Row: was})
			}
		}
	}
	return out
}

// runner carries out steps. cfg follows what the switch holds.
type runner struct {
	d        *Driver
	cfg      native.Config
	progress func(i, n int, s drivers.Step)
}

func (r *runner) run(ctx context.Context, items []drivers.Step, steps [][]op) error {
	wasUp := map[string]bool{}
	for i, s := range items {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w: stopped before step %d of %d: %w", r.d.t.Name, stopped(i), i+1, len(items), err)
		}
		if r.progress != nil {
			r.progress(i, len(items), s)
		}
		if err := r.noteLinks(ctx, s.Down, wasUp); err != nil {
			return fmt.Errorf("before step %d of %d: %w", i+1, len(items), err)
		}
		var err error
		if s.Via == "ssh" {
			err = r.overSSH(ctx, steps[i])
		} else {
			err = r.set(ctx, steps[i], s)
		}
		if err != nil {
			if i > 0 && errors.Is(err, drivers.ErrRejected) {
				// The steps before this one stand.
				err = fmt.Errorf("%w: %w", drivers.ErrPartial, err)
			}
			return fmt.Errorf("step %d of %d (%s): %w", i+1, len(items), s.What, err)
		}
		for _, o := range steps[i] {
			o.apply(r.cfg)
		}
		if err := r.waitLinks(ctx, s.Up, wasUp); err != nil {
			return fmt.Errorf("after step %d of %d: %w", i+1, len(items), err)
		}
	}
	return nil
}

// stopped is ErrPartial once something was written, and otherwise nothing that
// a caller would act on.
func stopped(step int) error {
	if step > 0 {
		return drivers.ErrPartial
	}
	return drivers.ErrRejected
}

// set sends one request and finds out what became of it.
func (r *runner) set(ctx context.Context, ops []op, s drivers.Step) error {
	c, err := r.d.client(ctx)
	if err != nil {
		return err
	}
	req := setRequest(ops, r.cfg)
	sctx, cancel := context.WithTimeout(ctx, setTimeout(ops, s.Down))
	err = c.Set(sctx, req)
	cancel()
	if err == nil {
		// An answer that says yes is not yet the state.
		return r.confirm(ctx, ops, settled, nil)
	}
	wait := settled
	if stillWorking(err) {
		wait = setTimeout(ops, s.Down)
	}
	// The caller may be gone; the switch is not, and what it does next has to
	// be known before anything else is sent.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+r.d.readTimeout())
	defer cancel()
	return r.confirm(rctx, ops, wait, err)
}

// stillWorking reports whether a failed Set may still be going on: no answer
// came, or the server gave up waiting for its own config updater.
func stillWorking(err error) bool {
	return errors.Is(err, gnmi.ErrTimeout) || errors.Is(err, gnmi.ErrUnreachable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "Timeout")
}

func (d *Driver) readTimeout() time.Duration {
	if d.t.GNMI.Timeout > 0 {
		return d.t.GNMI.Timeout
	}
	return gnmi.DefaultTimeout
}

// confirm reads until the switch holds what the ops say, for at most wait.
// cause is the error of the request, nil where it answered yes.
func (r *runner) confirm(ctx context.Context, ops []op, wait time.Duration, cause error) error {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	tick := time.NewTicker(r.d.poll)
	defer tick.Stop()
	var done, left int
	var readErr error
	for {
		snap, err := r.d.Read(ctx)
		readErr = err
		if err == nil {
			now := config(snap)
			if done, left = tally(ops, r.cfg, now); left == 0 {
				return nil
			}
		} else if r.d.cli != nil {
			// A restarted server needs a new connection.
			_ = r.d.Close()
		}
		select {
		case <-tick.C:
			continue
		case <-deadline.C:
		case <-ctx.Done():
		}
		break
	}
	name := r.d.t.Name
	switch {
	case readErr != nil:
		return fmt.Errorf("%w: what the switch holds cannot be read: %w", drivers.ErrPartial, errors.Join(cause, readErr))
	case done == 0 && cause != nil:
		return fmt.Errorf("%s: %w: %w%s", name, drivers.ErrRejected, cause, r.d.explain(ctx, ops, r.cfg))
	case cause == nil:
		return fmt.Errorf("%s: %w: the switch answered yes and holds %d of %d rows", name, drivers.ErrPartial, done, done+left)
	}
	return fmt.Errorf("%s: %w: %d of %d rows are in: %w", name, drivers.ErrPartial, done, done+left, cause)
}

// tally counts the ops that the switch has carried out and those it has not;
// what was so before counts as neither.
func tally(ops []op, before, now native.Config) (done, left int) {
	want := before.Clone()
	for _, o := range ops {
		o.apply(want)
	}
	seen := map[string]bool{}
	for _, o := range ops {
		id := o.Table + "|" + o.Key + "|" + o.Field
		if seen[id] {
			continue
		}
		seen[id] = true
		var w, n, b string
		if o.Field != "" {
			w, n, b = want.Row(o.Table, o.Key)[o.Field], now.Row(o.Table, o.Key)[o.Field], before.Row(o.Table, o.Key)[o.Field]
		} else {
			w, n, b = text(want.Row(o.Table, o.Key)), text(now.Row(o.Table, o.Key)), text(before.Row(o.Table, o.Key))
		}
		switch {
		case n != w:
			left++
		case b != w:
			done++
		}
	}
	return done, left
}

func text(r native.Row) string {
	if r == nil {
		return ""
	}
	return string(r.JSON())
}

// setRequest turns ops into a Set for a switch that holds cfg. A table that is
// not there is written whole, since before release 202511 a row cannot bring
// its table along, and one that would be left empty is removed whole.
func setRequest(ops []op, cfg native.Config) gnmi.SetRequest {
	after := native.Config{}
	touched := map[string]bool{}
	for _, o := range ops {
		touched[o.Table] = true
	}
	for tn := range touched {
		after[tn] = native.Config{tn: cfg[tn]}.Clone()[tn]
	}
	for _, o := range ops {
		o.apply(after)
	}
	req := gnmi.SetRequest{Origin: origin}
	entire := map[string]bool{}
	for _, tn := range slices.Sorted(maps.Keys(touched)) {
		switch {
		case len(cfg[tn]) == 0 && len(after[tn]) > 0:
			entire[tn] = true
			req.Updates = append(req.Updates, gnmi.Update{Path: path(tn), JSON: after[tn].JSON()})
		case len(cfg[tn]) > 0 && len(after[tn]) == 0:
			entire[tn] = true
			req.Deletes = append(req.Deletes, path(tn))
		}
	}
	for _, o := range ops {
		switch {
		case entire[o.Table]:
		case o.Del && o.Field != "":
			req.Deletes = append(req.Deletes, path(o.Table, o.Key, o.Field))
		case o.Del:
			req.Deletes = append(req.Deletes, path(o.Table, o.Key))
		case o.Field != "":
			req.Updates = append(req.Updates, gnmi.Update{Path: path(o.Table, o.Key, o.Field), JSON: native.JSONString(o.Value)})
		default:
			req.Updates = append(req.Updates, gnmi.Update{Path: path(o.Table, o.Key), JSON: o.Row.JSON()})
		}
	}
	return req
}

// path is a path for Set, where a slash in a key is written ~1.
func path(names ...string) gnmi.Path {
	p := slices.Clone(configDB)
	for _, n := range names {
		p = append(p, strings.ReplaceAll(n, "/", "~1"))
	}
	return p
}

// noteLinks remembers which of the ports are up before they go down.
func (r *runner) noteLinks(ctx context.Context, ports []string, wasUp map[string]bool) error {
	for _, p := range ports {
		up, err := r.d.operUp(ctx, p)
		if err != nil {
			return err
		}
		wasUp[p] = up
	}
	return nil
}

// waitLinks waits until the ports that were up are up again, so that the next
// group does not start while this one is still dark.
func (r *runner) waitLinks(ctx context.Context, ports []string, wasUp map[string]bool) error {
	deadline := time.NewTimer(linkUp)
	defer deadline.Stop()
	tick := time.NewTicker(r.d.poll)
	defer tick.Stop()
	left := slices.DeleteFunc(slices.Clone(ports), func(p string) bool { return !wasUp[p] })
	for len(left) > 0 {
		up, err := r.d.operUp(ctx, left[0])
		if err != nil {
			return fmt.Errorf("%w: %w", drivers.ErrPartial, err)
		}
		if up {
			left = left[1:]
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: stopped while waiting for %s to come up: %w", r.d.t.Name, drivers.ErrPartial, natural.Fold(left), ctx.Err())
		case <-deadline.C:
			return fmt.Errorf("%s: %w: %s did not come up again within %s", r.d.t.Name, drivers.ErrPartial, natural.Fold(left), linkUp)
		}
	}
	return nil
}

// operUp reads the link state. A switch that shows none counts as down, so
// that nothing waits for it.
func (d *Driver) operUp(ctx context.Context, port string) (bool, error) {
	row, err := d.row(ctx, "APPL_DB", "PORT_TABLE", port)
	if errors.Is(err, gnmi.ErrNotFound) {
		return false, nil
	}
	return row["oper_status"] == "up", err
}
